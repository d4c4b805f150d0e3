"""Deletes directories that no copy refers to: those of interrupted runs, and replaced copies.

A reader may still use a copy that was just replaced, so it takes two sweeps. The first one condemns
an unused directory, in a file of its run. A sweep at least `grace` seconds later deletes it. Both
read from the metastore whether the directory is in use. Files that were condemned when a copy was
continued (`continue_copy`) are deleted after the same time.

`withdraw_expired` withdraws copies whose time to live has ended, so that sweeps delete them.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from conf.names import ClusterName
from pipeline.copy.copy_catalog import TABLE_ITSELF, CatalogTable, DataObject, ObjectCatalog
from pipeline.copy.files import Files
from pipeline.copy.runs.lease import Clock, run_markers
from pipeline.copy.runs.staging import (
    CONDEMNED,
    WHOLE_TABLE,
    RunMarker,
    condemned_text,
    gone_path,
    open_path,
    read_condemned,
    this_machine,
)


@dataclass(frozen=True, slots=True)
class SweepResult:
    """Numbers of directories: condemned by this sweep, deleted, and left."""

    condemned: int = 0
    deleted: int = 0
    kept: int = 0

    def __add__(self, other: "SweepResult") -> "SweepResult":
        return SweepResult(
            self.condemned + other.condemned, self.deleted + other.deleted, self.kept + other.kept
        )


Used = Callable[[RunMarker], frozenset[str]]
"""Returns the directories to which the table of a run's marker refers now."""


def sweep_staging(
    files: Files,
    used: Used,
    staging: str,
    clock: Clock,
    grace: float,
    own: str = "",
    read: Callable[[Files, str], Mapping[str, RunMarker | None]] = run_markers,
) -> SweepResult:
    """Sweeps the staging directory of one table; runs that are alive are left out. `own` is the run
    that sweeps, if any; `read` returns the markers of the runs to sweep.
    """
    machine, now, swept = this_machine(), clock(), SweepResult()
    in_use: dict[tuple[str, int], frozenset[str]] = {}
    markers = {
        run: marker
        for run, marker in read(files, staging).items()
        if marker is not None and (run == own or not marker.is_alive(now, machine))
    }
    folders = files.folders([f"{staging}/{run}" for run in markers])
    closed, continued = [], []
    for (run, marker), children in zip(markers.items(), folders, strict=True):
        key = (marker.table, marker.created)
        if key not in in_use:
            in_use[key] = used(marker)
        names = [name for name in children if not name.startswith(".")]
        unused = [name for name in names if f"{staging}/{run}/{name}" not in in_use[key]]
        if WHOLE_TABLE in names and WHOLE_TABLE not in unused:
            continued.append(f"{staging}/{run}/{WHOLE_TABLE}")
        is_empty = not names and run != own
        if not unused and run != own:  # It has nothing that another run could take over.
            closed.append(open_path(staging, run))
        if unused or is_empty:
            count = len(names) if run != own else len(names) + 1  # The own run is never deleted.
            swept += _sweep_run(files, (staging, run), unused, count, now, grace)
        else:
            swept += SweepResult(kept=len(names))
    files.delete(closed)
    _delete_gone(files, continued, now, grace)
    return swept


def _delete_gone(files: Files, locations: Sequence[str], now: float, grace: float) -> None:
    """Deletes the files of these copies that were condemned at least `grace` seconds ago."""
    texts = files.read_markers([gone_path(location) for location in locations])
    for location, text in zip(locations, texts, strict=True):
        known = read_condemned(text)
        due = [path for path, since in known.items() if now - since >= grace]
        if due:
            files.delete([f"{location}/{path}" for path in due])
            left = {path: since for path, since in known.items() if path not in due}
            files.write_marker(gone_path(location), condemned_text(left))


def _sweep_run(
    files: Files,
    place: tuple[str, str],
    unused: Sequence[str],
    count: int,
    now: float,
    grace: float,
) -> SweepResult:
    """Condemns or deletes the `unused` ones of the `count` directories of a run, and the run with
    its last directory. `place` is the staging directory and the name of the run.
    """
    run = "/".join(place)
    known = read_condemned(files.read_marker(f"{run}/{CONDEMNED}"))
    condemned = {name: known.get(name, now) for name in unused}
    due = [name for name, since in condemned.items() if now - since >= grace]
    swept = SweepResult(len(condemned.keys() - known.keys()), len(due), count - len(due))
    if len(due) == count:
        files.delete([open_path(*place), run])
        return swept
    files.delete([f"{run}/{name}" for name in due])
    left = {name: since for name, since in condemned.items() if name not in due}
    if left != known:
        files.write_marker(f"{run}/{CONDEMNED}", condemned_text(left))
    return swept


def withdraw_expired(
    objects: ObjectCatalog,
    tables: Iterable[CatalogTable],
    clusters: Collection[ClusterName],
    now: float,
) -> int:
    """Withdraws the copies in these clusters whose time to live ended before `now` (epoch seconds).
    Returns their number. A later sweep deletes their files.
    """
    withdrawn = 0
    for table in tables:
        if not table.placed:
            continue
        expired: defaultdict[ClusterName, list[str]] = defaultdict(list)
        for each in _objects_with_copies(objects, table):
            for copy in each.placement.copies:
                if copy.cluster in clusters and copy.is_expired(now):
                    expired[copy.cluster].append(each.name)
        for cluster, names in expired.items():
            objects.withdraw(table.ref, cluster, names)
            withdrawn += len(names)
    return withdrawn


def _objects_with_copies(objects: ObjectCatalog, table: CatalogTable) -> Iterator[DataObject]:
    """The table itself, and the partitions that may have copies of their own."""
    yield DataObject(TABLE_ITSELF, table.location, table.placement)
    if table.partitioned:
        exceptions = table.placement.exceptions
        names = objects.names(table) if exceptions is None else sorted(exceptions)
        yield from objects.objects(table, names)


def all_staging(files: Files, root: str) -> Iterator[str]:
    """The staging directory of every table below a root."""
    for database in files.children(root):
        for table in files.children(f"{root}/{database}"):
            yield f"{root}/{database}/{table}"
