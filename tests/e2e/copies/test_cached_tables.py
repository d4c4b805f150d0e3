"""CACHE TABLE holds for all sessions of a server, and no session reads rows of an old version."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyhive.hive import Connection

from cli.stack.stack import Stack
from tests.e2e.conftest import C2, Connect, Sql, Tables, rows
from tests.e2e.support.fronts import serving

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def _guarded(stack: Stack) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard: Spark often writes without a word to the metastore")


def test_a_new_session_reads_no_rows_that_another_one_cached_before_a_write(
    db: str, sql: Sql, tables: Tables, connect: Connect, stack: Stack, tmp_path: Path
) -> None:
    """The plan of a partitioned table, by which Spark finds cached rows, names no files."""
    days, flat, hive = made = tuple(f"{db}.{name}" for name in ("days", "flat", "hive"))
    sql(
        f"CREATE TABLE {days} (a int, ds string) USING parquet PARTITIONED BY (ds)",
        f"CREATE TABLE {flat} (a int) USING parquet",
        f"CREATE TABLE {hive} (a int) STORED AS textfile",
    )

    def write(value: int) -> None:
        for table in (flat, hive):
            sql(f"INSERT INTO {table} VALUES ({value})")
            tables.copy(table, C2)
        sql(f"INSERT INTO {days} PARTITION (ds = 'a') VALUES ({value})")
        tables.copy(days, C2, "ds=a")

    write(1)
    with connect().cursor() as cursor:
        rows(cursor, f"USE CLUSTER {C2}")
        for table in made:
            rows(cursor, f"CACHE TABLE {table}")
        cached = f"SELECT max(a) FROM {days} WHERE a IN (SELECT a FROM {hive})"
        rows(cursor, f"CACHE TABLE {db}_result AS {cached}")
        write(2)
        found: dict[str, Any] = {}
        for table in made:
            found[table] = sql(f"USE CLUSTER {C2}", f"SELECT a FROM {table} ORDER BY a")
        found["result"] = sql(f"USE CLUSTER {C2}", cached)
        assert found == {table: [(1,), (2,)] for table in made} | {"result": [(2,)]}
        for table in made:
            rows(cursor, f"CACHE TABLE {table}")
        write(3)
        with (
            serving(stack, tmp_path / "later.toml", "") as front,
            closing(Connection(front.binary.host, front.binary.port)) as started_later,
        ):
            other = started_later.cursor()
            rows(other, f"USE CLUSTER {C2}")
            for table in made:
                found[table] = rows(other, f"SELECT a FROM {table} ORDER BY a")
        assert found == {table: [(1,), (2,), (3,)] for table in made} | {"result": [(2,)]}
