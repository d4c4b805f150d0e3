"""Replicates a Hudi table to another file system, commit by commit.

The files of a complete commit never change, and a commit becomes visible by the file that
completes it on the timeline. So a replica gets all files of the new commits first, then the
timeline files in the order of completion. Before each commit becomes visible, a listing of the
replica is compared with the plan: what the tasks reported is not enough. Its own timeline is the
bookmark. A reader sees whole commits only, and after a kill the next run continues. The first run
copies the latest files, and the properties last: without them there is no table. Then the replica
deletes what its source has cleaned, and archives what its source has archived (`trim`).
"""

import json
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pipeline.copy.files import (
    CopyOptions,
    Difference,
    FileCopy,
    FileEntry,
    FileListing,
    Files,
    FileStatus,
    Progress,
    compare,
    no_progress,
)
from pipeline.errors import VerifyFailed
from pipeline.hudi.errors import MissingPath, NotAHudiTable, OutOfStep, StorageFault
from pipeline.hudi.plan import Listings, snapshot
from pipeline.hudi.table.archive import VERSION, ArchiveFiles
from pipeline.hudi.table.storage import FileInfo, HudiStorage
from pipeline.hudi.table.table import (
    HOODIE,
    LOCKS,
    PARTITION_MARK,
    HudiTable,
    archive_folder,
    open_table,
    timeline_folder,
)
from pipeline.hudi.table.timeline import (
    COMPACTION,
    LOG_COMPACTION,
    SAVEPOINT,
    Instant,
    parse_timeline,
)
from pipeline.hudi.trim import COMPARE, archive_change, retired, surplus_files, to_compare

_PROPERTIES = f"{HOODIE}/hoodie.properties"
# Names the source of a replica. No directory without it is ever changed.
_ORIGIN = f"{HOODIE}/causeway.replica-of"
# The metadata table and logs of changed data are not replicated: readers list the files.
_NOT_CARRIED = ("hoodie.table.metadata.partitions", "hoodie.table.cdc.enabled")


@dataclass(frozen=True, slots=True)
class HudiReplicationPlan:
    """The files to copy and to delete, in this order. `whole`: there is no replica yet.

    `cleaned` and `retired` are paths of the replica, in the order of deletion. `archived` are
    archive files, which count when the replica's `_version_` has the text `version`. `compared` are
    the partitions that `COMPARE` names during the run, and `postponed` those after it.
    """

    source: str
    target: str
    whole: bool
    data: tuple[FileEntry, ...]
    prepared: tuple[FileEntry, ...]
    completed: tuple[FileEntry, ...]
    cleaned: tuple[str, ...]
    cleans: tuple[FileEntry, ...]
    archived: tuple[FileEntry, ...]
    archive_folder: str
    version: str
    retired: tuple[str, ...]
    compared: tuple[str, ...]
    postponed: tuple[str, ...]
    properties: str

    @property
    def empty(self) -> bool:
        """Whether the replica has all commits and nothing else; its properties may differ."""
        changes = (self.completed, self.cleans, self.cleaned, self.archived, self.retired)
        return not self.whole and not any(changes)


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
    target = target.rstrip("/")
    replica = _replica(source.base, target, storage)
    if replica is None:
        return _plan_first(source, target)
    return _plan_next(source, replica)


def check_target(source: str, target: str, storage: HudiStorage) -> None:
    """Raises OutOfStep when the directory `target` has anything but a replica of the table at
    `source`.
    """
    _replica(source.rstrip("/"), target.rstrip("/"), storage)


def _plan_first(source: HudiTable, target: str) -> HudiReplicationPlan:
    source, timeline = _listed(source)
    listings = dict(source.walk())
    files = snapshot(source, listings).files
    archive = source.list_archive()
    commits = source.timeline.commits
    return HudiReplicationPlan(
        source.base, target, True,
        data=_data(source, files, listings),
        prepared=_prepared(source, timeline, commits, ()),
        completed=tuple(timeline[commit.file] for commit in commits),
        cleaned=(),
        cleans=tuple(timeline[clean.file] for clean in source.timeline.cleans),
        archived=_archived(source, archive, archive.instants),
        archive_folder=_relative(source, archive_folder(source)),
        version=archive.version,
        retired=(),
        compared=(),
        postponed=(),
        properties=_properties(source),
    )  # fmt: skip


def _plan_next(source: HudiTable, replica: HudiTable) -> HudiReplicationPlan:
    if source.timeline.by_completion != replica.timeline.by_completion:
        raise OutOfStep(f"{source.base} was upgraded: its timeline is kept otherwise now.")
    names = replica.storage.names(timeline_folder(replica.base, replica.properties))
    cleans = [clean for clean in source.timeline.cleans if clean.file not in names]
    surplus = surplus_files(source, replica, cleans)
    active = {i.requested for i in source.timeline.instants}
    source, timeline = _listed(source)
    active |= {name.partition(".")[0].partition("_")[0] for name in timeline}
    archive = archive_change(source, replica)
    commits = _missing(source, replica, archive.commits)
    data = _data(source, *_written(source, commits))
    there = timeline_folder(source.base, source.properties)
    retired_names = retired(names, active)
    copied = (_folder(e.path) for e in data if not e.path.startswith(HOODIE))
    compared = {*to_compare(replica), *surplus.postponed, *copied}
    return HudiReplicationPlan(
        source.base, replica.base, False,
        data=data,
        prepared=_prepared(source, timeline, commits, names),
        completed=tuple(timeline[commit.file] for commit in commits),
        cleaned=surplus.paths,
        cleans=tuple(timeline[clean.file] for clean in cleans if clean.file in timeline),
        archived=_archived(source, archive.source, archive.files),
        archive_folder=_relative(source, archive_folder(source)),
        version=archive.source.version,
        retired=(
            *(f"{_relative(source, there)}/{name}" for name in retired_names),
            *(_relative(replica, file.path) for file in archive.dropped),
        ),
        compared=tuple(sorted(compared)),
        postponed=surplus.postponed,
        properties=_properties(source),
    )  # fmt: skip


def run_replication(
    planned: HudiReplicationPlan,
    files: Files,
    options: CopyOptions,
    progress: Progress = no_progress,
) -> HudiReplicationResult:
    """Copies the files. Raises StorageFault for the first one that cannot be copied, VerifyFailed
    when the replica has less than the tasks reported; the next run continues from there.
    """
    sent = [_copy_commits(planned, files, options, progress)]
    files.delete(_at(planned, planned.cleaned))
    for entries in (planned.cleans, planned.archived):
        sent.append(_copy_files(planned, entries, files, options, progress))
        if not planned.whole:
            _check(planned, entries, files, visible=True)
    if planned.version:
        _write_text(planned, f"{planned.archive_folder}/{VERSION}", planned.version, files)
    files.delete(_at(planned, planned.retired))
    if planned.whole:
        _check_all_files(planned, files)
    if planned.postponed:
        _write_text(planned, COMPARE, json.dumps(planned.postponed), files)
    elif planned.compared:
        files.delete(_at(planned, [COMPARE]))
    _write_text(planned, _PROPERTIES, planned.properties, files)
    return HudiReplicationResult(
        len(planned.completed), sum(n for n, _ in sent), sum(length for _, length in sent)
    )


def _copy_commits(
    planned: HudiReplicationPlan, files: Files, options: CopyOptions, progress: Progress
) -> tuple[int, int]:
    """One commit after the other becomes visible: a reader must never see one without the earlier
    ones. A new replica has no readers. Returns the numbers of files and bytes sent.
    """
    if planned.whole:
        if files.read_marker(f"{planned.target}/{_ORIGIN}") is None:
            files.write_marker(f"{planned.target}/{_ORIGIN}", planned.source)
    elif planned.compared:
        _write_text(planned, COMPARE, json.dumps(planned.compared), files)
    parts = [planned.data, planned.prepared]
    if planned.whole:
        parts.append(planned.completed)
    sent = [_copy_files(planned, entries, files, options, progress) for entries in parts]
    if not planned.whole:
        _check(planned, [*planned.data, *planned.prepared], files)
        for entry in planned.completed:
            sent.append(_copy_files(planned, [entry], files, options, progress))
            _check(planned, [entry], files, visible=True)
    return sum(n for n, _ in sent), sum(length for _, length in sent)


def _check(
    planned: HudiReplicationPlan,
    entries: Sequence[FileEntry],
    files: Files,
    visible: bool = False,
) -> None:
    """Raises VerifyFailed unless the replica has each file with its length. Wrong files that
    readers see as soon as they exist are deleted. Costs one listing of each folder.
    """
    difference = _difference(planned, entries, files)
    if difference:
        if visible:
            files.delete(_at(planned, difference.unlike))
        raise _verify_failed(planned, difference)


def _difference(
    planned: HudiReplicationPlan, entries: Sequence[FileEntry], files: Files
) -> Difference:
    folders = sorted({_folder(entry.path) for entry in entries})
    listings = files.listings([f"{planned.target}/{each}".rstrip("/") for each in folders])
    there = [
        replace(found, path=f"{folder}/{found.path}".lstrip("/"))
        for folder, listing in zip(folders, listings, strict=True)
        for found in (listing.files if listing else ())
    ]
    return replace(compare(FileListing(tuple(entries)), FileListing(tuple(there))), extra=())


def _verify_failed(planned: HudiReplicationPlan, difference: Difference) -> VerifyFailed:
    return VerifyFailed(f"{planned.target} does not have what was copied to it: {difference}.")


def _write_text(planned: HudiReplicationPlan, path: str, text: str, files: Files) -> None:
    place = f"{planned.target}/{path}"
    if files.read_marker(place) != text:
        files.write_marker(place, text)


def _at(planned: HudiReplicationPlan, paths: Iterable[str]) -> list[str]:
    return [f"{planned.target}/{path}" for path in paths]


def _check_all_files(planned: HudiReplicationPlan, files: Files) -> None:
    """Compares a new replica with the plan, before readers see it. Deletes what an interrupted
    first run has left and the source no longer has: a commit that was undone since would appear in
    the replica. Raises VerifyFailed.
    """
    parts = (planned.data, planned.prepared, planned.completed, planned.cleans, planned.archived)
    wanted = FileListing(tuple(entry for part in parts for entry in part))
    listing = files.listings([planned.target])[0] or FileListing(())
    difference = compare(wanted, listing)
    if difference.missing or difference.unlike:
        raise _verify_failed(planned, replace(difference, extra=()))
    own = {_ORIGIN, f"{planned.archive_folder}/{VERSION}"}
    extra = (path for path in difference.extra if path not in own and not path.startswith(LOCKS))
    files.delete(_at(planned, list(extra)))


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
    """Whether nothing is there but the lease of a first run."""
    with suppress(MissingPath):
        names = set(storage.names(target))
        if names == {HOODIE}:
            names = set(storage.names(f"{target}/{HOODIE}")) - {LOCKS.rpartition("/")[2]}
        return not names
    return True


def _written(table: HudiTable, commits: Sequence[Instant]) -> tuple[tuple[FileInfo, ...], Listings]:
    """Every file that the commits wrote, and the listings of their partitions. Raises OutOfStep."""
    paths = {s.path for c in commits for s in table.commit(c).writes if s.path}
    listings = {each: table.list_partition(each) for each in sorted(set(map(_folder, paths)))}
    there = {_relative(table, f.path): f for listed in listings.values() for f in listed}
    if gone := sorted(paths - there.keys()):
        raise OutOfStep(f"{gone[0]} of a commit that the replica lacks was cleaned.")
    return tuple(there[path] for path in sorted(paths)), listings


def _missing(
    source: HudiTable, replica: HudiTable, archived: Collection[str]
) -> tuple[Instant, ...]:
    """The source's commits that the replica lacks. `archived` are those that its archive lacks.
    Raises OutOfStep.
    """
    have = {i.requested for i in replica.timeline.commits}
    known = {i.requested for i in source.timeline.commits}
    if lost := set(archived) - have - known:
        raise OutOfStep(f"{replica.base} lacks {min(lost)}, which the source has archived.")
    # A run that was killed has copied the archive, but has left commits on the timeline.
    strange = have - known - set(archived)
    if strange and (strange := strange - source.archived.keys()):
        raise OutOfStep(f"{replica.base} has the commit {min(strange)}, the source has not.")
    return tuple(i for i in source.timeline.commits if i.requested not in have)


def _prepared(
    source: HudiTable,
    timeline: Mapping[str, FileEntry],
    commits: Sequence[Instant],
    present: Container[str],
) -> tuple[FileEntry, ...]:
    """The timeline files that have to be there before the commits: their requests, savepoints,
    and plans of compactions, without which later logs have no base file.
    """
    done = {commit.file for commit in commits}
    requests = {commit.requested for commit in commits}
    instants = source.timeline.instants
    pending = (i for i in instants if not i.completed)
    plans = {i.requested for i in pending if i.action in (COMPACTION, LOG_COMPACTION)}
    saved = {i.file for i in instants if i.action == SAVEPOINT and i.completed}

    def wanted(name: str) -> bool:
        requested = name.partition(".")[0]
        plan = requested in plans and name.endswith(".requested")
        return requested in requests or plan or name in saved

    return tuple(
        entry
        for name, entry in timeline.items()
        if name not in done and name not in present and wanted(name)
    )


def _listed(table: HudiTable) -> tuple[HudiTable, dict[str, FileEntry]]:
    """The table as of now, and the files of its timeline by name."""
    folder = timeline_folder(table.base, table.properties)
    listed = (f for f in table.storage.list(folder) if not f.is_dir and f.name[0].isdigit())
    entries = {entry.path.rpartition("/")[2]: entry for entry in _entries(table, listed)}
    layout = 2 if table.timeline.by_completion else 1
    return replace(table, timeline=parse_timeline(entries, layout), _archived=None), entries


def _archived(
    table: HudiTable, archive: ArchiveFiles, files: Sequence[FileInfo]
) -> tuple[FileEntry, ...]:
    """The archive's files with the manifest that names them."""
    manifest = archive.manifest
    return _entries(table, (*files, manifest) if manifest and files else files)


def _data(table: HudiTable, files: Sequence[FileInfo], listings: Listings) -> tuple[FileEntry, ...]:
    """Data files, the files that mark their partitions, and the versions of the schema."""
    partitions = {_folder(_relative(table, file.path)) for file in files}
    listed = (file for partition in sorted(partitions) for file in listings[partition])
    marks = [file for file in listed if file.name == PARTITION_MARK]
    return _entries(table, (*files, *marks, *table.schema_files()))


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _relative(table: HudiTable, path: str) -> str:
    return path[len(table.base) + 1 :]


def _entries(table: HudiTable, files: Iterable[FileInfo]) -> tuple[FileEntry, ...]:
    cut = len(table.base) + 1
    return tuple(FileEntry(f.path[cut:], f.length, f.modified) for f in files)


def _properties(table: HudiTable) -> str:
    text = table.storage.read(f"{table.base}/{_PROPERTIES}").decode()
    lines = (line for line in text.splitlines() if not line.startswith(_NOT_CARRIED))
    return "\n".join(lines) + "\n"
