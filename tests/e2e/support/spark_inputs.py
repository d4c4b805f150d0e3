"""Reads Spark's own SQL test inputs as its SQLQueryTestSuite does.

A file is Spark SQL with lines for the suite: `--SET a=b,c=d` and `--CONFIG_DIM1 a=b` are settings,
`--IMPORT other.sql` puts that file's statements first, and `--QUERY-DELIMITER-START` and `-END`
enclose one statement with semicolons of its own. Every other line that begins with `--` is left
out, and a semicolon that no backslash precedes ends a statement.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_END = re.compile(r"(?<=[^\\]);")
_DELIMITER = "--QUERY-DELIMITER"
# Files that Spark's suite leaves out itself.
_IGNORED = frozenset({"ignored.sql"})


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file: its name below the folder, the settings of its session, and its statements."""

    name: str
    settings: tuple[tuple[str, str], ...]
    statements: tuple[str, ...]


def read_inputs(folder: Path) -> list[InputFile]:
    """Every file of the folder in the order of their names."""
    paths = sorted(path for path in folder.rglob("*.sql") if path.name not in _IGNORED)
    return [_read(path, folder) for path in paths]


def _read(path: Path, folder: Path) -> InputFile:
    name = path.relative_to(folder).as_posix()
    comments, code = _lines(path)
    imported = [
        line
        for comment in comments
        if comment.startswith("--IMPORT ")
        for line in _imported(folder, comment[9:].strip())
    ]
    settings = (*_suite_settings(name), *_own_settings(comments))
    return InputFile(name, tuple(settings), tuple(_statements([*imported, *code])))


def _lines(path: Path) -> tuple[list[str], list[str]]:
    """The lines for the suite, and those for Spark."""
    comments: list[str] = []
    code: list[str] = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        text = line.strip()
        is_comment = text.startswith("--") and not text.startswith(_DELIMITER)
        (comments if is_comment else code).append(line)
    return comments, code


def _imported(folder: Path, name: str) -> list[str]:
    """The code of another file; none if this folder lacks the file."""
    path = folder / name
    return _lines(path)[1] if path.is_file() else []


def _suite_settings(name: str) -> Iterator[tuple[str, str]]:
    """The settings of the suite for the files of a folder."""
    yield "spark.sql.shuffle.partitions", "4"
    yield "spark.sql.session.timeZone", "America/Los_Angeles"
    postgres = name.startswith(("postgreSQL/", "udf/postgreSQL/"))
    yield "spark.sql.ansi.enabled", str(postgres or name.startswith("ansi/")).lower()
    if postgres:
        yield "spark.sql.legacy.interval.enabled", "true"
    if name.startswith("timestampNTZ/"):
        yield "spark.sql.timestampType", "TIMESTAMP_NTZ"


def _own_settings(comments: list[str]) -> Iterator[tuple[str, str]]:
    """The file's settings, with the first choice of each dimension."""
    dimensions: set[str] = set()
    for comment in comments:
        kind, _, pairs = comment.partition(" ")
        if kind.startswith("--CONFIG_DIM") and kind not in dimensions:
            dimensions.add(kind)
        elif kind != "--SET":
            continue
        for pair in pairs.split(","):
            key, _, value = pair.partition("=")
            yield key.strip(), value.strip()


def _statements(lines: list[str]) -> Iterator[str]:
    waiting: list[str] = []
    delimited: list[str] | None = None
    for line in lines:
        text = line.strip()
        if text.startswith(f"{_DELIMITER}-START"):
            yield from _split(waiting)
            waiting, delimited = [], []
        elif text.startswith(f"{_DELIMITER}-END"):
            yield from _cleaned("\n".join(delimited or ()).removesuffix(";"))
            delimited = None
        else:
            (waiting if delimited is None else delimited).append(line)
    yield from _split(waiting)


def _split(lines: list[str]) -> Iterator[str]:
    for statement in _END.split("\n".join(lines)):
        yield from _cleaned(statement)


def _cleaned(statement: str) -> Iterator[str]:
    """The statement without comment lines; none if it has no other lines."""
    lines = statement.strip().split("\n")
    text = "\n".join(line for line in lines if not line.startswith("--")).strip()
    if text:
        yield text
