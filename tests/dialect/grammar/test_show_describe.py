"""Which SHOW and DESCRIBE statements the proxy may answer, and how they are read."""

import pytest

from conf.catalog.tables import TableInfo, ViewText
from conf.names import TableRef
from dialect.analyze import analyze
from dialect.catalog_commands import (
    CatalogCommand,
    DescribeColumn,
    DescribeDatabase,
    DescribePartition,
    DescribeTable,
    ShowColumns,
    ShowCreateTable,
    ShowDatabases,
    ShowPartitions,
    ShowProperties,
    ShowTables,
    ShowViews,
)
from dialect.statement import Known, Namespace

T = TableRef("sales", "t")
SPEC = (("ds", "x y"), ("hr", "1"))


class Empty:
    """A catalog without tables."""

    def table(self, ref: TableRef) -> TableInfo | None:
        return None


SESSION = Namespace("sales")


def command(sql: str, namespace: Namespace = SESSION) -> CatalogCommand | None:
    found = analyze(sql, namespace, Empty())
    assert isinstance(found, Known), sql
    return found.catalog


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SHOW DATABASES", ShowDatabases(None)),
        ("show schemas like 'a*'", ShowDatabases("a*")),
        ("SHOW NAMESPACES 'a|b'", ShowDatabases("a|b")),
        ("SHOW TABLES", ShowTables("sales", None)),
        ("SHOW TABLES IN Other LIKE 'X'", ShowTables("other", "X")),
        ("SHOW TABLES FROM spark_catalog.other 'x'", ShowTables("other", "x")),
        ("SHOW TABLE EXTENDED LIKE '*'", ShowTables("sales", "*", extended=True)),
        ("SHOW VIEWS IN `other`", ShowViews("other", None)),
        ("SHOW COLUMNS IN t", ShowColumns(T)),
        ("SHOW COLUMNS FROM t IN sales", ShowColumns(T)),
        ("SHOW PARTITIONS spark_catalog.sales.t", ShowPartitions(T)),
        ("SHOW TBLPROPERTIES t", ShowProperties(T, None)),
        ("SHOW TBLPROPERTIES t ('a.b')", ShowProperties(T, "a.b")),
        ("DESCRIBE t", DescribeTable(T, extended=False)),
        ("desc table sales.T", DescribeTable(T, extended=False)),
        ("DESC EXTENDED t", DescribeTable(T, extended=True)),
        ("DESCRIBE TABLE FORMATTED sales.`t`", DescribeTable(T, extended=True)),
        ("/* c */ DESC t -- x", DescribeTable(T, extended=False)),
        ("SHOW CREATE TABLE t", ShowCreateTable(T)),
        ("SHOW PARTITIONS t PARTITION (Ds='x y', hr=1)", ShowPartitions(T, SPEC)),
        ("SHOW PARTITIONS t PARTITION (hr=-1)", ShowPartitions(T, (("hr", "-1"),))),
        ("DESCRIBE t PARTITION (ds='x y', hr='1')", DescribePartition(T, SPEC)),
        ("DESCRIBE t Aa", DescribeColumn(T, "Aa", extended=False)),
        ("DESC TABLE EXTENDED sales.t `a b`", DescribeColumn(T, "a b", extended=True)),
        ("DESCRIBE DATABASE Sales", DescribeDatabase("Sales", extended=False)),
        ("DESC SCHEMA EXTENDED spark_catalog.`S`", DescribeDatabase("S", extended=True)),
    ],
)
def test_show_and_describe_statements_are_read(sql: str, expected: CatalogCommand) -> None:
    assert command(sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SHOW DATABASES IN x",
        "SHOW DATABASES LIKE",
        "SHOW TABLES IN a.b",
        "SHOW TABLES LIKE 'a\\_b'",
        "SHOW TABLE EXTENDED IN sales",
        "SHOW TABLE EXTENDED LIKE 't' PARTITION (p=1)",
        "SHOW COLUMNS IN other.t IN sales",
        "SHOW PARTITIONS t PARTITION (p)",
        "SHOW PARTITIONS t PARTITION (p=01)",
        "SHOW PARTITIONS t PARTITION (p=1L)",
        "SHOW PARTITIONS t PARTITION (p=1.0)",
        "SHOW PARTITIONS t PARTITION (p=NULL)",
        "SHOW PARTITIONS t PARTITION (p=date'2024-01-01')",
        "SHOW PARTITIONS t PARTITION (p='a\\'b')",
        "SHOW PARTITIONS t PARTITION (p=1, P=2)",
        "SHOW TBLPROPERTIES t (a.b)",
        "SHOW CREATE TABLE t AS SERDE",
        "SHOW CREATE TABLE Sales.t",
        "SHOW FUNCTIONS",
        "DESCRIBE t a.b",
        "DESCRIBE t `a``b`",
        "DESCRIBE t PARTITION (p=1) a",
        "DESCRIBE EXTENDED t PARTITION (p=1)",
        "DESCRIBE DATABASE other_catalog.sales",
        "DESCRIBE FUNCTION abs",
        "DESCRIBE SELECT 1",
        "DESCRIBE EXTENDED TABLE t",
        "DESCRIBE 1t",
        "DESCRIBE other_catalog.sales.t",
    ],
)
def test_other_statements_are_not_read(sql: str) -> None:
    found = analyze(sql, Namespace("sales"), Empty())
    assert getattr(found, "catalog", None) is None


@pytest.mark.parametrize(
    "sql", ["DESCRIBE t", "SHOW COLUMNS IN t", "SHOW TBLPROPERTIES t", "SHOW CREATE TABLE t"]
)
def test_a_name_that_means_a_temporary_view_is_not_read(sql: str) -> None:
    views = {"t": ViewText("SELECT 1", "sales")}
    assert command(sql, Namespace("sales", temp_views=views)) is None
    assert command(sql.replace(" t", " sales.t"), Namespace("sales", temp_views=views)) is not None
