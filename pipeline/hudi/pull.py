"""Bringing a target up to date with a Hudi table: plan, read, publish with the bookmark.

Modes: `append` adds each changed row, a log of changes; `merge` keeps one row a key, a mirror.
Rows that vanished at the source cannot be told from its changes, so a mirror is then loaded
anew, in the same single step.
"""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pipeline.hudi import folder
from pipeline.hudi.errors import TargetMismatch, Undone
from pipeline.hudi.plan import EARLIEST, Plan, plan, snapshot, undone_commits
from pipeline.hudi.read import changed_batches, changed_rows, schema_of
from pipeline.hudi.table.table import HudiTable

DEFAULT_KEY = ("_hoodie_partition_path", "_hoodie_record_key")


class Mode(Enum):
    APPEND = "append"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class PullResult:
    """What a pull did. `rows` written; `reloaded` says why the target was loaded anew, if so."""

    since: str
    bookmark: str
    commits: int
    rows: int
    fallback: str | None
    reloaded: str | None = None
    held_back_by: str | None = None


def pull(
    table: HudiTable,
    target: Path,
    mode: Mode,
    key: tuple[str, ...] = DEFAULT_KEY,
    since: str = EARLIEST,
    until: str | None = None,
) -> PullResult:
    """Pulls into a local folder from its own bookmark on; `since` counts for the first pull.

    Raises IncrementalError; the target is then as it was.
    """
    with folder.locked(target):
        step = next_step(table, folder.last_mark(target), mode, since, until, str(target))
        if step.nothing:
            return report(step, 0)
        reads, mark = step.reads, step.mark
        if mode is Mode.APPEND:
            rows = folder.append(target, changed_batches(reads), schema_of(reads), mark)
        elif step.reload:
            rows = folder.replace(target, changed_batches(reads), schema_of(reads), mark)
        else:
            rows = folder.merge(target, changed_rows(reads), key, mark)
    return report(step, rows)


@dataclass(frozen=True, slots=True)
class Step:
    """One pull, decided: `planned` is the range, `reads` what is read for it (all of the table
    where `reload` says why), `mark` what the target knows then."""

    planned: Plan
    reads: Plan
    mark: folder.PullMark
    reload: str | None

    @property
    def nothing(self) -> bool:
        return self.planned.empty and self.reload is None


def next_step(
    table: HudiTable,
    before: folder.PullMark | None,
    mode: Mode,
    since: str,
    until: str | None,
    target: str,
) -> Step:
    """What a target that was left at `before` needs. Raises IncrementalError."""
    check_mark(before, table, mode, target)
    planned = plan(table, before.bookmark if before else since, until)
    undone = undone_commits(table, before.commits) if before else ()
    if undone and mode is Mode.APPEND:
        names = ", ".join(undone)
        raise Undone(f"{target} has rows of {names}, undone at the source since.")
    reload = _reload_reason(planned, mode, undone, first=before is None)
    reads = snapshot(table) if reload else planned
    seen = (i for i in table.timeline.commits if table.timeline.key(i) <= reads.bookmark)
    mark = folder.PullMark(table.base, mode.value, reads.bookmark, tuple(i.requested for i in seen))
    return Step(planned, reads, mark, reload)


def _reload_reason(planned: Plan, mode: Mode, undone: tuple[str, ...], first: bool) -> str | None:
    """Why a mirror has to be loaded anew; None when the changed rows are enough.

    The first pull merges into nothing, so what vanished before it was never there.
    """
    if mode is Mode.APPEND or first:
        return None
    if undone:
        return f"{', '.join(undone)} undone at the source"
    if not planned.removes_rows:
        return None
    return planned.fallback or "rows were deleted or replaced at the source"


def check_mark(mark: folder.PullMark | None, table: HudiTable, mode: Mode, target: str) -> None:
    """Raises TargetMismatch unless the target goes on with this source in this mode."""
    if mark is not None and (mark.source, mark.mode) != (table.base, mode.value):
        raise TargetMismatch(
            f"{target} holds {mark.mode} pulls from {mark.source}, "
            f"not {mode.value} pulls from {table.base}."
        )


def report(step: Step, rows: int) -> PullResult:
    planned = step.planned
    return PullResult(
        planned.since, step.reads.bookmark, len(planned.commits), rows,
        planned.fallback, step.reload, planned.held_back_by,
    )  # fmt: skip
