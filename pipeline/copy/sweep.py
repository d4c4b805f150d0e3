"""Deleting what no copy refers to: what dead runs left, and copies that were replaced.

In two passes, since a reader may still be at a copy that was just replaced: what is found
unused is condemned (a note in its run's directory), and deleted by a later sweep, `grace`
seconds after that. Whether it is in use is asked of the metastore both times.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipeline.copy.files import Files
from pipeline.copy.lease import Clock, notes_in
from pipeline.copy.yard import RUBBISH, RunNote, read_rubbish, this_machine, write_rubbish


@dataclass(frozen=True, slots=True)
class Swept:
    """How many directories were found unused for the first time, and how many deleted."""

    condemned: int = 0
    deleted: int = 0
    kept: int = 0

    def __add__(self, other: "Swept") -> "Swept":
        return Swept(
            self.condemned + other.condemned, self.deleted + other.deleted, self.kept + other.kept
        )


Used = Callable[[RunNote], frozenset[str]]  # the directories in use by the table a run was for


def sweep_yard(
    files: Files, used: Used, yard: str, clock: Clock, grace: float, own: str = ""
) -> Swept:
    """Sweeps the yard of one table; `own` is the run that sweeps, of which only what it does
    not use may go.
    """
    here, swept = this_machine(), Swept()
    known: dict[tuple[str, int], frozenset[str]] = {}
    for run, note in notes_in(files, yard).items():
        if note is None or (run != own and note.alive(clock(), here)):
            continue
        key = (note.table, note.created)
        if key not in known:
            known[key] = used(note)
        swept += _sweep_run(files, f"{yard}/{run}", known[key], clock(), grace, keep=run == own)
    return swept


def _sweep_run(
    files: Files, run: str, used: frozenset[str], now: float, grace: float, *, keep: bool
) -> Swept:
    there = [name for name in files.children(run) if not name.startswith(".")]
    unused = [name for name in there if f"{run}/{name}" not in used]
    known = read_rubbish(files.note(f"{run}/{RUBBISH}"))
    condemned = {name: known.get(name, now) for name in unused}
    due = [name for name, since in condemned.items() if now - since >= grace]
    swept = Swept(len(condemned.keys() - known.keys()), len(due), len(there) - len(due))
    if len(due) == len(there) and not keep:
        files.delete([run])
        return swept
    files.delete([f"{run}/{name}" for name in due])
    left = {name: since for name, since in condemned.items() if name not in due}
    if left != known:
        files.leave_note(f"{run}/{RUBBISH}", write_rubbish(left))
    return swept


def yards(files: Files, root: str) -> Iterator[str]:
    """Every table's yard below a root."""
    for database in files.children(root):
        for table in files.children(f"{root}/{database}"):
            yield f"{root}/{database}/{table}"
