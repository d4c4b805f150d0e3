"""The ids in log lines: of the statement, session, connection, copy or instance.

Theory: a context variable has the ids of the work that a task does. Tasks and threads
(`asyncio.to_thread`) that it starts inherit the variable, and the formatters (`conf.logs.logs`)
write the ids with each line. So a line has the id of its statement wherever in the code it is
written. The same id is in the audit log (`statement`), in `causeway admin statements`, and at the
beginning of the job's description in Spark's UI.
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
    """Adds fields to the lines of the block, and of the tasks that it starts."""
    token = _FIELDS.set({**log_fields(), **fields})
    try:
        yield
    finally:
        _FIELDS.reset(token)


def log_fields() -> Mapping[str, str]:
    """The fields of the current task."""
    return _FIELDS.get(_NONE)


def trace_id() -> str:
    """The id of the statement, instance of the lifecycle or copy that this task works on, which is
    the id of its trace. Empty for other tasks."""
    fields = log_fields()
    return fields.get("statement") or fields.get("instance") or fields.get("copy") or ""


def extra(**fields: str) -> dict[str, dict[str, str]]:
    """Fields of one line: `log.warning(text, extra=extra(cluster="east"))`."""
    return {"fields": fields}


def environment() -> dict[str, str]:
    """The environment for a child process: that of this process, and the fields of this task for
    the child's log lines."""
    return {**os.environ, _VARIABLE: json.dumps(dict(log_fields()))}


def inherit_log_fields() -> None:
    """Adds the fields that the parent process passed in the environment, if there are any."""
    try:
        fields = json.loads(os.environ.get(_VARIABLE, "{}"))
    except ValueError:
        return
    if isinstance(fields, dict):
        add_log_fields(**{str(name): str(value) for name, value in fields.items()})


def new_incident() -> str:
    """A new id for an internal error. It is in the client's message, and a field in the log."""
    return secrets.token_hex(4)
