"""Runs a replication between two metastores: what is particular to replicas.

A partition's new data lies in a fresh directory and becomes the partition's by one change of its
location: no reader sees a gap, and a rerun replaces what is there (FA-R4, FA-R8).
"""

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial

from conf.names import ClusterName, parse_partition_name
from conf.placement import read_partition_placement, read_placement, users_parameters
from metastore.client.binary import LIST, STRING, Items
from metastore.client.metastore_client import HmsClient, batches
from metastore.client.types import Partition, Table, write_columns
from metastore.errors import AlreadyExists, MetastoreDown, MetastoreRefused, NoSuchObject
from metastore.placement.placement_store import Facts, new_id
from pipeline.copy.copy_catalog import data_location
from pipeline.copy.copy_job import CopyJob, CopyLimits, CopyReport, JobContext, ObjectCopy
from pipeline.copy.files import CopyOptions, Files
from pipeline.copy.plan import CopyReason, PlannedCopy
from pipeline.copy.staging import RunMarker, new_run
from pipeline.errors import NotCopyable, PublishFailed
from pipeline.replication.plan import (
    FROM,
    OF,
    WHOLE,
    ReplicationPlan,
    ReplicationRequest,
    SourceObject,
    fingerprint,
    matches,
    plan_replication,
    target_keys,
    target_name,
)

REGISTER_BATCH = 500
_VOLATILE = ("transient_lastDdlTime", "COLUMN_STATS_ACCURATE")
_NOBODY = ClusterName("")  # marks alone are read from the source: whose it is does not matter


def read_replication(
    request: ReplicationRequest, source: HmsClient, target: HmsClient, files: Files
) -> ReplicationPlan:
    """Looks at both sides and plans. Raises NoSuchObject, NotCopyable, UnsafeSchemaChange."""
    table = source.get_table(request.source)
    if table.view_text:
        raise NotCopyable(f"{request.source} is a view: it has no data of its own.")
    target_keys(request, table)
    names = [WHOLE]
    locations = [data_location(table)]
    if table.partition_keys:
        names = [
            n for n in source.get_partition_names(request.source) if matches(request.source_spec, n)
        ]
        found = {p.name(table): p.location for p in source.get_partitions(request.source, names)}
        names = sorted(found)
        locations = [found[name] for name in names]
    listings = files.listings(locations)
    seen = [SourceObject(*each) for each in zip(names, locations, listings, strict=True)]
    known = _table_or_none(target, request)
    there = {}
    if known is not None and known.partition_keys:
        listed = target.get_partition_names(request.target)
        wanted = [n for n in listed if matches(request.target_spec, n)]
        there = {p.name(known): p for p in target.get_partitions(request.target, wanted)}
    database = target.get_database(request.target.db).location
    return plan_replication(request, table, seen, known, there, database)


def run_replication(
    plan: ReplicationPlan,
    source: HmsClient,
    target: HmsClient,
    context: JobContext,
    options: CopyOptions,
    limits: CopyLimits,
) -> CopyReport:
    """Carries the plan out. Raises PublishFailed when the target refuses to the end: then what
    was carried is deleted and its metadata is as before (FA-R6).
    """
    report = CopyReport(fresh=plan.fresh)
    if not plan.steps:
        return report
    catalog = ReplicaCatalog(plan, source, target, context, limits)
    marker = new_run(plan.request.target, 0, context.clock())
    options = replace(options, checksum=plan.request.checksum)
    what = str(plan.request.target)
    shop = CopyJob(what, plan.staging, marker, catalog, context, options, limits, report)
    catalog.run = marker.run
    try:
        if plan.items:
            shop.run(plan.rounds)
        catalog.settle()
    except PublishFailed:
        catalog.undo()
        raise
    if plan.drops:
        catalog.drop(plan.drops)
        report.gone += plan.drops
    return report


@dataclass(slots=True)
class ReplicaCatalog:
    """Both metastores of one replication."""

    plan: ReplicationPlan
    source: HmsClient
    target: HmsClient
    context: JobContext
    limits: CopyLimits
    run: str = ""
    created: bool = False
    _settled: bool = field(default=False)

    def current(self, items: Mapping[str, PlannedCopy]) -> tuple[list[PlannedCopy], list[str]]:
        table = self.source.get_table(self.plan.request.source)
        placed = read_placement(table.parameters, _NOBODY)
        if not table.partition_keys:
            item = replace(items[WHOLE], source=data_location(table))
            return [item], [WHOLE] if placed.writing else []
        current, busy = [], []
        for partition in self._sources(items):
            name = partition.name(table)
            here = self._target_name(table, name)
            current.append(replace(items[here], source=partition.location))
            if read_partition_placement(partition.parameters, placed, name).writing:
                busy.append(here)
        return current, busy

    def publish(self, works: Sequence[ObjectCopy]) -> frozenset[str]:
        table = self.source.get_table(self.plan.request.source)
        if not table.partition_keys:
            self._insist(partial(self._swap_table, table, works[0]))
            return frozenset({WHOLE})
        by_name = {work.item.name: work for work in works}
        parts = {self._target_name(table, p.name(table)): p for p in self._sources(by_name)}
        ready = {
            n: w for n, w in by_name.items() if n in parts and parts[n].location == w.item.source
        }
        self._export(table, [parts[name] for name in ready])
        made = [self._made(table, parts[name], work) for name, work in ready.items()]
        self._insist(partial(self._settle_table, table))
        new = all(work.item.why is CopyReason.ABSENT for work in ready.values())
        for batch in batches(made, REGISTER_BATCH):
            self._insist(partial(self._register, batch, new))
        return frozenset(ready)

    def withdraw(self, names: Collection[str]) -> None:
        """Nothing: a replica holds what its source was; the next attempt brings it up to now."""

    def used(self, marker: RunMarker) -> frozenset[str]:
        table = _table_or_none(self.target, self.plan.request)
        if table is None:
            return frozenset()
        found = {data_location(table)}
        if table.partition_keys:
            facts = self.target.get_partition_facts(
                table.ref, self.target.get_partition_names(table.ref)
            )
            found |= {each.location for each in facts}
        return frozenset(found)

    def settle(self) -> None:
        """Even with nothing to carry the target table is there and has its source's columns."""
        table = self.source.get_table(self.plan.request.source)
        if table.partition_keys or not self.plan.create:
            self._insist(partial(self._settle_table, table))

    def drop(self, names: Sequence[str]) -> None:
        """Drops target partitions; a later sweep deletes their files when no reader is left."""
        for name in names:
            try:
                self.target.drop_partition(self.plan.request.target, name, delete_data=False)
            except NoSuchObject:
                continue
            self.context.emit({"event": "dropped", "run": self.run, "object": name})

    def undo(self) -> None:
        """Nothing of this run stays: its files, nor the table that it made (FA-R6)."""
        if self.created and not self.target.get_partition_names(self.plan.request.target):
            self.target.drop_table(self.plan.request.target, delete_data=False)
        used = self.used(new_run(self.plan.request.target, 0, self.context.clock()))
        run = f"{self.plan.staging}/{self.run}"
        paths = [f"{run}/{name}" for name in self.context.files.children(run)]
        unused = [path for path in paths if path not in used]
        self.context.files.delete([run] if len(unused) == len(paths) else unused)

    # the steps

    def _insist(self, change: Callable[[], None]) -> None:
        """FA-G4: tries again with growing pauses. Raises PublishFailed."""
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

    def _settle_table(self, source: Table) -> None:
        """Creates the target table, or lets it follow its source's columns; once a run."""
        if self._settled:
            return
        request = self.plan.request
        table = _table_or_none(self.target, request)
        if table is None:
            self._create(source, self.plan.base, {})
        elif self.plan.change is not None:
            table.storage.columns = self.plan.change.columns
            table.parameters = {**table.parameters, **self.plan.change.parameters}
            self.target.alter_table(request.target, table)
        self._settled = True

    def _create(self, source: Table, location: str, parameters: Mapping[str, str]) -> None:
        table = made_table(source, self.plan.request, location, parameters)
        try:
            self.target.create_table(table)
        except AlreadyExists:
            return
        self.created = True

    def _swap_table(self, source: Table, work: ObjectCopy) -> None:
        """An unpartitioned table appears with its data, or changes its location in one step."""
        request = self.plan.request
        marks = {OF: fingerprint(work.before), FROM: str(request.source)}
        self._export(source, [])
        table = _table_or_none(self.target, request)
        if table is None:
            self._create(source, work.target, marks)
            return
        with self._write(None):
            table = self.target.get_table(request.target)
            if self.plan.change is not None:
                table.storage.columns = self.plan.change.columns
                table.parameters = {**table.parameters, **self.plan.change.parameters}
            move_table(table, work.target)
            table.parameters = {**table.parameters, **marks}
            self.target.alter_table(request.target, table)

    def _register(self, partitions: Sequence[Partition], new: bool) -> None:
        """Adds those that are not there and swaps the others; `new`: none was there when it was
        planned. Safe to repeat.
        """
        ref = self.plan.request.target
        if new:
            with suppress(AlreadyExists):  # made since, or by a call whose answer was lost
                self.target.add_partitions(ref, partitions)
                return
        self._add_or_swap(partitions)

    def _add_or_swap(self, partitions: Sequence[Partition]) -> None:
        ref = self.plan.request.target
        table = self.target.get_table(ref)
        wanted = {each.name(table): each for each in partitions}
        known = {each.name(table): each for each in self.target.get_partitions(ref, wanted)}
        new = [each for name, each in wanted.items() if name not in known]
        swapped = []
        for name, old in known.items():
            if old.location != wanted[name].location:
                old.location = wanted[name].location
                old.storage.columns = wanted[name].storage.columns
                old.parameters = {**old.parameters, **wanted[name].parameters}
                swapped.append(old)
        with self._write([*wanted] if swapped else []):
            if new:
                self.target.add_partitions(ref, new)
            if swapped:
                fresh = {each.name(table): each for each in self.target.get_partitions(ref, known)}
                for each in swapped:  # the write has given them new ids
                    now = fresh[each.name(table)].parameters
                    each.parameters = {**each.parameters, **_ours(now)}
                self.target.alter_partitions(ref, swapped)

    @contextmanager
    def _write(self, names: Sequence[str] | None) -> Iterator[None]:
        """Marks a write of the target where Causeway routes there too (D10)."""
        cluster = self.plan.request.cluster
        if cluster is None or names == []:
            yield
            return
        facts, write_id = Facts(self.target, cluster), new_id()
        now = int(time.time())
        facts.open_write(self.plan.request.target, write_id, names, now, f"replication {self.run}")
        try:
            yield
        finally:
            facts.close_write(self.plan.request.target, write_id, names)

    def _made(self, table: Table, partition: Partition, work: ObjectCopy) -> Partition:
        """The source's partition, made the target's: it is ours, so it is changed in place."""
        marks = {OF: fingerprint(work.before)}
        return made_partition(
            table, partition, self.plan.request, work.item.name, work.target, marks
        )

    def _export(self, table: Table, partitions: Sequence[Partition]) -> None:
        text = json.dumps(exported(table, partitions))
        self.context.files.write_marker(f"{self.plan.staging}/{self.run}/.causeway/export", text)

    def _sources(self, items: Mapping[str, object]) -> Iterator[Partition]:
        names = [self.plan.origins[name] for name in items]
        return self.source.get_partitions(self.plan.request.source, names)

    def _target_name(self, table: Table, name: str) -> str:
        return target_name(self.plan.request, table, name)


def made_table(
    source: Table, request: ReplicationRequest, location: str, parameters: Mapping[str, str]
) -> Table:
    """The target's table as the source's metadata say: schema, format, owner, properties."""
    made = Table(deepcopy(source.struct))
    made.set_text(1, request.target.name)
    made.set_text(2, request.target.db)
    keys = target_keys(request, source)
    kinds = (kind for _, kind in source.partition_keys)
    made.struct.set(8, LIST, write_columns(tuple(zip(keys, kinds, strict=True))))
    made.parameters = _kept(source.parameters) | dict(parameters)
    move_table(made, location)
    return made


def made_partition(
    source: Table,
    partition: Partition,
    request: ReplicationRequest,
    name: str,
    location: str,
    parameters: Mapping[str, str],
) -> Partition:
    """The source's partition, changed in place to be the target's partition `name`."""
    marks = {**parameters, FROM: f"{request.source} {partition.name(source)}"}
    values = [value for _, value in parse_partition_name(name)]
    partition.struct.set(1, LIST, Items(STRING, values))
    partition.set_text(2, request.target.db)
    partition.set_text(3, request.target.name)
    partition.location = location
    partition.parameters = _kept(partition.parameters) | marks
    return partition


def exported(table: Table, partitions: Sequence[Partition]) -> dict[str, object]:
    """FA-R1: format, schema, sort order, origin and partition values."""
    storage = table.storage
    sorting = storage.struct.get(9) or ()
    return {
        "origin": str(table.ref),
        "owner": table.owner,
        "kind": table.kind,
        "columns": list(storage.columns),
        "partition_keys": list(table.partition_keys),
        "input_format": storage.input_format,
        "output_format": storage.output_format,
        "serde": {"library": storage.serde.library, "parameters": storage.serde.parameters},
        "buckets": {"number": storage.struct.get(6), "columns": list(storage.struct.get(8) or ())},
        "sort": [[str(each.get(1)), int(each.get(2) or 0)] for each in sorting],
        "parameters": _kept(table.parameters),
        "partitions": [
            {"values": list(p.values), "location": p.location, "parameters": _kept(p.parameters)}
            for p in partitions
        ],
    }


def _table_or_none(client: HmsClient, request: ReplicationRequest) -> Table | None:
    try:
        return client.get_table(request.target)
    except NoSuchObject:
        return None


def move_table(table: Table, location: str) -> None:
    """Sets its location, wherever it is said: Spark and Hudi keep it as a `path` too."""
    table.location = location
    for noted in (table, table.storage.serde):
        if "path" in noted.parameters:
            noted.parameters = {**noted.parameters, "path": location}


def _kept(parameters: Mapping[str, str]) -> dict[str, str]:
    """A source's parameters that hold in another metastore too."""
    kept = users_parameters(parameters)
    return {key: value for key, value in kept.items() if key not in (*_VOLATILE, OF, FROM)}


def _ours(parameters: Mapping[str, str]) -> dict[str, str]:
    users = users_parameters(parameters)
    return {key: value for key, value in parameters.items() if key not in users}
