"""A folder of parquet files as the target of pulls: rows and bookmark appear by one rename.

The bookmark is in the footer of the file that has its rows, and a file enters the folder by one
rename. So a pull that is killed anywhere has either happened or not, and may always be repeated.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pipeline.hudi.errors import MissingKey, PullRunning, StorageFault, TargetMismatch
from pipeline.hudi.read import COMMIT_TIME, ChangedRows
from pipeline.hudi.table.schema import conform, widened

PREFIX = "causeway."
_KEYS = ("source", "mode", "bookmark", "commits")
_MARKED = PREFIX.encode()
_WORK = ".causeway-"
_DATA = "data.parquet"
_CHANGES = "changes-"  # before the bookmark


@dataclass(frozen=True, slots=True)
class PullMark:
    """What a target records of its last pull: source, mode, bookmark, and the commits of the
    source's active timeline that were complete then (request times).
    """

    source: str
    mode: str
    bookmark: str
    commits: tuple[str, ...] = ()

    def texts(self) -> dict[str, str]:
        """Keys and values for a footer or a commit's metadata."""
        values = (self.source, self.mode, self.bookmark, ",".join(self.commits))
        return {f"{PREFIX}{key}": value for key, value in zip(_KEYS, values, strict=True)}

    @classmethod
    def of_texts(cls, texts: Mapping[str, str]) -> "PullMark | None":
        """None when the texts have no mark."""
        values = [texts.get(f"{PREFIX}{key}") for key in _KEYS]
        source, mode, bookmark, commits = values
        if not source or not mode or not bookmark or commits is None:
            return None
        return cls(source, mode, bookmark, tuple(filter(None, commits.split(","))))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Allows one pull at a time. The lock ends with its process. Raises PullRunning or
    StorageFault.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / f"{_WORK}lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise PullRunning(f"another pull into {folder} is running.") from None
            for unfinished in folder.glob(f"{_WORK}staged-*"):
                unfinished.unlink()
            yield
    except OSError as fault:
        raise StorageFault(f"{folder}: {fault}.") from fault


def last_mark(folder: Path) -> PullMark | None:
    """The mark of the newest pull; None for an empty folder. Reads one footer, however many pulls
    there were.

    Raises TargetMismatch when the folder has parquet files that no pull wrote.
    """
    names = [path.name for path in folder.glob("*.parquet")]
    for name in names:
        if name != _DATA and not name.startswith(_CHANGES):
            raise TargetMismatch(f"{folder / name} was not written by a pull.")
    if not names:
        return None
    if _DATA in names and len(names) > 1:
        raise TargetMismatch(f"{folder} has both a mirror and changes.")
    return _mark_of(folder / max(names))


def _mark_of(path: Path) -> PullMark:
    try:
        texts = (pq.read_schema(path).metadata or {}).items()
    except pa.ArrowInvalid as fault:
        raise TargetMismatch(f"{path} is no complete parquet file: {fault}.") from fault
    mark = PullMark.of_texts({k.decode(): v.decode() for k, v in texts if k.startswith(_MARKED)})
    if mark is None:
        raise TargetMismatch(f"{path} was not written by a pull.")
    return mark


class Write(Enum):
    """What a pull does with the rows of a folder."""

    ADD = "add"
    REPLACE = "replace"
    MERGE = "merge"


def write(folder: Path, rows: ChangedRows, how: Write, key: tuple[str, ...], mark: PullMark) -> int:
    """Adds the rows in a new file, replaces the data by them, or merges them by key. Returns how
    many rows were written. Raises MissingKey, StorageFault.
    """
    match how:
        case Write.ADD:
            name = f"{_CHANGES}{mark.bookmark}.parquet"
            return _publish(folder, name, rows.batches, rows.schema, mark)
        case Write.REPLACE:
            schema = _mirror_schema(folder / _DATA, rows.schema)
            return _publish(folder, _DATA, rows.batches, schema, mark)
        case Write.MERGE:
            return _merge(folder, rows.table(), key, mark)


def _merge(folder: Path, changes: pa.Table, key: tuple[str, ...], mark: PullMark) -> int:
    """Each changed row replaces the row with its key, or is added. Of several changes of one key
    the one of the latest commit counts.
    """
    missing = [name for name in key if name not in changes.schema.names]
    if missing:
        raise MissingKey(f"the rows have no column {', '.join(missing)}.")
    latest = _latest(changes, key)
    path = folder / _DATA
    kept: Iterable[pa.RecordBatch] = ()
    if path.exists():
        kept = _without(path, latest, key)
    batches = (batch for part in (kept, latest.to_batches()) for batch in part)
    _publish(folder, _DATA, batches, _mirror_schema(path, changes.schema), mark)
    return int(latest.num_rows)


def _mirror_schema(path: Path, rows: pa.Schema) -> pa.Schema:
    """The columns of the mirror and of its new rows: a mirror loses no column and no value.

    Raises UnsupportedTable when no type has the old and the new values of a column.
    """
    return widened(pq.read_schema(path), rows) if path.exists() else rows


def _latest(changes: pa.Table, key: tuple[str, ...]) -> pa.Table:
    keys = {f"key{number}": changes[name] for number, name in enumerate(key)}
    place = pa.array(range(changes.num_rows), pa.int64())
    numbered = pa.table({**keys, "time": changes[COMMIT_TIME], "place": place}).sort_by("time")
    last = numbered.group_by(list(keys), use_threads=False).aggregate([("place", "last")])
    return changes.take(last["place_last"])


def _without(path: Path, changes: pa.Table, key: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The rows of the target whose key is not among the changes, in bounded batches."""
    changed = set(_keys(changes.select(list(key))))
    for batch in ds.dataset(path).to_batches():
        unchanged = [k not in changed for k in _keys(pa.table(batch).select(list(key)))]
        yield batch.filter(pa.array(unchanged, pa.bool_()))


def _keys(columns: pa.Table) -> Iterable[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in columns.columns), strict=True)


def _publish(
    folder: Path,
    name: str,
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    mark: PullMark,
) -> int:
    staged = folder / f"{_WORK}staged-{os.getpid()}"
    marked = schema.with_metadata({**(schema.metadata or {}), **mark.texts()})
    rows = 0
    with open(staged, "wb") as file:
        with pq.ParquetWriter(file, marked) as writer:
            for batch in batches:
                rows += batch.num_rows
                writer.write_batch(conform(batch, marked))
        file.flush()
        os.fsync(file.fileno())
    os.replace(staged, folder / name)
    _sync(folder)
    return rows


def _sync(folder: Path) -> None:
    """Makes the rename durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
