"""Reads statements from SQL files, Spark's event logs, Thrift Servers' logs and Causeway's audit
log.

A reader takes lines and yields `Logged` statements. It counts in `unread` the statements whose text
is not in the log.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from dialect.lexing.text_tokens import tokens

SPARK_START = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"
THRIFT_START = "org.apache.spark.sql.hive.thriftserver.ui.SparkListenerThriftServerOperationStart"
_CALL_SITE = re.compile(r"[\w$<>.]+ at \S+:\d+")  # Spark's description of a query in a program
# `26/01/31 06:00:00 INFO ..`, `2026-01-31T06:00:00,123 INFO ..`
_LINE = re.compile(
    r"(?P<time>\d\d/\d\d/\d\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)\S*\s+(?P<rest>.*)",
    re.DOTALL,
)
_HIVE = re.compile(
    r"(?:Executing|Compiling) command\(queryId=(?P<id>[^)]*)\): (?P<text>.*)", re.DOTALL
)
_SPARK = re.compile(r"Submitting query '(?P<text>.*)' with (?P<id>[\w-]+)\s*\Z", re.DOTALL)
# History and audit log write this in the place of an omitted part of a text.
_CUT = re.compile(r"\.\. \(?[\d,]+ characters\)? ?\.\.")
_SESSION = re.compile(r"\[(?P<id>[0-9a-f]{8}-[0-9a-f-]{27}) ")


class Format(StrEnum):
    """The formats of files with statements."""

    SQL = "sql"
    SPARK = "spark-events"
    THRIFT = "thrift-log"
    JSON = "json-lines"


@dataclass(frozen=True, slots=True)
class Logged:
    """One statement. `at` is its Unix time, or None. The statements of one `session` are in
    order."""

    text: str
    at: float | None = None
    session: str = ""
    database: str = "default"


@dataclass(slots=True)
class Unread:
    """The number of entries that could not be read, by reason."""

    counts: Counter[str] = field(default_factory=Counter)


def format_of(first_line: str) -> Format:
    """The format of a file that begins with this line."""
    if first_line.lstrip().startswith("{"):
        return Format.SPARK if '"Event"' in first_line else Format.JSON
    return Format.THRIFT if _LINE.match(first_line) else Format.SQL


def read_log(lines: Iterable[str], form: Format, name: str, unread: Unread) -> Iterator[Logged]:
    """The statements of a file with this name."""
    match form:
        case Format.SQL:
            yield from _sql("".join(lines), name)
        case Format.SPARK:
            yield from _spark_events(lines, unread)
        case Format.THRIFT:
            yield from _thrift_log(lines, name, unread)
        case Format.JSON:
            yield from _json_lines(lines, unread)


def _sql(text: str, name: str) -> Iterator[Logged]:
    """The statements between semicolons, as the Thrift Server's clients split them."""
    start = 0
    empty = True
    for token in tokens(text):
        if token.kind == "sign" and text[token.start] == ";":
            if not empty:
                yield Logged(text[start : token.start].strip(), None, name)
            start, empty = token.end, True
        elif token.kind not in ("space", "comment"):
            empty = False
    if not empty:
        yield Logged(text[start:].strip(), None, name)


def _documents(lines: Iterable[str], unread: Unread) -> Iterator[dict[str, object]]:
    for line in lines:
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            unread.counts["a line that is no JSON"] += 1
            continue
        if isinstance(document, dict):
            yield document


def _spark_events(lines: Iterable[str], unread: Unread) -> Iterator[Logged]:
    """The statements in a Thrift Server's events, and other queries by their descriptions. The
    description of a program's query is a line of its code, which counts as unread."""
    seen: set[str] = set()
    for event in _documents(lines, unread):
        kind = event.get("Event")
        if kind == THRIFT_START:
            text = str(event.get("statement", ""))
            seen.add(text)
            session = str(event.get("sessionId", ""))
            yield Logged(text, _seconds(event.get("startTime")), session)
        elif kind == SPARK_START:
            text = str(event.get("description", ""))
            if text in seen:
                continue  # the execution of a statement of the Thrift Server
            if not text or _CALL_SITE.fullmatch(text.strip()):
                unread.counts["a query of a program, whose text Spark does not log"] += 1
                continue
            yield Logged(text, _seconds(event.get("time")))


def _thrift_log(lines: Iterable[str], name: str, unread: Unread) -> Iterator[Logged]:
    """The statements in a log of HiveServer2 or of Spark's Thrift Server, each once."""
    seen: set[str] = set()
    for entry in _entries(lines):
        head = _LINE.match(entry)
        if head is None:
            continue
        found = _HIVE.search(head["rest"]) or _SPARK.search(head["rest"])
        if found is None:
            if "Submitting query '" in entry or " command(queryId=" in entry:
                unread.counts["a line of a statement that is not complete"] += 1
            continue
        if found["id"] in seen or " Completed " in entry:
            continue
        seen.add(found["id"])
        session = _SESSION.search(head["rest"])
        where = name if session is None else session["id"]
        yield Logged(found["text"].strip(), _time(head["time"]), where)


def _entries(lines: Iterable[str]) -> Iterator[str]:
    """The entries of a log, each with the lines that continue it."""
    entry: list[str] = []
    for line in lines:
        if _LINE.match(line) and entry:
            yield "".join(entry)
            entry = []
        entry.append(line)
    if entry:
        yield "".join(entry)


def _json_lines(lines: Iterable[str], unread: Unread) -> Iterator[Logged]:
    """The statements in lines of the audit log, or of other objects that `logged` reads."""
    for document in _documents(lines, unread):
        found = logged(document, unread)
        if found is not None:
            yield found


def logged(document: Mapping[str, object], unread: Unread) -> Logged | None:
    """The statement in an object with `text`, and optionally `time`, `session` and `database`."""
    text = document.get("text")
    if not isinstance(text, str) or not text.strip():
        unread.counts["a line without a text"] += 1
        return None
    if _CUT.search(text):
        unread.counts["a text of which only a part was kept"] += 1
        return None
    when = document.get("time")
    at = float(when) if isinstance(when, int | float) else _time(str(when))
    database = str(document.get("database") or "default")
    return Logged(text, at, str(document.get("session", "")), database)


def _seconds(milliseconds: object) -> float | None:
    return float(milliseconds) / 1000 if isinstance(milliseconds, int | float) else None


def _time(text: str) -> float | None:
    """The Unix time of a text, in UTC unless it has a zone; None if it is no time."""
    for form in ("%y/%m/%d %H:%M:%S", None):
        try:
            when = datetime.strptime(text, form) if form else datetime.fromisoformat(text)
        except ValueError:
            continue
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    return None
