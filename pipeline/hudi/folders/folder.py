"""A folder of parquet files as the target of pulls: rows and bookmark appear in one step.

The bookmark is in the footer of the file that has its rows, and a file appears in the folder whole
or not at all. So a pull that is killed at any step has been done or not, and may be repeated.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.hudi.errors import MissingKey, TargetMismatch
from pipeline.hudi.read import COMMIT_TIME, ChangedRows
from pipeline.hudi.table.schema import conform, widened

PREFIX = "causeway."
_KEYS = ("source", "mode", "bookmark", "commits")
_MARKED = PREFIX.encode()
_DATA = "data.parquet"
_CHANGES = "changes-"
_CONTINUES = f"{_CHANGES}after-"
"""The beginning of the name of a file of changes. The bookmark that the file continues follows, so
that no two files continue one bookmark. Names ascend with bookmarks; those of earlier releases,
`changes-<bookmark>`, sort before them.
"""
_FIRST = "0"
"""The bookmark that the first file continues."""


@dataclass(frozen=True, slots=True)
class PullMark:
    """What a target records of its last pull: source, mode, bookmark, and the request times of the
    commits on the source's active timeline that were complete then.
    """

    source: str
    mode: str
    bookmark: str
    commits: tuple[str, ...] = ()

    def texts(self) -> dict[str, str]:
        """The mark as keys and values for a footer or a commit's metadata."""
        values = (self.source, self.mode, self.bookmark, ",".join(self.commits))
        return {f"{PREFIX}{key}": value for key, value in zip(_KEYS, values, strict=True)}

    @classmethod
    def of_texts(cls, texts: Mapping[str, str]) -> "PullMark | None":
        """The mark in a footer or a commit's metadata; None when there is none."""
        values = [texts.get(f"{PREFIX}{key}") for key in _KEYS]
        source, mode, bookmark, commits = values
        if not source or not mode or not bookmark or commits is None:
            return None
        return cls(source, mode, bookmark, tuple(filter(None, commits.split(","))))


class TargetFolder(Protocol):
    """The folder of a target's files. Methods raise StorageFault."""

    @property
    def path(self) -> str: ...

    def locked(self) -> AbstractContextManager[None]:
        """Locks the folder for one pull. Raises PullRunning when another pull has locked it."""
        ...

    def names(self) -> Sequence[str]:
        """The names of the parquet files."""
        ...

    def schema(self, name: str) -> pa.Schema:
        """The schema in a file's footer. Raises TargetMismatch for a file that is not complete."""
        ...

    def batches(self, name: str) -> Iterator[pa.RecordBatch]: ...

    def publish(self, name: str, write: Callable[[IO[bytes]], int]) -> int:
        """Calls `write` with an open file, and makes the file appear under the name, or replace the
        one that was read. Returns the result of `write`. Raises PullRunning when another pull has
        published meanwhile.
        """
        ...


def last_mark(folder: TargetFolder) -> PullMark | None:
    """The mark of the newest pull; None for an empty folder. Reads one footer, however many pulls
    there were.

    Raises TargetMismatch when the folder has parquet files that no pull wrote.
    """
    names = folder.names()
    for name in names:
        if name != _DATA and not name.startswith(_CHANGES):
            raise TargetMismatch(f"{folder.path}/{name} was not written by a pull.")
    if not names:
        return None
    if _DATA in names and len(names) > 1:
        raise TargetMismatch(f"{folder.path} has both a mirror and changes.")
    texts = (folder.schema(max(names)).metadata or {}).items()
    mark = PullMark.of_texts({k.decode(): v.decode() for k, v in texts if k.startswith(_MARKED)})
    if mark is None:
        raise TargetMismatch(f"{folder.path}/{max(names)} was not written by a pull.")
    return mark


class WriteMode(Enum):
    """What a pull does with the rows of a folder."""

    ADD = "add"
    REPLACE = "replace"
    MERGE = "merge"


def write(
    folder: TargetFolder,
    rows: ChangedRows,
    how: WriteMode,
    key: tuple[str, ...],
    before: PullMark | None,
    mark: PullMark,
) -> int:
    """Adds the rows in a new file, replaces the data by them, or merges them: then each row
    replaces the one with its key, or is added. `before` is the mark of the last pull. Returns the
    number of new rows.

    Raises MissingKey, PullRunning, StorageFault, and UnsupportedTable when no type has the old and
    the new values of a column.
    """
    if how is WriteMode.ADD:
        name = f"{_CONTINUES}{before.bookmark if before else _FIRST}.parquet"
        return _publish(folder, name, rows.batches, rows.schema, mark)
    missing = [name for name in key if name not in rows.schema.names]
    if how is WriteMode.MERGE and missing:
        raise MissingKey(f"the rows have no column {', '.join(missing)}.")
    # A mirror loses no column and no value.
    schema = rows.schema if before is None else widened(folder.schema(_DATA), rows.schema)
    if how is WriteMode.REPLACE:
        return _publish(folder, _DATA, rows.batches, schema, mark)
    latest = _latest(rows.table(), key)
    kept = () if before is None else _without(folder.batches(_DATA), latest, key)
    _publish(folder, _DATA, chain(kept, latest.to_batches()), schema, mark)
    return int(latest.num_rows)


def _latest(changes: pa.Table, key: tuple[str, ...]) -> pa.Table:
    """Of several changes of one key the one of the latest commit."""
    keys = {f"key{number}": changes[name] for number, name in enumerate(key)}
    place = pa.array(range(changes.num_rows), pa.int64())
    numbered = pa.table({**keys, "time": changes[COMMIT_TIME], "place": place}).sort_by("time")
    last = numbered.group_by(list(keys), use_threads=False).aggregate([("place", "last")])
    return changes.take(last["place_last"])


def _without(
    batches: Iterable[pa.RecordBatch], changes: pa.Table, key: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """The rows whose key is not among the changes, in bounded batches."""
    changed = set(_keys(changes.select(list(key))))
    for batch in batches:
        unchanged = [k not in changed for k in _keys(pa.table(batch).select(list(key)))]
        yield batch.filter(pa.array(unchanged, pa.bool_()))


def _keys(columns: pa.Table) -> Iterable[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in columns.columns), strict=True)


def _publish(
    folder: TargetFolder,
    name: str,
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    mark: PullMark,
) -> int:
    marked = schema.with_metadata({**(schema.metadata or {}), **mark.texts()})

    def write_rows(file: IO[bytes]) -> int:
        rows = 0
        with pq.ParquetWriter(file, marked) as writer:
            for batch in batches:
                rows += batch.num_rows
                writer.write_batch(conform(batch, marked))
        return rows

    return folder.publish(name, write_rows)
