"""From a bookmark to the file slices that hold what changed since (HU-1, HU-4).

The commits of the range name the partitions; only those are listed. Where the active timeline
no longer covers the range, or the cleaner took a file that is needed, the whole table is
scanned and the plan says why (HU-F): slower, never wrong. The same where something from before
the range was undone in it: then no changed rows tell what the table is now.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipeline.hudi.errors import BadRange, MissingPath
from pipeline.hudi.listing import replaced_groups
from pipeline.hudi.table.archive import archived_commits, has_archive
from pipeline.hudi.table.metadata import CommitMetadata, FileGroup, WriteStat
from pipeline.hudi.table.slices import FileSlice, Moment, file_slices, parse_base, parse_log
from pipeline.hudi.table.storage import FileInfo
from pipeline.hudi.table.table import HudiTable
from pipeline.hudi.table.timeline import Instant

EARLIEST = "earliest"


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Rows of the range by `_hoodie_commit_time`: one of `instants`, or between `older`.

    `older` = (after, before), both exclusive, is for commits that no timeline remembers.
    """

    instants: frozenset[str]
    older: tuple[str, str] | None = None

    def __contains__(self, commit_time: object) -> bool:
        if commit_time in self.instants:
            return True
        return self.older is not None and self.older[0] < str(commit_time) < self.older[1]


NO_ROWS = RowFilter(frozenset())


@dataclass(frozen=True, slots=True)
class Plan:
    """What to read for the changes after `since` up to and including `bookmark`.

    `rows` None means every row. `fallback` is why the whole table is read, None when it is
    not. `removes_rows` tells that rows vanished in the range, which no reader of changed rows
    can see; `undone` that some of them may have been read before. `held_back_by` is a running
    commit of a layout 1 table: commits behind it wait for the next plan.
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
    def files(self) -> tuple[FileInfo, ...]:
        return tuple(file for part in self.slices for file in part.files)

    @property
    def bytes(self) -> int:
        return sum(file.length for file in self.files)


def plan(table: HudiTable, since: str, until: str | None = None) -> Plan:
    """The plan for (since, until]; `until` None is everything that is complete.

    Bookmarks are completion times where the table has them (layout 2), else request times.
    Raises IncrementalError.
    """
    since = _checked(since)
    upto = None if until is None else _checked(until)
    commits, held_back_by = _commits(table, since, upto)
    lost, undone = _lost(table, since, upto), _undone(table, since, upto)
    if not commits and lost is None and undone is None:
        return Plan(table, since, since, (), (), (), NO_ROWS, held_back_by=held_back_by)
    done = [table.commit(commit) for commit in commits]
    ends = [table.timeline.key(c) for c in commits]
    bookmark = max(ends + [part.bookmark for part in (lost, undone) if part])
    gone = lost or undone
    changed = gone.why if gone else _changed(table, done, bookmark)
    fallback = changed if isinstance(changed, str) else None
    partitions, slices = _everything(table) if isinstance(changed, str) else changed
    removes = any(c.removes_rows for c in done)
    rows = RowFilter(
        frozenset(c.requested for c in commits) | (lost.instants if lost else frozenset()),
        lost.older if lost else None,
    )
    return Plan(
        table, since, bookmark, commits, partitions, slices, rows,
        fallback, removes or fallback is not None, undone is not None, held_back_by,
    )  # fmt: skip


def snapshot(table: HudiTable) -> Plan:
    """Every row as of now, with the bookmark to go on from."""
    commits, held_back_by = _commits(table, "0", None)
    bookmark = table.timeline.key(commits[-1]) if commits else "0"
    partitions, slices = _everything(table) if commits else ((), ())
    return Plan(table, "0", bookmark, commits, partitions, slices, None, held_back_by=held_back_by)


def _checked(instant: str) -> str:
    if instant == EARLIEST:
        return "0"
    if not instant.isdigit():
        raise BadRange(f"{instant!r} is no instant; digits or {EARLIEST} are.")
    return instant


def _commits(
    table: HudiTable, since: str, upto: str | None
) -> tuple[tuple[Instant, ...], str | None]:
    """Complete commits of the range, and the running one that ended it early, if any."""
    timeline = table.timeline
    commits = [
        i
        for i in timeline.commits
        if timeline.key(i) > since and (upto is None or timeline.key(i) <= upto)
    ]
    running = timeline.first_running_write
    if timeline.by_completion or running is None:
        return tuple(commits), None
    # By request time a bookmark behind a running commit would lose that commit's rows.
    before = [i for i in commits if i.requested < running.requested]
    return tuple(before), running.requested if len(before) < len(commits) else None


@dataclass(frozen=True, slots=True)
class _Lost:
    """What of a range the active timeline no longer has; `bookmark` is the end of that part."""

    why: str
    bookmark: str
    instants: frozenset[str] = frozenset()
    older: tuple[str, str] | None = None


def _lost(table: HudiTable, since: str, upto: str | None) -> _Lost | None:
    """The archived part of a range, None when there is none."""
    if not table.timeline.by_completion:
        return _lost_by_request(table, since, upto)
    archived = archived_commits(table)
    found = {
        requested: done
        for requested, done in archived.items()
        if since < done and (upto is None or done <= upto)
    }
    if not found:
        return None
    why = f"{len(found)} commits of the range are archived"
    older = (since, min(archived))
    return _Lost(why, max(found.values()), frozenset(found), older)


def _lost_by_request(table: HudiTable, since: str, upto: str | None) -> _Lost | None:
    """A layout 1 archive is not read: whatever is before the active timeline may be in it."""
    start = table.timeline.start
    if since >= start or not has_archive(table):
        return None
    why = f"commits after {since} may be archived; the active timeline starts at {start}"
    if upto is not None and upto < start:
        return _Lost(why, upto, older=(since, upto + "0"))
    # All that is before the start is complete and counts as seen.
    return _Lost(why, str(int(start) - 1).zfill(len(start)), older=(since, start))


@dataclass(frozen=True, slots=True)
class _Undone:
    """What a reader may have seen that was undone in the range, which ends not before
    `bookmark`."""

    why: str
    bookmark: str


def _undone(table: HudiTable, since: str, upto: str | None) -> _Undone | None:
    """Rollbacks and restores in the range of what was requested before it.

    Of a rollback nobody can tell whether its commit had completed; one that had not costs a full
    scan too. A single writer rolls back before it writes on, so that it stays within the range.
    """
    key, running = table.timeline.key, table.timeline.first_running_write
    for instant in reversed(table.timeline.undoings):
        if key(instant) <= since:
            break
        if upto is not None and key(instant) > upto:
            continue
        if seen := sorted(name for name in table.undone_by(instant) if name <= since):
            why = f"{seen[0]} was undone after {since}"
            behind = running is not None and running.requested < instant.requested
            held_back = behind and not table.timeline.by_completion
            return _Undone(why, since if held_back else key(instant))
    return None


def undone_commits(table: HudiTable, seen: Iterable[str]) -> tuple[str, ...]:
    """Those of the commits (request times) that a reader has seen which the table has undone."""
    if table.timeline.by_completion:
        there = table.timeline.committed().done | archived_commits(table).keys()
        return tuple(sorted(set(seen) - there))
    committed = table.timeline.committed()
    return tuple(sorted(name for name in seen if name not in committed))


def _changed(
    table: HudiTable, done: Sequence[CommitMetadata], bookmark: str
) -> tuple[tuple[str, ...], tuple[FileSlice, ...]] | str:
    """Touched partitions and their touched slices as of the bookmark, or why a file is gone.

    Services move rows within a partition: their files matter in partitions that changed.
    """
    gone = frozenset[FileGroup]().union(*(c.replaced for c in done))
    touched = {s.group[0] for c in done if not c.is_service for s in c.writes}
    newest: dict[FileGroup, list[WriteStat]] = {}
    for stat in (s for c in done for s in c.writes):
        if stat.group[0] in touched and stat.group not in gone:
            newest.setdefault(stat.group, []).append(stat)
    partitions = tuple(sorted({partition for partition, _ in newest}))
    moment = _moment(table, bookmark)
    later = _later_files(table, bookmark)
    slices: list[FileSlice] = []
    for partition in partitions:
        wanted = {group: stats for group, stats in newest.items() if group[0] == partition}
        found = _wanted_slices(table, partition, wanted, moment, later)
        if isinstance(found, str):
            return found
        slices += found
    return partitions, tuple(slices)


def _wanted_slices(
    table: HudiTable,
    partition: str,
    wanted: dict[FileGroup, list[WriteStat]],
    moment: Moment,
    later: frozenset[str],
) -> list[FileSlice] | str:
    try:
        listed = [
            status
            for status in table.storage.list(table.partition_path(partition))
            if status.name not in later
        ]
    except MissingPath:
        return f"partition {partition} is gone"
    based = {base.group for status in listed if (base := parse_base(partition, status))}
    slices = file_slices(partition, listed, moment)
    for group, stats in wanted.items():
        found = slices.get(group)
        last = stats[-1].path.rpartition("/")[2]
        if found is None or (found.base is None and group in based):
            return f"{partition}/{last} was cleaned"
        if last not in {f.name for f in found.files} and not _superseded(
            partition, last, found, moment
        ):
            return f"{partition}/{last} was cleaned"
    return [slices[group] for group in sorted(wanted)]


def _later_files(table: HudiTable, bookmark: str) -> frozenset[str]:
    """Names of files that commits behind the bookmark wrote, where names do not tell: a log
    of layout 1 is called after its base file."""
    if table.timeline.by_completion or not table.merge_on_read:
        return frozenset()
    later = (i for i in table.timeline.commits if i.requested > bookmark)
    return frozenset(s.path.rpartition("/")[2] for i in later for s in table.commit(i).writes)


def _superseded(partition: str, name: str, found: FileSlice, moment: Moment) -> bool:
    """Whether a log that is not in the slice had been compacted into the slice's base file."""
    log = parse_log(partition, FileInfo(name, 0))
    base = parse_base(partition, found.base) if found.base else None
    if log is None or base is None:
        return False
    done = moment.completion(log.instant) if moment.by_completion else log.instant
    return done is not None and done < base.instant


def _everything(table: HudiTable) -> tuple[tuple[str, ...], tuple[FileSlice, ...]]:
    """All partitions and their slices as of now."""
    commits = table.timeline.commits
    moment = _moment(table, None)
    gone = replaced_groups(table, commits, max((c.requested for c in commits), default=""))
    partitions: list[str] = []
    slices: list[FileSlice] = []
    for partition, listed in table.walk():
        partitions.append(partition)
        found = file_slices(partition, listed, moment)
        slices += [found[group] for group in sorted(found) if group not in gone]
    return tuple(partitions), tuple(slices)


def _moment(table: HudiTable, upto: str | None) -> Moment:
    timeline = table.timeline
    known = {i.requested: timeline.key(i) for i in timeline.commits}
    if timeline.by_completion:
        # An archived log may have been completed after a base file of a later request.
        known = {**archived_commits(table), **known}
    return Moment(
        completions={r: done for r, done in known.items() if upto is None or done <= upto},
        archived_before=timeline.start,
        by_completion=timeline.by_completion,
    )
