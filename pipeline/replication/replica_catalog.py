"""The `CopyCatalog` of a replication: reads one metastore and publishes in another.

A partition's new data is in a new directory and becomes visible by one change of the partition's
location. So readers see no gap, and a repeated run replaces the data (FA-R4, FA-R8).
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from conf.names import ClusterName, TableRef
from conf.placement import read_partition_placement, read_placement
from metastore.client.catalog_client import CatalogClient
from metastore.client.metastore_client import batches
from metastore.client.types import Partition, Table
from metastore.errors import AlreadyExists, MetastoreDown, MetastoreRefused, NoSuchObject
from pipeline.copy.copy_catalog import data_location
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.copy.object_copy import ObjectCopy
from pipeline.copy.own_writes import after_write, partition_write
from pipeline.copy.plan import CopyReason, MetadataStep, PlannedCopy
from pipeline.copy.runs.lease import Lease
from pipeline.copy.runs.staging import RunMarker, new_run, open_path
from pipeline.errors import AnotherCopyRuns, PublishFailed
from pipeline.replication.metadata import (
    export_of,
    placement_parameters,
    replica_partition,
    replica_table,
    set_location,
)
from pipeline.replication.plan import (
    FROM,
    OF,
    WHOLE,
    ChangeColumns,
    CreateTable,
    Drop,
    ReplicationPlan,
    fingerprint,
)

REGISTER_BATCH = 500
_NO_CLUSTER = ClusterName("")  # only the write marks of the source are read, not its primary


@dataclass(slots=True)
class ReplicaCatalog:
    """Both metastores of one replication. `run` is its id; `created`: it made the target table."""

    plan: ReplicationPlan
    source: CatalogClient
    target: CatalogClient
    context: JobContext
    limits: CopyLimits
    run: str = ""
    created: bool = False
    _applied: list[MetadataStep] = field(default_factory=list)

    # CopyCatalog

    def current(
        self, items: Mapping[str, PlannedCopy]
    ) -> tuple[list[PlannedCopy], Collection[str]]:
        table = self.source.get_table(self.plan.request.source)
        placement = read_placement(table.parameters, _NO_CLUSTER)
        if not table.partition_keys:
            item = replace(items[WHOLE], source=data_location(table))
            return [item], [WHOLE] if placement.writing else []
        current, busy = [], []
        for partition in self._sources(items):
            name = partition.name(table)
            target = self._targets[name]
            current.append(replace(items[target], source=partition.location))
            if read_partition_placement(partition.parameters, placement, name).writing:
                busy.append(target)
        return current, busy

    def publish(self, copies: Sequence[ObjectCopy]) -> frozenset[str]:
        if not copies:
            return frozenset()
        table = self.source.get_table(self.plan.request.source)
        if not table.partition_keys:
            self._export(table, [])
            self._retry(partial(self._publish_table, table, copies[0]))
            return frozenset({WHOLE})
        by_name = {copy.name: copy for copy in copies}
        sources = {self._targets[p.name(table)]: p for p in self._sources(by_name)}
        ready = {
            name: copy
            for name, copy in by_name.items()
            if name in sources and sources[name].location == copy.item.source
        }
        self._export(table, [sources[name] for name in ready])
        partitions = [self._replica(table, sources[name], copy) for name, copy in ready.items()]
        all_new = all(copy.item.why is CopyReason.ABSENT for copy in ready.values())
        for batch in batches(partitions, REGISTER_BATCH):
            self._retry(partial(self._publish_partitions, batch, all_new))
        return frozenset(ready)

    def withdraw(self, names: Collection[str]) -> None:
        """Does nothing: a replica of the source as it was is valid, and the next attempt updates
        it.
        """

    def used(self, marker: RunMarker) -> frozenset[str]:
        return used_locations(self.target, self.plan.request.target)

    def apply(self, step: MetadataStep) -> None:
        """Raises PublishFailed."""
        if step in self._applied:
            return
        match step:
            case CreateTable():
                source = self.source.get_table(self.plan.request.source)
                self._retry(partial(self._create_table, source, self.plan.base, {}))
            case ChangeColumns():
                self._retry(self._change_columns)
            case Drop(names):
                self._drop(names)
        self._applied.append(step)

    def undo(self) -> None:
        """Deletes the run's unused directories, and the table if the run made it (FA-R6)."""
        if self.created:
            with suppress(AnotherCopyRuns):  # The table stays if another run copies into it.
                self._drop_empty_table()
        used = self.used(new_run(self.plan.request.target, 0, self.context.clock()))
        run = f"{self.plan.staging}/{self.run}"
        paths = [f"{run}/{name}" for name in self.context.files.children(run)]
        unused = [path for path in paths if path not in used]
        whole = [open_path(self.plan.staging, self.run), run]
        self.context.files.delete(whole if len(unused) == len(paths) else unused)

    def _drop_empty_table(self) -> None:
        """Drops the table if it has no partitions. The lease prevents that a run begins to copy
        into it meanwhile.
        """
        ref, files, staging = self.plan.request.target, self.context.files, self.plan.staging
        marker = new_run(ref, 0, self.context.clock())
        with Lease(files, staging, marker, self.context.clock) as lease:
            if not self.target.get_partition_names(ref):
                self.target.drop_table(ref, delete_data=False)
            lease.finished = True
        files.delete([f"{staging}/{marker.run}"])

    # Changes of the target's metadata

    def _retry(self, change: Callable[[], None]) -> None:
        """Repeats a change with growing pauses (FA-G4). Raises PublishFailed."""
        for attempt in range(self.limits.attempts):
            if attempt:
                self.context.sleep(self.limits.poll * 2 ** (attempt - 1))
            try:
                return change()
            except (MetastoreRefused, MetastoreDown) as error:
                problem = error
                self.context.emit({"event": "refused", "run": self.run, "error": str(error)})
        ref = self.plan.request.target
        raise PublishFailed(f"{ref}: {self.limits.attempts} attempts: {problem}") from problem

    def _create_table(self, source: Table, location: str, parameters: Mapping[str, str]) -> None:
        table = replica_table(source, self.plan.request, location, parameters)
        try:
            self.target.create_table(table)
        except AlreadyExists:
            return
        self.created = True

    def _change_columns(self) -> None:
        target = self.plan.request.target
        with self.target.exclusive(target):
            table = self.target.get_table(target)
            self._add_columns(table)
            self.target.alter_table(target, table)

    def _add_columns(self, table: Table) -> None:
        if self.plan.change is not None:
            table.storage.columns = self.plan.change.columns
            table.parameters = {**table.parameters, **self.plan.change.parameters}

    def _drop(self, names: Sequence[str]) -> None:
        """Drops partitions. A later sweep deletes their files, when their readers have ended."""
        for name in names:
            try:
                self.target.drop_partition(self.plan.request.target, name, delete_data=False)
            except NoSuchObject:
                continue
            self.context.emit({"event": "dropped", "run": self.run, "object": name})

    def _publish_table(self, source: Table, copy: ObjectCopy) -> None:
        """Creates an unpartitioned table with its data, or changes its location and columns in one
        step.
        """
        request = self.plan.request
        marks = {OF: fingerprint(copy.before), FROM: str(request.source)}
        if self._target_table() is None:
            self._create_table(source, copy.target, marks)
            return
        with self.target.exclusive(request.target):
            table = self.target.get_table(request.target)
            self._add_columns(table)
            set_location(table, copy.target)
            table.parameters = {**after_write(table.parameters), **marks}
            self.target.alter_table(request.target, table)

    def _publish_partitions(self, partitions: Sequence[Partition], all_new: bool) -> None:
        """Adds the partitions that the target does not have, and changes the others. `all_new`: the
        target had none of them when the plan was made. May be repeated.
        """
        ref = self.plan.request.target
        table = self.target.get_table(ref)
        wanted = {each.name(table): each for each in partitions}
        if all_new:
            with suppress(AlreadyExists):  # added meanwhile, or by a call whose reply was lost
                with self._write([*wanted], changes=False):
                    self.target.add_partitions(ref, partitions)
                return
        self._add_or_change(table, wanted)

    def _add_or_change(self, table: Table, wanted: Mapping[str, Partition]) -> None:
        ref = table.ref
        existing = {each.name(table): each for each in self.target.get_partitions(ref, wanted)}
        added = [each for name, each in wanted.items() if name not in existing]
        changed = []
        for name, old in existing.items():
            if old.location != wanted[name].location:
                old.location = wanted[name].location
                old.storage.columns = wanted[name].storage.columns
                old.parameters = {**old.parameters, **wanted[name].parameters}
                changed.append(old)
        with self._write([*wanted], changes=bool(changed)):
            if added:
                self.target.add_partitions(ref, added)
            if changed:
                with self.target.exclusive(ref):
                    self._with_facts(table, changed)
                    self.target.alter_partitions(ref, changed)

    def _with_facts(self, table: Table, changed: Sequence[Partition]) -> None:
        """Gives partitions the cluster facts that they have now, with new write ids."""
        names = [each.name(table) for each in changed]
        current = {p.name(table): p for p in self.target.get_partitions(table.ref, names)}
        for each in changed:
            ids = placement_parameters(current[each.name(table)].parameters)
            each.parameters = after_write({**each.parameters, **ids})

    def _write(self, names: Sequence[str], changes: bool) -> AbstractContextManager[None]:
        ref, by = self.plan.request.target, f"replication {self.run}"
        return partition_write(self.target, ref, names, changes, by)

    def _replica(self, table: Table, partition: Partition, copy: ObjectCopy) -> Partition:
        marks = {OF: fingerprint(copy.before)}
        return replica_partition(table, partition, self.plan.request, copy.name, copy.target, marks)

    def _export(self, table: Table, partitions: Sequence[Partition]) -> None:
        text = json.dumps(export_of(table, partitions))
        path = f"{self.plan.staging}/{self.run}/.causeway/export"
        self.context.files.write_marker(path, text)

    def _sources(self, items: Mapping[str, object]) -> Iterator[Partition]:
        names = [self.plan.origins[name] for name in items]
        return self.source.get_partitions(self.plan.request.source, names)

    @property
    def _targets(self) -> Mapping[str, str]:
        """The name of each source partition in the target."""
        return {origin: name for name, origin in self.plan.origins.items()}

    def _target_table(self) -> Table | None:
        try:
            return self.target.get_table(self.plan.request.target)
        except NoSuchObject:
            return None


def used_locations(client: CatalogClient, ref: TableRef) -> frozenset[str]:
    """The directories of a table and of all its partitions; none if there is no table."""
    try:
        table = client.get_table(ref)
    except NoSuchObject:
        return frozenset()
    locations = {data_location(table)}
    if table.partition_keys:
        names = client.get_partition_names(table.ref)
        facts = client.get_partition_facts(table.ref, names)
        locations |= {each.location for each in facts}
    return frozenset(locations)
