"""Settings with which Spark answers SHOW and DESCRIBE as by default."""

import pytest

from proxy.catalog.certain_settings import shows_as_usual

HIVE = {"spark.sql.catalogimplementation": "hive"}


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("spark.sql.shuffle.partitions", "2", True),
        ("spark.sql.adaptive.enabled", "true", True),
        ("spark.sql.extensions", "causeway.guard.Guard", True),
        ("spark.executor.memory", "1g", True),
        ("spark.sql.artifact.isolation.enabled", "false", True),  # in each Thrift Server of Spark 4
        ("spark.sql.binaryoutputstyle", "UTF-8", True),  # there after the first statement
        ("spark.sql.casesensitive", "true", False),
        ("spark.sql.timestamptype", "TIMESTAMP_NTZ", False),
        ("spark.sql.globaltempdatabase", "x", False),
        ("spark.sql.catalogimplementation", "in-memory", False),
        ("spark.sql.legacy.keepcommandoutputschema", "true", False),
        ("spark.sql.catalog.spark_catalog", "x", False),
        ("spark.sql.catalog.other", "x", False),
        ("spark.sql.extensions", "causeway.guard.Guard,other.Extensions", False),
        ("spark.sql.redaction.options.regex", "x", False),
        ("spark.redaction.regex", "x", False),
        ("spark.hadoop.hive.metastore.filter.hook", "x", False),
        ("spark.sql.of.a.later.version", "x", False),
    ],
)
def test_settings_with_which_spark_answers_in_another_way(
    setting: str, value: str, expected: bool
) -> None:
    assert shows_as_usual({**HIVE, setting: value}) is expected
