"""Fetches file slices of tables on other machines while earlier slices are read.

The files are below a temporary folder that hudi-rs reads as the table: it has the table's
properties, the newest schema, and the names of its timeline's files, because logs of layout 1 may
have blocks of commits that are not complete.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from pipeline.hudi.errors import MissingPath, StorageFault
from pipeline.hudi.table.properties import HOODIE, PROPERTIES, read_properties
from pipeline.hudi.table.slices import FileSlice
from pipeline.hudi.table.storage import FileInfo
from pipeline.hudi.table.table import HudiTable
from pipeline.hudi.table.work_folder import work_folder

_AHEAD = 4  # slices that are fetched while one is read


@dataclass(frozen=True, slots=True)
class LocalSlice:
    """A slice whose files are on this machine, below `root`."""

    root: str
    part: FileSlice


def fetched_slices(table: HudiTable, parts: Sequence[FileSlice]) -> Iterator[LocalSlice]:
    """Yields each slice. Its files are deleted when the next slice is requested.

    Raises StorageFault, also when a file was deleted since the slices were planned.
    """
    with work_folder() as root, ThreadPoolExecutor(_AHEAD) as pool:
        if any(part.logs for part in parts):
            _lay_out_table(table, root)
        ahead = iter(parts)
        waiting: deque[Future[FileSlice]] = deque()
        try:
            while True:
                for part in islice(ahead, _AHEAD - len(waiting)):
                    waiting.append(pool.submit(_fetch, table, part, root))
                if not waiting:
                    return
                fetched = waiting.popleft().result()
                yield LocalSlice(root, fetched)
                for file in fetched.files:
                    Path(file.path).unlink()
        finally:
            pool.shutdown(cancel_futures=True)


def _fetch(table: HudiTable, part: FileSlice, root: str) -> FileSlice:
    try:
        base = None if part.base is None else _fetch_file(table, part.base, root)
        return replace(part, base=base, logs=tuple(_fetch_file(table, f, root) for f in part.logs))
    except MissingPath as fault:
        raise StorageFault(f"{fault.args[0]} It was there when the pull was planned.") from fault
    except OSError as fault:
        raise StorageFault(f"{root}: {fault}.") from fault


def _fetch_file(table: HudiTable, file: FileInfo, root: str) -> FileInfo:
    local = Path(root, file.path[len(table.base) + 1 :])
    local.parent.mkdir(parents=True, exist_ok=True)
    table.storage.fetch(file.path, str(local))
    if local.stat().st_size < file.length:  # logs of layout 1 may have grown
        raise StorageFault(f"{file.path} is shorter than its listing shows.")
    return replace(file, path=str(local))


def _lay_out_table(table: HudiTable, root: str) -> None:
    """Makes the files of the table below `root` that hudi-rs reads beside those of a slice."""
    timeline = Path(root + table.timeline_folder.removeprefix(table.base))
    timeline.mkdir(parents=True)
    for instant in table.timeline.instants:
        (timeline / instant.file).touch()
    for name in table.newest_with_schema():
        table.storage.fetch(f"{table.timeline_folder}/{name}", str(timeline / name))
    content = read_properties(table.base, table.storage)
    Path(root, HOODIE, PROPERTIES[0]).write_bytes(content)
