"""The history of a running proxy: its rows, and that no statement waits for its database."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from conf.logs import batch_thread
from conf.settings.operating import Operating
from conf.settings.security.authentication import Identity, ProxyRule
from database.errors import StoreUnavailable
from database.history import history_thread
from database.history.history_store import HistoryStore
from database.history.history_thread import Retention
from database.history.search import Search
from proxy.operations.history import history_runner as module
from proxy.operations.history.history_runner import HistoryRunner
from tests.proxy.fakes import column_length, error_of, until
from tests.proxy.operations.history.records import record
from tests.proxy.running import Site, play
from thriftcodec.values import MAP, STRING, STRUCT, Pairs, Struct


def statements(url: str) -> list[dict[str, Any]]:
    """All rows, the oldest first."""
    page: list[dict[str, Any]] = HistoryStore(url).page(Search())["statements"]
    return page[::-1]


def written(history: HistoryRunner) -> None:
    """Waits until nothing is queued."""
    while history.waiting:
        time.sleep(0.01)


async def there(site: Site, count: int) -> None:
    """Waits until the history has so many statements."""
    history = site.admin._server.observer.history
    assert history is not None
    while len((await history.page({}))["statements"]) < count:  # noqa: ASYNC110
        await asyncio.sleep(0.05)


def test_each_statement_that_ended_is_kept(url: str) -> None:
    everywhere = frozenset("*")
    rules = {"hue": ProxyRule(everywhere, users=frozenset({"zed"}))}

    async def scenario(site: Site) -> None:
        site.one.fails["SELECT bad FROM default.e"] = "no such column"
        site.one.counts["SELECT * FROM default.e"] = 7
        client = await site.client("hue", opened=False)
        assert error_of(await client.open(5, **{"hive.server2.proxy.user": "zed"})) is None
        named: Any = [(b"ApplicationName", b"reports")]
        properties = Struct({1: (STRUCT, client.session), 2: (MAP, Pairs(STRING, STRING, named))})
        await client.call("SetClientInfo", properties)
        await client.operation("USE sales")
        operation = await client.operation("SELECT * FROM default.e")
        assert column_length(await client.on("FetchResults", operation)) == 7
        await client.on("CloseOperation", operation)
        await client.execute("SELECT bad FROM default.e")
        await client.execute("SELECT * FROM default.e JOIN default.w")
        await client.operation("INSERT INTO default.w SELECT 1")
        assert await client.rows("SHOW CLUSTERS") == 2
        await there(site, 6)

    play(scenario, operating=Operating(history_store=url), identity=Identity(rules=rules))
    used, read, failed, refused, write, own = statements(url)
    assert (read["user"], read["by"], read["address"]) == ("zed", "hue", "127.0.0.1")
    assert (read["application"], read["database"]) == ("reports", "sales")
    assert used["database"] == "default"
    assert read["text"] == "SELECT * FROM default.e"
    assert (read["rule"], read["cluster"], read["state"]) == ("inputs", "east", "FINISHED")
    assert read["because"]
    assert [each["cluster"] for each in read["considered"]] == ["east"]
    assert read["reads"] == [{"table": "default.e", "partitions": None, "first": []}]
    assert (read["rows"], read["closed"]) == (7, True)
    assert read["bytes"] > 7000
    phases = {"analyse", "decide", "connect", "execute", "first_row", "fetch"}
    assert set(read["phases"]) == phases
    assert (failed["state"], failed["refused"]) == ("ERROR", False)
    assert "no such column" in failed["error"]
    assert (refused["code"], refused["refused"], refused["cluster"]) == ("CW104", True, "")
    kinds = {obstacle["kind"] for each in refused["considered"] for obstacle in each["obstacles"]}
    assert kinds == {"absent"}
    assert write["writes"] == [{"table": "default.w", "partitions": None, "first": []}]
    assert (own["text"], own["rows"]) == ("SHOW CLUSTERS", 2)
    assert own["bytes"] > 0
    assert len({each["session"] for each in (read, failed, refused, write, own)}) == 1


def test_statements_without_an_operation_are_kept(url: str, tmp_path: Path) -> None:
    audit = tmp_path / "audit.log"

    async def scenario(site: Site) -> None:
        ann, bob = await site.client("ann"), await site.client("bob")
        bob.session = ann.session
        assert error_of(await bob.execute("SELECT 'of another'")) is not None
        overlay: Any = [(b"hive.server2.proxy.user", b"bob")]
        request = {
            1: (STRUCT, ann.session),
            2: (STRING, b"SELECT 1"),
            3: (MAP, Pairs(STRING, STRING, overlay)),
        }
        assert error_of(await ann.call("ExecuteStatement", Struct(request))) is not None
        await there(site, 2)

    play(scenario, operating=Operating(history_store=url, audit_file=audit))
    foreign, denied = statements(url)
    assert (foreign["user"], foreign["address"], foreign["state"]) == ("bob", "127.0.0.1", "ERROR")
    assert foreign["text"] == "SELECT 'of another'"
    assert foreign["refused"]
    assert foreign["closed"]
    assert foreign["error"].startswith("Invalid SessionHandle")
    assert foreign["session"] == denied["session"]
    assert (denied["user"], denied["refused"]) == ("ann", True)
    assert denied["code"]
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    logged = [each for each in lines if each["event"] == "statement"]
    assert {each["statement"] for each in logged} == {foreign["statement"], denied["statement"]}


def test_show_statements_lists_the_users_own(tmp_path: Path) -> None:
    async def scenario(site: Site) -> None:
        ann, bob = await site.client("ann"), await site.client("bob")
        for number in range(3):
            await ann.operation(f"SELECT {number} FROM e")
        await bob.operation("SELECT 'secret' FROM e")
        await there(site, 4)
        assert await ann.rows("SHOW STATEMENTS") == 3
        assert await ann.rows("show statements limit 2") == 2
        assert await bob.rows("SHOW STATEMENTS") == 1
        refused = error_of(await ann.execute("SHOW STATEMENTS LIMIT 0"))
        assert refused is not None
        assert refused.message.startswith("[CW228]")

    play(scenario, operating=Operating(history_store=str(tmp_path / "history.db")))


def test_without_a_history_show_statements_says_so() -> None:
    async def scenario(site: Site) -> None:
        failure = error_of(await (await site.client()).execute("SHOW STATEMENTS"))
        assert failure is not None
        assert "history.store is not set" in failure.message

    play(scenario)


def test_the_api_has_pages(tmp_path: Path) -> None:
    socket = tmp_path / "s"

    async def get(path: str) -> tuple[int, Any]:
        reader, writer = await asyncio.open_unix_connection(socket)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
        writer.close()
        return int(head.split()[1]), json.loads(body)

    async def scenario(site: Site) -> None:
        client = await site.client()
        for number in range(3):
            await client.operation(f"SELECT {number} FROM e")
        await there(site, 3)
        status, page = await get("/v1/history?table=default.e&limit=2")
        assert status == 200
        assert [each["text"][7] for each in page["statements"]] == ["2", "1"]
        _, last = await get(f"/v1/history?table=default.e&limit=2&before={page['next']}")
        assert [each["text"][7] for each in last["statements"]] == ["0"]
        assert last["next"] is None
        status, body = await get("/v1/history?since=yesterday")
        assert status == 409
        assert body["error"].startswith("[CW228]")

    operating = Operating(history_store=str(tmp_path / "history.db"), admin_socket=socket)
    play(scenario, operating=operating)


def test_no_statement_waits_for_a_database_that_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def opened(url: str) -> HistoryStore:
        asked.append(time.monotonic())
        time.sleep(30)
        raise StoreUnavailable("never reached")

    monkeypatch.setattr(history_thread, "HistoryStore", opened)
    monkeypatch.setattr(module, "_TIMEOUT", 0.2)
    monkeypatch.setattr(batch_thread, "_CLOSE", 0.1)

    async def scenario(site: Site) -> None:
        client = await site.client()
        await client.operation("SELECT 1")
        await until(lambda: bool(asked))
        for _ in range(20):
            await client.on("CloseOperation", await client.operation("SELECT 1"))
        failure = error_of(await client.execute("SHOW STATEMENTS"))
        assert failure is not None
        assert failure.message.startswith("[CW726]")

    play(scenario, operating=Operating(history_store=str(tmp_path / "history.db")))


def test_statements_wait_in_memory_until_the_database_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(history_thread, "_RETRY", 0.02)
    blocked = tmp_path / "file"
    blocked.write_text("")  # no folder can be made here
    history = HistoryRunner(str(blocked / "history.db"), "proxy1")
    history.start()
    for number in range(5):
        history.ended(record(number), ())
    while not caplog.records:
        time.sleep(0.01)
    blocked.unlink()
    written(history)
    history.close()
    assert len(statements(str(blocked / "history.db"))) == 5
    assert history.dropped == 0
    assert [each.message.split(":")[0] for each in caplog.records] == [
        "the history cannot be written",
        "the history is written again; it lacks 0 entries",
    ]


def test_statements_that_a_dead_database_cannot_store_are_dropped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_thread, "MAX_WAITING", 10)
    (tmp_path / "file").write_text("")
    history = HistoryRunner(str(tmp_path / "file" / "history.db"), "proxy1")
    history.start()
    for number in range(100):
        history.ended(record(number), ())
    assert history.dropped == 90
    history.close()
    assert history.dropped == 100


def test_a_row_that_the_database_refuses_loses_no_other_row(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = module.row_of

    def row_of(*args: Any) -> Any:
        row = original(*args)
        return row | ({"session": None} if row["statement"].endswith("3") else {})

    monkeypatch.setattr(module, "row_of", row_of)
    history = HistoryRunner(url, "proxy1")
    history.start()
    for number in range(5):
        history.ended(record(number), ())
    history.close()
    assert [each["statement"][-1] for each in statements(url)] == ["0", "1", "2", "4"]
    assert history.dropped == 1


def test_old_statements_are_deleted_when_nothing_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_thread, "_TIDY", 0.02)
    url = str(tmp_path / "history.db")
    history = HistoryRunner(url, "proxy1", Retention(age=3600.0))
    history.start()
    history.ended(record(1), ())
    history.ended(record(2, began=time.time()), ())
    written(history)
    while len(statements(url)) > 1:
        time.sleep(0.02)
    history.close()
    assert [each["statement"] for each in statements(url)] == ["00000002"]


@pytest.mark.slow
def test_several_processes_write_one_history(tmp_path: Path) -> None:
    url = str(tmp_path / "history.db")  # which both create
    writers = [_process(url, "15", str(100 * number)) for number in range(2)]
    for each in writers:
        _line(each, "ready")
        each.communicate("\n", timeout=60)
        assert each.returncode == 0
    assert len(statements(url)) == 30


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_was_written(tmp_path: Path) -> None:
    url = str(tmp_path / "history.db")
    HistoryStore(url)
    process = _process(url, "25", "0")
    _line(process, "ready")
    while len(statements(url)) < 25:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert len(statements(url)) == 25


def _process(url: str, count: str, first: str) -> "subprocess.Popen[str]":
    """A process that puts records into a history, says so, and ends when it reads a line."""
    command = [sys.executable, "-c", _WRITER, url, count, first]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, close_fds=True
    )


def _line(process: "subprocess.Popen[str]", expected: str) -> None:
    assert process.stdout is not None
    assert process.stdout.readline().strip() == expected


_WRITER = """
import sys
from proxy.operations.history.history_runner import HistoryRunner
from tests.proxy.operations.history.records import record

url, count, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
history = HistoryRunner(url, "proxy1")
history.start()
for number in range(first, first + count):
    history.ended(record(number), ())
print("ready", flush=True)
sys.stdin.readline()
history.close()
"""
