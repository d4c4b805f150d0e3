"""One id connects a client's error with the log, the audit log and the cluster. Errors say whether
Causeway, the cluster or the client is to blame."""

import json
import logging
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from conf.settings.operating import Operating
from proxy.statement.analysis.statement_analysis import StatementAnalysis
from tests.proxy.fakes import error_of
from tests.proxy.running import Site, play


def fields(
    caplog: pytest.LogCaptureFixture, text: str
) -> tuple[logging.LogRecord, Mapping[str, str]]:
    (record,) = (each for each in caplog.records if text in each.getMessage())
    return record, record.__dict__["fields"]


def test_an_internal_error_gives_the_client_an_incident_that_the_log_explains(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = []

    async def scenario(site: Site) -> None:
        client = await site.client()

        async def broken(*_: object) -> None:
            raise RuntimeError("a fault")

        monkeypatch.setattr(StatementAnalysis, "analyse", broken)
        failure = error_of(await client.execute("SELECT * FROM e"))
        assert failure is not None
        messages.append(failure)
        monkeypatch.undo()
        assert await client.rows("SELECT * FROM e") == 1

    play(scenario)
    (failure,) = messages
    assert (failure.sqlstate, failure.vendor) == ("XX000", 224)
    found = re.search(r"\[CW224\] .*\(incident ([0-9a-f]{8})\)", failure.message)
    assert found is not None
    record, named = fields(caplog, "internal error while running a statement")
    assert named == {"incident": found[1], "blame": "causeway"}
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert "a fault" in str(record.exc_info[1])


def test_an_internal_error_of_a_call_keeps_the_connection(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(site: Site) -> None:
        client = await site.client(opened=False)

        def broken(*_: object) -> None:
            raise RuntimeError("a fault")

        with monkeypatch.context() as patch:
            patch.setattr("proxy.server.calls.session_calls.new_handle", broken)
            failure = error_of(await client.open())
        assert failure is not None
        assert failure.vendor == 224
        assert error_of(await client.open()) is None
        assert await client.rows("SELECT 1") == 1

    play(scenario)
    record, named = fields(caplog, "internal error while answering OpenSession")
    assert named["blame"] == "causeway"
    assert record.exc_info is not None


@pytest.mark.parametrize(
    ("sql", "blame", "level"),
    [
        ("SELECT * FROM e JOIN w", "client", logging.INFO),
        ("SELECT * FROM w", "cluster", logging.WARNING),
    ],
)
def test_a_failed_statement_names_whom_to_blame(
    sql: str, blame: str, level: int, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG, "proxy")
    audit = tmp_path / "audit"

    async def scenario(site: Site) -> None:
        site.west.dies_at = "ExecuteStatement"
        client = await site.client()
        await client.execute(sql)

    play(scenario, operating=Operating(audit_file=audit))
    record, named = fields(caplog, "statement failed")
    assert (named["blame"], record.levelno) == (blame, level)
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    (line,) = (each for each in lines if each["event"] == "statement")
    assert line["blame"] == blame
    assert (named["statement"], named["session"]) == (line["statement"], line["session"])
    assert named["user"] == "ann"


def test_the_id_of_a_statement_goes_to_a_cluster_that_has_a_guard(tmp_path: Path) -> None:
    audit, seen = tmp_path / "audit", []

    async def scenario(site: Site) -> None:
        site.west.checks = True
        client = await site.client()
        await client.rows("SELECT * FROM w")
        await client.rows("SELECT * FROM e")
        seen.append(site.west.traced["SELECT * FROM w"])
        plain = {**site.one.traced, **site.two.traced}
        assert plain["SELECT * FROM e"] == ""

    play(scenario, operating=Operating(audit_file=audit))
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    (line,) = (each for each in lines if each.get("text") == "SELECT * FROM w")
    assert seen == [line["statement"]]


def test_sessions_are_logged_with_their_ids(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "proxy")

    async def scenario(site: Site) -> None:
        client = await site.client("bob")
        await client.rows("SELECT 1")
        client.close()

    play(scenario)
    _, opened = fields(caplog, "session opened")
    _, closed = fields(caplog, "session closed")
    assert opened == closed
    assert opened["user"] == "bob"
    assert opened["address"] == "127.0.0.1"
