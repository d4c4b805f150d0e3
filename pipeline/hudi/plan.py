"""Selects the file slices that contain the changes after a bookmark (HU-1, HU-4).

The commits of the range name the changed partitions, and only these are listed. All partitions are
listed instead, and the plan has the reason, when the active timeline does not cover the range, when
the cleaner has deleted a file that is needed, or when a commit from before the range was undone
(HU-F).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.hudi.changes import TableChanges, read_changes
from pipeline.hudi.errors import IncrementalError, LostFile, StorageFault
from pipeline.hudi.table.metadata import FileGroup, WriteStat
from pipeline.hudi.table.slices import FileSlice, MissingFile, Moment, file_slices, select_slices
from pipeline.hudi.table.storage import FileInfo
from pipeline.hudi.table.table import HudiTable
from pipeline.hudi.table.timeline import Instant


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Selects the rows of a range by `_hoodie_commit_time`: it is one of `instants`, or within
    `older` = (after, before), both exclusive, for commits that the timeline no longer has.
    """

    instants: frozenset[str]
    older: tuple[str, str] | None = None

    def __contains__(self, commit_time: object) -> bool:
        if commit_time in self.instants:
            return True
        return self.older is not None and self.older[0] < str(commit_time) < self.older[1]


Listings = Mapping[str, Sequence[FileInfo]]
"""The files of partitions. Partitions are paths relative to the table."""

NO_ROWS = RowFilter(frozenset())


@dataclass(frozen=True, slots=True)
class Plan:
    """The files to read for the changes after `since` up to and including `bookmark`.

    `rows` None selects every row. `fallback` is the reason to read the whole table, None when only
    changed partitions are read. `removes_rows`: rows were deleted or replaced in the range, which
    changed rows do not show. `undone`: commits were undone whose rows may have been read before.
    `held_back_by` is a running commit of a layout 1 table: commits after it are left to the next
    plan.
    """

    table: HudiTable
    since: str
    bookmark: str
    commits: tuple[Instant, ...]
    partitions: tuple[str, ...]
    slices: tuple[FileSlice, ...]
    rows: RowFilter | None
    fallback: str | None = None
    removes_rows: bool = False
    undone: bool = False
    held_back_by: str | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing happened in the range."""
        return self.bookmark == self.since and not self.undone

    @property
    def removal_reason(self) -> str | None:
        """Why changed rows do not show all changes of the range; None when they do."""
        if not self.removes_rows:
            return None
        return self.fallback or "rows were deleted or replaced at the source"

    @property
    def files(self) -> tuple[FileInfo, ...]:
        return tuple(file for part in self.slices for file in part.files)

    @property
    def bytes(self) -> int:
        return sum(file.length for file in self.files)


def plan(table: HudiTable, since: str, until: str | None = None) -> Plan:
    """The plan for the range (since, until]; `until` None is until now.

    Raises IncrementalError.
    """
    return plan_changes(table, read_changes(table, since, until))


def plan_changes(table: HudiTable, changes: TableChanges) -> Plan:
    """The plan that reads these changes. Raises IncrementalError."""
    if changes.empty:
        return Plan(
            table, changes.since, changes.since, (), (), (), NO_ROWS,
            held_back_by=changes.held_back_by,
        )  # fmt: skip
    rows = _row_filter(changes)
    fallback = changes.full_scan_reason
    if fallback is None:
        try:
            partitions, slices = _changed_slices(table, changes)
        except _FileMissing as missing:
            fallback = str(missing)
    if fallback is not None:
        partitions, slices = _all_slices(table)
    return Plan(
        table, changes.since, changes.bookmark, changes.commits, partitions, slices, rows, fallback,
        changes.removes_rows or fallback is not None, changes.undone is not None,
        changes.held_back_by,
    )  # fmt: skip


def snapshot(table: HudiTable, listings: Listings | None = None) -> Plan:
    """The plan that reads every row as of now. Its bookmark is the start of the next range.
    `listings` are the files of all partitions, if the caller has listed them.
    """
    timeline = table.timeline
    commits, held_back_by = timeline.commits_between("0", None, blocking=table.blocking_write())
    bookmark = timeline.key(commits[-1]) if commits else "0"
    partitions, slices = _all_slices(table, listings) if commits else ((), ())
    return Plan(table, "0", bookmark, commits, partitions, slices, None, held_back_by=held_back_by)


def _row_filter(changes: TableChanges) -> RowFilter:
    instants = frozenset(commit.requested for commit in changes.commits)
    if changes.archived is None:
        return RowFilter(instants)
    return RowFilter(instants | changes.archived.instants, changes.archived.older)


class _FileMissing(Exception):
    """A file of the changes was cleaned, so that all partitions have to be listed."""


def _changed_slices(
    table: HudiTable, changes: TableChanges
) -> tuple[tuple[str, ...], tuple[FileSlice, ...]]:
    """The partitions with changes and their changed slices as of the bookmark. Raises
    _FileMissing, LostFile, StorageFault.

    Table services move rows within a partition: their files count in partitions that changed.
    """
    metadata = changes.metadata
    replaced = frozenset[FileGroup]().union(*(commit.replaced for commit in metadata))
    touched = {s.group[0] for commit in metadata if not commit.is_service for s in commit.writes}
    writes: dict[FileGroup, list[WriteStat]] = {}
    for stat in (s for commit in metadata for s in commit.writes):
        if stat.group[0] in touched and stat.group not in replaced:
            writes.setdefault(stat.group, []).append(stat)
    partitions = tuple(sorted({partition for partition, _ in writes}))
    moment = _moment(table, changes.bookmark)
    slices: list[FileSlice] = []
    for partition in partitions:
        files = table.list_partition(partition)
        wanted = {
            group: stats[-1].path.rpartition("/")[2]
            for group, stats in writes.items()
            if group[0] == partition
        }
        found = select_slices(partition, files, changes.later_files, wanted, moment)
        if isinstance(found, MissingFile):
            raise _missing(table, found)
        slices += found
    return partitions, tuple(slices)


def _missing(table: HudiTable, missing: MissingFile) -> _FileMissing | IncrementalError:
    """The exception for a missing file. The cleaner deletes files of replaced groups, and files
    that have a newer base file; any other file is lost.
    """
    partition, name = missing.group[0], missing.name
    cleaned = _FileMissing(f"{partition}/{name} was cleaned")
    if any(instant in table.timeline.committed() for instant in missing.newer):
        return cleaned
    commits = table.timeline.commits
    if missing.group in table.replaced_groups(commits, max(c.requested for c in commits)):
        return cleaned
    path = f"{table.partition_path(partition)}/{name}"
    if missing.newer:
        return StorageFault(f"{path} is replaced by a commit that was not complete; pull again.")
    return LostFile(f"{path} is lost; the cleaner keeps it.")


def _all_slices(
    table: HudiTable, listings: Listings | None = None
) -> tuple[tuple[str, ...], tuple[FileSlice, ...]]:
    """All partitions and their slices as of now."""
    commits = table.timeline.commits
    last = max((commit.requested for commit in commits), default="")
    moment = _moment(table, None)
    replaced = table.replaced_groups(commits, last)
    listings = dict(table.walk()) if listings is None else listings
    slices: list[FileSlice] = []
    for partition, listed in listings.items():
        found = file_slices(partition, listed, moment)
        slices += [found[group] for group in sorted(found) if group not in replaced]
    return tuple(listings), tuple(slices)


def _moment(table: HudiTable, upto: str | None) -> Moment:
    """The commits that count up to an instant; `upto` None is now."""
    timeline = table.timeline
    known = {i.requested: timeline.key(i) for i in timeline.commits}
    if timeline.by_completion:
        # An archived log may have completed after a base file with a later request.
        known = {**table.archived, **known}
    return Moment(
        completions={r: done for r, done in known.items() if upto is None or done <= upto},
        archived_before=timeline.start,
        by_completion=timeline.by_completion,
    )
