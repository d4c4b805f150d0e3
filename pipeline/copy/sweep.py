"""Deleting what no copy refers to: what dead runs left, and copies that were replaced.

In two passes, since a reader may still be at a copy that was just replaced: what is found
unused is condemned (a note in its run's directory), and deleted by a later sweep, `grace`
seconds after that. Whether it is in use is asked of the metastore both times.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.copy.files import Files
from pipeline.copy.lease import Clock, notes_in
from pipeline.copy.staging import RUBBISH, RunNote, read_rubbish, this_machine, write_rubbish


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
    here, now, swept = this_machine(), clock(), Swept()
    known: dict[tuple[str, int], frozenset[str]] = {}
    notes = {
        run: note
        for run, note in notes_in(files, yard).items()
        if note is not None and (run == own or not note.alive(now, here))
    }
    for (run, note), children in zip(
        notes.items(), files.folders([f"{yard}/{run}" for run in notes]), strict=True
    ):
        key = (note.table, note.created)
        if key not in known:
            known[key] = used(note)
        there = [name for name in children if not name.startswith(".")]
        unused = [name for name in there if f"{yard}/{run}/{name}" not in known[key]]
        empty = not there and run != own
        if unused or empty:
            left = len(there) if run != own else len(there) + 1  # the own run's note stays
            swept += _sweep_run(files, f"{yard}/{run}", unused, left, now, grace)
        else:
            swept += Swept(kept=len(there))
    return swept


def _sweep_run(
    files: Files, run: str, unused: Sequence[str], there: int, now: float, grace: float
) -> Swept:
    """Of `there` directories of a run these are not used; the run goes with its last."""
    known = read_rubbish(files.note(f"{run}/{RUBBISH}"))
    condemned = {name: known.get(name, now) for name in unused}
    due = [name for name, since in condemned.items() if now - since >= grace]
    swept = Swept(len(condemned.keys() - known.keys()), len(due), there - len(due))
    if len(due) == there:
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
