"""Finds what a source has cleaned and archived since its replica was last updated.

The source deletes data files by its cleaner, and moves old actions from the timeline to the
archive. A replica does the same, in the source's order: files first, then the archive, then the
timeline. In another order readers would read files as complete that no action on the timeline
excludes any more. Files that readers of the replica as it was before a run need are deleted by the
next run.
"""

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pipeline.hudi.errors import MissingPath
from pipeline.hudi.table.archive import ArchiveFiles, read_archive
from pipeline.hudi.table.metadata import FileGroup
from pipeline.hudi.table.properties import HOODIE
from pipeline.hudi.table.slices import Moment, file_slices, parse_base, parse_log
from pipeline.hudi.table.storage import FileInfo
from pipeline.hudi.table.table import HudiTable
from pipeline.hudi.table.timeline import REPLACE_COMMIT, SAVEPOINT, Instant, parse_instant

COMPARE = f"{HOODIE}/causeway.compare"
"""The file with the partitions to compare with the source in the next run: a run that was killed
has copied files into them, or they have files that readers of the replica may still need.
"""

_EVERY = None


@dataclass(frozen=True, slots=True)
class ArchiveChange:
    """The source's archive, and what the replica's archive lacks: the request times of `commits`
    and `cleans`, and the `files` that have them. `dropped` are files of the replica's archive that
    the source no longer has.
    """

    source: ArchiveFiles
    commits: frozenset[str] = frozenset()
    cleans: frozenset[str] = frozenset()
    files: tuple[FileInfo, ...] = ()
    dropped: tuple[FileInfo, ...] = ()


def archive_change(source: HudiTable, replica: HudiTable) -> ArchiveChange:
    """Compares the archives; reads only files that one of them lacks. Raises DamagedTimeline,
    StorageFault.
    """
    theirs, ours = source.list_archive(), replica.list_archive()
    known = {(f.name, f.length) for f in ours.instants}
    wanted = {(f.name, f.length) for f in theirs.instants}
    files = tuple(f for f in theirs.instants if (f.name, f.length) not in known)
    other = tuple(f for f in ours.instants if (f.name, f.length) not in wanted)
    by_completion = source.timeline.by_completion
    added = set(read_archive(source.storage, files, by_completion))
    added -= set(read_archive(replica.storage, other, by_completion))
    names = {f.name for f in theirs.instants}
    old = [f for f in (ours.manifest,) if f and ours.version != theirs.version]
    return ArchiveChange(
        theirs,
        frozenset(i.requested for i in added if i.is_commit),
        frozenset(i.requested for i in added if i.action == "clean"),
        files,
        (*(f for f in other if f.name not in names), *old),
    )


@dataclass(frozen=True, slots=True)
class Surplus:
    """The `paths` of data files and partitions of the replica that the source no longer has; and
    the partitions `postponed`, with such files that readers of the replica as it is need.
    """

    paths: tuple[str, ...]
    postponed: tuple[str, ...]


def surplus_files(source: HudiTable, replica: HudiTable, cleans: Iterable[Instant]) -> Surplus:
    """The files that `cleans` deleted at the source, and those that an interrupted run copied of
    commits that were undone since. Compares all partitions when the source has archived a clean
    that the replica lacks.

    The caller lists the source's commits after this call. Then a file that is missing in a
    partition has its successor in one of these commits.
    """
    paths: list[str] = []
    postponed: list[str] = []
    candidates = _candidates(source, replica, cleans)
    commits = replica.timeline.commits
    last = max((commit.requested for commit in commits), default="")
    replaced = replica.replaced_groups(commits, last) if candidates else frozenset()
    for partition, cleaned in sorted(candidates.items()):
        listed = [f for f in replica.list_partition(partition) if _is_data(partition, f)]
        ours = {file.name for file in listed}
        wanted = ours if cleaned is _EVERY else ours & cleaned
        theirs = source.list_partition(partition) if wanted else ()
        surplus = wanted - {file.name for file in theirs}
        if needed := surplus & _needed(replica, partition, listed, replaced):
            postponed.append(partition)
        elif partition and surplus and not theirs and wanted == ours:
            paths.append(partition)
            continue
        prefix = f"{partition}/" if partition else ""
        paths += [f"{prefix}{name}" for name in sorted(surplus - needed)]
    return Surplus(tuple(paths), tuple(postponed))


def _needed(
    replica: HudiTable, partition: str, files: Iterable[FileInfo], replaced: frozenset[FileGroup]
) -> set[str]:
    """The names of the files that readers of the replica as it is open."""
    timeline = replica.timeline
    done = {i.requested: timeline.key(i) for i in timeline.commits}
    moment = Moment(done, timeline.start, timeline.by_completion)
    slices = file_slices(partition, files, moment).items()
    return {file.name for group, part in slices if group not in replaced for file in part.files}


def _candidates(
    source: HudiTable, replica: HudiTable, cleans: Iterable[Instant]
) -> Mapping[str, frozenset[str] | None]:
    """The names of the files to compare, by partition; `_EVERY` is all files."""
    followed = {i.requested for i in replica.timeline.instants if i.action == "clean"}
    if archive_change(source, replica).cleans - followed:
        return dict.fromkeys(replica.partitions(), _EVERY)
    found: dict[str, frozenset[str] | None] = {}
    for clean in cleans:
        for partition, names in source.cleaned_by(clean).items():
            found[partition] = frozenset(names) | (found.get(partition) or frozenset())
    compared = {*to_compare(replica), *_replaced_partitions(source, replica)}
    return {**found, **dict.fromkeys(compared, _EVERY)}


def _replaced_partitions(source: HudiTable, replica: HudiTable) -> Iterator[str]:
    """The partitions with groups that archived commits of the source replaced. Readers find
    replaced groups by active commits alone, so these commits must not leave the replica's timeline
    before the groups' files are deleted.
    """
    active = {i.requested for i in source.timeline.instants}
    for commit in replica.timeline.commits:
        if commit.action == REPLACE_COMMIT and commit.requested not in active:
            yield from (partition for partition, _ in replica.commit(commit).replaced)


def _is_data(partition: str, file: FileInfo) -> bool:
    return bool(parse_base(partition, file) or parse_log(partition, file))


def to_compare(replica: HudiTable) -> tuple[str, ...]:
    """The partitions that `COMPARE` names."""
    try:
        return tuple(json.loads(replica.storage.read(f"{replica.base}/{COMPARE}")))
    except MissingPath:
        return ()


def retired(names: Iterable[str], active: Container[str]) -> list[str]:
    """The replica's timeline files of actions that the source no longer has in `active` (request
    times), in the order of deletion: requests first, because a commit with a request alone would
    count as running; oldest commits first, because a commit in a gap would not count as complete;
    savepoints last, because an old commit without its savepoint would be the timeline's start.
    """
    instants = (parse_instant(name) for name in names)
    gone = [each for each in instants if each is not None and each.requested not in active]
    return [each.file for each in sorted(gone, key=_retirement)]


def _retirement(instant: Instant) -> tuple[int, str]:
    stage = 0 if not instant.completed else 2 if instant.action == SAVEPOINT else 1
    return stage, instant.requested
