"""`SET causeway.fetch.missing`: the proxy copies what a refused query lacks, and the query runs."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pyhive.exc import OperationalError
from TCLIService.ttypes import TOperationState

from cli.stack.stack import Stack
from tests.e2e.clients.test_examples import WHERE
from tests.e2e.conftest import C2, Sql, rows
from tests.e2e.operations.proxy_site import Site

pytestmark = pytest.mark.e2e
_RUNNING = (TOperationState.INITIALIZED_STATE, TOperationState.RUNNING_STATE)


@pytest.fixture
def site(stack: Stack, tmp_path: Path) -> Iterator[Site]:
    """A proxy of its own that copies data on demand, which it keeps for a second."""
    with ExitStack() as exits:
        there = Site(stack, tmp_path, exits, forwarded=False)
        there.configure(
            there.endpoints[:1], 'router.fetch.limit = "1g"', 'router.fetch.keep = "1s"'
        )
        there.start()
        yield there


def run(cursor: Any, statement: str) -> tuple[list[Any], list[str]]:
    """The rows of a statement and its log, as a polling client reads them."""
    cursor.execute(statement, async_=True)
    log = []
    while cursor.poll().operationState in _RUNNING:
        log += cursor.fetch_logs()
        time.sleep(0.1)
    log += cursor.fetch_logs()
    return cursor.fetchall(), log


def test_the_data_of_a_refused_join_is_copied_for_it(site: Site, db: str, sql: Sql) -> None:
    values = ", ".join(f"({n}, '{n}')" for n in range(6))
    sql(
        f"CREATE TABLE {db}.t11 (id INT) USING parquet PARTITIONED BY (ds STRING)",
        f"INSERT INTO {db}.t11 VALUES {values}",
        f"USE CLUSTER {C2}",
        f"CREATE TABLE {db}.t21 USING parquet AS SELECT CAST(id AS INT) AS id FROM range(4000)",
    )
    cursor = site.connect().cursor()
    rows(cursor, f"USE {db}")
    join = f"SELECT {WHERE}, t11.id FROM t11 JOIN t21 USING (id) WHERE ds IN ('1', '2', '3')"
    there = [(C2, 1), (C2, 2), (C2, 3)]
    with pytest.raises(OperationalError, match="CW104"):
        rows(cursor, join)

    rows(cursor, "SET causeway.fetch.missing = 1", f"USE CLUSTER {C2}")
    with pytest.raises(OperationalError, match=r"CW614.* and 1 bytes are allowed"):
        rows(cursor, join)  # the files were measured
    rows(cursor, "USE CLUSTER", "ANALYZE TABLE t11 COMPUTE STATISTICS NOSCAN")
    with pytest.raises(OperationalError, match=r"allows 1 bytes, and the query lacks"):
        rows(cursor, join)

    rows(cursor, "SET causeway.fetch.missing = 100mb")
    (explained,) = rows(cursor, f"EXPLAIN CLUSTER {join}")
    assert explained[0] == "refuse"
    found, log = run(cursor, join)
    assert sorted(found) == there
    assert any(f"Copying 3 partitions of {db}.t11" in line for line in log)
    again, log = run(cursor, join)
    assert sorted(again) == there
    assert not any("Copying" in line for line in log)

    rows(cursor, "SET causeway.fetch.missing = 0")
    with pytest.raises(OperationalError, match="CW104"):
        rows(cursor, join.replace("'1',", "'0',"))  # another partition was not copied
    assert sorted(rows(cursor, join)) == there
    rows(cursor, "INSERT INTO t11 VALUES (3, '3')")
    with pytest.raises(OperationalError, match="CW104"):
        rows(cursor, join)
    rows(cursor, "SET causeway.fetch.missing = 100mb", f"USE CLUSTER {C2}")
    assert sorted(rows(cursor, join)) == [*there, (C2, 3)]

    command = ("-m", "cli.main", "copy", "sweep", f"{db}.t11", "--conf", str(site.conf))
    time.sleep(1)  # the time to live
    swept = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=120, check=True
    )
    assert swept.stdout.startswith("3 expired")
    rows(cursor, "SET causeway.fetch.missing = 0", "USE CLUSTER")
    with pytest.raises(OperationalError, match="CW104"):
        rows(cursor, join)
