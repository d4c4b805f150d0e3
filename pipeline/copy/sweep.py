"""Deleting what no copy refers to: what dead runs left, and copies that were replaced.

In two passes, since a reader may still be at a copy that was just replaced: what is found
unused is condemned (a marker in its run's directory), and deleted by a later sweep, `grace`
seconds after that. Whether it is in use is asked of the metastore both times.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.copy.files import Files
from pipeline.copy.lease import Clock, run_markers
from pipeline.copy.staging import UNUSED, RunMarker, read_unused, this_machine, unused_text


@dataclass(frozen=True, slots=True)
class SweepResult:
    """How many directories were found unused for the first time, and how many deleted."""

    condemned: int = 0
    deleted: int = 0
    kept: int = 0

    def __add__(self, other: "SweepResult") -> "SweepResult":
        return SweepResult(
            self.condemned + other.condemned, self.deleted + other.deleted, self.kept + other.kept
        )


Used = Callable[[RunMarker], frozenset[str]]  # the directories in use by the table a run was for


def sweep_staging(
    files: Files, used: Used, staging: str, clock: Clock, grace: float, own: str = ""
) -> SweepResult:
    """Sweeps the staging of one table; `own` is the run that sweeps, of which only what it does
    not use may go.
    """
    here, now, swept = this_machine(), clock(), SweepResult()
    known: dict[tuple[str, int], frozenset[str]] = {}
    markers = {
        run: marker
        for run, marker in run_markers(files, staging).items()
        if marker is not None and (run == own or not marker.alive(now, here))
    }
    for (run, marker), children in zip(
        markers.items(), files.folders([f"{staging}/{run}" for run in markers]), strict=True
    ):
        key = (marker.table, marker.created)
        if key not in known:
            known[key] = used(marker)
        there = [name for name in children if not name.startswith(".")]
        unused = [name for name in there if f"{staging}/{run}/{name}" not in known[key]]
        empty = not there and run != own
        if unused or empty:
            left = len(there) if run != own else len(there) + 1  # the own run's marker stays
            swept += _sweep_run(files, f"{staging}/{run}", unused, left, now, grace)
        else:
            swept += SweepResult(kept=len(there))
    return swept


def _sweep_run(
    files: Files, run: str, unused: Sequence[str], there: int, now: float, grace: float
) -> SweepResult:
    """Of `there` directories of a run these are not used; the run goes with its last."""
    known = read_unused(files.read_marker(f"{run}/{UNUSED}"))
    condemned = {name: known.get(name, now) for name in unused}
    due = [name for name, since in condemned.items() if now - since >= grace]
    swept = SweepResult(len(condemned.keys() - known.keys()), len(due), there - len(due))
    if len(due) == there:
        files.delete([run])
        return swept
    files.delete([f"{run}/{name}" for name in due])
    left = {name: since for name, since in condemned.items() if name not in due}
    if left != known:
        files.write_marker(f"{run}/{UNUSED}", unused_text(left))
    return swept


def all_staging(files: Files, root: str) -> Iterator[str]:
    """Every table's staging below a root."""
    for database in files.children(root):
        for table in files.children(f"{root}/{database}"):
            yield f"{root}/{database}/{table}"
