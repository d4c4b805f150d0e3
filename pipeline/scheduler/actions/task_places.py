"""Finds the tables and directories that a task reads and writes from its entities. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from conf.names import ClusterName, TableRef, partition_name
from pipeline.copy.runs.staging import default_root
from pipeline.errors import ActionFailed
from pipeline.falcon.calendar import format_time
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.datasource import DatasourceInterface
from pipeline.falcon.entities.feed import (
    Direction,
    Exchange,
    Feed,
    FeedCluster,
    Paths,
    Role,
    Storage,
    Table,
)
from pipeline.falcon.entities.process import Process
from pipeline.falcon.inputs import Need, needs_read, outputs_of
from pipeline.falcon.partition_paths import Part, copied_part
from pipeline.falcon.paths import path_at
from pipeline.falcon.rules.exchange_rules import interface_of
from pipeline.partition_values import Spec
from pipeline.processes.run import ProcessRun
from pipeline.replication.directories import PathCopy
from pipeline.replication.plan import ReplicationRequest
from pipeline.retention.directories import PathEviction
from pipeline.retention.partition_dates import read_date_pattern
from pipeline.retention.plan import RetentionPolicy
from pipeline.scheduler.actions.work import Task
from pipeline.scheduler.instances.instance import InstanceAction


@dataclass(frozen=True, slots=True)
class TableCopy:
    """The replication of a table: of one partition for each pair of source and target specs; of the
    whole table if the specs are empty.
    """

    source: Cluster
    target: Cluster
    source_table: TableRef
    target_table: TableRef
    specs: tuple[tuple[Spec, Spec], ...]
    location: str | None
    propagate_deletes: bool

    @classmethod
    def of_many(cls, copies: Iterable["TableCopy"]) -> "TableCopy":
        """One copy for several instances of one schedule."""
        every = list(copies)
        return replace(every[0], specs=tuple(spec for copy in every for spec in copy.specs))

    @property
    def shares_table(self) -> bool:
        """Whether source and target are one table in one metastore: then it is a secondary copy."""
        same_metastore = self.source.endpoint("registry") == self.target.endpoint("registry")
        return same_metastore and self.source_table == self.target_table

    @property
    def root(self) -> str:
        """The folder of secondary copies in the target cluster."""
        return copies_root(self.target)

    @property
    def whole(self) -> bool:
        """Whether it copies a whole table (falcon/whole_tables.py)."""
        return not self.specs[0][0]

    def describe(self, spec: Spec) -> str:
        """The name of the source of an instance, for messages."""
        name = f"{self.source_table} {partition_name(spec)}".rstrip()
        return f"{name} on {self.source.name}"

    def request(self, checksum: bool) -> ReplicationRequest:
        return ReplicationRequest(
            source=self.source_table,
            target=self.target_table,
            specs=self.specs,
            location=self.location,
            propagate_deletes=self.propagate_deletes,
            checksum=checksum,
            between=(self.source.name, self.target.name),
        )


@dataclass(frozen=True, slots=True)
class TableEviction:
    """The eviction of a table on a cluster. Clusters that share a metastore and a table have one
    policy: that of the `primary`, with the limits of the copies on the others. `location` is the
    directory in which a replication creates the table, if the feed names one."""

    cluster: Cluster
    primary: ClusterName
    policy: RetentionPolicy
    location: str | None = None


def copies_root(cluster: Cluster) -> str:
    """The folder of secondary copies in a cluster."""
    return default_root(cluster.endpoint("write") or "file:///")


def eviction_of(task: Task) -> TableEviction | PathEviction:
    """The eviction of a feed on a cluster. Raises ActionFailed if the feed was changed."""
    feed, name = task.entity, task.schedule.key.cluster
    assert isinstance(feed, Feed)
    feed_cluster, cluster = feed.on(name), task.entity_set.cluster(name)
    if feed_cluster is None or cluster is None:
        raise ActionFailed(f"feed {feed.name} is not on {name} any more", final=True)
    if feed_cluster.retention is None:
        raise ActionFailed(f"feed {feed.name} has no retention on {name} any more", final=True)
    storage = feed.storage_on(feed_cluster)
    if isinstance(storage, Paths):
        limit = feed_cluster.kept
        return PathEviction(feed.name, storage, cluster, limit, feed.availability_flag)

    def table_at(each: FeedCluster) -> tuple[str | None, Storage]:
        found = task.entity_set.cluster(each.name)
        return (found.endpoint("registry") if found else None), feed.storage_on(each)

    same = [each for each in feed.clusters if _same_table(table_at(each), table_at(feed_cluster))]
    primary = next((each for each in same if each.role is Role.SOURCE), feed_cluster)
    policy = RetentionPolicy(
        table=storage.uri.table,
        date_pattern=read_date_pattern(storage.uri.bound),
        limit=primary.kept,
        copies={e.name: e.kept for e in same if e.name != primary.name},
        is_needed=task.is_needed,
    )
    return TableEviction(cluster, primary.name, policy, feed.property("targetLocation"))


def _same_table(one: tuple[str | None, Storage], other: tuple[str | None, Storage]) -> bool:
    first, second = one[1], other[1]
    if not isinstance(first, Table) or not isinstance(second, Table):
        return False
    return one[0] == other[0] and first.uri.table == second.uri.table


def copy_of(task: Task) -> TableCopy | PathCopy:
    """The source and target of the instance. Raises ActionFailed if the feed was changed."""
    feed, key = task.entity, task.schedule.key
    assert isinstance(feed, Feed)
    source_in_feed, target_in_feed = feed.on(key.source), feed.on(key.cluster)
    source, target = task.entity_set.cluster(key.source), task.entity_set.cluster(key.cluster)
    if source_in_feed is None or target_in_feed is None or source is None or target is None:
        raise ActionFailed(f"{key} is not in the feed any more", final=True)
    source_storage, target_storage = (
        feed.storage_on(source_in_feed),
        feed.storage_on(target_in_feed),
    )
    if isinstance(source_storage, Paths) and isinstance(target_storage, Paths):
        part = copied_part(source_in_feed, target_in_feed, (source, target))
        return _path_copy(task, (source_storage, target_storage), (source, target), part)
    if not isinstance(source_storage, Table) or not isinstance(target_storage, Table):
        raise ActionFailed("a feed is of tables or of paths, not of both", final=True)
    nominal = task.instance.nominal
    return TableCopy(
        source=source,
        target=target,
        source_table=source_storage.uri.table,
        target_table=target_storage.uri.table,
        specs=((source_storage.uri.partition(nominal), target_storage.uri.partition(nominal)),),
        location=feed.property("targetLocation"),
        propagate_deletes=feed.property("propagateDeletes") == "true",
    )


def _path_copy(
    task: Task, storages: tuple[Paths, Paths], clusters: tuple[Cluster, Cluster], part: Part
) -> PathCopy:
    """The copy of an instance's directory. Raises ActionFailed if source and target are the same or
    one of them is missing.
    """
    nominal = task.instance.nominal
    for storage, cluster in zip(storages, clusters, strict=True):
        if "data" not in storage.locations:
            raise ActionFailed(f"the feed has no location data in {cluster.name}", final=True)
    source = path_at(storages[0].locations["data"], nominal, clusters[0])
    target = path_at(storages[1].locations["data"], nominal, clusters[1])
    if source == target:
        raise ActionFailed(f"{source} would be copied onto itself", final=True)
    key, time = task.schedule.key, format_time(nominal).replace(":", "")
    name = f"{key.entity.name}/{key.source}/{key.cluster}/{time}"
    root = path_at(clusters[1].locations["staging"], nominal, clusters[1]).rstrip("/")
    flag = task.entity.availability_flag if isinstance(task.entity, Feed) else None
    between = (key.source, key.cluster)
    return PathCopy(source, target, f"{root}/causeway/{name}", part, flag, between)


def exclusive_places(task: Task) -> frozenset[str]:
    """The places that no other task may write during this one: the partition of a replication; the
    table of an eviction, because it has one note; the outputs of a process, because Spark's jobs
    share a directory of their output; the target of an import or export.
    """
    try:
        match task.schedule.key.action:
            case InstanceAction.REPLICATE:
                copy = copy_of(task)
                if isinstance(copy, TableCopy):
                    partition = partition_name(copy.specs[0][1])
                    return frozenset({_place_name(copy.target, f"{copy.target_table} {partition}")})
            case InstanceAction.EVICT:
                eviction = eviction_of(task)
                if isinstance(eviction, TableEviction):
                    return frozenset({_place_name(eviction.cluster, str(eviction.policy.table))})
            case InstanceAction.PROCESS:
                return frozenset(_outputs_of(task))
            case InstanceAction.IMPORT | InstanceAction.EXPORT:
                return frozenset({exchange_of(task).written})
    except (ActionFailed, LookupError):
        pass  # the entity was changed: the task fails at once
    return frozenset()


@dataclass(frozen=True, slots=True)
class ExchangeTask:
    """The import or export of an instance: a partition of `table`, or the directory `path` if
    `table` is None. `written` is the name of the place that it writes.
    """

    feed: Feed
    feed_cluster: FeedCluster
    cluster: Cluster
    exchange: Exchange
    interface: DatasourceInterface
    table: TableRef | None
    path: str
    written: str


def exchange_of(task: Task) -> ExchangeTask:
    """The exchange of an instance. Raises ActionFailed if the feed or datasource was changed."""
    feed, key = task.entity, task.schedule.key
    assert isinstance(feed, Feed)
    feed_cluster, cluster = feed.on(key.cluster), task.entity_set.cluster(key.cluster)
    exchanges = (each for each in feed_cluster.exchanges) if feed_cluster else iter(())
    exchange = next((e for e in exchanges if e.direction.value == key.action.value), None)
    if feed_cluster is None or cluster is None or exchange is None:
        raise ActionFailed(f"{key} is not in the feed any more", final=True)
    datasource = task.entity_set.datasource(exchange.datasource)
    kind = interface_of(exchange.direction)
    interface = datasource.interfaces.get(kind) if datasource else None
    if interface is None:
        reason = f"datasource {exchange.datasource} has no {kind} interface any more"
        raise ActionFailed(reason, final=True)
    nominal, storage = task.instance.nominal, feed.storage_on(feed_cluster)
    table: TableRef | None = None
    path = ""
    if isinstance(storage, Table):
        table = storage.uri.table
        written = _place_name(cluster, f"{table} {partition_name(storage.uri.partition(nominal))}")
    else:
        path = written = path_at(storage.locations["data"], nominal, cluster)
    if exchange.direction is Direction.EXPORT:
        written = f"{interface.endpoint} {exchange.table.lower()}"
    return ExchangeTask(feed, feed_cluster, cluster, exchange, interface, table, path, written)


def _outputs_of(task: Task) -> Iterator[str]:
    process, name = task.entity, task.schedule.key.cluster
    assert isinstance(process, Process)
    feeds, cluster = task.entity_set.feed, task.entity_set.cluster(name)
    for need in outputs_of(process, name, feeds, task.instance.nominal):
        if isinstance(need.storage, Table):
            partition = partition_name(need.storage.uri.partition(need.time))
            yield _place_name(cluster, f"{need.storage.uri.table} {partition}")
        elif "data" in need.storage.locations:
            yield path_at(need.storage.locations["data"], need.time, cluster)


def inputs_and_outputs(task: Task) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tables (`database.table`) and directories that a process reads and writes. Empty if the
    entity was changed, and for other work, whose copies have records of their own.
    """
    process, name = task.entity, task.schedule.key.cluster
    if not isinstance(process, Process):
        return (), ()
    cluster, nominal = task.entity_set.cluster(name), task.instance.nominal

    def names(needs: Iterable[Need]) -> tuple[str, ...]:
        return tuple(sorted({each for need in needs for each in _data_of(need, cluster)}))

    try:
        inputs = needs_read(task.schedule.needs(nominal), task.instance.fingerprint)
        return names(inputs), names(outputs_of(process, name, task.entity_set.feed, nominal))
    except LookupError:
        return (), ()


def _data_of(need: Need, cluster: Cluster | None) -> Iterator[str]:
    if isinstance(need.storage, Table):
        yield str(need.storage.uri.table)
    elif "data" in need.storage.locations:
        yield path_at(need.storage.locations["data"], need.time, cluster)


def output_paths(task: Task) -> Iterator[tuple[Feed, Cluster, datetime, str]]:
    """The directories that a process writes: feed, cluster, time of the feed's instance, URI."""
    process, name = task.entity, task.schedule.key.cluster
    assert isinstance(process, Process)
    cluster = task.entity_set.clusters[name]
    for need in outputs_of(process, name, task.entity_set.feed, task.instance.nominal):
        feed = task.entity_set.feed(need.feed)
        if feed is not None and isinstance(need.storage, Paths):
            location = path_at(need.storage.locations["data"], need.time, cluster)
            yield feed, cluster, need.time, location


def _place_name(cluster: Cluster | None, what: str) -> str:
    """The name of a table or partition, unique among all metastores."""
    return f"{cluster.endpoint('registry') if cluster else None} {what}"


def process_run(task: Task) -> ProcessRun:
    """The run of a process's instance."""
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
