"""Evictions: old instances of a feed on a cluster are dropped, and unused directories deleted."""

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
from pipeline.retention.directories import PathHome, evict_paths
from pipeline.retention.plan import RetentionPlan, plan_retention
from pipeline.retention.run import candidates, run_retention
from pipeline.scheduler.actions import hudi_eviction
from pipeline.scheduler.actions.path_partitions import PathPartitions
from pipeline.scheduler.actions.task_places import TableHome, copies_root, home_of
from pipeline.scheduler.actions.work import Task

_TOGETHER = 20  # events of an entry: the log keeps a bounded number of entries


@dataclass(frozen=True, slots=True)
class Evictions:
    """`files` opens file systems, `connect` a client of a cluster's metastore as a user.
    `read_table` returns a table that is the user's, or raises; `partitions` has those of a feed of
    paths. `storage` reads Hudi's timelines by URI. `default` is hive.default.cluster.name of
    clusters that share a metastore. `publishing` lets one publication of secondary copies run at a
    time. A replaced directory stays for `grace` seconds.
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
        """Drops what is too old, and returns the result in words. Raises ActionFailed, CopyError,
        MetastoreError, LeaseLost.
        """
        home = home_of(task)
        if isinstance(home, PathHome):
            assert isinstance(task.entity, Feed)
            withdraw = self.partitions(task.entity, home.cluster, task.owner).withdraw
            return evict_paths(self.files(), home, task.now, task.is_needed, lease, withdraw)
        return self._evict(home, task, lease)

    def _evict(self, home: TableHome, task: Task, lease: WorkLease) -> str:
        with self.connect(home.cluster, task.owner) as client:
            objects = ObjectCatalog(client, self.default or home.primary, self.publishing)
            self._sweep(home, client, objects, lease)
            plan = self._retention(home, client, objects, task)
            if plan is None:
                return f"there is no table {home.policy.table} yet"
            for line in plan.head():
                lease.log(line)
            table = client.get_table(plan.table)
            if is_hudi(table):
                return self._evict_hudi(table, plan, home, client, task.owner, lease)
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
        home: TableHome,
        client: CatalogClient,
        owner: str,
        lease: WorkLease,
    ) -> str:
        if hudi_eviction.follows(table, home):
            return f"{plan.table} is a replica: it loses partitions with its source"
        if plan.evictions:
            hudi_eviction.check_idle(table, self.storage)
            hudi_eviction.drop_partitions(client, plan, home.cluster, owner, lease)
        return f"{len(plan.evictions)} partitions of {plan.table} dropped, {plan.kept} kept"

    def _sweep(
        self, home: TableHome, client: CatalogClient, objects: ObjectCatalog, lease: WorkLease
    ) -> None:
        """Deletes replaced versions and what interrupted copies left, in two passes. The copies of
        instances leave it to evictions, since it looks at all earlier copies of the table. Of a
        table that does not exist, only open runs have files that no reader needs: they were to
        create it when the metastore was down.
        """
        name, ref, read = home.cluster.name, home.policy.table, run_markers
        if name == home.primary:
            try:
                base = base_of(data_location(client.get_table(ref)))
            except NoSuchObject:
                database = client.get_database(ref.db).location
                base, read = home.location or new_location(database, ref), open_markers
            staging = f"{base}/{STAGING}"
            used: Used = lambda _: used_locations(client, ref)  # noqa: E731
        else:
            staging = staging_of(copies_root(home.cluster), ref)
            used = partial(used_by, objects, name)
        lease.check()
        swept = sweep_staging(self.files(), used, staging, time.time, self.grace, read=read)
        lease.log(f"swept {staging}: {swept.deleted} deleted, {swept.condemned} newly unused")

    def plan(self, task: Task) -> RetentionPlan | None:
        """What `run` would drop now; None if the table does not exist."""
        home = home_of(task)
        if isinstance(home, PathHome):
            return None
        with self.connect(home.cluster, task.owner) as client:
            objects = ObjectCatalog(client, self.default or home.primary)
            return self._retention(home, client, objects, task)

    def _retention(
        self, home: TableHome, client: CatalogClient, objects: ObjectCatalog, task: Task
    ) -> RetentionPlan | None:
        try:
            table = self.read_table(client, home.policy.table, task.owner)
        except ActionFailed:
            return None
        policy = home.policy.for_keys(kinds_of(table.partition_keys))
        if is_hudi(table) and isinstance(task.entity, Feed):
            policy = hudi_eviction.policy_of(policy, task.entity)
            if hudi_eviction.follows(table, home):
                return plan_retention(policy, (), task.now)
        return plan_retention(policy, candidates(objects, policy), task.now)


def _log_events(lease: WorkLease, events: Sequence[Mapping[str, object]]) -> None:
    """Logs many events of one kind by few entries, each of which is a transaction of the store."""
    lease.check()
    lines = [" ".join(f"{key}={value}" for key, value in event.items()) for event in events]
    for first in range(0, len(lines), _TOGETHER):
        lease.log("\n".join(lines[first : first + _TOGETHER]))
