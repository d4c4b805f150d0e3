"""Imports and exports of feeds' instances: where the rows are, and how they become an instance.

An import into a table writes a directory of a run, as replications do, and then makes it the
partition's directory: readers see the old rows or the new ones. The eviction of the feed deletes
the old directory when no reader needs it. Of a feed of paths the directories change places.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conf.names import TableRef, partition_name
from metastore.catalog.describe import describe
from metastore.catalog.hudi_tables import is_hudi
from metastore.client.catalog_client import CatalogClient
from metastore.client.types import Table
from pipeline.copy.copy_catalog import data_location
from pipeline.copy.files import Files
from pipeline.copy.runs.lease import Lease
from pipeline.copy.runs.staging import new_run, object_path
from pipeline.errors import ActionFailed, InputsGone
from pipeline.exchange.sql import Window
from pipeline.falcon.calendar import format_time
from pipeline.falcon.catalog_uri import TableUri
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Direction
from pipeline.falcon.entities.feed import Table as TableStorage
from pipeline.falcon.exchange_rules import NO_RENAME
from pipeline.falcon.paths import is_object_store, path_at
from pipeline.lease import WorkLease
from pipeline.partition_values import kinds_of, spellings
from pipeline.replication.directories import PathCopy, replace_target
from pipeline.replication.plan import STAGING, base_of
from pipeline.scheduler.actions.path_partitions import PathPartitions, instance_spec, register
from pipeline.scheduler.actions.task_places import ExchangeTask, exchange_of
from pipeline.scheduler.actions.work import Task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipeline.exchange.run import ExchangeRun

_PARQUET = "parquet"
_FORMATS = {_PARQUET: _PARQUET, "orc": "orc"}


@dataclass(frozen=True, slots=True)
class Exchanges:
    """`spark` returns a session, `files` its file systems. `connect` opens a client of a cluster's
    metastore as a user; `read_table` returns a table that is the user's, or raises.
    """

    spark: Callable[[], SparkSession]
    files: Callable[[], Files]
    connect: Callable[[Cluster, str], AbstractContextManager[CatalogClient]]
    read_table: Callable[[CatalogClient, TableRef, str], Table]

    def run(self, task: Task, lease: WorkLease) -> str:
        """Raises ActionFailed, CopyError, MetastoreError, LeaseLost."""
        from pipeline.exchange.run import ExchangeRun  # pyspark is large

        found = exchange_of(task)
        window = _window(found, task)
        instance = f"{task.schedule.key} {format_time(task.instance.nominal)}"
        run = ExchangeRun(found.exchange, found.interface, instance, window)
        if found.exchange.direction is Direction.EXPORT:
            return self._export(found, run, task, lease)
        if found.exchange.extract == "incremental" and task.now < window.end:
            raise ActionFailed(f"its period ends at {format_time(window.end)}")
        if found.table is not None:
            return self._import_partition(found, found.table, run, task, lease)
        return self._import_directory(found, run, task, lease)

    def _import_partition(
        self, found: ExchangeTask, ref: TableRef, run: ExchangeRun, task: Task, lease: WorkLease
    ) -> str:
        from pipeline.exchange.run import import_rows

        files, nominal = self.files(), task.instance.nominal
        with self.connect(found.cluster, task.owner) as client:
            table = self.read_table(client, ref, task.owner)
            form, columns = _form(table), describe(table).columns
            staging = f"{base_of(data_location(table))}/{STAGING}"
            name = partition_name(instance_spec(table, _uri(found), nominal))
            marker = new_run(ref, 0, time.time(), (name,))
            with Lease(files, staging, marker, time.time) as own:
                location = object_path(staging, marker.run, name)
                pairs = [(each.name, each.type) for each in columns]
                count = import_rows(self.spark(), run, location, form, pairs, lease)
                lease.check()
                own.check()
                register(client, table, _uri(found), nominal, location)
                own.finished = True
        return f"{count} rows into {ref} {name}"

    def _import_directory(
        self, found: ExchangeTask, run: ExchangeRun, task: Task, lease: WorkLease
    ) -> str:
        from pipeline.exchange.run import import_rows

        if is_object_store(found.path):
            raise ActionFailed(f"{found.path}: {NO_RENAME}", final=True)
        files, nominal = self.files(), task.instance.nominal
        stamp = format_time(nominal).replace(":", "")
        root = path_at(found.cluster.locations["staging"], nominal, found.cluster).rstrip("/")
        staging = f"{root}/causeway/{found.feed.name}/import/{found.cluster.name}/{stamp}"
        staged = f"{staging}/new"
        files.delete([staged])
        count = import_rows(self.spark(), run, staged, _PARQUET, None, lease)
        if found.feed.availability_flag is not None:
            files.write_marker(f"{staged}/{found.feed.availability_flag}", "")
        lease.check()
        replace_target(files, PathCopy(staging, found.path, staging), staged)
        partitions = PathPartitions(
            found.feed, found.cluster, task.owner, self.connect, self.read_table
        )
        return f"{count} rows into {found.path}{partitions.publish(nominal, found.path)}"

    def _export(self, found: ExchangeTask, run: ExchangeRun, task: Task, lease: WorkLease) -> str:
        from pipeline.exchange.run import export_rows

        location, form = found.path, _PARQUET
        if found.table is not None:
            location, form = self._partition(found, found.table, task)
        (listing,) = self.files().listings([location])
        if listing is None:
            raise InputsGone(f"{location} is not there any more")
        target = f"{found.exchange.datasource} {found.exchange.table}"
        if all(each.path.rpartition("/")[2].startswith(("_", ".")) for each in listing.files):
            return f"no rows for {target}"
        session = self.spark()
        rows = session.read.format(form).load(location)
        return f"{export_rows(session, run, rows, lease)} rows of {target}"

    def _partition(self, found: ExchangeTask, ref: TableRef, task: Task) -> tuple[str, str]:
        """The directory of the instance's partition, and its format."""
        with self.connect(found.cluster, task.owner) as client:
            table = self.read_table(client, ref, task.owner)
            spec = instance_spec(table, _uri(found), task.instance.nominal)
            names = spellings(spec, kinds_of(table.partition_keys))
            for partition in client.get_partitions(ref, names):
                return partition.location, _form(table)
        raise InputsGone(f"{ref} {partition_name(spec)} does not exist any more")


def _uri(found: ExchangeTask) -> TableUri:
    storage = found.feed.storage_on(found.place)
    assert isinstance(storage, TableStorage)
    return storage.uri


def _window(found: ExchangeTask, task: Task) -> Window:
    """From the instance's time to that of the next one."""
    calendar, nominal = found.feed.calendar_on(found.place), task.instance.nominal
    following = calendar.at(calendar.number_from(nominal) + 1)
    return Window(nominal, following, found.feed.zone)


def _form(table: Table) -> str:
    """The format in which Spark writes files of a table. Raises ActionFailed for any other than
    plain parquet and orc.
    """
    info = describe(table)
    names = [info.provider, info.serde.lower()] if info.provider == "hive" else [info.provider]
    form = next((form for key, form in _FORMATS.items() if any(key in n for n in names)), None)
    if form is None or is_hudi(table) or not table.partition_keys:
        reason = f"{table.ref} is not a partitioned table of parquet or orc files"
        raise ActionFailed(reason, final=True)
    return form
