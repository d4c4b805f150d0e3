"""Retention of Hudi tables: Spark drops their partitions, in commits of the tables.

Deleting a partition's folder would break a Hudi table. A drop is a commit: readers see all of it or
nothing, Hudi's cleaner deletes the files later, and replicas follow. It runs in the Thrift Server
of the table's cluster. A server without Hudi's extension would take the statement for Spark's own
and delete folders, so its plan is looked at first.
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
from pipeline.scheduler.actions.task_places import TableHome

_COMMAND = "AlterHoodieTableDropPartitionCommand"
_BATCH = 500


def follows(table: Table, home: TableHome) -> bool:
    """Whether the table on this cluster is a replica, which loses partitions with its source."""
    return home.cluster.name != home.primary or FROM in table.parameters


def policy_of(policy: RetentionPolicy, feed: Feed) -> RetentionPolicy:
    """The policy of a feed's Hudi table. Replicas follow their source, so the longest limit of all
    clusters counts.
    """
    limit = max(each.kept for each in feed.clusters)
    return replace(policy, limit=limit, copies={})


def check_idle(table: Table, storages: Storages) -> None:
    """Raises ActionFailed while a write of the table is running: without a lock, Hudi would take it
    for one that has died and undo it.
    """
    location = data_location(table)
    running = open_table(location, storages(location)).timeline.running_writes
    if running:
        raise ActionFailed(f"{table.ref} is being written since {running[0].requested}")


def drop_partitions(
    client: CatalogClient, plan: RetentionPlan, cluster: Cluster, owner: str, lease: WorkLease
) -> None:
    """Drops the partitions of the plan by SQL, and then from the metastore where Hudi does not
    synchronise it. Raises ActionFailed.
    """
    endpoint = execute_endpoint(cluster)
    for names in batches([each.name for each in plan.evictions], _BATCH):
        statement = drop_statement(plan.table, names)
        run_statements(_checked(statement, endpoint), endpoint, owner, lease)
        left = set(names).intersection(client.get_partition_names(plan.table))
        client.drop_partitions(plan.table, sorted(left), delete_data=False)


def drop_statement(table: TableRef, names: Sequence[str]) -> str:
    """ALTER TABLE that drops partitions, which are named as in the metastore."""
    specs = (
        ", ".join(f"{_quoted(key, '`')} = {_literal(value)}" for key, value in spec)
        for spec in map(parse_partition_name, names)
    )
    name = f"{_quoted(table.db, '`')}.{_quoted(table.name, '`')}"
    return f"ALTER TABLE {name} DROP IF EXISTS " + ", ".join(f"PARTITION ({s})" for s in specs)


def _checked(statement: str, endpoint: str) -> Generator[str, object, None]:
    """The statement, once its plan has shown that Hudi executes it."""
    rows = yield f"EXPLAIN {statement}"
    if _COMMAND not in str(rows):
        reason = "has no spark.sql.extensions of Hudi: it would delete folders of the table"
        raise ActionFailed(f"{endpoint} {reason}", final=True)
    yield statement


def _quoted(text: str, quote: str) -> str:
    return quote + text.replace(quote, quote * 2) + quote


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
