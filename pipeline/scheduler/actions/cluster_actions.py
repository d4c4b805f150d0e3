"""`work.Actions` on real clusters: replication, eviction, processes, imports and exports.

If source and target name the same table in the same metastore, a replication makes a secondary
copy; otherwise it writes a table of its own in the target's metastore. The cluster entities'
interfaces name the metastore (registry), the file system (write) and HiveServer2 (execute).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from conf.names import ClusterName, TableRef
from metastore.catalog.hudi_tables import is_hudi
from metastore.client import types as metastore
from metastore.client.catalog_client import CatalogClient
from metastore.client.changes.notifying_client import EVERYTHING, Notify
from metastore.errors import NoSuchObject
from metastore.placement.placement_store import no_views
from pipeline.copy.copy_catalog import TABLE_ITSELF, ObjectCatalog
from pipeline.copy.copy_record import RecordCopy, no_records
from pipeline.copy.copy_report import CopyReport
from pipeline.copy.files import CopyOptions, FileListing, Files
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.copy.link_files import Links
from pipeline.copy.plan import plan_copy
from pipeline.copy.run import run_copy
from pipeline.copy.runs.staging import staging_of
from pipeline.errors import ActionFailed, InputsGone, NotCopyable, SparkLost, UnsafeSchemaChange
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.inputs import Need
from pipeline.hudi.errors import UnsupportedTable
from pipeline.hudi.feeds import Replicator, Storages
from pipeline.hudi.hudi_targets import CrossMetastoreReplica, SharedMetastoreReplica
from pipeline.hudi.replicas.replicate import HudiReplicationResult
from pipeline.hudi.table.storage import LocalStorage, is_local
from pipeline.lease import WorkLease
from pipeline.partition_values import Kinds, Spec, kinds_of, matching_names, spec_finder
from pipeline.processes.commands import Programs
from pipeline.processes.run import run_process
from pipeline.replication.directories import PathCopy, replicate_path
from pipeline.replication.run import read_replication, run_replication
from pipeline.retention.plan import RetentionPlan
from pipeline.scheduler.actions import tables
from pipeline.scheduler.actions.catalog_service import CatalogService
from pipeline.scheduler.actions.evictions import Evictions
from pipeline.scheduler.actions.exchanges import Exchanges
from pipeline.scheduler.actions.path_partitions import PathPartitions
from pipeline.scheduler.actions.task_places import (
    TableCopy,
    copy_of,
    exclusive_places,
    output_paths,
    process_run,
)
from pipeline.scheduler.actions.work import Result, Task, WorkSummary
from pipeline.scheduler.errors import WrongOwner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COPY_TIMEOUT = 600.0  # seconds of one metastore call of a copy
_JVM_END = 0.5  # seconds for which a JVM may live on after its connections have ended


@dataclass(slots=True)
class ClusterActions:
    """`files` opens Spark's file systems at the first use, `spark` its session; `storage` reads
    Hudi's timelines by URI. `default` is hive.default.cluster.name of clusters that share a
    metastore. `notify` announces changed tables to the metastore views, and returns when they have
    got the change. `publishing` is a lock: one publication of secondary copies runs at a time.
    `spark_ends(seconds)` counts the JVMs of Spark that have ended, and waits so long for one.
    `record` is called with the record of each ended copy. `catalogs` connects to the clusters'
    catalogs; `links` limits the bytes that copies send between clusters.
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
    record: RecordCopy = no_records
    spark: Callable[[], "SparkSession"] = field(default=lambda: _no_spark())
    catalogs: CatalogService = tables.HIVE
    links: Links = field(default_factory=Links)

    def read_fingerprints(
        self, needs: Sequence[Need], entity_set: EntitySet, owner: str
    ) -> Mapping[Need, str | None]:
        return tables.read_fingerprints(needs, entity_set, owner, self._listings, self.catalogs)

    def _listings(self, locations: Sequence[str]) -> list[FileListing | None]:
        """The files of directories: local ones are read directly, others by Spark."""
        remote = [each for each in locations if not is_local(each)]
        found = dict(zip(remote, self.files().listings(remote), strict=True)) if remote else {}
        return [found[each] if each in found else tables.local_listing(each) for each in locations]

    def exclusive_places(self, task: Task) -> frozenset[str]:
        return exclusive_places(task)

    def process(self, task: Task, lease: WorkLease) -> str:
        """Runs a process. Its program may change any table, also if it fails."""
        try:
            done = run_process(process_run(task), self.programs, self._read, lease)
        finally:
            self.notify(EVERYTHING)
        return done + "".join(self._publish_outputs(task))

    def _publish_outputs(self, task: Task) -> Iterator[str]:
        """Registers the directories that a process has written, and describes each."""
        for feed, cluster, nominal, location in output_paths(task):
            if self._listings([location]) != [None]:
                yield self._partitions(feed, cluster, task.owner).publish(nominal, location)

    def _partitions(self, feed: Feed, cluster: Cluster, owner: str) -> PathPartitions:
        return PathPartitions(feed, cluster, owner, self._metastore, _require_owner)

    def _read(self, uri: str) -> str | None:
        with self._detecting_spark_loss():
            return self.files().read_marker(uri)

    def exchange(self, task: Task, lease: WorkLease) -> str:
        """Imports an instance from another database, or exports it to one."""
        exchanges = Exchanges(self.spark, self.files, self._metastore, _require_owner)
        with self._detecting_spark_loss():
            return exchanges.run(task, lease)

    def replicate(self, tasks: Sequence[Task], lease: WorkLease) -> list[Result]:
        """Replicates instances of a feed from its source to its target cluster (FA-R1..R10,
        DC-P1)."""
        with self._detecting_spark_loss():
            return self._replicate_tasks(tasks, lease)

    @contextmanager
    def _detecting_spark_loss(self) -> Iterator[None]:
        """Raises SparkLost for work that failed because Spark's JVM ended."""
        ends = self.spark_ends(0.0)
        try:
            yield
        except Exception as error:
            if self.spark_ends(_JVM_END) > ends:
                raise SparkLost(f"Spark's JVM has ended: {error}") from error
            raise

    def _replicate_tasks(self, tasks: Sequence[Task], lease: WorkLease) -> list[Result]:
        """Replicates directories, a Hudi table or other tables. Raises ActionFailed, WrongOwner."""
        copies = [copy_of(each) for each in tasks]
        if isinstance(copies[0], PathCopy):
            return [self._replicate_path(tasks[0], copies[0], lease)]
        copy, owner = (
            TableCopy.of_many(each for each in copies if isinstance(each, TableCopy)),
            tasks[0].owner,
        )
        with self._metastore(copy.source, owner) as source:
            table = _require_owner(source, copy.source_table, owner)
        if (why := tables.why_uri_does_not_fit(table, copy.whole)) is not None:
            raise ActionFailed(why, final=True)
        try:
            if is_hudi(table):
                return [self._replicate_hudi(copy, owner, lease)] * len(tasks)
            return self._replicate(copy, kinds_of(table.partition_keys), owner, lease)
        except (NotCopyable, UnsafeSchemaChange, UnsupportedTable) as error:
            raise ActionFailed(str(error), final=True) from error

    def _replicate_path(self, task: Task, copy: PathCopy, lease: WorkLease) -> WorkSummary:
        feed, cluster = task.entity, task.entity_set.clusters[task.schedule.key.cluster]
        assert isinstance(feed, Feed)
        files = self.links.files(self.files(), *copy.between)
        done = replicate_path(files, copy, self.options, lease, self.record)
        lease.check()
        published = self._partitions(feed, cluster, task.owner).publish(
            task.instance.nominal, copy.target
        )
        return WorkSummary(done.text + published, done.bytes)

    def _replicate(
        self, copy: TableCopy, kinds: Kinds, owner: str, lease: WorkLease
    ) -> list[Result]:
        if copy.shares_table:
            return self._copy_table(copy, kinds, owner, lease)
        with (
            self._metastore(copy.source, owner) as source,
            self._metastore(copy.target, owner) as target,
        ):
            request = copy.request(self.options.checksum)
            plan = read_replication(request, source, target, self.files(), sweeps=copy.whole)
            if not plan.origins:
                plan = replace(plan, drops=())  # the instances wait for their data
            report = run_replication(
                plan, source, target, self._context(lease, copy), self.options, self.limits
            )
        return _results(copy, kinds, dict(plan.origins), report, plan.drops)

    def _copy_table(
        self, copy: TableCopy, kinds: Kinds, owner: str, lease: WorkLease
    ) -> list[Result]:
        with self._metastore(copy.source, owner) as client:
            objects = self._objects(client, copy)
            state = objects.table(copy.source_table)
            keys = [(key.name, key.type) for key in state.keys]
            names = [TABLE_ITSELF]
            if keys:
                specs = [source for source, _ in copy.specs]
                names = matching_names(specs, keys, lambda: objects.names(state))
            chosen = objects.objects(state, names)
            staging = staging_of(copy.root, state.ref)
            checksum = self.options.checksum
            plan = plan_copy(
                state, chosen, copy.target.name, staging, checksum=checksum, again=False
            )
            plan = replace(plan, sweeps=copy.whole)  # feeds of whole tables have no evictions
            context = self._context(lease, copy)
            report = run_copy(plan, objects, context, self.options, self.limits)
        return _results(copy, kinds, {each.name: each.name for each in chosen}, report)

    def _replicate_hudi(self, copy: TableCopy, owner: str, lease: WorkLease) -> str:
        """Replicates all new commits of a Hudi table, whatever partitions the instances have."""
        context = self._context(lease, copy)
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

    def _metastore(self, cluster: Cluster, owner: str) -> AbstractContextManager[CatalogClient]:
        return self.catalogs.connect(cluster, owner, _COPY_TIMEOUT, self.notify)

    def _objects(self, client: CatalogClient, copy: TableCopy) -> ObjectCatalog:
        return ObjectCatalog(client, self.default or copy.source.name, self.publishing)

    @property
    def _evictions(self) -> Evictions:
        return Evictions(
            self.files, self._metastore, _require_owner, self._partitions, self.storage,
            self.default, self.publishing, self.limits.grace,
        )  # fmt: skip

    def evict(self, task: Task, lease: WorkLease) -> str:
        """Drops old partitions on a cluster, by partition date (FA-V1..V5)."""
        with self._detecting_spark_loss():
            return self._evictions.run(task, lease)

    def eviction_plan(self, task: Task) -> RetentionPlan | None:
        """What `evict` would drop now; None if the table does not exist."""
        return self._evictions.plan(task)

    def _context(self, lease: WorkLease, copy: TableCopy) -> JobContext:
        """The context of a copy, which checks the lease at each event and progress."""

        def emit(event: Mapping[str, object]) -> None:
            lease.check()
            lease.log(" ".join(f"{key}={value}" for key, value in event.items()))

        files = self.links.files(self.files(), copy.source.name, copy.target.name)
        return JobContext(files, emit, self.record, progress=lambda done, total: lease.check())


def _no_spark() -> "SparkSession":
    raise ActionFailed("this server has no Spark", final=True)


def _hudi_summary(done: HudiReplicationResult | None, copy: TableCopy) -> str:
    if done is None:
        return f"{copy.target_table} was up to date"
    return f"{copy.target_table}: {done.commits} commits, {done.files} files, {done.bytes} bytes"


def _results(
    copy: TableCopy,
    kinds: Kinds,
    origins: Mapping[str, str],
    report: CopyReport,
    drops: Collection[str] = (),
) -> list[Result]:
    """The result of each instance. `origins` has the source's name of each object of the target."""
    first = spec_finder([source for source, _ in copy.specs], kinds)
    names: dict[Spec | None, list[str]] = {}
    for name, origin in origins.items():
        spec = first(origin) if origin else copy.specs[0][0]
        names.setdefault(spec, []).append(name)
    vanished = set(report.gone) - set(drops)
    return [
        _result(copy, source, names.get(source, []), report, vanished) for source, _ in copy.specs
    ]


def _result(
    copy: TableCopy, spec: Spec, names: Sequence[str], report: CopyReport, vanished: Collection[str]
) -> Result:
    """The result of one instance, whose objects are `names`. `vanished` are source partitions that
    were dropped during the copy.
    """
    if not names:
        return InputsGone(f"{copy.describe(spec)} does not exist any more")
    for name in names:
        if error := report.failed.get(name):
            return ActionFailed(f"{name or copy.source_table}: {error}")
    if gone := sorted(set(names) & set(vanished)):
        dropped = ", ".join(gone[:3]) or "the table"
        return InputsGone(f"{copy.describe(spec)}: {dropped} was dropped during the copy")
    published = [name for name in names if name in report.published]
    if not published:
        return f"{copy.target_table} was up to date"
    what = ", ".join(published) or str(copy.target_table)
    others = len(report.published) - len(published)
    shared = f" with {others} others" if others else ""
    return WorkSummary(
        f"{what}{shared}: {report.files_sent} files, {report.bytes_sent} bytes"
        f" in {report.seconds:.1f} s",
        sum(report.copied[name].bytes for name in published if name in report.copied),
    )


def _require_owner(client: CatalogClient, ref: TableRef, user: str) -> metastore.Table:
    """The table. Raises WrongOwner unless the submitter owns it (FA-S1, FA-S2)."""
    try:
        table = client.get_table(ref)
    except NoSuchObject as error:
        raise InputsGone(f"table {ref} does not exist any more") from error
    if table.owner and table.owner != user:
        raise WrongOwner(f"{ref} belongs to {table.owner}, the feed to {user}.")
    return table
