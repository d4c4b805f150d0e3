"""`work.Actions` on real clusters: replication, eviction and processes.

Two clusters that share the metastore and name the same table replicate by a secondary copy;
all others by export and import between metastores. The registry, write and execute interfaces
of the cluster entities say where everything is.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

from conf.names import ClusterName, TableRef, partition_name
from metastore.client import types as metastore
from metastore.client.metastore_client import HmsClient
from metastore.client.notifying_client import EVERYTHING, Notify
from metastore.errors import NoSuchObject
from metastore.placement.placement_store import no_views
from pipeline.copy.copy_catalog import TABLE_ITSELF, ObjectCatalog, data_location
from pipeline.copy.copy_job import CopyLimits, CopyReport, JobContext
from pipeline.copy.files import CopyOptions, FileListing, Files
from pipeline.copy.plan import plan_copy
from pipeline.copy.run import run_copy, used_by
from pipeline.copy.staging import default_root, staging_of
from pipeline.copy.sweep import Used, sweep_staging
from pipeline.errors import (
    ActionFailed,
    InputsGone,
    NotCopyable,
    SparkLost,
    UnsafeSchemaChange,
)
from pipeline.falcon.calendar import format_time
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.inputs import Need, outputs_of
from pipeline.falcon.model import Cluster, Feed, FeedCluster, Paths, Process, Role, Storage, Table
from pipeline.falcon.paths import path_at
from pipeline.hudi.errors import UnsupportedTable
from pipeline.hudi.feeds import Replicator, Storages, is_hudi
from pipeline.hudi.hudi_targets import CrossMetastoreReplica, SharedMetastoreReplica
from pipeline.hudi.replicate import HudiReplicationResult
from pipeline.hudi.table.storage import LocalStorage
from pipeline.lease import WorkLease
from pipeline.partition_values import Kinds, Spec, first_with, kinds_of, names_with
from pipeline.processes.commands import Programs
from pipeline.processes.run import ProcessRun, run_process
from pipeline.replication.directories import PathCopy, replicate_path
from pipeline.replication.plan import STAGING, ReplicationRequest, base_of
from pipeline.replication.replica_catalog import locations_of
from pipeline.replication.run import read_replication, run_replication
from pipeline.retention.directories import PathHome, evict_paths
from pipeline.retention.partition_dates import read_date_pattern
from pipeline.retention.plan import Policy, RetentionPlan, plan_retention
from pipeline.retention.run import candidates, run_retention
from pipeline.scheduler import tables
from pipeline.scheduler.errors import WrongOwner
from pipeline.scheduler.instance import Action
from pipeline.scheduler.work import Result, Task

_COPY_TIMEOUT = 600.0  # seconds of one metastore call of a copy
_BREAKING = 0.5  # seconds between the end of a JVM's connections and of its process


@dataclass(slots=True)
class ClusterActions:
    """`files` opens Spark's file systems at the first use; `storage` reads Hudi's timelines by URI.
    `default` is hive.default.cluster.name of clusters that share a metastore. `notify` returns
    when the views know that a table changed; it is called before a change is reported.
    `publishing` lets one publication of secondary copies run at a time.
    `spark_ends` counts the JVMs of Spark that have ended; it waits that many seconds for an end.
    """

    files: Callable[[], Files]
    programs: Programs
    options: CopyOptions = field(default_factory=CopyOptions)
    limits: CopyLimits = field(default_factory=CopyLimits)
    default: ClusterName | None = None
    storage: Storages = field(default=lambda uri: LocalStorage())
    notify: Notify = no_views
    spark_ends: Callable[[float], int] = lambda patience: 0
    publishing: AbstractContextManager[object] = field(default_factory=nullcontext)

    def look(
        self, needs: Sequence[Need], entity_set: EntitySet, owner: str
    ) -> Mapping[Need, str | None]:
        return tables.look(needs, entity_set, owner, self._listings)

    def _listings(self, locations: Sequence[str]) -> list[FileListing | None]:
        """Local directories are read directly; others need Spark's file systems."""
        remote = [each for each in locations if not tables.is_local(each)]
        found = dict(zip(remote, self.files().listings(remote), strict=True)) if remote else {}
        return [found[each] if each in found else tables.local_listing(each) for each in locations]

    def alone_in(self, task: Task) -> frozenset[str]:
        """The partition that a replication writes; the table of an eviction, since one run at a
        time has its note; the outputs of a process, since Spark's jobs share a directory of their
        output."""
        try:
            match task.schedule.key.action:
                case Action.REPLICATE:
                    copy = _copy_of(task)
                    if isinstance(copy, _Copy):
                        partition = partition_name(copy.specs[0][1])
                        return frozenset({_name(copy.target, f"{copy.target_table} {partition}")})
                case Action.EVICT:
                    home = _home_of(task)
                    if isinstance(home, _Home):
                        return frozenset({_name(home.cluster, str(home.policy.table))})
                case Action.PROCESS:
                    return frozenset(_outputs_of(task))
        except (ActionFailed, LookupError):
            pass  # the entity was changed: the task fails at once
        return frozenset()

    def process(self, task: Task, lease: WorkLease) -> str:
        """Runs a program. It may change any table, also if it fails."""
        try:
            return run_process(_process_run(task), self.programs, lease)
        finally:
            self.notify(EVERYTHING)

    def replicate(self, tasks: Sequence[Task], lease: WorkLease) -> list[Result]:
        """Replicates instances of a feed from its source to its target cluster (FA-R1..R10,
        DC-P1)."""
        with self._blaming_spark():
            return self._replicated(tasks, lease)

    @contextmanager
    def _blaming_spark(self) -> Iterator[None]:
        """Raises SparkLost for work that failed because Spark's JVM ended."""
        ends = self.spark_ends(0.0)
        try:
            yield
        except Exception as error:
            if self.spark_ends(_BREAKING) > ends:
                raise SparkLost(f"Spark's JVM has ended: {error}") from error
            raise

    def _replicated(self, tasks: Sequence[Task], lease: WorkLease) -> list[Result]:
        copies = [_copy_of(each) for each in tasks]
        paths = [each for each in copies if isinstance(each, PathCopy)]
        if paths:
            return [replicate_path(self.files(), each, self.options, lease) for each in paths]
        copy, owner = (
            _Copy.of_many(each for each in copies if isinstance(each, _Copy)),
            tasks[0].owner,
        )
        with self._metastore(copy.source, owner) as source:
            table = _require_owner(source, copy.source_table, owner)
        try:
            if is_hudi(table):
                return [self._replicate_hudi(copy, owner, lease)] * len(tasks)
            return self._replicate(copy, kinds_of(table.partition_keys), owner, lease)
        except (NotCopyable, UnsafeSchemaChange, UnsupportedTable) as error:
            raise ActionFailed(str(error), final=True) from error

    def _replicate(self, copy: "_Copy", kinds: Kinds, owner: str, lease: WorkLease) -> list[Result]:
        if copy.shares_table:
            return self._secondary(copy, kinds, owner, lease)
        with (
            self._metastore(copy.source, owner) as source,
            self._metastore(copy.target, owner) as target,
        ):
            request = copy.request(self.options.checksum)
            plan = read_replication(request, source, target, self.files(), sweeps=False)
            if not plan.origins:
                plan = replace(plan, drops=())  # the instances wait for their data
            report = run_replication(
                plan, source, target, self._context(lease), self.options, self.limits
            )
        return _results(copy, kinds, dict(plan.origins), report, plan.drops)

    def _secondary(self, copy: "_Copy", kinds: Kinds, owner: str, lease: WorkLease) -> list[Result]:
        with self._metastore(copy.source, owner) as client:
            objects = self._objects(client, copy)
            state = objects.table(copy.source_table)
            keys = [(key.name, key.type) for key in state.keys]
            names = [TABLE_ITSELF]
            if keys:
                specs = [source for source, _ in copy.specs]
                names = names_with(specs, keys, lambda: objects.names(state))
            chosen = objects.objects(state, names)
            staging = staging_of(copy.root, state.ref)
            checksum = self.options.checksum
            plan = plan_copy(
                state, chosen, copy.target.name, staging, checksum=checksum, again=False
            )
            plan = replace(plan, sweeps=False)
            report = run_copy(plan, objects, self._context(lease), self.options, self.limits)
        return _results(copy, kinds, {each.name: each.name for each in chosen}, report)

    def _replicate_hudi(self, copy: "_Copy", owner: str, lease: WorkLease) -> str:
        """Replicates the table's new commits, for whichever partitions the instances are."""
        context = self._context(lease)
        replicator = Replicator(self.storage, context, self.options, self.limits)
        with (
            self._metastore(copy.source, owner) as source,
            self._metastore(copy.target, owner) as target,
        ):
            if copy.shares_table:
                objects = self._objects(source, copy)
                name, root = copy.target.name, copy.root
                shared = SharedMetastoreReplica.of(
                    objects, copy.source_table, name, root, context.clock()
                )
                return _hudi_summary(replicator.run(shared), copy)
            request = copy.request(self.options.checksum)
            two = CrossMetastoreReplica.of(source, target, request, context.clock())
            done = replicator.run(two)
            two.update_metadata(changed=done is not None)
            return _hudi_summary(done, copy)

    def _metastore(self, cluster: Cluster, owner: str) -> AbstractContextManager[HmsClient]:
        return tables.metastore(cluster, owner, _COPY_TIMEOUT, self.notify)

    def _objects(self, client: HmsClient, copy: "_Copy") -> ObjectCatalog:
        return ObjectCatalog(client, self.default or copy.source.name, self.publishing)

    def evict(self, task: Task, lease: WorkLease) -> str:
        """Drops old partitions on a cluster, by partition date (FA-V1..V5)."""
        with self._blaming_spark():
            return self._evicted(task, lease)

    def _evicted(self, task: Task, lease: WorkLease) -> str:
        home = _home_of(task)
        if isinstance(home, PathHome):
            return evict_paths(self.files(), home, task.now, task.is_needed, lease)
        return self._evict(home, task, lease)

    def _evict(self, home: "_Home", task: Task, lease: WorkLease) -> str:
        with self._metastore(home.cluster, task.owner) as client:
            objects = ObjectCatalog(client, self.default or home.primary, self.publishing)
            self._sweep(home, client, objects, lease)
            plan = self._retention(home, client, objects, task)
            if plan is None:
                return f"there is no table {home.policy.table} yet"
            for line in plan.lines():
                lease.log(line)
            done = run_retention(
                plan, client, objects, self.files(), self._context(lease).emit, lease.check
            )
        return (
            f"{len(done.partitions)} partitions and {len(done.copies)} copies of {plan.table}"
            f" dropped, {plan.kept} kept, {len(plan.needed)} still needed"
        )

    def _sweep(
        self, home: "_Home", client: HmsClient, objects: ObjectCatalog, lease: WorkLease
    ) -> None:
        """Deletes replaced versions and what interrupted copies left, in two passes. The copies of
        instances leave it to evictions, since it looks at all earlier copies of the table.
        """
        name, ref = home.cluster.name, home.policy.table
        try:
            table = client.get_table(ref)
        except NoSuchObject:
            return
        if name == home.primary:
            staging = f"{base_of(data_location(table))}/{STAGING}"
            used: Used = lambda _: locations_of(client, client.get_table(ref))  # noqa: E731
        else:
            staging = staging_of(copies_root(home.cluster), ref)
            used = partial(used_by, objects, name)
        lease.check()
        swept = sweep_staging(self.files(), used, staging, time.time, self.limits.grace)
        lease.log(f"swept {staging}: {swept.deleted} deleted, {swept.condemned} newly unused")

    def eviction_plan(self, task: Task) -> RetentionPlan | None:
        """What `evict` would drop now; None if the table does not exist."""
        home = _home_of(task)
        if isinstance(home, PathHome):
            return None
        with self._metastore(home.cluster, task.owner) as client:
            objects = ObjectCatalog(client, self.default or home.primary)
            return self._retention(home, client, objects, task)

    def _retention(
        self, home: "_Home", client: HmsClient, objects: ObjectCatalog, task: Task
    ) -> RetentionPlan | None:
        try:
            table = _require_owner(client, home.policy.table, task.owner)
        except ActionFailed:
            return None
        if is_hudi(table):
            reason = "a Hudi table is broken by deleting its partitions' directories"
            raise ActionFailed(f"{table.ref}: {reason}: drop them by SQL", final=True)
        policy = home.policy.for_keys(kinds_of(table.partition_keys))
        return plan_retention(policy, candidates(objects, policy), task.now)

    def _context(self, lease: WorkLease) -> JobContext:
        """The context of a copy. Each event and progress checks the lease."""

        def emit(event: Mapping[str, object]) -> None:
            lease.check()
            lease.log(" ".join(f"{key}={value}" for key, value in event.items()))

        return JobContext(self.files(), emit=emit, progress=lambda done, total: lease.check())


@dataclass(frozen=True, slots=True)
class _Copy:
    """The source and target of a replication of a table: of a partition for each pair of specs."""

    source: Cluster
    target: Cluster
    source_table: TableRef
    target_table: TableRef
    specs: tuple[tuple[Spec, Spec], ...]
    location: str | None
    propagate_deletes: bool

    @classmethod
    def of_many(cls, copies: Iterable["_Copy"]) -> "_Copy":
        """One copy that does all of these, which are of one schedule."""
        each = list(copies)
        return replace(each[0], specs=tuple(spec for copy in each for spec in copy.specs))

    @property
    def shares_table(self) -> bool:
        """Whether both are one table in one metastore: then the target gets a secondary copy."""
        same_metastore = self.source.endpoint("registry") == self.target.endpoint("registry")
        return same_metastore and self.source_table == self.target_table

    @property
    def root(self) -> str:
        """The folder of secondary copies in the target cluster."""
        return copies_root(self.target)

    def what(self, spec: Spec) -> str:
        return f"{self.source_table} {partition_name(spec)} on {self.source.name}"

    def request(self, checksum: bool) -> ReplicationRequest:
        return ReplicationRequest(
            source=self.source_table,
            target=self.target_table,
            specs=self.specs,
            location=self.location,
            propagate_deletes=self.propagate_deletes,
            checksum=checksum,
        )


@dataclass(frozen=True, slots=True)
class _Home:
    """The place of an eviction. Clusters that share a metastore and a table have one policy: that
    of the `primary`, with the limits of the others' copies."""

    cluster: Cluster
    primary: ClusterName
    policy: Policy


def copies_root(cluster: Cluster) -> str:
    """The folder of secondary copies in a cluster."""
    return default_root(cluster.endpoint("write") or "file:///")


def _home_of(task: Task) -> _Home | PathHome:
    """The place of an eviction. Raises ActionFailed if the feed was changed."""
    feed, name = task.entity, task.schedule.key.cluster
    assert isinstance(feed, Feed)
    place, cluster = feed.on(name), task.entity_set.cluster(name)
    if place is None or cluster is None:
        raise ActionFailed(f"feed {feed.name} is not on {name} any more", final=True)
    storage = feed.storage_on(place)
    if isinstance(storage, Paths):
        return PathHome(feed.name, storage, cluster, place.retention.length)

    def home(each: FeedCluster) -> tuple[str | None, Storage]:
        found = task.entity_set.cluster(each.name)
        return (found.endpoint("registry") if found else None), feed.storage_on(each)

    same = [each for each in feed.clusters if _same_table(home(each), home(place))]
    primary = next((each for each in same if each.role is Role.SOURCE), place)
    policy = Policy(
        table=storage.uri.table,
        date_pattern=read_date_pattern(storage.uri.keys),
        limit=primary.retention.length,
        copies={e.name: e.retention.length for e in same if e.name != primary.name},
        is_needed=task.is_needed,
    )
    return _Home(cluster, primary.name, policy)


def _same_table(one: tuple[str | None, Storage], other: tuple[str | None, Storage]) -> bool:
    first, second = one[1], other[1]
    if not isinstance(first, Table) or not isinstance(second, Table):
        return False
    return one[0] == other[0] and first.uri.table == second.uri.table


def _copy_of(task: Task) -> _Copy | PathCopy:
    """The source and target of the instance. Raises ActionFailed if the feed was changed."""
    feed, key = task.entity, task.schedule.key
    assert isinstance(feed, Feed)
    one, other = feed.on(key.source), feed.on(key.cluster)
    source, target = task.entity_set.cluster(key.source), task.entity_set.cluster(key.cluster)
    if one is None or other is None or source is None or target is None:
        raise ActionFailed(f"{key} is not in the feed any more", final=True)
    here, there = feed.storage_on(one), feed.storage_on(other)
    if isinstance(here, Paths) and isinstance(there, Paths):
        return _path_copy(task, (here, there), (source, target))
    if not isinstance(here, Table) or not isinstance(there, Table):
        raise ActionFailed("a feed is of tables or of paths, not of both", final=True)
    nominal = task.instance.nominal
    return _Copy(
        source=source,
        target=target,
        source_table=here.uri.table,
        target_table=there.uri.table,
        specs=((here.uri.partition(nominal), there.uri.partition(nominal)),),
        location=feed.property("targetLocation"),
        propagate_deletes=feed.property("propagateDeletes") == "true",
    )


def _path_copy(
    task: Task, storages: tuple[Paths, Paths], clusters: tuple[Cluster, Cluster]
) -> PathCopy:
    """The directories to copy. Raises ActionFailed if they are the same."""
    nominal = task.instance.nominal
    source = path_at(storages[0].locations["data"], nominal, clusters[0])
    target = path_at(storages[1].locations["data"], nominal, clusters[1])
    if source == target:
        raise ActionFailed(f"{source} would be copied onto itself", final=True)
    key, time = task.schedule.key, format_time(nominal).replace(":", "")
    name = f"{key.entity.name}/{key.source}/{key.cluster}/{time}"
    root = path_at(clusters[1].locations["staging"], nominal, clusters[1]).rstrip("/")
    return PathCopy(source, target, f"{root}/causeway/{name}")


def _outputs_of(task: Task) -> Iterator[str]:
    process, cluster = task.entity, task.schedule.key.cluster
    assert isinstance(process, Process)
    feeds, found = task.entity_set.feed, task.entity_set.cluster(cluster)
    for need in outputs_of(process, cluster, feeds, task.instance.nominal):
        if isinstance(need.storage, Table):
            partition = partition_name(need.storage.uri.partition(need.time))
            yield _name(found, f"{need.storage.uri.table} {partition}")
        elif "data" in need.storage.locations:
            yield path_at(need.storage.locations["data"], need.time, found)


def _name(cluster: Cluster | None, what: str) -> str:
    """The name of a table or partition among all metastores."""
    return f"{cluster.endpoint('registry') if cluster else None} {what}"


def _process_run(task: Task) -> ProcessRun:
    process, instance = task.entity, task.instance
    assert isinstance(process, Process)
    return ProcessRun(
        process,
        cluster=task.schedule.key.cluster,
        entity_set=task.entity_set,
        nominal=instance.nominal,
        owner=task.owner,
        number=instance.run,
        late=instance.late,
        fingerprint=instance.fingerprint,
    )


def _hudi_summary(done: HudiReplicationResult | None, copy: _Copy) -> str:
    if done is None:
        return f"{copy.target_table} was up to date"
    return f"{copy.target_table}: {done.commits} commits, {done.files} files, {done.bytes} bytes"


def _results(
    copy: _Copy,
    kinds: Kinds,
    origins: Mapping[str, str],
    report: CopyReport,
    drops: Collection[str] = (),
) -> list[Result]:
    """The result of each pair of specs. `origins` maps objects of the target to the source's."""
    first = first_with([source for source, _ in copy.specs], kinds)
    names: dict[Spec | None, list[str]] = {}
    for name, origin in origins.items():
        spec = first(origin) if origin else copy.specs[0][0]
        names.setdefault(spec, []).append(name)
    vanished = set(report.gone) - set(drops)
    return [
        _result(copy, source, names.get(source, []), report, vanished) for source, _ in copy.specs
    ]


def _result(
    copy: _Copy, spec: Spec, names: Sequence[str], report: CopyReport, vanished: Collection[str]
) -> Result:
    """The result of one instance, whose objects are `names`. `vanished` are source partitions that
    were dropped during the copy.
    """
    if not names:
        return InputsGone(f"{copy.what(spec)} does not exist any more")
    for name in names:
        if error := report.failed.get(name):
            return ActionFailed(f"{name or copy.source_table}: {error}")
    if gone := sorted(set(names) & set(vanished)):
        dropped = ", ".join(gone[:3]) or "the table"
        return InputsGone(f"{copy.what(spec)}: {dropped} was dropped during the copy")
    published = [name for name in names if name in report.published]
    if not published:
        return f"{copy.target_table} was up to date"
    what = ", ".join(published) or str(copy.target_table)
    others = len(report.published) - len(published)
    shared = f" with {others} others" if others else ""
    return (
        f"{what}{shared}: {report.files_sent} files, {report.bytes_sent} bytes"
        f" in {report.seconds:.1f} s"
    )


def _require_owner(client: HmsClient, ref: TableRef, user: str) -> metastore.Table:
    """The table. Raises WrongOwner unless the submitter owns it (FA-S1, FA-S2)."""
    try:
        table = client.get_table(ref)
    except NoSuchObject as error:
        raise InputsGone(f"table {ref} does not exist any more") from error
    if table.owner and table.owner != user:
        raise WrongOwner(f"{ref} belongs to {table.owner}, the feed to {user}.")
    return table
