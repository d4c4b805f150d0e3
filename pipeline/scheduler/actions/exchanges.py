"""Imports and exports of feeds' instances: their directories, and how rows are published there.

An import into a table writes a directory of its run, as replications do, and then makes it the
partition's directory: readers see the old rows or the new ones. The eviction of the feed deletes
the old directory when no reader needs it. In a feed of paths the new directory replaces the old one
by renaming.
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
from pipeline.falcon.paths import is_object_store, path_at
from pipeline.falcon.rules.exchange_rules import NO_RENAME
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
    metastore as a user; `read_table` returns a table, and raises unless the user owns it.
    """

    spark: Callable[[], SparkSession]
    files: Callable[[], Files]
    connect: Callable[[Cluster, str], AbstractContextManager[CatalogClient]]
    read_table: Callable[[CatalogClient, TableRef, str], Table]

    def run(self, task: Task, lease: WorkLease) -> str:
        """Does the exchange of an instance; returns a line of text about it. Raises ActionFailed,
        CopyError, MetastoreError, LeaseLost.
        """
        from pipeline.exchange.run import ExchangeRun  # pyspark is large

        job = exchange_of(task)
        window = _window(job, task)
        instance = f"{task.schedule.key} {format_time(task.instance.nominal)}"
        run = ExchangeRun(job.exchange, job.interface, instance, window)
        if job.exchange.direction is Direction.EXPORT:
            return self._export(job, run, task, lease)
        if job.exchange.extract == "incremental" and task.now < window.end:
            raise ActionFailed(f"its period ends at {format_time(window.end)}")
        if job.table is not None:
            return self._import_partition(job, job.table, run, task, lease)
        return self._import_directory(job, run, task, lease)

    def _import_partition(
        self, job: ExchangeTask, ref: TableRef, run: ExchangeRun, task: Task, lease: WorkLease
    ) -> str:
        from pipeline.exchange.run import import_rows

        files, nominal = self.files(), task.instance.nominal
        with self.connect(job.cluster, task.owner) as client:
            table = self.read_table(client, ref, task.owner)
            file_format, columns = _format_of(table), describe(table).columns
            staging = f"{base_of(data_location(table))}/{STAGING}"
            name = partition_name(instance_spec(table, _uri(job), nominal))
            marker = new_run(ref, 0, time.time(), (name,))
            with Lease(files, staging, marker, time.time) as own:
                location = object_path(staging, marker.run, name)
                pairs = [(each.name, each.type) for each in columns]
                count = import_rows(self.spark(), run, location, file_format, pairs, lease)
                lease.check()
                own.check()
                register(client, table, _uri(job), nominal, location)
                own.finished = True
        return f"{count} rows into {ref} {name}"

    def _import_directory(
        self, job: ExchangeTask, run: ExchangeRun, task: Task, lease: WorkLease
    ) -> str:
        from pipeline.exchange.run import import_rows

        if is_object_store(job.path):
            raise ActionFailed(f"{job.path}: {NO_RENAME}", final=True)
        files, nominal = self.files(), task.instance.nominal
        stamp = format_time(nominal).replace(":", "")
        root = path_at(job.cluster.locations["staging"], nominal, job.cluster).rstrip("/")
        staging = f"{root}/causeway/{job.feed.name}/import/{job.cluster.name}/{stamp}"
        staged = f"{staging}/new"
        files.delete([staged])
        count = import_rows(self.spark(), run, staged, _PARQUET, None, lease)
        if job.feed.availability_flag is not None:
            files.write_marker(f"{staged}/{job.feed.availability_flag}", "")
        lease.check()
        replace_target(files, PathCopy(staging, job.path, staging), staged)
        partitions = PathPartitions(
            job.feed, job.cluster, task.owner, self.connect, self.read_table
        )
        return f"{count} rows into {job.path}{partitions.publish(nominal, job.path)}"

    def _export(self, job: ExchangeTask, run: ExchangeRun, task: Task, lease: WorkLease) -> str:
        from pipeline.exchange.run import export_rows

        location, file_format = job.path, _PARQUET
        if job.table is not None:
            location, file_format = self._partition(job, job.table, task)
        (listing,) = self.files().listings([location])
        if listing is None:
            raise InputsGone(f"{location} is not there any more")
        target = f"{job.exchange.datasource} {job.exchange.table}"
        if all(each.path.rpartition("/")[2].startswith(("_", ".")) for each in listing.files):
            return f"no rows for {target}"
        session = self.spark()
        rows = session.read.format(file_format).load(location)
        return f"{export_rows(session, run, rows, lease)} rows of {target}"

    def _partition(self, job: ExchangeTask, ref: TableRef, task: Task) -> tuple[str, str]:
        """The directory of the instance's partition, and its format."""
        with self.connect(job.cluster, task.owner) as client:
            table = self.read_table(client, ref, task.owner)
            spec = instance_spec(table, _uri(job), task.instance.nominal)
            names = spellings(spec, kinds_of(table.partition_keys))
            for partition in client.get_partitions(ref, names):
                return partition.location, _format_of(table)
        raise InputsGone(f"{ref} {partition_name(spec)} does not exist any more")


def _uri(job: ExchangeTask) -> TableUri:
    storage = job.feed.storage_on(job.feed_cluster)
    assert isinstance(storage, TableStorage)
    return storage.uri


def _window(job: ExchangeTask, task: Task) -> Window:
    """The period of the instance: from its time to that of the next instance."""
    calendar, nominal = job.feed.calendar_on(job.feed_cluster), task.instance.nominal
    following = calendar.at(calendar.number_from(nominal) + 1)
    return Window(nominal, following, job.feed.zone)


def _format_of(table: Table) -> str:
    """The format in which Spark writes files of a table. Raises ActionFailed for any other than
    plain parquet and orc.
    """
    info = describe(table)
    names = [info.provider, info.serde.lower()] if info.provider == "hive" else [info.provider]
    formats = (each for key, each in _FORMATS.items() if any(key in name for name in names))
    file_format = next(formats, None)
    if file_format is None or is_hudi(table) or not table.partition_keys:
        reason = f"{table.ref} is not a partitioned table of parquet or orc files"
        raise ActionFailed(reason, final=True)
    return file_format
