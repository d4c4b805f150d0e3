"""Settings, functions and statements that are denied."""

import pytest

from conf.errors import BadSetting
from conf.settings.security.restrictions import Code, SessionRestrictions, SettingVerdict
from tests.conf.settings.reading import settings_from

CLUSTERS = {
    "hive.cluster.properties": '{"c": {"FileSystem": "file:/c", "JobTracker": "c:1"}}',
    "hive.default.cluster.name": "c",
}


def read(**values: str) -> SessionRestrictions:
    named = {
        "restricted": "hive.conf.restricted.list",
        "allowed": "hive.security.authorization.sqlstd.confwhitelist",
        "allowed_too": "hive.security.authorization.sqlstd.confwhitelist.append",
        "ignored": "proxy.session.conf.ignore.list",
        "functions": "hive.server2.builtin.udf.blacklist",
        "statements": "proxy.denied.statements",
    }
    more = {named[name]: value for name, value in values.items()}
    return settings_from({**CLUSTERS, **more}, "here").restrictions


def test_settings_that_lead_to_other_data_are_always_restricted() -> None:
    for restrictions in (SessionRestrictions(), read(restricted="a.b")):
        for key in ("fs.defaultFS", "set:hiveconf:FS.DEFAULTFS", "fs.hdfs.impl"):
            assert restrictions.of_setting(key) is SettingVerdict.REFUSED
        for key in (
            "spark.sql.catalog.spark_catalog.type",
            "hivevar:hive.metastore.uris",
            "causeway.x",
        ):
            assert restrictions.of_setting(key) is SettingVerdict.REFUSED
        for key in ("spark.sql.shuffle.partitions", "fs.s3a.access.key", "day", "mapred.x"):
            assert restrictions.of_setting(key) is SettingVerdict.ACCEPTED


@pytest.mark.parametrize("key", ["a.b", "a.bc", " A.B.c", "set:hivevar:a.b", "`a.b`", "x.1.y"])
def test_a_pattern_matches_a_prefix_or_has_a_star(key: str) -> None:
    assert read(restricted="a.b, x.*.y").of_setting(key) is SettingVerdict.REFUSED


def test_a_pattern_with_a_star_matches_the_whole_name() -> None:
    assert read(restricted="x.*.y").of_setting("x.1.yz") is SettingVerdict.ACCEPTED


def test_only_settings_of_the_white_list_are_accepted() -> None:
    restrictions = read(allowed=r"spark\.sql\..*|a\.b", allowed_too="c.d")
    for key in ("spark.sql.x", "a.b", "c.d", "hivevar:region", "hive.cluster.properties"):
        assert restrictions.of_setting(key) is SettingVerdict.ACCEPTED
    assert restrictions.of_setting("spark.x") is SettingVerdict.REFUSED
    assert restrictions.of_setting("a.b.c") is SettingVerdict.REFUSED
    fetch_size = "set:hiveconf:hive.server2.thrift.resultset.default.fetch.size"
    assert restrictions.of_setting(fetch_size) is SettingVerdict.ACCEPTED


def test_ignoring_comes_before_refusing() -> None:
    restrictions = read(ignored="fs.defaultFS,spark.yarn.", restricted="spark.yarn.queue")
    assert restrictions.of_setting("fs.defaultFS") is SettingVerdict.IGNORED
    assert restrictions.of_setting("set:hiveconf:spark.yarn.queue") is SettingVerdict.IGNORED


def test_functions_and_statements() -> None:
    restrictions = read(functions="Reflect, java_method", statements="TRANSFORM,add")
    assert restrictions.functions == {"reflect", "java_method"}
    assert restrictions.statements == {Code.SCRIPT, Code.RESOURCE}
    assert restrictions.deny_code
    assert not SessionRestrictions().deny_code


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"statements": "dfs"}, "'dfs' is not one of transform, add, create-function"),
        ({"allowed": "("}, "not a regular expression"),
    ],
)
def test_a_wrong_value_stops_the_start(values: dict[str, str], reason: str) -> None:
    with pytest.raises(BadSetting, match=reason.replace("(", r"\(")):
        read(**values)


def test_lists_without_clusters_stop_the_start() -> None:
    with pytest.raises(BadSetting, match=r"udf\.blacklist: needs hive\.cluster\.properties"):
        settings_from({"hive.server2.builtin.udf.blacklist": "reflect"}, "here")
