"""Partitions of a table for the directories of a feed of paths (`catalog.table`, FA-G2).

A directory is registered as a partition after a replication or process has written it, and the
partition is dropped before an eviction deletes the directory. A cluster without a registry has no
such partitions (FA-E2).
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import datetime

from conf.names import TableRef
from conf.placement import WRITE
from conf.write_ids import new_id
from metastore.client.catalog_client import CatalogClient
from metastore.client.types import Partition, Table
from metastore.errors import NoSuchObject
from pipeline.copy.own_writes import end_left_writes, partition_write
from pipeline.errors import ActionFailed, InputsGone
from pipeline.falcon.catalog_uri import TableUri
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.feed_properties import catalog_table
from pipeline.partition_values import Spec, canonical_spec, kinds_of, spellings

_STATISTICS = frozenset(
    ("COLUMN_STATS_ACCURATE", "numFiles", "numRows", "rawDataSize", "totalSize")
)


@dataclass(frozen=True, slots=True)
class PathPartitions:
    """The partitions of a feed's directories on a cluster, as the user `owner`. `connect` opens a
    client of a cluster's metastore; `read_table` returns a table, and raises unless the user owns
    it.
    """

    feed: Feed
    cluster: Cluster
    owner: str
    connect: Callable[[Cluster, str], AbstractContextManager[CatalogClient]]
    read_table: Callable[[CatalogClient, TableRef, str], Table]

    def publish(self, time: datetime, location: str) -> str:
        """Registers the directory of an instance. Returns text for the result of the work; empty
        if the feed names no table or the cluster has no registry. Raises ActionFailed,
        MetastoreError.
        """
        uri = self._uri()
        if uri is None:
            return ""
        with self.connect(self.cluster, self.owner) as client:
            table = self.read_table(client, uri.table, self.owner)
            return f"; partition {register(client, table, uri, time, location)} of {uri.table}"

    def withdraw(self, time: datetime) -> None:
        """Drops the partition of an instance; nothing if the table is gone. Raises ActionFailed,
        MetastoreError.
        """
        uri = self._uri()
        if uri is None:
            return
        with self.connect(self.cluster, self.owner) as client, suppress(InputsGone):
            table = self.read_table(client, uri.table, self.owner)
            unregister(client, table, uri, time)

    def _uri(self) -> TableUri | None:
        return catalog_table(self.feed) if self.cluster.endpoint("registry") else None


def register(
    client: CatalogClient, table: Table, uri: TableUri, time: datetime, location: str
) -> str:
    """Makes a directory the partition of its instance; returns the partition's name. If the
    partition exists, it gets a new write id and loses its statistics, because the directory may
    have other files. Raises ActionFailed, MetastoreError.
    """
    spec = instance_spec(table, uri, time)
    kinds = kinds_of(table.partition_keys)
    by, names = f"partition of {location}", spellings(spec, kinds)
    end_left_writes(client, table.ref, names)
    for known in client.get_partitions(table.ref, names):
        name = known.name(table)
        with partition_write(client, table.ref, [name], changes=True, by=by):
            _change(client, table, name, location)
        return name
    values = dict(canonical_spec(spec, kinds))
    made = Partition.make(table, [values[key] for key in kinds], location, {})
    with partition_write(client, table.ref, [made.name(table)], changes=False, by=by):
        client.add_partitions(table.ref, [made], if_not_exists=True)
    return made.name(table)


def _change(client: CatalogClient, table: Table, name: str, location: str) -> None:
    with client.exclusive(table.ref):
        for known in client.get_partitions(table.ref, [name]):
            known.location = location
            kept = {k: v for k, v in known.parameters.items() if not _is_statistic(k)}
            known.parameters = {**kept, WRITE: new_id()}
            client.alter_partitions(table.ref, [known])


def _is_statistic(parameter: str) -> bool:
    """Whether a parameter is a statistic, from which Hive may answer a query."""
    return parameter in _STATISTICS or parameter.startswith("spark.sql.statistics.")


def unregister(client: CatalogClient, table: Table, uri: TableUri, time: datetime) -> None:
    """Drops the partition of an instance, if it exists; its files stay. Raises ActionFailed,
    MetastoreError.
    """
    for name in spellings(instance_spec(table, uri, time), kinds_of(table.partition_keys)):
        try:
            client.drop_partition(table.ref, name, delete_data=False)
        except NoSuchObject:
            continue


def instance_spec(table: Table, uri: TableUri, time: datetime) -> Spec:
    """The values of the table's partition keys. Raises ActionFailed if the URI names other keys."""
    spec = uri.partition(time)
    keys = [name.lower() for name, _ in table.partition_keys]
    if {key for key, _ in spec} != set(keys):
        reason = f"{uri} does not name the partition keys of {table.ref} ({', '.join(keys)})"
        raise ActionFailed(reason, final=True)
    return spec
