"""Retention of Hudi tables: Spark drops their partitions, in commits of the tables.

Deleting a partition's folder would break a Hudi table. A drop by SQL is a commit: readers see all
of it or nothing, Hudi's cleaner deletes the files later, and replicas follow. It runs in the Thrift
Server of the table's cluster. A server without Hudi's extension would execute the statement as
Spark's own and delete folders, so the statement's plan is checked first.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace

from conf.names import TableRef, parse_partition_name
from metastore.client.catalog_client import CatalogClient
from metastore.client.metastore_client import batches
from metastore.client.types import Table
from pipeline.copy.copy_catalog import data_location
from pipeline.errors import ActionFailed
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Feed
from pipeline.hudi.feeds import Storages
from pipeline.hudi.table.table import open_table
from pipeline.lease import WorkLease
from pipeline.processes.hive import run_statements
from pipeline.processes.run import execute_endpoint
from pipeline.replication.plan import FROM
from pipeline.retention.plan import RetentionPlan, RetentionPolicy
from pipeline.scheduler.actions.task_places import TableEviction

_COMMAND = "AlterHoodieTableDropPartitionCommand"
_BATCH = 500


def is_replica(table: Table, eviction: TableEviction) -> bool:
    """Whether the table on this cluster is a replica, which loses partitions with its source."""
    return eviction.cluster.name != eviction.primary or FROM in table.parameters


def policy_of(policy: RetentionPolicy, feed: Feed) -> RetentionPolicy:
    """The retention policy of a feed's Hudi table: the longest limit of all clusters, because
    replicas lose partitions with their source.
    """
    limit = max(each.kept for each in feed.clusters)
    return replace(policy, limit=limit, copies={})


def check_idle(table: Table, storages: Storages) -> None:
    """Raises ActionFailed while a write of the table is running: without a lock, Hudi would roll it
    back as the write of a dead process.
    """
    location = data_location(table)
    running = open_table(location, storages(location)).timeline.running_writes
    if running:
        raise ActionFailed(f"{table.ref} is being written since {running[0].requested}")


def drop_partitions(
    client: CatalogClient, plan: RetentionPlan, cluster: Cluster, owner: str, lease: WorkLease
) -> None:
    """Drops the partitions of the plan by SQL, and then those that Hudi has left in the metastore.
    Raises ActionFailed.
    """
    endpoint = execute_endpoint(cluster)
    for names in batches([each.name for each in plan.evictions], _BATCH):
        statement = drop_statement(plan.table, names)
        run_statements(_checked_by_plan(statement, endpoint), endpoint, owner, lease)
        left = set(names).intersection(client.get_partition_names(plan.table))
        client.drop_partitions(plan.table, sorted(left), delete_data=False)


def drop_statement(table: TableRef, names: Sequence[str]) -> str:
    """The ALTER TABLE that drops partitions. `names` are those in the metastore."""
    specs = (
        ", ".join(f"{_quoted(key, '`')} = {_literal(value)}" for key, value in spec)
        for spec in map(parse_partition_name, names)
    )
    name = f"{_quoted(table.db, '`')}.{_quoted(table.name, '`')}"
    return f"ALTER TABLE {name} DROP IF EXISTS " + ", ".join(f"PARTITION ({s})" for s in specs)


def _checked_by_plan(statement: str, endpoint: str) -> Generator[str, object, None]:
    """Yields EXPLAIN of the statement, and then the statement. Raises ActionFailed unless its plan
    is Hudi's.
    """
    rows = yield f"EXPLAIN {statement}"
    if _COMMAND not in str(rows):
        reason = "has no spark.sql.extensions of Hudi: it would delete folders of the table"
        raise ActionFailed(f"{endpoint} {reason}", final=True)
    yield statement


def _quoted(text: str, quote: str) -> str:
    return quote + text.replace(quote, quote * 2) + quote


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
