"""INSERTs of many sessions into one table at a time lose no row (`router.writes = serialize`)."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.e2e.conftest import Connect, Sql, rows

pytestmark = pytest.mark.e2e
_SESSIONS = 12
_INSERTS = int(os.environ.get("CAUSEWAY_INSERTS", "24"))


def test_concurrent_inserts_lose_no_row(db: str, sql: Sql, connect: Connect) -> None:
    """The sessions are in all workers. Directly, most of the statements would fail in Spark."""
    table = f"{db}.busy"
    sql(f"CREATE TABLE {table} (id INT) USING parquet")
    connections = [connect() for _ in range(_SESSIONS)]

    def insert(session: int) -> None:
        with closing(connections[session].cursor()) as cursor:
            for number in range(session, _INSERTS, _SESSIONS):
                rows(cursor, f"INSERT INTO {table} VALUES ({number})")

    with ThreadPoolExecutor(_SESSIONS) as pool:
        list(pool.map(insert, range(_SESSIONS)))
    assert sorted(sql(f"SELECT id FROM {table}")) == [(each,) for each in range(_INSERTS)]
