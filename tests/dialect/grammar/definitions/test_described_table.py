"""Tables and views that are read from CREATE statements."""

import pytest

from dialect.errors import NotUnderstood
from dialect.grammar.definitions.described_table import described_table


def test_columns_types_and_partition_keys() -> None:
    found = described_table(
        "CREATE EXTERNAL TABLE IF NOT EXISTS a.B (id INT COMMENT 'x, y', m MAP<STRING, ARRAY<INT>>,"
        " d DECIMAL(10, 2) NOT NULL) PARTITIONED BY (ds STRING COMMENT 'day', h INT) STORED AS ORC"
    )
    assert str(found.ref) == "a.b"
    assert [(each.name, each.type) for each in found.columns] == [
        ("id", "int"),
        ("m", "map<string,array<int>>"),
        ("d", "decimal(10,2)"),
    ]
    assert [(key.name, key.type) for key in found.partition_keys] == [
        ("ds", "string"),
        ("h", "int"),
    ]


def test_spark_names_partition_columns_among_the_columns() -> None:
    found = described_table("CREATE TABLE t (id INT, ds DATE) USING orc PARTITIONED BY (ds)", "s")
    assert (str(found.ref), found.provider) == ("s.t", "orc")
    assert [each.name for each in found.columns] == ["id"]
    assert [(key.name, key.type) for key in found.partition_keys] == [("ds", "date")]


def test_a_view_keeps_its_query_and_the_database_of_its_names() -> None:
    view = described_table("CREATE VIEW s.v (x) COMMENT 'as is' AS SELECT a FROM t").view
    assert view is not None
    assert (view.sql, view.db, view.columns) == ("SELECT a FROM t", "s", ("x",))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "DROP TABLE t",
        "CREATE TABLE t (a INT) PARTITIONED BY (b)",
        "CREATE VIEW v",
        "CREATE TABLE t (a INT",
    ],
)
def test_other_statements_are_not_understood(sql: str) -> None:
    with pytest.raises(NotUnderstood):
        described_table(sql)
