"""Updates a target with the changes of a Hudi table: plans, reads, and writes rows and bookmark.

Mode `append` adds each changed row, so the target is a log of changes. Mode `merge` keeps one row
for each key, so the target is a mirror. Changed rows do not show which rows were deleted; after
deletions a mirror is replaced by the whole table, in the same single step.
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
    """What a pull did. `commits` and `rows` are numbers. `fallback` is the reason why all
    partitions were listed, `reloaded` the reason why the target was replaced; None when it was not.
    `held_back_by` is a running commit: commits after it are left to the next pull.
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
    """What a pull will do. `planned` is the plan of the range, `reads` the plan whose rows are read
    (that of the whole table when `reload` has a reason), `mark` what the target records afterwards.
    """

    planned: Plan
    reads: Plan
    mark: PullMark
    reload: str | None

    @property
    def changes_nothing(self) -> bool:
        """Whether the target stays unchanged: the range has no new commits."""
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
    """Pulls the changes since the last pull into a folder; the first pull begins at `since`.
    `moved_from` is the base path that the table had in earlier pulls.

    Raises IncrementalError; the target is then unchanged, unless the reply of a remote store was
    lost: then it may have been updated.
    """
    with target.locked():
        before = check_mark(folder.last_mark(target), table, mode, moved_from, target.path)
        step = next_step(table, before, mode, since, until, target.path)
        if step.changes_nothing:
            return step.result(0)
        rows = open_rows(step.reads)
        count = folder.write(target, rows, step.write, key, before, step.mark)
    return step.result(count)


def check_mark(
    before: PullMark | None, table: HudiTable, mode: PullMode, moved_from: str | None, target: str
) -> PullMark | None:
    """Returns the mark of a target's last pull. Raises TargetMismatch if that was a pull of another
    table or in another mode.
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
    """The step for a target whose last pull left the mark `before`. Raises IncrementalError."""
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
    # A commit from before an upgrade may have been read and have a completion after the bookmark.
    commits = tuple(
        commit.requested
        for commit in table.timeline.commits
        if table.timeline.key(commit) <= reads.bookmark or commit.requested in seen
    )
    mark = PullMark(table.base, mode.value, reads.bookmark, commits)
    return PullStep(planned, reads, mark, reload)
