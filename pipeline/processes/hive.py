"""Hive SQL scripts through a cluster's HiveServer2 (its execute interface), as the submitter.

The parameters are session variables (`hivevar`s), and are filled into the text as well, which
not every server does.
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
    """Runs the statements in one session, in order, until one fails. Raises ScriptFailed."""
    works = statements(fill_in(script, values))
    with _cursor(endpoint, user) as cursor:
        for name, value in sorted(values.items()):
            _declare(cursor, name, value)
        for number, statement in enumerate(works, start=1):
            lease.check()
            lease.log(f"statement {number} of {len(works)}: {statement[:500]}")
            _one(cursor, statement, lease)
    return f"{len(works)} statements on {endpoint}"


def run_statements(
    script: Generator[str, object, None], endpoint: str, user: str, lease: WorkLease
) -> None:
    """Runs the statements that the script yields in one session, and sends it the rows of each.
    Raises ScriptFailed.
    """
    with _cursor(endpoint, user) as cursor:
        rows: object = None
        with suppress(StopIteration):
            while True:
                statement = script.send(rows)
                lease.check()
                lease.log(statement[:500])
                _one(cursor, statement, lease)
                rows = cursor.fetchall() if cursor.description else []


@contextmanager
def _cursor(endpoint: str, user: str) -> Iterator[Any]:
    """A session's cursor. Raises ScriptFailed for every error of the server."""
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
    """Sets a parameter as a session variable, unless SET cannot have its value."""
    if "\n" not in value and ";" not in value:
        cursor.execute(f"SET hivevar:{name}={value}")


def _one(cursor: Any, statement: str, lease: WorkLease) -> None:
    """Runs a statement asynchronously, so that a lost lease can cancel it."""
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
    """The server's own message in PyHive's error."""
    first = error.args[0] if error.args else error
    status = getattr(first, "status", None)
    message = getattr(status, "errorMessage", None) or str(error)
    return str(message)[:4000]
