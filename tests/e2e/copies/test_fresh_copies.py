"""Writes by SQL past the proxy end the copies of what they change, and no others (D10, D15)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cli.stack.stack import Stack
from conf.names import TableRef
from metastore.client.metastore_client import HmsClient
from metastore.placement.placement_store import PlacementStore
from tests.e2e.conftest import C1, C2, Sql, Tables
from tests.e2e.support.copies import Copies

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def _guarded(stack: Stack) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard: Spark often writes without a word to the metastore")


@pytest.fixture
def days(db: str, sql: Sql, tables: Tables, copies: Copies) -> str:
    """A table in C1 whose partitions ds=a and ds=b have fresh copies in C2."""
    table = f"{db}.days"
    sql(f"CREATE TABLE {table} (a int, ds string) USING parquet PARTITIONED BY (ds)", cluster=C1)
    for day in "ab":
        sql(f"INSERT INTO {table} PARTITION (ds = '{day}') VALUES (1)", cluster=C1)
        tables.copy(table, C2, f"ds={day}")
    assert copies.fresh(table, "ds=a")
    assert copies.fresh(table, "ds=b")
    return table


def test_a_mark_of_one_partition_does_not_cover_a_direct_write_of_another(
    stack: Stack, days: str, sql: Sql, copies: Copies
) -> None:
    """The mark of ds=a is of a proxy that writes it, or that died meanwhile."""
    ref = TableRef.parse(days)
    with HmsClient((stack.ports.metastore,)) as client:
        facts = PlacementStore(client, C1)
        facts.open_write(ref, "proxy", ["ds=a"], 0, "a proxy")
        sql(f"INSERT INTO {days} PARTITION (ds = 'b') VALUES (2)", cluster=C1)
        facts.close_write(ref, "proxy", ["ds=a"])
    assert not copies.fresh(days, "ds=b")


def test_a_direct_write_of_one_partition_keeps_the_copies_of_others(
    days: str, sql: Sql, copies: Copies
) -> None:
    sql(f"INSERT INTO {days} PARTITION (ds = 'b') VALUES (2)", cluster=C1)
    assert copies.fresh(days, "ds=a")
    assert not copies.fresh(days, "ds=b")
    sql(f"INSERT INTO {days} VALUES (3, 'c')", cluster=C1)  # into any partition
    assert not copies.fresh(days, "ds=a")


@pytest.mark.parametrize(
    "statements",
    [
        ["INSERT OVERWRITE DIRECTORY '{folder}' USING parquet SELECT 2 AS a"],
        ["INSERT OVERWRITE DIRECTORY '{folder}/sub' USING parquet SELECT 2 AS a"],
        ["INSERT OVERWRITE DIRECTORY '{folder}' STORED AS parquet SELECT 2 AS a"],
        ["INSERT OVERWRITE LOCAL DIRECTORY '{folder}' STORED AS parquet SELECT 2 AS a"],
        [
            "CREATE TABLE {db}.alias (a int) USING parquet LOCATION '{folder}'",
            "INSERT INTO {db}.alias VALUES (2)",
        ],
        [
            "CREATE EXTERNAL TABLE {db}.hive (a int) STORED AS parquet LOCATION '{folder}'",
            "INSERT INTO {db}.hive VALUES (2)",
        ],
        [
            "CREATE TABLE {db}.other (a int) USING parquet",
            "ALTER TABLE {db}.other SET LOCATION '{folder}'",
            "TRUNCATE TABLE {db}.other",
        ],
        [
            "CREATE TABLE {db}.parted (a int, d int) USING parquet PARTITIONED BY (d)",
            "ALTER TABLE {db}.parted ADD PARTITION (d = 1) LOCATION '{folder}'",
            "INSERT INTO {db}.parted PARTITION (d = 1) VALUES (2)",
        ],
        [
            "CREATE TEMPORARY VIEW v (a int) USING parquet OPTIONS (path '{folder}')",
            "INSERT INTO v VALUES (2)",
        ],
    ],
)  # fmt: skip
def test_a_write_by_path_ends_the_copies_of_the_folders_table(
    copied: Callable[[], str],
    db: str,
    sql: Sql,
    tables: Tables,
    copies: Copies,
    statements: list[str],
) -> None:
    table = copied()
    folder = tables.location(table)
    sql(*(each.format(folder=folder, db=db) for each in statements), cluster=C1)
    assert not copies.fresh(table)


def test_a_write_through_the_proxy_ends_the_copies_of_the_folders_table(
    copied: Callable[[], str], db: str, sql: Sql, tables: Tables, copies: Copies
) -> None:
    table = copied()
    sql(
        f"CREATE TABLE {db}.alias (a int) USING parquet LOCATION '{tables.location(table)}'",
        cluster=C1,
    )
    sql(f"INSERT INTO {db}.alias VALUES (2)")
    assert not copies.fresh(table)


def test_the_folder_of_a_copy_is_not_written(
    copied: Callable[[], str], stack: Stack, sql: Sql, tables: Tables, copies: Copies
) -> None:
    table = copied()
    copy = tables.copy(table, C2)
    with pytest.raises(Exception, match="CW350"):
        sql(f"INSERT OVERWRITE DIRECTORY '{copy}' USING parquet SELECT 2 AS a", cluster=C2)
    assert copies.fresh(table)
    assert sql(f"USE CLUSTER {C2}", f"SELECT a FROM {table}") == [(1,)]


def test_a_write_elsewhere_keeps_the_copies(
    copied: Callable[[], str], sql: Sql, tmp_path: Path, copies: Copies
) -> None:
    table = copied()
    sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/x' USING parquet SELECT 2 AS a", cluster=C1)
    sql(f"SELECT * FROM {table}", cluster=C1)
    sql(f"EXPLAIN INSERT INTO {table} VALUES (2)", cluster=C1)
    assert copies.fresh(table)
