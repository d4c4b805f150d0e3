"""Bringing a target up to date with a Hudi table: plan, read, publish with the bookmark.

Modes: `append` adds each changed row, a log of changes; `merge` keeps one row a key, a mirror.
Rows that vanished at the source cannot be told from its changes, so a mirror is then loaded
anew, in the same single step.
"""

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pipeline.incremental import folder
from pipeline.incremental.errors import TargetMismatch
from pipeline.incremental.plan import EARLIEST, Plan, plan, snapshot
from pipeline.incremental.read import changed_batches, changed_rows, schema_of
from pipeline.incremental.table import Table

DEFAULT_KEY = ("_hoodie_partition_path", "_hoodie_record_key")


class Mode(Enum):
    APPEND = "append"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull did. `rows` written; `reloaded` says why the target was loaded anew, if so."""

    since: str
    bookmark: str
    commits: int
    rows: int
    fallback: str | None
    reloaded: str | None = None
    held_back_by: str | None = None


def pull(
    table: Table,
    target: Path,
    mode: Mode,
    key: tuple[str, ...] = DEFAULT_KEY,
    since: str = EARLIEST,
    until: str | None = None,
) -> Pulled:
    """Pulls into a local folder from its own bookmark on; `since` counts for the first pull.

    Raises IncrementalError; the target is then as it was.
    """
    with folder.locked(target):
        before = folder.last_mark(target)
        check_mark(before, table, mode, str(target))
        start = before.bookmark if before else since
        planned = plan(table, start, until)
        if planned.empty:
            return report(planned, 0)
        reload = reload_reason(planned, mode, first=before is None)
        if reload:
            planned = snapshot(table)
        mark = folder.Mark(table.base, mode.value, planned.bookmark)
        if mode is Mode.APPEND:
            rows = folder.append(target, changed_batches(planned), schema_of(planned), mark)
        elif reload:
            rows = folder.replace(target, changed_batches(planned), schema_of(planned), mark)
        else:
            rows = folder.merge(target, changed_rows(planned), key, mark)
    return report(planned, rows, reload)


def reload_reason(planned: Plan, mode: Mode, first: bool) -> str | None:
    """Why a mirror has to be loaded anew; None when the changed rows are enough.

    The first pull merges into nothing, so what vanished before it was never there.
    """
    if mode is Mode.APPEND or first or not planned.removes_rows:
        return None
    return planned.fallback or "rows were deleted or replaced at the source"


def check_mark(mark: folder.Mark | None, table: Table, mode: Mode, target: str) -> None:
    """Raises TargetMismatch unless the target goes on with this source in this mode."""
    if mark is not None and (mark.source, mark.mode) != (table.base, mode.value):
        raise TargetMismatch(
            f"{target} holds {mark.mode} pulls from {mark.source}, "
            f"not {mode.value} pulls from {table.base}."
        )


def report(planned: Plan, rows: int, reload: str | None = None) -> Pulled:
    return Pulled(
        planned.since, planned.bookmark, len(planned.commits), rows,
        planned.fallback, reload, planned.held_back_by,
    )  # fmt: skip
