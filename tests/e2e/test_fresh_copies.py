"""A copy is fresh only while it is: real writers past the proxy end what they touch (D10, D15)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

import pytest

from cli.stack.stack import Stack
from conf.names import TableRef
from conf.placement import read_partition_placement, read_placement
from metastore.client.metastore_client import HmsClient
from metastore.placement.placement_store import Facts
from tests.e2e.conftest import C1, C2, Sql, Tables
from tests.e2e.spark_job import SparkJob

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def _guarded(stack: Stack) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard: Spark often writes without a word to the metastore")


@dataclass(frozen=True, slots=True)
class Copies:
    stack: Stack

    def fresh(self, table: str, partition: str | None = None) -> bool:
        """Whether the copy in C2 is fresh, as the metastore has the facts now."""
        ref = TableRef.parse(table)
        with HmsClient((self.stack.ports.metastore,)) as client:
            placed = read_placement(client.get_table(ref).parameters, C1)
            if partition is not None:
                own = client.get_partition(ref, partition).parameters
                placed = read_partition_placement(own, placed, partition)
        return C2 in placed.replicas().fresh

    def soon_stale(self, table: str) -> bool:
        """The same a moment later: what follows a write is not waited for."""
        end = monotonic() + 10
        while self.fresh(table) and monotonic() < end:
            sleep(0.1)
        return not self.fresh(table)


@pytest.fixture
def copies(stack: Stack) -> Copies:
    return Copies(stack)


@pytest.fixture
def copied(db: str, sql: Sql, tables: Tables, copies: Copies) -> Callable[[], str]:
    """Makes a table in C1 with a fresh copy in C2."""
    made = iter(range(100))

    def make() -> str:
        table = f"{db}.t{next(made)}"
        sql(
            f"CREATE TABLE {table} (a int) USING parquet",
            f"INSERT INTO {table} VALUES (1)",
            cluster=C1,
        )
        tables.copy(table, C2)
        assert copies.fresh(table)
        return table

    return make


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
    """The proxy writes ds=a, or died while it did."""
    ref = TableRef.parse(days)
    with HmsClient((stack.ports.metastore,)) as client:
        facts = Facts(client, C1)
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
    sql(f"INSERT INTO {days} VALUES (3, 'c')", cluster=C1)  # into any partition, for all we know
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
    assert copies.fresh(table)


@pytest.fixture(scope="module")
def job(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkJob]:
    running = SparkJob(stack, C1, tmp_path_factory.mktemp("job"))
    yield running
    running.close()


def test_dataframe_writers_and_streams_end_the_copies_of_what_they_write(
    copied: Callable[[], str], tables: Tables, copies: Copies, job: SparkJob
) -> None:
    def folder(table: str) -> str:
        return tables.location(table).as_uri()

    row = {"rows": [[2]], "columns": ["a"]}
    writers: dict[str, Callable[[str], object]] = {
        "append": lambda t: job("save", path=folder(t), mode="append", **row),
        "overwrite": lambda t: job("save", path=folder(t), mode="overwrite", **row),
        "insertInto": lambda t: job("insert_into", table=t, **row),
        "saveAsTable": lambda t: job("save_as_table", table=t, **row),
        "stream to path": lambda t: job("stream", path=folder(t), rows=[2, 3]),
        "stream to table": lambda t: job("stream", table=t, rows=[2, 3]),
    }
    fresh = {}
    for name, write in writers.items():
        table = copied()
        write(table)
        fresh[name] = copies.fresh(table)
    assert not any(fresh.values()), fresh


def test_a_copy_that_is_published_during_a_direct_write_is_stale_when_it_has_ended(
    copied: Callable[[], str], stack: Stack, db: str, tables: Tables, copies: Copies, job: SparkJob
) -> None:
    """Its files may have been taken before the writer's were there."""
    import threading

    table = copied()
    slow = f"INSERT INTO {table} SELECT cast(java_method('java.lang.Math', 'abs', 1) AS int)"
    slow += " FROM range(0, 30, 1, 1) WHERE java_method('java.lang.Thread', 'sleep', 100L) IS NULL"
    writer = threading.Thread(target=lambda: job("sql", text=slow))
    writer.start()
    while copies.fresh(table):
        sleep(0.05)
    tables.copy(table, C2)
    assert copies.fresh(table)
    writer.join()
    assert copies.soon_stale(table)
