"""The ids that log lines carry: of the statement, session, connection, copy or instance.

Theory: the ids of what a task works on are kept in a context variable. A task that is started
inherits them, a thread of `asyncio.to_thread` too, and the formatters (`conf.logs.logs`) write them
with each line. So a line names its statement wherever in the code it is written. One id leads
through everything that belongs to a statement: the field `statement` here, in the audit log and in
`causeway admin statements`, and the beginning of the job's description in Spark's UI.
"""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_FIELDS: ContextVar[Mapping[str, str]] = ContextVar("log_fields")
_NONE: Mapping[str, str] = {}
_VARIABLE = "CAUSEWAY_LOG_FIELDS"


def add_log_fields(**fields: str) -> None:
    """Adds fields to all further lines of this task and of the tasks that it starts."""
    _FIELDS.set({**log_fields(), **fields})


@contextmanager
def with_log_fields(**fields: str) -> Iterator[None]:
    """Adds fields to the lines inside the block, and of the tasks that it starts."""
    token = _FIELDS.set({**log_fields(), **fields})
    try:
        yield
    finally:
        _FIELDS.reset(token)


def log_fields() -> Mapping[str, str]:
    """The fields of the current task."""
    return _FIELDS.get(_NONE)


def trace_id() -> str:
    """The id of the trace of what this task works on: a statement, an instance of the lifecycle or
    a copy. Empty for other tasks."""
    fields = log_fields()
    return fields.get("statement") or fields.get("instance") or fields.get("copy") or ""


def extra(**fields: str) -> dict[str, dict[str, str]]:
    """Fields of one line: `log.warning(text, extra=extra(cluster="east"))`."""
    return {"fields": fields}


def environment() -> dict[str, str]:
    """This process's environment for a child process, whose lines get the fields of this task."""
    return {**os.environ, _VARIABLE: json.dumps(dict(log_fields()))}


def inherit_log_fields() -> None:
    """Takes the fields of the parent process over, if it passed some."""
    try:
        fields = json.loads(os.environ.get(_VARIABLE, "{}"))
    except ValueError:
        return
    if isinstance(fields, dict):
        add_log_fields(**{str(name): str(value) for name, value in fields.items()})


def new_incident() -> str:
    """An id for an internal error: the client gets it in the message, the log has it as a field."""
    return secrets.token_hex(4)
