"""The outcomes of statements, in a form that is equal for two servers."""

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from pyhive import hive
from pyhive.exc import Error

_ORDERED = re.compile(r"\b(order|sort|cluster)\s+by\b", re.IGNORECASE)
_CLASS = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")
# Parts of results that differ from run to run.
_NOISE = (
    (re.compile(r"#\d+L?"), "#x"),
    (re.compile(r"plan_id=\d+"), "plan_id=x"),
    (re.compile(r"CTERelationDef \d+|CTERelationRef \d+"), "CTERelation x"),
    (re.compile(r"@[0-9a-f]{5,8}\b"), "@x"),
    (re.compile(r"(?:file|hdfs):/\S*"), "location"),
    (re.compile(r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d \w+ \d{4}"), "a time"),
    (re.compile(r"transient_lastDdlTime\W+\d+"), "a time"),
    (re.compile(r"\d+ bytes"), "n bytes"),
    (re.compile(r"(stage|TID|Stage) \d+(\.\d+)?"), "task x"),
    (re.compile(r"'causeway\.write', '[0-9a-f]+'|causeway\.write=[0-9a-f]+"), "a write"),
    # The parameters of a write differ between the metastore view and the proxy.
    (re.compile(r"causeway\.(facts|partitions)=\w+, |, a write|a write, "), ""),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The columns and rows of one statement, or its error."""

    columns: tuple[tuple[str, str], ...] = ()
    rows: tuple[str, ...] = ()
    error: str = ""
    sqlstate: str = ""
    message: str = ""
    seconds: float = 0

    @property
    def kind(self) -> tuple[object, ...]:
        """The parts that must be equal whatever the order of the rows."""
        return (self.columns, self.error, self.sqlstate)


def timed(connection: hive.Connection, statement: str) -> Outcome:
    """The outcome of the statement, with its seconds."""
    began = perf_counter()
    outcome = outcome_of(connection, statement)
    return replace(outcome, seconds=perf_counter() - began)


def outcome_of(connection: hive.Connection, statement: str) -> Outcome:
    """The outcome of the statement, without the parts that differ from run to run."""
    with closing(connection.cursor()) as cursor:
        try:
            cursor.execute(statement)
            described = cursor.description or ()
            fetched = _fetched(cursor) if described else []
        except Error as error:
            return _failure(error)
    columns = tuple((_steady(str(each[0])), str(each[1])) for each in described)
    return Outcome(columns, tuple(_steady(repr(row)) for row in fetched))


def _fetched(cursor: hive.Cursor) -> list[Any]:
    try:
        rows: list[Any] = cursor.fetchall()
    except TypeError:  # PyHive on a Thrift Server's empty result
        return []
    return rows


def _failure(error: Error) -> Outcome:
    status = getattr(error.args[0], "status", None) if error.args else None
    message = str(getattr(status, "errorMessage", None) or error)
    found = _CLASS.search(message)
    line = message.splitlines()[0] if message else ""
    return Outcome(
        error=found.group(1) if found else _steady(line),
        sqlstate=str(getattr(status, "sqlState", None) or ""),
        message=_steady(message),
    )


def _steady(text: str) -> str:
    for pattern, instead in _NOISE:
        text = pattern.sub(instead, text)
    return text


def difference_of(statement: str, direct: Outcome, proxied: Outcome) -> str:
    """The kind of difference: `refused`, `error`, `columns`, `rows`; empty if both are equal."""
    if direct.kind != proxied.kind:
        if "CW" in proxied.error[:2]:
            return "refused"
        return "error" if direct.error or proxied.error else "columns"
    order: Callable[[Any], Any] = list if _ORDERED.search(statement) else sorted
    return "" if order(direct.rows) == order(proxied.rows) else "rows"
