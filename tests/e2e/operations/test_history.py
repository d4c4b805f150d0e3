"""The history of the real stack: statements with their decision, partitions and times."""

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from pyhive import hive

from cli.main import main
from cli.server.admin import call
from cli.stack.stack import Stack
from conf.settings.load import load
from tests.e2e.conftest import C1, C2, Connect, rows

pytestmark = pytest.mark.e2e


def test_what_a_user_ran_is_found_by_command_sql_and_rest(
    stack: Stack, connect: Connect, db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with connect(username=f"user_{db}").cursor() as cursor:
        cursor.execute(f"USE {db}")
        cursor.execute("CREATE TABLE t (id INT, ds STRING) USING parquet PARTITIONED BY (ds)")
        cursor.execute("INSERT INTO t PARTITION (ds = '2026-01-01') VALUES (1), (2)")
        cursor.execute("INSERT INTO t PARTITION (ds = '2026-01-02') VALUES (3)")
        cursor.execute("SELECT id FROM t WHERE ds > '2026-01-01'")
        assert rows(cursor) == [(3,)]
        cursor.execute(f"USE CLUSTER {C2}")
        with pytest.raises(hive.OperationalError, match="CW105"):
            cursor.execute("SELECT id FROM t")
        cursor.execute("USE CLUSTER")
        shown = until(lambda: shown_by(cursor), lambda found: "SELECT id FROM t" in found)
    assert shown["SELECT id FROM t WHERE ds > '2026-01-01'"][:2] == ("FINISHED", C1)

    arguments = ["history", "--conf", str(stack.layout.settings), "--table", f"{db}.t", "--json"]
    assert main(arguments) == 0
    found = {each["text"]: each for each in json.loads(capsys.readouterr().out)["statements"]}
    written = found["INSERT INTO t PARTITION (ds = '2026-01-01') VALUES (1), (2)"]
    assert written["writes"] == [{"table": f"{db}.t", "partitions": 1, "first": ["ds=2026-01-01"]}]
    read = found["SELECT id FROM t WHERE ds > '2026-01-01'"]
    assert read["reads"] == [{"table": f"{db}.t", "partitions": 1, "first": ["ds=2026-01-02"]}]
    assert (read["rows"], read["database"], read["cluster"]) == (1, db, C1)
    assert {"analyse", "decide", "connect", "execute", "first_row", "fetch"} <= set(read["phases"])
    assert read["because"]

    query = urlencode({"user": f"user_{db}", "refused": "true"})
    (refused,) = call(load(stack.layout.settings).operating, "GET", f"/v1/history?{query}")[
        "statements"
    ]
    assert (refused["text"], refused["code"]) == ("SELECT id FROM t", "CW105")
    group = refusals(stack, f"{db}.t")
    assert (group["cluster"], group["kind"], group["freed"]) == (C2, "absent", 1)
    assert group["examples"] == [refused["statement"]]
    obstacles = [each for one in refused["considered"] for each in one["obstacles"]]
    assert {each["table"] for each in obstacles} == {f"{db}.t"}


def refusals(stack: Stack, table: str) -> dict[str, Any]:
    """The records of refusals that name the table."""
    answer = call(load(stack.layout.settings).operating, "GET", "/v1/history/refusals?limit=1000")
    (found,) = (each for each in answer["refusals"] if each["table"] == table)
    return dict(found)


def shown_by(cursor: hive.Cursor) -> dict[str, tuple[Any, ...]]:
    """State and cluster of the user's own statements by text."""
    cursor.execute("SHOW STATEMENTS LIMIT 20")
    return {text: (state, cluster) for _, _, text, state, _, cluster, *_ in rows(cursor)}


def until(ask: Callable[[], Any], is_there: Callable[[Any], bool]) -> Any:
    """Waits for a fitting answer: the history has a statement within a second of its end."""
    deadline = time.monotonic() + 60
    while not is_there(found := ask()):
        assert time.monotonic() < deadline, found
        time.sleep(0.2)
    return found
