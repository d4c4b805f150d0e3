"""A folder of parquet files as the target of pulls: data and bookmark in one rename.

The bookmark is in the footer of the very file that brings its rows, and a file comes into the
folder by one rename. There is no moment at which one is there without the other, so a pull
that is killed anywhere has either happened or not, and running it again is always right.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pipeline.hudi.errors import MissingKey, PullRunning, StorageFault, TargetMismatch

COMMIT_TIME = "_hoodie_commit_time"
PREFIX = "causeway."
_KEYS = ("source", "mode", "bookmark", "commits")
_MARKED = PREFIX.encode()
_WORK = ".causeway-"


@dataclass(frozen=True, slots=True)
class PullMark:
    """What a target knows of its last pull: whose changes, in which mode, up to where, and which
    commits of the source's active timeline it had seen by then (request times)."""

    source: str
    mode: str
    bookmark: str
    commits: tuple[str, ...] = ()

    def texts(self) -> dict[str, str]:
        """As key and value, for a footer or a commit's metadata."""
        values = (self.source, self.mode, self.bookmark, ",".join(self.commits))
        return {f"{PREFIX}{key}": value for key, value in zip(_KEYS, values, strict=True)}

    @classmethod
    def of_texts(cls, texts: Mapping[str, str]) -> "PullMark | None":
        values = [texts.get(f"{PREFIX}{key}") for key in _KEYS]
        source, mode, bookmark, commits = values
        if not source or not mode or not bookmark or commits is None:
            return None
        return cls(source, mode, bookmark, tuple(filter(None, commits.split(","))))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One pull at a time. The lock dies with its process. Raises PullRunning, StorageFault."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / f"{_WORK}lock", "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise PullRunning(f"another pull into {folder} is running.") from None
            for leftover in folder.glob(f"{_WORK}staged-*"):
                leftover.unlink()
            yield
    except OSError as fault:
        raise StorageFault(f"{folder}: {fault}.") from fault


def last_mark(folder: Path) -> PullMark | None:
    """The mark of the newest pull; None for an empty folder.

    Raises TargetMismatch when parquet files are there that no pull wrote.
    """
    newest: PullMark | None = None
    for path in sorted(folder.glob("*.parquet")):
        texts = (pq.read_schema(path).metadata or {}).items()
        mark = PullMark.of_texts(
            {k.decode(): v.decode() for k, v in texts if k.startswith(_MARKED)}
        )
        if mark is None:
            raise TargetMismatch(f"{path} was not written by a pull.")
        if newest is None or newest.bookmark < mark.bookmark:
            newest = mark
    return newest


def append(
    folder: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema, mark: PullMark
) -> int:
    """Adds one file with the rows; how many. Raises StorageFault."""
    return _publish(folder, f"changes-{mark.bookmark}.parquet", batches, schema, mark)


def replace(
    folder: Path, batches: Iterable[pa.RecordBatch], schema: pa.Schema, mark: PullMark
) -> int:
    """Puts the rows in place of all that was there; how many."""
    return _publish(folder, "data.parquet", batches, schema, mark)


def merge(folder: Path, changes: pa.Table, key: tuple[str, ...], mark: PullMark) -> int:
    """Puts each changed row in place of the one with its key, or adds it; how many changed.

    Of several changes with one key the latest commit's wins. Raises MissingKey.
    """
    missing = [name for name in key if name not in changes.schema.names]
    if missing:
        raise MissingKey(f"the rows have no column {', '.join(missing)}.")
    latest = _latest(changes, key)
    path = folder / "data.parquet"
    kept: Iterable[pa.RecordBatch] = ()
    if path.exists():
        kept = _without(path, latest, key)
    rows = (batch for part in (kept, latest.to_batches()) for batch in part)
    replace(folder, rows, changes.schema, mark)
    return int(latest.num_rows)


def _latest(changes: pa.Table, key: tuple[str, ...]) -> pa.Table:
    place = pa.array(range(changes.num_rows), pa.int64())
    numbered = changes.append_column("_place", place).sort_by(COMMIT_TIME)
    last = numbered.group_by(list(key), use_threads=False).aggregate([("_place", "last")])
    return changes.take(last["_place_last"])


def _without(path: Path, changes: pa.Table, key: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Rows of the target whose key is not among the changes, a bounded batch at a time."""
    gone = set(_keys(changes.select(list(key))))
    for batch in ds.dataset(path, schema=changes.schema.remove_metadata()).to_batches():
        stays = [k not in gone for k in _keys(pa.table(batch).select(list(key)))]
        yield batch.filter(pa.array(stays, pa.bool_()))


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
                writer.write_batch(batch.cast(marked) if batch.schema != marked else batch)
        file.flush()
        os.fsync(file.fileno())
    os.replace(staged, folder / name)
    _sync(folder)
    return rows


def _sync(folder: Path) -> None:
    """Makes the rename survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
