"""Executes a retention plan: drops partitions from the metastore first, then deletes their data.

The locations to delete are written to a note below the table before the partitions are dropped. If
a run dies, the next one reads the note and deletes the locations that no partition refers to.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from conf.locations import Location
from conf.names import ClusterName, TableRef
from metastore.client.catalog_client import CatalogClient
from metastore.client.metastore_client import batches
from pipeline.copy.copy_catalog import DataObject, ObjectCatalog
from pipeline.copy.files import Files
from pipeline.replication.plan import base_of
from pipeline.retention.plan import Candidate, RetentionPlan, RetentionPolicy

BATCH = 500
_NOTE = "_causeway/evicting"

Emit = Callable[[Sequence[Mapping[str, object]]], None]


class Stop(Protocol):
    """Raises LeaseLost if the lease was lost; called before every batch."""

    def __call__(self) -> None: ...


@dataclass(slots=True)
class Evicted:
    """The names of dropped partitions and copies. `busy` partitions are being written and are left
    to the next run; `shared` directories have data of other partitions and were not deleted.
    """

    partitions: list[str] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)


def candidates(objects: ObjectCatalog, policy: RetentionPolicy) -> list[Candidate]:
    """The partitions of the policy's table; with their copies only if copies have limits."""
    state = objects.table(policy.table)
    names = objects.names(state)
    if not policy.copies:
        return [Candidate(name) for name in names]
    return [
        Candidate(each.name, frozenset(copy.cluster for copy in each.placement.copies))
        for each in objects.objects(state, names)
    ]


def run_retention(
    plan: RetentionPlan,
    client: CatalogClient,
    objects: ObjectCatalog,
    files: Files,
    emit: Emit,
    check: Stop = lambda: None,
) -> Evicted:
    """Executes the plan. The events of a batch of evictions are emitted before it (FA-V5)."""
    state = objects.table(plan.table)
    base = base_of(state.location)
    in_use = UsedDirectories(base, objects.objects(state, objects.names(state)))
    running = _Eviction(plan, client, objects, files, emit, in_use, f"{base}/{_NOTE}", Evicted())
    running.finish_last()
    for batch in batches([(each.name, each.cluster) for each in plan.copies], BATCH):
        check()
        for cluster in sorted({cluster for _, cluster in batch}):
            names = [name for name, where in batch if where == cluster]
            running.drop_copies(names, cluster)
    for names in batches([each.name for each in plan.evictions], BATCH):
        check()
        running.drop(names)
    objects.announce(state)
    return running.report


@dataclass(slots=True)
class _Eviction:
    """The execution of a plan. `_note` is the path of the note."""

    plan: RetentionPlan
    client: CatalogClient
    objects: ObjectCatalog
    files: Files
    emit: Emit
    in_use: "UsedDirectories"
    _note: str
    report: Evicted

    @property
    def ref(self) -> TableRef:
        return self.plan.table

    def finish_last(self) -> None:
        """Deletes the data of partitions that an interrupted run has dropped."""
        text = self.files.read_marker(self._note)
        if text is not None:
            locations: dict[str, str] = json.loads(text)
            self._delete(list(locations))
            self.files.delete([self._note])

    def drop_copies(self, names: Sequence[str], cluster: ClusterName) -> None:
        """Drops the copies of partitions in a cluster; the partitions stay."""
        locations = {}
        for each in (idle := self._idle(names)):
            copy = each.placement.copy_in(cluster)
            if copy is not None:
                locations[copy.location.rstrip("/")] = f"{each.name} in {cluster}"
        self._announce(locations)
        self.objects.withdraw(self.ref, cluster, [each.name for each in idle])
        self.report.copies += locations.values()
        for each in idle:
            self.in_use.replace(each.name, set(directories_of(each)) - locations.keys())
        self._delete(list(locations))
        self.files.delete([self._note])

    def drop(self, names: Sequence[str]) -> None:
        """Drops partitions with their copies and all their data."""
        locations: dict[str, str] = {}
        for each in (idle := self._idle(names)):
            locations[each.location.rstrip("/")] = each.name
            for copy in each.placement.copies:
                locations[copy.location.rstrip("/")] = f"{each.name} in {copy.cluster}"
        self._announce(locations)
        dropped = [each.name for each in idle]
        self.client.drop_partitions(self.ref, dropped, delete_data=False)
        self.report.partitions += dropped
        for name in dropped:
            self.in_use.replace(name, ())
        self._delete(list(locations))
        self.files.delete([self._note])

    def _idle(self, names: Sequence[str]) -> list[DataObject]:
        """The partitions with these names that are not being written."""
        found = self.objects.objects(self.objects.table(self.ref), names)
        self.report.busy += [each.name for each in found if each.placement.writing]
        return [each for each in found if not each.placement.writing]

    def _announce(self, locations: Mapping[str, str]) -> None:
        """Writes the note and emits the events, before the partitions are dropped."""
        self.files.write_marker(self._note, json.dumps(dict(locations)))
        self.emit(
            [
                {"event": "evict", "table": str(self.ref), "object": what, "location": location}
                for location, what in locations.items()
            ]
        )

    def _delete(self, locations: Sequence[str]) -> None:
        """Deletes the locations that contain, and are contained in, no directory in use."""
        safe = [location for location in locations if not self.in_use.touches(location)]
        self.files.delete(safe)
        self.report.shared += [location for location in locations if location not in safe]


class UsedDirectories:
    """The directories that partitions and copies of a table refer to, and the table's own."""

    def __init__(self, base: str, objects: Sequence[DataObject]) -> None:
        self._base = Location.of(base).folder
        self._by_name = {each.name: directories_of(each) for each in objects}
        self._exact: Counter[str] = Counter()
        self._above: Counter[str] = Counter()
        for places in self._by_name.values():
            self._count(places, 1)

    def replace(self, name: str, places: Iterable[str]) -> None:
        """Replaces the directories of the partition `name`."""
        self._count(self._by_name.get(name, ()), -1)
        self._by_name[name] = tuple(places)
        self._count(self._by_name[name], 1)

    def touches(self, location: str) -> bool:
        """Whether a location is, contains or is inside of a directory in use."""
        place = Location.of(location).folder
        if place == self._base or self._base.startswith(f"{place}/"):
            return True
        above = any(self._exact[each] for each in _ancestors(place))
        return above or self._exact[place] > 0 or self._above[place] > 0

    def _count(self, places: Sequence[str], change: int) -> None:
        for place in (Location.of(each).folder for each in places):
            self._exact[place] += change
            for each in _ancestors(place):
                self._above[each] += change


def directories_of(each: DataObject) -> tuple[str, ...]:
    """The directories of an object and of its copies."""
    copies = (copy.location for copy in each.placement.copies)
    return tuple(location.rstrip("/") for location in (each.location, *copies))


def _ancestors(place: str) -> Iterator[str]:
    while "/" in place:
        place = place.rpartition("/")[0]
        yield place
