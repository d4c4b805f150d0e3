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


def test_both_kinds_of_settings_say_the_same(
    stack: Stack, days: str, capsys: pytest.CaptureFixture[str]
) -> None:
    query = f"INSERT INTO {days} PARTITION (day = 'wed') SELECT 3"
    _, by_endpoints = _route(stack, capsys, query)
    main(["route", "--conf", str(stack.layout.settings), "--json", query])
    assert json.loads(capsys.readouterr().out) == by_endpoints
    assert by_endpoints["writes"] == [f"{days}@day=wed"]


def test_our_own_statements_are_answered(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    assert _route(stack, capsys, "SHOW CLUSTERS")[1]["decision"] == "answer"
