"""The plan of a replication: files that a replica of a Hudi table lacks, and files to delete."""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pipeline.copy.files import FileEntry
from pipeline.hudi.errors import MissingPath, NotAHudiTable, OutOfStep
from pipeline.hudi.plan import Listings, snapshot
from pipeline.hudi.replicas.trim import archive_change, retired, surplus_files, to_compare
from pipeline.hudi.table.archive import ArchiveFiles
from pipeline.hudi.table.properties import HOODIE, read_properties
from pipeline.hudi.table.storage import FileInfo, HudiStorage
from pipeline.hudi.table.table import LOCKS, PARTITION_MARK, HudiTable, archive_folder, open_table
from pipeline.hudi.table.timeline import (
    COMPACTION,
    LOG_COMPACTION,
    SAVEPOINT,
    Instant,
    parse_timeline,
)

PROPERTIES_PATH = f"{HOODIE}/hoodie.properties"
# Names the source of a replica. No directory without it is ever changed.
ORIGIN = f"{HOODIE}/causeway.replica-of"
# The metadata table and logs of changed data are not replicated: readers list the files.
_NOT_CARRIED = ("hoodie.table.metadata.partitions", "hoodie.table.cdc.enabled")


@dataclass(frozen=True, slots=True)
class HudiReplicationPlan:
    """The files to copy and to delete, in the order of the fields. `whole`: there is no replica
    yet.

    `data` are data files, `prepared` files of the timeline that have to exist before the commits,
    `completed` the files that complete these. `cleaned` and `retired` are paths in the replica, in
    the order of deletion. `archived` are archive files, which readers use when the replica's
    `_version_` has the text `version`. The file `COMPARE` names the partitions `compared` during
    the run and `postponed` after it.
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


def plan_replication(source: HudiTable, target: str, storage: HudiStorage) -> HudiReplicationPlan:
    """The plan that updates the replica at `target`. `storage` reads the replica. Raises OutOfStep,
    StorageFault.
    """
    target = target.rstrip("/")
    replica = _replica(source.base, target, storage)
    if replica is None:
        return _plan_first(source, target)
    return _plan_next(source, replica)


def check_target(source: str, target: str, storage: HudiStorage) -> None:
    """Raises OutOfStep unless the directory `target` is empty or a replica of the table at
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
    names = replica.storage.names(replica.timeline_folder)
    cleans = [clean for clean in source.timeline.cleans if clean.file not in names]
    surplus = surplus_files(source, replica, cleans)
    active = {i.requested for i in source.timeline.instants}
    source, timeline = _listed(source)
    active |= {name.partition(".")[0].partition("_")[0] for name in timeline}
    archive = archive_change(source, replica)
    commits = _missing(source, replica, archive.commits)
    data = _data(source, *_written(source, commits))
    timeline_folder = _relative(source, source.timeline_folder)
    retired_names = retired(names, active)
    copied = (folder_of(e.path) for e in data if not e.path.startswith(HOODIE))
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
            *(f"{timeline_folder}/{name}" for name in retired_names),
            *(_relative(replica, file.path) for file in archive.dropped),
        ),
        compared=tuple(sorted(compared)),
        postponed=surplus.postponed,
        properties=_properties(source),
    )  # fmt: skip


def _replica(source: str, target: str, storage: HudiStorage) -> HudiTable | None:
    """The replica; None when it does not exist or is not complete. Raises OutOfStep when the
    directory has anything else.
    """
    try:
        origin = storage.read(f"{target}/{ORIGIN}").decode()
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
    """Whether the directory has nothing but the lease of a first run."""
    with suppress(MissingPath):
        names = set(storage.names(target))
        if names == {HOODIE}:
            names = set(storage.names(f"{target}/{HOODIE}")) - {LOCKS.rpartition("/")[2]}
        return not names
    return True


def _written(table: HudiTable, commits: Sequence[Instant]) -> tuple[tuple[FileInfo, ...], Listings]:
    """Every file that the commits wrote, and the listings of their partitions. Raises OutOfStep."""
    paths = {s.path for c in commits for s in table.commit(c).writes if s.path}
    listings = {each: table.list_partition(each) for each in sorted(set(map(folder_of, paths)))}
    present = {_relative(table, f.path): f for listed in listings.values() for f in listed}
    if cleaned := sorted(paths - present.keys()):
        raise OutOfStep(f"{cleaned[0]} of a commit that the replica lacks was cleaned.")
    return tuple(present[path] for path in sorted(paths)), listings


def _missing(
    source: HudiTable, replica: HudiTable, archived: Collection[str]
) -> tuple[Instant, ...]:
    """The source's commits that the replica lacks. `archived` are the archived commits of the
    source that the replica's archive lacks. Raises OutOfStep.
    """
    ours = {i.requested for i in replica.timeline.commits}
    theirs = {i.requested for i in source.timeline.commits}
    if lost := set(archived) - ours - theirs:
        raise OutOfStep(f"{replica.base} lacks {min(lost)}, which the source has archived.")
    unknown = ours - theirs - set(archived)
    # A run that was killed may have copied the archive and left its commits on the timeline.
    if unknown and (unknown := unknown - source.archived.keys()):
        raise OutOfStep(f"{replica.base} has the commit {min(unknown)}, the source has not.")
    return tuple(i for i in source.timeline.commits if i.requested not in ours)


def _prepared(
    source: HudiTable,
    timeline: Mapping[str, FileEntry],
    commits: Sequence[Instant],
    present: Container[str],
) -> tuple[FileEntry, ...]:
    """The timeline files that have to exist before the commits: their requests, savepoints, and the
    plans of compactions, which later logs without a base file need.
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
    """The table with its timeline as of now, and the files of the timeline by name."""
    files = table.storage.list(table.timeline_folder)
    listed = (f for f in files if not f.is_dir and f.name[0].isdigit())
    entries = {entry.path.rpartition("/")[2]: entry for entry in _entries(table, listed)}
    layout = 2 if table.timeline.by_completion else 1
    return replace(table, timeline=parse_timeline(entries, layout), _archived=None), entries


def _archived(
    table: HudiTable, archive: ArchiveFiles, files: Sequence[FileInfo]
) -> tuple[FileEntry, ...]:
    """Files of the archive, with the manifest that names them."""
    manifest = archive.manifest
    return _entries(table, (*files, manifest) if manifest and files else files)


def _data(table: HudiTable, files: Sequence[FileInfo], listings: Listings) -> tuple[FileEntry, ...]:
    """Data files, the files that mark their partitions, and the versions of the schema."""
    partitions = {folder_of(_relative(table, file.path)) for file in files}
    listed = (file for partition in sorted(partitions) for file in listings[partition])
    marks = [file for file in listed if file.name == PARTITION_MARK]
    return _entries(table, (*files, *marks, *table.schema_files()))


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def _relative(table: HudiTable, path: str) -> str:
    return path[len(table.base) + 1 :]


def _entries(table: HudiTable, files: Iterable[FileInfo]) -> tuple[FileEntry, ...]:
    cut = len(table.base) + 1
    return tuple(FileEntry(f.path[cut:], f.length, f.modified) for f in files)


def _properties(table: HudiTable) -> str:
    text = read_properties(table.base, table.storage).decode()
    lines = (line for line in text.splitlines() if not line.startswith(_NOT_CARRIED))
    return "\n".join(lines) + "\n"
