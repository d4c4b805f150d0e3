"""Replicates a Hudi table to another file system, commit by commit.

The files of a complete commit never change, and a commit becomes visible by the file that
completes it on the timeline. So a replica gets all files of the new commits first, then the
timeline files in the order of completion. Its own timeline is the bookmark. A reader sees whole
commits only, and after a kill the next run continues. The first run copies the latest files, and
the properties last: without them there is no table.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.copy.files import (
    CopyOptions,
    FileCopy,
    FileEntry,
    Files,
    FileStatus,
    Progress,
    no_progress,
)
from pipeline.hudi.errors import MissingPath, NotAHudiTable, OutOfStep, StorageFault
from pipeline.hudi.plan import snapshot
from pipeline.hudi.table.storage import FileInfo, HudiStorage
from pipeline.hudi.table.table import (
    HOODIE,
    PARTITION_MARK,
    HudiTable,
    archive_folder,
    open_table,
    timeline_folder,
)
from pipeline.hudi.table.timeline import COMPACTION, LOG_COMPACTION, Instant

_PROPERTIES = f"{HOODIE}/hoodie.properties"
# Names the source of a replica. No directory without it is ever changed.
_ORIGIN = f"{HOODIE}/causeway.replica-of"
# The metadata table and logs of changed data are not replicated: readers list the files.
_NOT_CARRIED = ("hoodie.table.metadata.partitions", "hoodie.table.cdc.enabled")


@dataclass(frozen=True, slots=True)
class HudiReplicationPlan:
    """The files to copy, in this order. `whole`: there is no replica yet."""

    source: str
    target: str
    whole: bool
    data: tuple[FileEntry, ...]
    prepared: tuple[FileEntry, ...]
    completed: tuple[FileEntry, ...]
    properties: str

    @property
    def empty(self) -> bool:
        """Whether the replica has all commits; its properties may differ."""
        return not self.whole and not self.completed


@dataclass(frozen=True, slots=True)
class HudiReplicationResult:
    """Numbers: commits made visible, files and bytes sent."""

    commits: int
    files: int
    bytes: int


def plan_replication(source: HudiTable, target: str, storage: HudiStorage) -> HudiReplicationPlan:
    """What the replica at `target` lacks. `storage` reads the replica. Raises OutOfStep,
    StorageFault.
    """
    replica = _replica(source.base, target.rstrip("/"), storage)
    if replica is None:
        commits = source.timeline.commits
        files = snapshot(source).files
        data = (*_history(source), *_entries(source, files))
    else:
        commits = _missing(source, replica)
        files = _written(source, commits)
        data = _entries(source, files)
    names = {i.requested for i in commits}
    timeline = _timeline_files(source)
    done = {commit.file for commit in commits}
    return HudiReplicationPlan(
        source.base,
        target.rstrip("/"),
        replica is None,
        (*data, *_marks(source, files), *_entries(source, source.schema_files())),
        tuple(e for n, e in timeline.items() if n not in done and _prepares(source, n, names)),
        tuple(timeline[commit.file] for commit in commits),
        _properties(source),
    )


def run_replication(
    planned: HudiReplicationPlan,
    files: Files,
    options: CopyOptions,
    progress: Progress = no_progress,
) -> HudiReplicationResult:
    """Copies the files. Raises StorageFault for the first one that cannot be copied; the next run
    continues from there.
    """
    origin = f"{planned.target}/{_ORIGIN}"
    if planned.whole and files.read_marker(origin) is None:
        files.write_marker(origin, planned.source)
    # One at a time: a reader must never see a commit without the earlier ones. A new replica has
    # no readers.
    last = [planned.completed] if planned.whole else [(entry,) for entry in planned.completed]
    sent = [
        _copy_files(planned, entries, files, options, progress)
        for entries in (planned.data, planned.prepared, *last)
    ]
    if planned.whole:
        _delete_extra_files(planned, files)
    properties = f"{planned.target}/{_PROPERTIES}"
    if files.read_marker(properties) != planned.properties:
        files.write_marker(properties, planned.properties)
    return HudiReplicationResult(
        len(planned.completed), sum(n for n, _ in sent), sum(length for _, length in sent)
    )


def _delete_extra_files(planned: HudiReplicationPlan, files: Files) -> None:
    """Deletes files of an interrupted first run that the source no longer has: a commit that was
    undone since would appear in the replica.
    """
    wanted = {entry.path for entry in (*planned.data, *planned.prepared, *planned.completed)}
    wanted.add(_ORIGIN)
    there = files.listings([planned.target])[0]
    extra = {entry.path for entry in there.files} - wanted if there else ()
    files.delete([f"{planned.target}/{path}" for path in sorted(extra)])


def _copy_files(
    planned: HudiReplicationPlan,
    entries: Sequence[FileEntry],
    files: Files,
    options: CopyOptions,
    progress: Progress,
) -> tuple[int, int]:
    if not entries:
        return 0, 0
    copies = [FileCopy(planned.source, planned.target, entry) for entry in entries]
    results = files.copy_files(copies, options, progress)
    for result in results:
        if result.status not in (FileStatus.SENT, FileStatus.KEPT):
            path, why = result.file.entry.path, result.message or result.status.value
            raise StorageFault(f"{planned.source}/{path} was not copied: {why}.")
    sent = [result for result in results if result.status is FileStatus.SENT]
    return len(sent), sum(result.sent for result in sent)


def _replica(source: str, target: str, storage: HudiStorage) -> HudiTable | None:
    """The replica as it is; None when none is complete. Raises OutOfStep when the directory is no
    replica of this table.
    """
    try:
        origin = storage.read(f"{target}/{_ORIGIN}").decode()
    except MissingPath:
        if _is_empty(target, storage):
            return None
        raise OutOfStep(f"{target} is not empty, and no replica.") from None
    if origin != source:
        raise OutOfStep(f"{target} is a replica of {origin}.")
    try:
        return open_table(target, storage)
    except NotAHudiTable:
        return None


def _is_empty(target: str, storage: HudiStorage) -> bool:
    try:
        return not storage.list(target)
    except MissingPath:
        return True


def _written(table: HudiTable, commits: Sequence[Instant]) -> tuple[FileInfo, ...]:
    """Every file that the commits wrote. One list call for each partition. Raises OutOfStep."""
    paths = {s.path for c in commits for s in table.commit(c).writes if s.path}
    there: dict[str, FileInfo] = {}
    for partition in sorted({path.rpartition("/")[0] for path in paths}):
        listed = table.list_partition(partition)
        there |= {f.path[len(table.base) + 1 :]: f for f in listed}
    if gone := sorted(paths - there.keys()):
        raise OutOfStep(f"{gone[0]} of a commit that the replica lacks was cleaned.")
    return tuple(there[path] for path in sorted(paths))


def _missing(source: HudiTable, replica: HudiTable) -> tuple[Instant, ...]:
    """The source's commits that the replica lacks. Raises OutOfStep."""
    if source.timeline.by_completion != replica.timeline.by_completion:
        raise OutOfStep(f"{source.base} was upgraded: its timeline is kept otherwise now.")
    have = {i.requested for i in replica.timeline.commits}
    known = {i.requested for i in source.timeline.commits}
    start = source.timeline.start
    # Reading a layout 1 archive costs more the longer the table's history is.
    archived = set(source.archived) if source.timeline.by_completion else None
    if not have:
        if source.archived:
            raise OutOfStep(f"{replica.base} lacks commits that the source has archived.")
        return source.timeline.commits
    for requested in have - known:
        if requested not in archived if archived is not None else requested >= start:
            raise OutOfStep(f"{replica.base} has the commit {requested}, the source has not.")
    last = max(replica.timeline.key(i) for i in replica.timeline.commits)
    if archived is None:
        behind = last < start and source.timeline.commits[0].requested not in have
    else:
        behind = any(requested > min(have) for requested in archived - have)
    if behind:
        raise OutOfStep(f"{replica.base} lacks commits that the source has archived.")
    return tuple(i for i in source.timeline.commits if i.requested not in have)


def _prepares(source: HudiTable, name: str, commits: set[str]) -> bool:
    """Whether a timeline file is the request of one of the commits, or the plan of a compaction,
    without which later logs have no base file.
    """
    requested = name.partition(".")[0]
    pending = (i for i in source.timeline.instants if not i.completed)
    plans = {i.requested for i in pending if i.action in (COMPACTION, LOG_COMPACTION)}
    return requested in commits or (requested in plans and name.endswith(".requested"))


def _timeline_files(table: HudiTable) -> dict[str, FileEntry]:
    folder = timeline_folder(table.base, table.properties)
    listed = (f for f in table.storage.list(folder) if not f.is_dir and f.name[0].isdigit())
    return {entry.path.rpartition("/")[2]: entry for entry in _entries(table, listed)}


def _history(table: HudiTable) -> tuple[FileEntry, ...]:
    try:
        listed = table.storage.list(archive_folder(table))
    except MissingPath:
        return ()
    return _entries(table, (f for f in listed if not f.is_dir))


def _marks(table: HudiTable, files: Iterable[FileInfo]) -> tuple[FileEntry, ...]:
    """The file that marks each partition."""
    folders = sorted({f.path.rpartition("/")[0] for f in files})
    listed = (f for folder in folders for f in table.storage.list(f"{folder}/{PARTITION_MARK}"))
    return _entries(table, listed)


def _entries(table: HudiTable, files: Iterable[FileInfo]) -> tuple[FileEntry, ...]:
    cut = len(table.base) + 1
    return tuple(FileEntry(f.path[cut:], f.length, f.modified) for f in files)


def _properties(table: HudiTable) -> str:
    text = table.storage.read(f"{table.base}/{_PROPERTIES}").decode()
    lines = (line for line in text.splitlines() if not line.startswith(_NOT_CARRIED))
    return "\n".join(lines) + "\n"
