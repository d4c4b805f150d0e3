"""Reads the changes that a table's timeline records after a bookmark.

They are completed commits, archived commits, and commits that were undone. Bookmarks are completion
times in tables that record them (timeline layout 2), else request times.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from pipeline.hudi.errors import BadRange
from pipeline.hudi.table.metadata import CommitMetadata
from pipeline.hudi.table.table import HudiTable
from pipeline.hudi.table.timeline import Instant, Timeline, is_between

EARLIEST = "earliest"


@dataclass(frozen=True, slots=True)
class ArchivedPart:
    """The part of a range that is in the archive alone; it ends at `bookmark`. `instants` are the
    request times of its commits. `older` = (after, before), both exclusive, are commit times of
    other rows that belong to it.
    """

    reason: str
    bookmark: str
    instants: frozenset[str] = frozenset()
    older: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class UndonePart:
    """The reason why a commit from before the range does not count any more: it was undone within
    the range. The range ends at `bookmark` or later.
    """

    reason: str
    bookmark: str


@dataclass(frozen=True, slots=True)
class TableChanges:
    """The completed actions after `since`, up to `bookmark`. `metadata` is that of `commits`.

    `later_files` are the names of files that commits after the bookmark wrote, where the names do
    not have the commit. `held_back_by` is a running commit of a layout 1 table: commits after it
    are left to the next plan. `lost` are the commits that a reader has read and the table has
    undone.
    """

    since: str
    bookmark: str
    commits: tuple[Instant, ...]
    metadata: tuple[CommitMetadata, ...]
    later_files: frozenset[str]
    archived: ArchivedPart | None
    undone: UndonePart | None
    held_back_by: str | None
    lost: tuple[str, ...]

    @property
    def empty(self) -> bool:
        return not self.commits and self.archived is None and self.undone is None

    @property
    def full_scan_reason(self) -> str | None:
        """Why the commits of the range do not show all of its changes; None when they do."""
        part = self.archived or self.undone
        return part.reason if part else None

    @property
    def removes_rows(self) -> bool:
        return any(commit.removes_rows for commit in self.metadata)


def read_changes(
    table: HudiTable, since: str, until: str | None = None, seen: Iterable[str] = ()
) -> TableChanges:
    """The changes in (since, until]; `until` None is until now. `seen` are the commits (request
    times) that the reader has read before. Raises IncrementalError.
    """
    timeline = table.timeline
    since = _instant(since)
    upto = None if until is None else _instant(until)
    known = _known_commits(table, since, seen)
    later = _later_commits(table, since)
    blocking = table.blocking_write()
    commits, held_back_by = timeline.commits_between(since, upto, known, blocking)
    metadata = {commit: table.commit(commit) for commit in (*commits, *later)}
    undoings = [i for i in timeline.undoings if is_between(timeline.key(i), since, upto)]
    undone_by = {instant: table.undone_by(instant) for instant in undoings}
    # The archive of layout 1 has only commits from before the active timeline.
    needs_archive = timeline.by_completion or since < timeline.start
    archive = table.archived if needs_archive else {}
    archived = _archived_part(timeline, archive, since, upto, known)
    undone = _undone_part(timeline, undone_by, blocking, since)
    ends = [timeline.key(commit) for commit in commits]
    ends += [part.bookmark for part in (archived, undone) if part]
    bookmark = max(ends, default=since)
    return TableChanges(
        since=since,
        bookmark=bookmark,
        commits=commits,
        metadata=tuple(metadata[commit] for commit in commits),
        later_files=frozenset(
            stat.path.rpartition("/")[2]
            for commit in later
            if commit.requested > bookmark
            for stat in metadata[commit].writes
        ),
        archived=archived,
        undone=undone,
        held_back_by=held_back_by,
        lost=_lost(timeline, archive, seen),
    )


def end_of_first(table: HudiTable, since: str, until: str | None, most: int) -> str | None:
    """The end of the range of the first `most` commits after `since`; `until` where there are no
    more. Raises IncrementalError.
    """
    since, upto = _instant(since), None if until is None else _instant(until)
    timeline, known = table.timeline, _known_commits(table, since, ())
    commits, _ = timeline.commits_between(since, upto, known, table.blocking_write())
    return until if len(commits) <= most else timeline.key(commits[most - 1])


def _instant(text: str) -> str:
    """The instant that a user wrote. Raises BadRange."""
    if text == EARLIEST:
        return "0"
    if not text.isdigit():
        raise BadRange(f"{text!r} is no instant; digits or {EARLIEST} are.")
    return text


def _known_commits(table: HudiTable, since: str, seen: Iterable[str]) -> frozenset[str]:
    """Request times of commits that the reader has read, also where they completed after `since`.

    An upgrade from layout 1 to 2 gives commits completion times, but bookmarks from before it are
    request times. Instants are unique, so a bookmark that is the request time of a commit is from
    before the upgrade.
    """
    known = frozenset(seen)
    if not table.timeline.by_completion:
        return known
    requests = {i.requested for i in table.timeline.commits} | table.archived.keys()
    return known | {r for r in requests if r <= since} if since in requests else known


def _later_commits(table: HudiTable, since: str) -> list[Instant]:
    """The commits after `since` in tables whose logs do not name their commit: a log of layout 1
    has the instant of its base file.
    """
    if table.timeline.by_completion or not table.merge_on_read:
        return []
    return [i for i in table.timeline.commits if i.requested > since]


def _lost(timeline: Timeline, archive: Mapping[str, str], seen: Iterable[str]) -> tuple[str, ...]:
    """The commits that the reader has seen and that are undone since."""
    committed = timeline.committed()
    if timeline.by_completion:
        return tuple(sorted(set(seen) - (committed.done | archive.keys())))
    return tuple(sorted(name for name in seen if name not in committed))


def _archived_part(
    timeline: Timeline,
    archive: Mapping[str, str],
    since: str,
    upto: str | None,
    known: Collection[str],
) -> ArchivedPart | None:
    """The commits of the range that are in the archive alone. `archive` maps the request times of
    archived commits to their completion times.
    """
    active = {i.requested for i in timeline.commits}
    found = {
        requested: done
        for requested, done in archive.items()
        if is_between(done, since, upto) and requested not in known and requested not in active
    }
    if not found:
        return None
    reason = f"{len(found)} commits of the range are archived"
    older = (since, min(archive))
    return ArchivedPart(reason, max(found.values()), frozenset(found), older)


def _undone_part(
    timeline: Timeline,
    undone_by: Mapping[Instant, frozenset[str]],
    blocking: Instant | None,
    since: str,
) -> UndonePart | None:
    """The last rollback or restore of the range that undid a commit requested before it.

    A rollback does not record whether its commit had completed, so the rollback of one that had not
    causes a full scan, too. A single writer rolls back before it writes again, so the rollback is
    in the range of its next commit.
    """
    for instant, names in reversed(list(undone_by.items())):
        if seen := sorted(name for name in names if name <= since):
            reason = f"{seen[0]} was undone after {since}"
            held_back = blocking is not None and blocking.requested < instant.requested
            return UndonePart(reason, since if held_back else timeline.key(instant))
    return None
