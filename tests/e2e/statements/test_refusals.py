"""Every client receives refusals as ordinary errors of a statement, and its session continues."""

import subprocess
from collections.abc import Callable

import pytest
from pyhive.exc import OperationalError

from tests.e2e.conftest import C1, C2, C3, Connect, Sql, Tables, rows

pytestmark = pytest.mark.e2e

Beeline = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def apart(db: str, sql: Sql) -> tuple[str, str]:
    """A table by day in c1 and one without partitions in c2: no cluster has both."""
    days, whole = f"{db}.days", f"{db}.whole"
    sql(
        f"CREATE TABLE {days} (id INT, day STRING) USING parquet PARTITIONED BY (day)",
        f"INSERT INTO {days} VALUES (1, 'mon'), (2, 'tue'), (3, 'wed')",
    )
    sql(f"USE CLUSTER {C2}", f"CREATE TABLE {whole} USING parquet AS SELECT 1 AS id")
    return days, whole


def _status(error: OperationalError) -> tuple[str, str]:
    """The error's text and SQLSTATE as PyHive returns them."""
    status = error.args[0].status
    return status.errorMessage, status.sqlState


def test_pyhive_gets_code_state_and_advice(connect: Connect, apart: tuple[str, str]) -> None:
    days, whole = apart
    cursor = connect().cursor()
    with pytest.raises(OperationalError) as caught:
        rows(cursor, f"SELECT * FROM {days} JOIN {whole} USING (id)")
    text, state = _status(caught.value)
    assert "CW104" in text
    assert state == "0A000"
    for word in (days, whole, C1, C2, "3"):
        assert word in text
    assert rows(cursor, f"SELECT count(*) FROM {days}") == [(3,)]


def test_a_copy_of_the_partition_that_is_read_is_enough(
    sql: Sql, tables: Tables, apart: tuple[str, str]
) -> None:
    days, whole = apart
    tables.copy(days, C2, "day=mon")
    assert sql(f"SELECT id FROM {days} JOIN {whole} USING (id) WHERE day = 'mon'") == [(1,)]
    with pytest.raises(OperationalError, match=r"CW104.*day=(tue|wed)"):
        sql(f"SELECT id FROM {days} JOIN {whole} USING (id) WHERE day >= 'mon'")


def test_the_statement_of_the_hint_copies_all_partitions_that_are_needed(
    sql: Sql, db: str, apart: tuple[str, str]
) -> None:
    _, whole = apart
    hours = f"{db}.hours"
    days = [f"2026-01-0{day}" for day in range(1, 8)]
    values = ", ".join(f"(1, '{day}', {hour})" for day in days for hour in (9, 10))
    sql(
        f"CREATE TABLE {hours} (id INT, day STRING, hour INT) USING parquet"
        " PARTITIONED BY (day, hour)",
        f"INSERT INTO {hours} VALUES {values}",
    )
    query = f"SELECT day FROM {hours} JOIN {whole} USING (id) WHERE hour = 9 AND day > '2026-01-02'"
    with pytest.raises(OperationalError) as caught:
        sql(f"USE CLUSTER {C2}", query)
    text, _ = _status(caught.value)
    assert f"{hours} has 5 partitions missing" in text
    copy = text.partition("For example: ")[2].partition(" -- ")[0]
    assert copy.count("PARTITION (") == 5
    [(message,)] = sql(copy)
    assert message.startswith("5 copied")
    assert sorted(sql(f"USE CLUSTER {C2}", query)) == [(day,) for day in days[2:]]
    with pytest.raises(OperationalError, match=rf"CW105.*{hours} has 1 partition missing"):
        sql(f"USE CLUSTER {C2}", f"SELECT * FROM {hours} WHERE day = '2026-01-03'")


def test_the_default_partition_is_copied_by_its_name(
    sql: Sql, db: str, apart: tuple[str, str]
) -> None:
    days, whole = apart
    sql(f"INSERT INTO {days} VALUES (1, NULL)")
    query = f"SELECT id FROM {days} JOIN {whole} USING (id) WHERE day IS NULL"
    with pytest.raises(OperationalError, match="CW104"):
        sql(query)
    null = "__HIVE_DEFAULT_PARTITION__"
    [(message,)] = sql(f"ALTER TABLE {days} PARTITION (day = '{null}') COPY {C1} TO {C2}")
    assert message.startswith("1 copied")
    assert sql(query) == [(1,)]


def test_beeline_shows_the_refusal_and_goes_on(beeline: Beeline, apart: tuple[str, str]) -> None:
    days, whole = apart
    done = beeline(
        f"SELECT * FROM {days} JOIN {whole} USING (id);",
        f"SELECT concat('rows ', count(*)) FROM {days};",
        options=("--force=true",),
    )
    assert "CW104" in done.stderr
    assert "0A000" in done.stderr
    assert "rows 3" in done.stdout


def test_a_statement_of_the_backend_fails_as_it_does_directly(
    connect: Connect, apart: tuple[str, str]
) -> None:
    refusals: list[set[tuple[str, str]]] = []
    for cluster in (None, C1):
        cursor = connect(cluster).cursor()
        seen = set()
        # Often, since the Thrift Server may report the failure before it has the reason.
        for _ in range(15):
            with pytest.raises(OperationalError) as caught:
                rows(cursor, f"SELECT no_such_column FROM {apart[0]}")
            text, state = _status(caught.value)
            seen.add((text[:80], state))
        refusals.append(seen)
    assert refusals[0] == refusals[1]
    assert len(refusals[0]) == 1


def test_statements_that_are_not_understood_are_refused_by_name(connect: Connect) -> None:
    cursor = connect().cursor()
    with pytest.raises(OperationalError, match=r"CW101"):
        rows(cursor, "SELECT * FROM cat.d.t")
    with pytest.raises(OperationalError, match=r"CW101"):
        rows(cursor, f"USE CLUSTER {C3}", "INSERT INTO d.t SELECT * FROM cat.d.t")
    assert rows(cursor, "USE CLUSTER", "SELECT 1") == [(1,)]
