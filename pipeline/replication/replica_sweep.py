"""Sweeps the directories of runs of replications, which are in the directories of their tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from conf.names import TableRef
from metastore.errors import NoSuchObject
from pipeline.copy.copy_catalog import CatalogTable, ObjectCatalog
from pipeline.copy.files import Files
from pipeline.copy.runs.lease import Clock
from pipeline.copy.runs.staging import RunMarker
from pipeline.copy.runs.sweep import SweepResult, sweep_staging
from pipeline.errors import CopyError
from pipeline.replication.plan import STAGING, base_of


@dataclass(slots=True)
class ReplicaSweep:
    """The sum of all sweeps, and the error for each directory that could not be read."""

    swept: SweepResult = field(default_factory=SweepResult)
    unreadable: dict[str, str] = field(default_factory=dict)


def sweep_replicas(
    files: Files, objects: ObjectCatalog, states: Iterable[CatalogTable], clock: Clock, grace: float
) -> ReplicaSweep:
    """Sweeps the staging directory of each table. Several tables may share one; then a directory in
    it is in use if any of them refers to it.
    """
    result = ReplicaSweep()
    tables: dict[str, list[TableRef]] = {}
    for state in states:
        tables.setdefault(base_of(state.location), []).append(state.ref)
    for base, refs in tables.items():
        staging = f"{base}/{STAGING}"
        try:
            if files.children(staging):
                used = partial(_used, objects, refs)
                result.swept += sweep_staging(files, used, staging, clock, grace)
        except (CopyError, NoSuchObject) as error:
            result.unreadable[staging] = str(error)
    return result


def _used(objects: ObjectCatalog, refs: Sequence[TableRef], _: RunMarker) -> frozenset[str]:
    """The directories of the tables and of their partitions."""
    found: set[str] = set()
    for ref in refs:
        state = objects.table(ref)
        found.add(state.location)
        if state.partitioned:
            found |= {each.location for each in objects.objects(state, objects.names(state))}
    return frozenset(found)
