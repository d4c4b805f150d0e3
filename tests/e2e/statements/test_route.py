"""`causeway route` decides as the proxy does, without running anything."""

import json
from typing import Any

import pytest

from cli.main import main
from cli.stack.stack import Stack
from tests.e2e.conftest import C1, C2, Sql

pytestmark = pytest.mark.e2e


@pytest.fixture
def days(db: str, sql: Sql) -> str:
    """A table by day in c2."""
    name = f"{db}.days"
    sql(
        f"USE CLUSTER {C2}",
        f"CREATE TABLE {name} (id INT, day STRING) USING parquet PARTITIONED BY (day)",
        f"INSERT INTO {name} VALUES (1, 'mon'), (2, 'tue')",
    )
    return name


def _route(stack: Stack, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    capsys.readouterr()
    status = main(["route", "--endpoints", str(stack.layout.endpoints), "--json", *words])
    return status, json.loads(capsys.readouterr().out)


def test_partitions_read_are_named(
    stack: Stack, days: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, report = _route(stack, capsys, f"SELECT * FROM {days} WHERE day = 'mon'")
    assert status == 0
    assert report["decision"] == "run"
    assert report["cluster"] == C2
    assert report["reads"] == [f"{days}@day=mon"]
    assert report["writes"] == []
    assert report["code"] is None
    assert [(each["cluster"], each["chosen"]) for each in report["considered"]] == [(C2, True)]
    states = {each["cluster"]: (each["state"], each["partitions"]) for each in report["tables"]}
    assert (states[C1], states[C2]) == (("absent", 1), ("primary", 1))


def test_a_pin_and_a_database(stack: Stack, days: str, capsys: pytest.CaptureFixture[str]) -> None:
    database = days.partition(".")[0]
    options = ("--use", C1, "--database", database)
    status, report = _route(stack, capsys, *options, "SELECT * FROM days")
    assert status == 3
    assert report["decision"] == "refuse"
    assert report["code"] == "CW105"


def test_both_kinds_of_settings_files_have_the_same_decision(
    stack: Stack, days: str, capsys: pytest.CaptureFixture[str]
) -> None:
    query = f"INSERT INTO {days} PARTITION (day = 'wed') SELECT 3"
    _, by_endpoints = _route(stack, capsys, query)
    main(["route", "--conf", str(stack.layout.settings), "--json", query])
    assert json.loads(capsys.readouterr().out) == by_endpoints
    assert by_endpoints["writes"] == [f"{days}@day=wed"]


def test_causeways_statements_are_answered(
    stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _route(stack, capsys, "SHOW CLUSTERS")[1]["decision"] == "answer"


def test_the_lag_of_a_copy(stack: Stack, db: str, sql: Sql) -> None:
    """The lag begins with the first of the writes that the copy misses."""
    table = f"{db}.lagging"
    sql(
        f"USE CLUSTER {C1}",
        f"CREATE TABLE {table} (id INT, day STRING) USING parquet PARTITIONED BY (day)",
        f"INSERT INTO {table} PARTITION (day = 'mon') SELECT 1",
        f"INSERT INTO {table} PARTITION (day = 'tue') SELECT 2",
    )
    copy = f"{C2}={stack.layout.warehouse(C2) / 'lagging'}"
    main(["table", "assign", table, "--copy", copy, "--endpoints", str(stack.layout.endpoints)])

    def shown() -> dict[tuple[str | None, str], tuple[Any, ...]]:
        return {(row[1], row[2]): row[3:] for row in sql(f"SHOW COPIES OF {table}")}

    assert shown()[None, C2][:7] == ("fresh", "0", "2", "0", "0", None, None)
    sql(f"INSERT INTO {table} PARTITION (day = 'mon') SELECT 3")
    first = shown()
    state, *counts, since, lag = first[None, C2][:7]
    assert (state, counts) == ("stale", ["0", "1", "1", "0"])
    assert since == first["day=mon", C2][5]
    assert first["day=tue", C2][0] == "fresh"
    assert 0 < float(lag) < 600
    sql(f"INSERT INTO {table} PARTITION (day = 'mon') SELECT 4")
    again = shown()[None, C2]
    assert (again[5], float(again[6]) > float(lag)) == (since, True)
    explained = {row[1]: row for row in sql(f"EXPLAIN CLUSTER EXTENDED SELECT * FROM {table}")}
    assert explained[C1][2] == "primary"
    assert explained[C2][2:10] == ("stale", "2", "0", "1", "1", "0", "day=mon", since)
