"""Brings a target up to date with a Hudi table: plan, read, write with the bookmark.

Mode `append` adds each changed row, which makes a log of changes; `merge` keeps one row for each
key, which makes a mirror. Changed rows do not show which rows were deleted, so a mirror is then
reloaded from the whole table, in the same single step.
"""

from dataclasses import dataclass
from enum import Enum

from pipeline.hudi.changes import EARLIEST, read_changes
from pipeline.hudi.errors import TargetMismatch, Undone
from pipeline.hudi.folders import folder
from pipeline.hudi.folders.folder import PullMark, TargetFolder, WriteMode
from pipeline.hudi.plan import Plan, plan_changes, snapshot
from pipeline.hudi.read import open_rows
from pipeline.hudi.table.table import HudiTable

DEFAULT_KEY = ("_hoodie_partition_path", "_hoodie_record_key")


class PullMode(Enum):
    APPEND = "append"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class PullResult:
    """`rows` were written. `fallback` is why the whole table was read, `reloaded` why the target
    was reloaded; None when it was not. `held_back_by` is a running commit that others wait for.
    """

    since: str
    bookmark: str
    commits: int
    rows: int
    fallback: str | None
    reloaded: str | None = None
    held_back_by: str | None = None


@dataclass(frozen=True, slots=True)
class PullStep:
    """A pull, decided. `planned` is the range, `reads` the plan that is read (of the whole table
    when `reload` has a reason), `mark` what the target records then.
    """

    planned: Plan
    reads: Plan
    mark: PullMark
    reload: str | None

    @property
    def nothing(self) -> bool:
        """Whether the target stays as it is. A range without an end after its start has no rows."""
        if self.reload is not None:
            return False
        adds = self.write is WriteMode.ADD
        return self.planned.empty or (adds and self.reads.bookmark == self.planned.since)

    @property
    def write(self) -> WriteMode:
        if self.mark.mode == PullMode.APPEND.value:
            return WriteMode.ADD
        return WriteMode.MERGE if self.reload is None else WriteMode.REPLACE

    def result(self, rows: int) -> PullResult:
        planned = self.planned
        return PullResult(
            planned.since, self.reads.bookmark, len(planned.commits), rows,
            planned.fallback, self.reload, planned.held_back_by,
        )  # fmt: skip


def pull(
    table: HudiTable,
    target: TargetFolder,
    mode: PullMode,
    key: tuple[str, ...] = DEFAULT_KEY,
    since: str = EARLIEST,
    until: str | None = None,
    moved_from: str | None = None,
) -> PullResult:
    """Pulls into a folder, from the bookmark of its last pull on; the first pull begins at
    `since`. `moved_from` is the base path that the table had in earlier pulls.

    Raises IncrementalError; the target is then unchanged. Where an answer of a remote store is
    lost, it may have been updated nevertheless.
    """
    with target.locked():
        before = continued(folder.last_mark(target), table, mode, moved_from, target.path)
        step = next_step(table, before, mode, since, until, target.path)
        if step.nothing:
            return step.result(0)
        rows = open_rows(step.reads)
        count = folder.write(target, rows, step.write, key, before, step.mark)
    return step.result(count)


def continued(
    before: PullMark | None, table: HudiTable, mode: PullMode, moved_from: str | None, target: str
) -> PullMark | None:
    """The mark of a target's last pull, when it was a pull of this table in this mode.

    Raises TargetMismatch.
    """
    if before is None:
        return None
    moved = moved_from is not None and before.source == moved_from.rstrip("/")
    if before.mode != mode.value or not (before.source == table.base or moved):
        raise TargetMismatch(
            f"{target} holds {before.mode} pulls from {before.source}, "
            f"not {mode.value} pulls from {table.base}."
        )
    if moved and not table.has_any(before.commits):
        raise TargetMismatch(f"{table.base} has no commit that {target} has from {moved_from}.")
    return before


def next_step(
    table: HudiTable,
    before: PullMark | None,
    mode: PullMode,
    since: str,
    until: str | None,
    target: str,
) -> PullStep:
    """The step for a target with the mark `before`. Raises IncrementalError."""
    seen: tuple[str, ...] = ()
    if before is not None:
        since, seen = before.bookmark, before.commits
    changes = read_changes(table, since, until, seen)
    lost = ", ".join(changes.lost)
    if lost and mode is PullMode.APPEND:
        raise Undone(f"{target} has rows of {lost}, undone at the source since.")
    planned = plan_changes(table, changes)
    reload = None
    # The first pull merges into an empty target, which has no deleted rows.
    if mode is PullMode.MERGE and before is not None:
        reload = f"{lost} undone at the source" if lost else planned.removal_reason
    reads = snapshot(table) if reload else planned
    # A commit from before an upgrade may have completed after the bookmark, and be seen.
    commits = tuple(
        commit.requested
        for commit in table.timeline.commits
        if table.timeline.key(commit) <= reads.bookmark or commit.requested in seen
    )
    mark = PullMark(table.base, mode.value, reads.bookmark, commits)
    return PullStep(planned, reads, mark, reload)
