"""Runs Hive SQL through a cluster's HiveServer2 (its execute interface), as the submitter.

The parameters are set as session variables (`hivevar`), and are also replaced in the script,
because not every server does that.
"""

import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any

from pipeline.lease import WorkLease
from pipeline.processes.errors import CannotRun, ScriptFailed
from pipeline.processes.script import fill_in, statements

_POLL_SECONDS = 0.2


def run_sql(
    script: str, values: Mapping[str, str], endpoint: str, user: str, lease: WorkLease
) -> str:
    """Runs the statements of a script in one session, in order; returns a line of text about it.
    Raises ScriptFailed, LeaseLost.
    """
    sql_statements = statements(fill_in(script, values))
    with _cursor(endpoint, user) as cursor:
        for name, value in sorted(values.items()):
            _declare(cursor, name, value)
        for number, statement in enumerate(sql_statements, start=1):
            lease.check()
            lease.log(f"statement {number} of {len(sql_statements)}: {statement[:500]}")
            _run_statement(cursor, statement, lease)
    return f"{len(sql_statements)} statements on {endpoint}"


def run_statements(
    script: Generator[str, object, None], endpoint: str, user: str, lease: WorkLease
) -> None:
    """Runs the statements that `script` yields in one session, and sends it the rows of each.
    Raises ScriptFailed, LeaseLost.
    """
    with _cursor(endpoint, user) as cursor:
        rows: object = None
        with suppress(StopIteration):
            while True:
                statement = script.send(rows)
                lease.check()
                lease.log(statement[:500])
                _run_statement(cursor, statement, lease)
                rows = cursor.fetchall() if cursor.description else []


@contextmanager
def _cursor(endpoint: str, user: str) -> Iterator[Any]:
    """The cursor of a new session. Errors of the server are raised as ScriptFailed."""
    from pyhive import hive
    from thrift.Thrift import TException

    host, _, port = endpoint.rpartition("/")[2].rpartition(":")
    if not host or not port.isdigit():
        raise CannotRun(f"execute interface {endpoint!r} is not host:port", final=True)
    try:
        with closing(hive.connect(host, int(port), username=user)) as connection:
            yield connection.cursor()
    except (hive.Error, TException, OSError) as error:
        raise ScriptFailed(f"{endpoint}: {_reason(error)}") from error


def _declare(cursor: Any, name: str, value: str) -> None:
    """Sets a parameter as a session variable, unless SET does not accept its value."""
    if "\n" not in value and ";" not in value:
        cursor.execute(f"SET hivevar:{name}={value}")


def _run_statement(cursor: Any, statement: str, lease: WorkLease) -> None:
    """Runs a statement and waits for its end. It is cancelled if the lease is lost."""
    from TCLIService.ttypes import TOperationState

    ended = (TOperationState.FINISHED_STATE, TOperationState.CLOSED_STATE)
    lost = threading.Event()
    lease.on_loss(lost.set)
    cursor.execute(statement, async_=True)
    while True:
        status = cursor.poll()
        state = status.operationState
        if state in ended:
            return
        if state in (TOperationState.ERROR_STATE, TOperationState.CANCELED_STATE):
            raise ScriptFailed(str(status.errorMessage or "the statement was cancelled")[:4000])
        if lost.wait(_POLL_SECONDS):
            with suppress(Exception):
                cursor.cancel()
            lease.check()


def _reason(error: Exception) -> str:
    """The server's message in an error of PyHive."""
    first = error.args[0] if error.args else error
    status = getattr(first, "status", None)
    message = getattr(status, "errorMessage", None) or str(error)
    return str(message)[:4000]
