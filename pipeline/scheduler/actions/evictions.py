"""Evictions: drops old instances of a feed on a cluster, and deletes unused directories."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from conf.names import ClusterName, TableRef
from metastore.catalog.hudi_tables import is_hudi
from metastore.client.catalog_client import CatalogClient
from metastore.client.types import Table
from metastore.errors import NoSuchObject
from pipeline.copy.copy_catalog import ObjectCatalog, data_location
from pipeline.copy.files import Files
from pipeline.copy.run import used_by
from pipeline.copy.runs.lease import open_markers, run_markers
from pipeline.copy.runs.staging import staging_of
from pipeline.copy.runs.sweep import Used, sweep_staging
from pipeline.errors import ActionFailed
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Feed
from pipeline.hudi.feeds import Storages
from pipeline.lease import WorkLease
from pipeline.partition_values import kinds_of
from pipeline.replication.plan import STAGING, base_of, new_location
from pipeline.replication.replica_catalog import used_locations
from pipeline.retention.directories import PathEviction, evict_paths
from pipeline.retention.plan import RetentionPlan, plan_retention
from pipeline.retention.run import candidates, run_retention
from pipeline.scheduler.actions import hudi_eviction
from pipeline.scheduler.actions.path_partitions import PathPartitions
from pipeline.scheduler.actions.task_places import TableEviction, copies_root, eviction_of
from pipeline.scheduler.actions.work import Task

_EVENTS_PER_ENTRY = 20  # the log keeps a limited number of entries


@dataclass(frozen=True, slots=True)
class Evictions:
    """`files` opens file systems, `connect` a client of a cluster's metastore as a user.
    `read_table` returns a table, and raises unless the user owns it; `partitions` returns the
    partitions of a feed of paths. `storage` reads Hudi's timelines by URI. `default` is
    hive.default.cluster.name of clusters that share a metastore. `publishing` is a lock: one
    publication of secondary copies runs at a time. A replaced directory stays for `grace` seconds.
    """

    files: Callable[[], Files]
    connect: Callable[[Cluster, str], AbstractContextManager[CatalogClient]]
    read_table: Callable[[CatalogClient, TableRef, str], Table]
    partitions: Callable[[Feed, Cluster, str], PathPartitions]
    storage: Storages
    default: ClusterName | None
    publishing: AbstractContextManager[object]
    grace: float

    def run(self, task: Task, lease: WorkLease) -> str:
        """Drops the instances that are too old; returns a line of text about it. Raises
        ActionFailed, CopyError, MetastoreError, LeaseLost.
        """
        eviction = eviction_of(task)
        if isinstance(eviction, PathEviction):
            assert isinstance(task.entity, Feed)
            withdraw = self.partitions(task.entity, eviction.cluster, task.owner).withdraw
            return evict_paths(self.files(), eviction, task.now, task.is_needed, lease, withdraw)
        return self._evict_table(eviction, task, lease)

    def _evict_table(self, eviction: TableEviction, task: Task, lease: WorkLease) -> str:
        """Sweeps unused directories of a table, then drops its old partitions and copies."""
        with self.connect(eviction.cluster, task.owner) as client:
            objects = ObjectCatalog(client, self.default or eviction.primary, self.publishing)
            self._sweep(eviction, client, objects, lease)
            plan = self._plan(eviction, client, objects, task)
            if plan is None:
                return f"there is no table {eviction.policy.table} yet"
            for line in plan.head():
                lease.log(line)
            table = client.get_table(plan.table)
            if is_hudi(table):
                return self._evict_hudi(table, plan, eviction, client, task.owner, lease)
            done = run_retention(
                plan, client, objects, self.files(), partial(_log_events, lease), lease.check
            )
        return (
            f"{len(done.partitions)} partitions and {len(done.copies)} copies of {plan.table}"
            f" dropped, {plan.kept} kept, {len(plan.needed)} still needed"
        )

    def _evict_hudi(
        self,
        table: Table,
        plan: RetentionPlan,
        eviction: TableEviction,
        client: CatalogClient,
        owner: str,
        lease: WorkLease,
    ) -> str:
        if hudi_eviction.is_replica(table, eviction):
            return f"{plan.table} is a replica: it loses partitions with its source"
        if plan.evictions:
            hudi_eviction.check_idle(table, self.storage)
            hudi_eviction.drop_partitions(client, plan, eviction.cluster, owner, lease)
        return f"{len(plan.evictions)} partitions of {plan.table} dropped, {plan.kept} kept"

    def _sweep(
        self,
        eviction: TableEviction,
        client: CatalogClient,
        objects: ObjectCatalog,
        lease: WorkLease,
    ) -> None:
        """Deletes replaced directories and the remains of interrupted copies, in two passes. Copies
        do not do it, because it reads all earlier copies of the table. If the table does not exist,
        it deletes only directories of open runs: these failed to create it.
        """
        name, ref, read = eviction.cluster.name, eviction.policy.table, run_markers
        if name == eviction.primary:
            try:
                base = base_of(data_location(client.get_table(ref)))
            except NoSuchObject:
                database = client.get_database(ref.db).location
                base, read = eviction.location or new_location(database, ref), open_markers
            staging = f"{base}/{STAGING}"
            used: Used = lambda _: used_locations(client, ref)  # noqa: E731
        else:
            staging = staging_of(copies_root(eviction.cluster), ref)
            used = partial(used_by, objects, name)
        lease.check()
        swept = sweep_staging(self.files(), used, staging, time.time, self.grace, read=read)
        lease.log(f"swept {staging}: {swept.deleted} deleted, {swept.condemned} newly unused")

    def plan(self, task: Task) -> RetentionPlan | None:
        """What `run` would drop now; None if the table does not exist."""
        eviction = eviction_of(task)
        if isinstance(eviction, PathEviction):
            return None
        with self.connect(eviction.cluster, task.owner) as client:
            objects = ObjectCatalog(client, self.default or eviction.primary)
            return self._plan(eviction, client, objects, task)

    def _plan(
        self, eviction: TableEviction, client: CatalogClient, objects: ObjectCatalog, task: Task
    ) -> RetentionPlan | None:
        try:
            table = self.read_table(client, eviction.policy.table, task.owner)
        except ActionFailed:
            return None
        policy = eviction.policy.for_keys(kinds_of(table.partition_keys))
        if is_hudi(table) and isinstance(task.entity, Feed):
            policy = hudi_eviction.policy_of(policy, task.entity)
            if hudi_eviction.is_replica(table, eviction):
                return plan_retention(policy, (), task.now)
        return plan_retention(policy, candidates(objects, policy), task.now)


def _log_events(lease: WorkLease, events: Sequence[Mapping[str, object]]) -> None:
    """Logs events in few entries, because each entry is a transaction of the store."""
    lease.check()
    lines = [" ".join(f"{key}={value}" for key, value in event.items()) for event in events]
    for first in range(0, len(lines), _EVENTS_PER_ENTRY):
        lease.log("\n".join(lines[first : first + _EVENTS_PER_ENTRY]))
