"""Settings that change at run time, and those that need a restart."""

import json
from dataclasses import replace

from conf.settings.reload import Reloaded, reloaded
from conf.settings.settings import Settings
from conf.topology import Endpoint
from tests.conf.settings.reading import settings_from

EAST = {"FileSystem": "hdfs://e", "JobTracker": "e1:1,e2:1"}
WEST = {"FileSystem": "hdfs://w", "JobTracker": "w1:1"}


def settings(clusters: dict[str, dict[str, str]], **more: str) -> Settings:
    values = {key.replace("_", "."): value for key, value in more.items()}
    default = {"hive.default.cluster.name": "east"} if clusters else {}
    return settings_from(
        {**default, "hive.cluster.properties": json.dumps(clusters) if clusters else "", **values},
        "here",
    )


def reload(clusters: dict[str, dict[str, str]], **more: str) -> Reloaded:
    return reloaded(settings({"east": EAST, "west": WEST}), settings(clusters, **more))


def test_equal_settings_change_nothing() -> None:
    same = settings({"east": EAST, "west": WEST})
    assert reload({"east": EAST, "west": WEST}) == Reloaded(same, (), ())


def test_clusters_and_endpoints_change_at_run_time() -> None:
    result = reload({"east": {**EAST, "JobTracker": "e2:1,e3:1"}, "north": WEST})
    assert set(result.changed) == {"west removed", "north added", "JobTracker of east"}
    assert result.restart == ()
    assert result.settings.topology.clusters["east"].hs2 == (Endpoint("e2", 1), Endpoint("e3", 1))
    assert set(result.settings.topology.clusters) == {"east", "north"}


def test_a_file_system_changes_only_with_a_restart() -> None:
    result = reload({"east": {**EAST, "FileSystem": "hdfs://other"}, "west": WEST})
    assert result.restart == ("FileSystem of east in hive.cluster.properties",)
    assert result.settings.topology.clusters["east"].filesystem == "hdfs://e"


def test_the_default_cluster_changes_only_with_a_restart() -> None:
    result = reload({"west": WEST}, hive_default_cluster_name="west")
    assert result.restart == ("hive.default.cluster.name", "hive.cluster.properties")
    assert set(result.settings.topology.clusters) == {"east", "west"}
    assert reload({}).restart[-1] == "hive.cluster.properties"


def test_clusters_stay_while_only_views_write() -> None:
    views = {name: {**each, "MetastoreView": "v:1"} for name, each in (("east", EAST),)}
    old = settings(views, snapshot_writers="views")
    result = reloaded(old, settings({**views, "west": {**WEST, "MetastoreView": "v:2"}}))
    assert any("snapshot.writers = views" in each for each in result.restart)
    assert result.settings.topology == old.topology


def test_limits_change_at_run_time_and_addresses_with_a_restart() -> None:
    both = {"east": EAST, "west": WEST}
    result = reload(
        both,
        hive_server2_limit_connections_per_user="5",
        hive_server2_thrift_port="10009",
        proxy_audit_file="/var/log/audit",
    )
    assert result.changed == ("hive.server2.limit.connections.per.user",)
    assert result.settings.operating.sessions_per_user == 5
    assert result.settings.operating.audit_file is None
    assert result.settings.listen.port == 10000
    assert result.restart == (
        "hive.server2.thrift.bind.host and hive.server2.thrift.port",
        "proxy.audit.file",
    )


def test_other_settings_stay_equal() -> None:
    old = settings({"east": EAST, "west": WEST}, router_coverage="table")
    result = reloaded(old, replace(old, operating=replace(old.operating, connections=1)))
    assert result.settings == replace(old, operating=replace(old.operating, connections=1))
