"""The audit log: one line for each statement, whatever happens to the file."""

import asyncio
import json
import logging
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from conf.logs import batch_thread
from conf.settings.operating import Operating
from conf.settings.security.authentication import Identity, ProxyRule
from proxy.operations.audit import audit_store as module
from proxy.operations.audit.audit_store import AuditLog
from proxy.record.record import Record
from proxy.record.statement_text import StatementText
from tests.proxy.fakes import error_of, until
from tests.proxy.running import Site, play
from thriftcodec.values import STRING, STRUCT, Struct


def record(text: str) -> Record:
    return Record(user="ann", text=StatementText.of(text))


def entries(path: Path) -> list[dict[str, Any]]:
    """All lines of the log."""
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def lines(path: Path) -> list[dict[str, Any]]:
    """The lines of statements."""
    return [each for each in entries(path) if each["event"] == "statement"]


def test_a_moved_or_deleted_file_is_created_again(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    audit = AuditLog(path)
    audit.put(record("1"))
    wait(audit)
    path.rename(tmp_path / "old")
    audit.put(record("2"))
    wait(audit)
    path.unlink()
    audit.put(record("3"))
    audit.close()
    assert [each["text"] for each in lines(tmp_path / "old")] == ["1"]
    assert [each["text"] for each in lines(path)] == ["3"]
    assert path.stat().st_mode & 0o777 == 0o600


def wait(audit: AuditLog) -> None:
    while audit.waiting:
        pass


def test_a_long_file_is_rotated(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path / "audit.log", size=500)
    for number in range(10):
        audit.put(record(str(number)))
        wait(audit)
    audit.close()
    files = list(tmp_path.iterdir())
    assert len(files) > 2
    result = sorted(each["text"] for file in files for each in lines(file))
    assert result == [str(number) for number in range(10)]


def test_a_full_disk_drops_lines_and_logs_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    full, write = threading.Event(), os.write

    def writing(file: int, data: bytes) -> int:
        if full.is_set():
            raise OSError(28, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(module.os, "write", writing)
    audit = AuditLog(tmp_path / "audit.log")
    full.set()
    for number in range(5):
        audit.put(record(str(number)))
        wait(audit)
    assert audit.dropped == 5
    full.clear()
    audit.put(record("5"))
    audit.close()
    assert [each["text"] for each in lines(tmp_path / "audit.log")] == ["5"]
    printed = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert len(printed) == 2
    assert "No space left" in printed[0]
    assert "it lacks 5 lines" in printed[1]


def test_a_partial_line_does_not_spoil_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, half = os.write, iter([20])

    def writing(file: int, data: bytes) -> int:
        return write(file, data[: next(half, len(data))])

    monkeypatch.setattr(module.os, "write", writing)
    audit = AuditLog(tmp_path / "audit.log")
    for text in ("1", "2"):
        audit.put(record(text))
        wait(audit)
    audit.close()
    first, second = (tmp_path / "audit.log").read_text().splitlines()
    assert len(first) == 20
    assert json.loads(second)["text"] == "2"
    assert audit.dropped == 1


def test_the_queue_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    write = os.write

    def writing(file: int, data: bytes) -> int:
        go.wait(60)
        return write(file, data)

    monkeypatch.setattr(module.os, "write", writing)
    monkeypatch.setattr(batch_thread, "MAX_WAITING", 10)
    audit = AuditLog(tmp_path / "audit.log")
    for number in range(100):
        audit.put(record(str(number)))
    assert audit.dropped >= 89
    go.set()
    audit.close()


def test_a_file_that_cannot_be_created_stops_no_statement(tmp_path: Path) -> None:
    async def scenario(site: Site) -> None:
        client = await site.client()
        for _ in range(3):
            assert await client.rows("SELECT 1") == 1

    play(scenario, operating=Operating(audit_file=tmp_path / "nowhere" / "audit.log"))


def test_each_statement_has_one_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"

    async def scenario(site: Site) -> None:
        site.one.fails["SELECT bad FROM e"] = "no such column"
        site.one.counts["SELECT * FROM e"] = 7
        client = await site.client()
        operation = await client.operation("SELECT * FROM e")
        await client.on("FetchResults", operation)
        await client.on("CloseOperation", operation)
        await client.execute("SELECT bad FROM e")
        await client.execute("SELECT * FROM e JOIN w")
        await client.operation("INSERT INTO w SELECT 1")
        await client.operation("SET my.secret.key=hunter2")
        await client.operation("SHOW CLUSTERS")
        await until(lambda: path.exists() and len(lines(path)) == 3)

    play(scenario, operating=Operating(audit_file=path))
    result = {each["text"]: each for each in lines(path)}
    assert list(result) == [
        "SELECT * FROM e",
        "SELECT bad FROM e",
        "SELECT * FROM e JOIN w",
        "INSERT INTO w SELECT 1",
        "SET my.secret.key=***",
        "SHOW CLUSTERS",
    ]
    read = result["SELECT * FROM e"]
    assert read["user"] == "ann"
    assert read["address"] == "127.0.0.1"
    assert read["by"] == read["user"]
    assert (read["reads"], read["writes"]) == (["default.e"], [])
    assert (read["rule"], read["cluster"], read["state"]) == ("inputs", "east", "FINISHED")
    assert read["rows"] == 7
    assert read["bytes"] > 7000
    steps = {"analyse", "decide", "connect", "execute", "first_row", "fetch"}
    assert set(read["phases"]) == steps
    assert 0 < read["seconds"] < 20
    assert result["SELECT bad FROM e"]["state"] == "ERROR"
    assert "no such column" in result["SELECT bad FROM e"]["error"]
    assert read["because"] == "east is a primary cluster of an input and has them all"
    refused = result["SELECT * FROM e JOIN w"]
    assert refused["code"] == "CW104"
    assert refused["because"].startswith("No cluster has all inputs. Tried east, west: ")
    assert [each["obstacles"][0]["table"] for each in refused["considered"]] == [
        "default.w",
        "default.e",
    ]
    assert result["INSERT INTO w SELECT 1"]["writes"] == ["default.w"]
    assert len({each["session"] for each in result.values()}) == 1
    assert len({each["statement"] for each in result.values()}) == 6


def test_impersonation_names_both_users(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    everywhere = frozenset("*")
    rules = {"hue": ProxyRule(everywhere, users=frozenset({"zed"}))}

    async def scenario(site: Site) -> None:
        hue = await site.client("hue", opened=False)
        assert error_of(await hue.open(5, **{"hive.server2.proxy.user": "zed"})) is None
        await hue.on("CloseOperation", await hue.operation("SELECT 1 FROM e"))
        await until(lambda: path.exists() and len(lines(path)) == 1)

    play(scenario, operating=Operating(audit_file=path), identity=Identity(rules=rules))
    assert [(each["user"], each["by"]) for each in lines(path)] == [("zed", "hue")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_statements_run_on_a_full_disk_and_are_counted() -> None:
    async def scenario(site: Site) -> None:
        client = await site.client()
        for _ in range(20):
            await client.on("CloseOperation", await client.operation("SELECT 1"))
        dropped = ("causeway_audit_dropped_total", (), 22)  # with the log-in and the session
        await until(lambda: dropped in site.admin.samples())

    play(scenario, operating=Operating(audit_file=Path("/dev/full")))


def test_logins_sessions_and_metadata_calls(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    everywhere = frozenset("*")
    rules = {"hue": ProxyRule(everywhere, users=frozenset({"zed"}))}

    async def scenario(site: Site) -> None:
        client = await site.client("hue", opened=False)
        requests = {"hive.server2.proxy.user": "zed", "set:hiveconf:a": "secret"}
        assert error_of(await client.open(5, **requests)) is None
        request = Struct({1: (STRUCT, client.session), 3: (STRING, b"de%")})
        await client.call("GetTables", request)
        await client.call("CloseSession", Struct({1: (STRUCT, client.session)}))
        assert error_of(await client.open(5, **{"set:system:a": "b"})) is not None
        await until(lambda: path.exists() and len(entries(path)) == 5)

    play(scenario, operating=Operating(audit_file=path), identity=Identity(rules=rules))
    login, opened, metadata, closed, refused = entries(path)
    assert (login["event"], login["user"], login["address"]) == ("login", "hue", "127.0.0.1")
    assert (login["method"], login["accepted"]) == ("password", True)
    for each in (opened, metadata, closed):
        assert (each["user"], each["by"], each["address"]) == ("zed", "hue", "127.0.0.1")
        assert each["session"] == opened["session"]
    assert opened["event"] == "session_opened"
    assert opened["settings"] == ["set:hiveconf:a"]
    assert "secret" not in path.read_text()
    assert (metadata["event"], metadata["call"]) == ("metadata", "GetTables")
    assert metadata["arguments"] == ["de%"]
    assert closed["event"] == "session_closed"
    assert refused["event"] == "session_refused"
    assert refused["error"].startswith("[CW230]")


def test_administration_is_logged_with_its_caller(tmp_path: Path) -> None:
    path, socket = tmp_path / "audit.log", tmp_path / "s"

    async def scenario(site: Site) -> None:
        for request in (b"GET /v1/sessions", b"GET /metrics", b"POST /v1/clusters/east/drain"):
            reader, writer = await asyncio.open_unix_connection(socket)
            writer.write(request + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 200 " in await reader.read()
            writer.close()
        await until(lambda: path.exists() and len(entries(path)) == 2)

    play(scenario, operating=Operating(audit_file=path, admin_socket=socket))
    requests, drained = entries(path)
    assert (requests["event"], requests["action"]) == ("administration", "GET")
    assert (drained["action"], drained["argument"]) == ("POST", "/v1/clusters/east/drain")
    assert drained["by"] == f"uid {os.getuid()}, process {os.getpid()}"
    assert drained["accepted"] is True


def test_control_characters_are_escaped(tmp_path: Path) -> None:
    audit = AuditLog(tmp_path / "audit.log")
    audit.put(record("SELECT '\x1b[2J\u202e\u2028\x85\ud800'"))
    audit.close()
    text = (tmp_path / "audit.log").read_text()
    assert text.removesuffix("\n").isprintable()
    assert json.loads(text)["text"] == "SELECT '\x1b[2J\u202e\u2028\x85\ud800'"
