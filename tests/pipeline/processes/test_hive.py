"""Hive scripts over a fake connection."""

from types import SimpleNamespace
from typing import Any

import pytest
from pyhive import hive
from TCLIService.ttypes import TOperationState

from pipeline.errors import LeaseLost
from pipeline.processes.errors import CannotRun, ScriptFailed
from pipeline.processes.hive import run_sql
from tests.pipeline.processes.lease import WorkLease


class Session:
    """A connection and its cursor. `states` has the results of a statement's polls, in order."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.states: dict[str, list[int]] = {}
        self.message = "Table or view not found: x"
        self.cancelled = self.closed = 0
        self.polled = lambda: None
        self._left: list[int] = []

    def cursor(self) -> "Session":
        return self

    def close(self) -> None:
        self.closed += 1

    def execute(self, statement: str, async_: bool = False) -> None:
        self.statements.append(statement)
        default = [TOperationState.RUNNING_STATE, TOperationState.FINISHED_STATE]
        self._left = list(self.states.get(statement, default))

    def poll(self) -> Any:
        self.polled()
        state = self._left.pop(0) if len(self._left) > 1 else self._left[0]
        return SimpleNamespace(operationState=state, errorMessage=self.message)

    def cancel(self) -> None:
        self.cancelled += 1


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    made = Session()

    def connect(host: str, port: int, username: str) -> Session:
        assert (host, port, username) == ("server", 10000, "ann")
        return made

    monkeypatch.setattr(hive, "connect", connect)
    monkeypatch.setattr("pipeline.processes.hive._POLL_SECONDS", 0.01)
    return made


def run(script: str, lease: WorkLease, **values: str) -> str:
    return run_sql(script, values, "server:10000", "ann", lease)


def test_statements_run_in_one_session_in_order(session: Session) -> None:
    lease = WorkLease()
    done = run("SELECT ${a}; SELECT '${hivevar:b}';", lease, a="1", b="x")
    assert session.statements == ["SET hivevar:a=1", "SET hivevar:b=x", "SELECT 1", "SELECT 'x'"]
    assert done == "2 statements on server:10000"
    assert session.closed == 1
    assert len(lease.lines) == 2


def test_a_failing_statement_ends_the_script_with_the_servers_message(session: Session) -> None:
    session.states["SELECT 2"] = [TOperationState.RUNNING_STATE, TOperationState.ERROR_STATE]
    with pytest.raises(ScriptFailed, match="Table or view not found: x"):
        run("SELECT 1; SELECT 2; SELECT 3", WorkLease())
    assert session.statements == ["SELECT 1", "SELECT 2"]
    assert session.closed == 1


def test_an_error_has_the_servers_own_message(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = SimpleNamespace(errorMessage="ParseException: no viable alternative")

    def execute(statement: str, async_: bool = False) -> None:
        raise hive.OperationalError(SimpleNamespace(status=status))

    monkeypatch.setattr(session, "execute", execute)
    with pytest.raises(ScriptFailed, match="server:10000: ParseException: no viable"):
        run("SELEC", WorkLease())


def test_a_lost_lease_cancels_the_statement(session: Session) -> None:
    lease = WorkLease()
    session.states["SELECT 1"] = [TOperationState.RUNNING_STATE]
    session.polled = lease.lose
    with pytest.raises(LeaseLost):
        run("SELECT 1; SELECT 2", lease)
    assert session.cancelled == 1
    assert session.statements == ["SELECT 1"]


def test_a_bad_endpoint_is_refused() -> None:
    with pytest.raises(CannotRun, match="is not host:port"):
        run_sql("SELECT 1", {}, "server", "ann", WorkLease())
