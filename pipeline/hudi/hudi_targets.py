"""The targets of a Hudi feed: a copy in the source's metastore, or a table of another metastore."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from conf.names import ClusterName, TableRef
from metastore.client.catalog_client import CatalogClient
from metastore.client.types import Partition, Table
from metastore.errors import AlreadyExists, NoSuchObject
from pipeline.copy.copy_catalog import TABLE_ITSELF, ObjectCatalog, Publication, data_location
from pipeline.copy.copy_record import CopyRoute
from pipeline.copy.own_writes import begin_table_write, end_table_write
from pipeline.copy.run import used_by
from pipeline.copy.runs.staging import RunMarker, new_run, staging_of
from pipeline.errors import NotCopyable
from pipeline.hudi.feeds import ReplicaState
from pipeline.replication.metadata import replica_partition, replica_table, set_location
from pipeline.replication.plan import FROM, STAGING, ReplicationRequest, base_of, target_keys
from pipeline.replication.schema import SchemaChange, follow


@dataclass(frozen=True, slots=True)
class SharedMetastoreReplica:
    """The replica is the table's secondary copy in `cluster`."""

    objects: ObjectCatalog
    table: TableRef
    cluster: ClusterName
    staging: str
    marker: RunMarker
    primary: ClusterName

    @classmethod
    def of(
        cls, objects: ObjectCatalog, table: TableRef, cluster: ClusterName, root: str, now: float
    ) -> "SharedMetastoreReplica":
        """`now` in epoch seconds. Raises NotCopyable when the table cannot have a copy there."""
        state = objects.table(table)
        if state.placement.primary == cluster:
            raise NotCopyable(f"{cluster} is the primary of {table}: it needs no copy.")
        if state.partitioned and not state.placement.uniform:
            raise NotCopyable(
                f"{table} is a Hudi table, copied as a whole, but its partitions may have facts of"
                " their own: see `causeway metastore upgrade`."
            )
        marker = new_run(table, state.created, now)
        primary = state.placement.primary
        return cls(objects, table, cluster, staging_of(root, table), marker, primary)

    @property
    def name(self) -> str:
        return str(self.table)

    @property
    def route(self) -> CopyRoute:
        return CopyRoute(
            self.marker.run, self.name, self.name, self.primary, self.cluster, self.staging
        )

    def state(self) -> ReplicaState:
        state = self.objects.table(self.table)
        placement = state.placement
        copy = placement.copy_in(self.cluster)
        return ReplicaState(
            source=state.location,
            replica=copy.location if copy else None,
            of=placement.version,
            fresh=copy is not None and placement.is_fresh(copy),
            busy=placement.writing,
        )

    def begin(self) -> None:
        """Does nothing: the copy is stale, or has the version of the source before and after."""

    def publish(self, state: ReplicaState, replica: str) -> bool:
        new = Publication(TABLE_ITSELF, state.source, state.of, replica)
        return bool(self.objects.publish(self.table, self.cluster, [new]))

    def used(self, marker: RunMarker) -> frozenset[str]:
        return used_by(self.objects, self.cluster, marker)


@dataclass(frozen=True, slots=True)
class CrossMetastoreReplica:
    """The replica is a table of another metastore, which is created when its data is complete."""

    source: CatalogClient
    target: CatalogClient
    request: ReplicationRequest
    staging: str
    marker: RunMarker
    _change: SchemaChange | None = field(default=None)

    @classmethod
    def of(
        cls, source: CatalogClient, target: CatalogClient, request: ReplicationRequest, now: float
    ) -> "CrossMetastoreReplica":
        """`now` in epoch seconds. Raises NotCopyable, UnsafeSchemaChange."""
        table, known = source.get_table(request.source), _table(target, request.target)
        if request.source_specs != request.target_specs:
            raise NotCopyable(f"{request.source} is a Hudi table: its keys and values stay.")
        change = None
        if known is None:
            database = target.get_database(request.target.db).location.rstrip("/")
            base = request.location or f"{database}/{request.target.name}"
        elif known.parameters.get(FROM) != str(request.source):
            raise NotCopyable(f"{request.target} exists and is no replica of {request.source}.")
        else:
            base = base_of(data_location(known))
            change = follow(table, known, target_keys(request, table))
        marker = new_run(request.target, 0, now)
        return cls(source, target, request, f"{base}/{STAGING}", marker, change)

    @property
    def name(self) -> str:
        return str(self.request.target)

    @property
    def route(self) -> CopyRoute:
        source, target = self.request.between
        table = str(self.request.source)
        return CopyRoute(self.marker.run, table, self.name, source, target, self.staging)

    def state(self) -> ReplicaState:
        """Open writes and versions do not matter, because only complete commits are copied."""
        known = _table(self.target, self.request.target)
        source = data_location(self.source.get_table(self.request.source))
        replica = None if known is None else data_location(known)
        return ReplicaState(source, replica, of="", fresh=known is not None, busy=False)

    def begin(self) -> None:
        by = f"replication {self.marker.run}"
        begin_table_write(self.target, self.request.target, by)

    def publish(self, state: ReplicaState, replica: str) -> bool:
        request = self.request
        known = _table(self.target, request.target)
        if known is None:
            marks = {FROM: str(request.source)}
            origin = self.source.get_table(request.source)
            try:
                self.target.create_table(replica_table(origin, request, replica, marks))
            except AlreadyExists:
                return False
        elif data_location(known) != replica:
            with self.target.exclusive(request.target):
                known = self.target.get_table(request.target)
                set_location(known, replica)
                self.target.alter_table(request.target, known)
        return True

    def used(self, marker: RunMarker) -> frozenset[str]:
        known = _table(self.target, self.request.target)
        return frozenset() if known is None else frozenset({data_location(known)})

    def update_metadata(self, changed: bool) -> None:
        """Gives the target the source's columns and partitions. `changed`: commits were copied, so
        copies of the target become stale. The commits of a run that died have the same effect.
        """
        with self.target.exclusive(self.request.target):
            table = self.target.get_table(self.request.target)
            if self._change is not None:
                table.storage.columns = self._change.columns
                table.parameters = {**table.parameters, **self._change.parameters}
                self.target.alter_table(table.ref, table)
        if table.partition_keys:
            self._update_partitions(table)
        end_table_write(self.target, table.ref, changed)

    def _update_partitions(self, table: Table) -> None:
        wanted = dict(self._wanted(data_location(table)))
        with self.target.exclusive(table.ref):
            dropped = self._change_partitions(table, wanted)
        self.target.drop_partitions(table.ref, dropped)

    def _change_partitions(self, table: Table, wanted: Mapping[str, Partition]) -> list[str]:
        """Adds and moves partitions. Returns the names of those that the source does not have, if
        they are to be dropped.
        """
        existing = {each.name(table): each for each in self.target.get_all_partitions(table.ref)}
        new = [partition for name, partition in wanted.items() if name not in existing]
        moved = [
            _moved(existing[name], partition)
            for name, partition in wanted.items()
            if name in existing and existing[name].location != partition.location
        ]
        gone = sorted(existing.keys() - wanted.keys()) if self.request.propagate_deletes else []
        if new:
            self.target.add_partitions(table.ref, new, if_not_exists=True)
        if moved:
            self.target.alter_partitions(table.ref, moved)
        return gone

    def _wanted(self, replica: str) -> Iterator[tuple[str, Partition]]:
        """The source's partitions by name, with their locations in the replica."""
        origin = self.source.get_table(self.request.source)
        base = data_location(origin).rstrip("/")
        for each in self.source.get_all_partitions(origin.ref):
            name = each.name(origin)
            if each.location.startswith(f"{base}/"):
                location = replica + each.location[len(base) :]
                yield name, replica_partition(origin, each, self.request, name, location, {})


def _table(client: CatalogClient, ref: TableRef) -> Table | None:
    try:
        return client.get_table(ref)
    except NoSuchObject:
        return None


def _moved(partition: Partition, wanted: Partition) -> Partition:
    partition.location = wanted.location
    return partition
