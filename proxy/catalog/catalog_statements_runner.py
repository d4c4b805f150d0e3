"""SHOW and DESCRIBE statements, answered from memory where the answer is certain.

The facts are those by which the statement was routed, and the metastore's present lists of names.
What may differ in the cluster where it would run is looked at: the session's settings and temporary
views, and the cluster's own copy of a table. Whatever is not certain is left to the cluster.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conf.catalog.spark_table import SparkTable
from conf.errors import CausewayError
from conf.names import ClusterName, TableRef, partition_name
from dialect.catalog_commands import (
    CatalogCommand,
    DescribeColumn,
    DescribeDatabase,
    DescribePartition,
    DescribeTable,
    PartitionSpec,
    ShowColumns,
    ShowCreateTable,
    ShowDatabases,
    ShowPartitions,
    ShowProperties,
    ShowTables,
    ShowViews,
)
from metastore.view.locations import moved
from proxy.catalog import descriptions
from proxy.catalog.cluster_facts_runner import ClusterFacts
from proxy.catalog.metadata import GLOBAL_TEMP
from proxy.errors import Rejected
from proxy.protocol.results import ResultTable
from proxy.session.user_session import UserSession
from proxy.statement.metastore_access import Loader

MAX_ROWS = 200_000  # of one answer
_FEW_ROWS = 2_000  # made within some ms
_ROWS_A_TABLE = 30  # that take as long as the description of one table


@dataclass(frozen=True, slots=True)
class _Asker:
    """Where the statement would run, and what its session is like there."""

    session: UserSession
    cluster: ClusterName
    zone: str

    @property
    def has_views(self) -> bool:
        return bool(self.session.state.objects)

    def seen_databases(self, names: Sequence[str]) -> Sequence[str]:
        """Those that the user may see."""
        access = self.session.state.access
        return names if access is None else list(filter(access.sees_database, names))

    def seen_tables(self, database: str, names: Sequence[str]) -> Sequence[str]:
        """Those of the database's that the user may see."""
        access = self.session.state.access
        if access is None:
            return names
        return [name for name in names if access.sees_table(TableRef(database, name))]


class CatalogStatements:
    """One per server."""

    def __init__(self, loader: Loader, facts: ClusterFacts) -> None:
        self._loader = loader
        self._facts = facts

    async def answer(
        self, command: CatalogCommand, cluster: ClusterName, session: UserSession
    ) -> ResultTable | None:
        """The whole result of the statement in that cluster; None: the cluster has to say."""
        try:
            asker = await self._asker(command, cluster, session)
            table = None if asker is None else await self._answer(command, asker)
        except (CausewayError, Rejected):
            return None
        return table

    async def _asker(
        self, command: CatalogCommand, cluster: ClusterName, session: UserSession
    ) -> _Asker | None:
        """None for a session that Spark answers in another way, or that may have other views."""
        upstream = await session.upstream(cluster)
        facts = await self._facts.of(upstream, session.state)
        usual = facts.lists if _is_list(command) else facts.usual
        if not usual or not upstream.replay.understood:
            return None
        return _Asker(session, cluster, facts.zone or "")

    async def _answer(self, command: CatalogCommand, asker: _Asker) -> ResultTable | None:
        match command:
            case ShowDatabases(pattern):
                names = await self._loader.schemas(lambda name: True)
                if names is None or not descriptions.is_certain(pattern):
                    return None
                return descriptions.databases(asker.seen_databases(names), pattern)
            case ShowTables() | ShowViews():
                return await self._list(command, asker)
            case DescribeDatabase():
                return await self._describe_database(command, asker)
        table = self._loader.spark_table(command.table)
        if table is None:
            return None
        match command:
            case ShowColumns():
                return descriptions.columns(table)
            case ShowPartitions(_, spec):
                return await self._partitions(table, spec)
            case DescribePartition(_, spec):
                return await self._describe_partition(table, spec)
            case DescribeColumn(_, column, extended):
                return descriptions.column_description(table, column, extended)
            case ShowCreateTable() if asker.cluster not in table.copies:
                return descriptions.create_statement(table)
            case ShowProperties(_, key):
                return descriptions.properties(table, key)
            case DescribeTable(extended=False):
                return descriptions.description(table)
            case DescribeTable() if asker.cluster not in table.copies:
                return descriptions.extended_description(table, asker.zone)
        return None

    async def _partitions(self, table: SparkTable, spec: PartitionSpec) -> ResultTable | None:
        values = descriptions.metastore_values(table, spec)
        if values is None:
            return None
        names = await self._loader.partition_names(table.ref, values if spec else ())
        return await _made(len(names), descriptions.partitions, table, names)

    async def _describe_partition(
        self, table: SparkTable, spec: PartitionSpec
    ) -> ResultTable | None:
        """None where the partition does not exist."""
        values = descriptions.metastore_values(table, spec)
        if values is None or "" in values or not table.partitions_in_catalog:
            return None
        names = await self._loader.partition_names(table.ref, values)
        keys = (each.lower() for each in table.partition_columns)
        name = partition_name(zip(keys, values, strict=True))
        return descriptions.description(table) if name in names else None

    async def _describe_database(
        self, command: DescribeDatabase, asker: _Asker
    ) -> ResultTable | None:
        database = await self._loader.spark_database(command.name.lower())
        if database is None or database.location is None:
            return None
        topology = asker.session.state.configured
        if moved(database.location, topology, asker.cluster) != database.location:
            return None  # the cluster's view of the metastore shows another location
        return descriptions.database_description(database, command.name, command.extended)

    async def _list(self, command: ShowTables | ShowViews, asker: _Asker) -> ResultTable | None:
        database, pattern = command.database, command.pattern
        if asker.has_views or database == GLOBAL_TEMP or not descriptions.is_certain(pattern):
            return None
        if isinstance(command, ShowViews):
            views = await self._loader.view_names(database)
            if views is None:
                return None
            views = asker.seen_tables(database, views)
            return await _made(len(views), descriptions.views, database, views, pattern)
        names = await self._loader.table_names(database)
        if names is None:
            return None
        names = asker.seen_tables(database, names)
        if not command.extended:
            return await _made(len(names), descriptions.tables, database, names, pattern)
        wanted = list(descriptions.matching(names, pattern))
        tables = await self._loader.spark_tables(database, wanted)
        if tables is None or any(each and asker.cluster in each.copies for each in tables):
            return None
        size = len(tables) * _ROWS_A_TABLE
        return await _made(size, descriptions.tables_extended, tables, asker.zone)


def _is_list(command: CatalogCommand) -> bool:
    """Whether its rows are names alone."""
    is_table = isinstance(command, ShowTables) and not command.extended
    return is_table or isinstance(command, ShowDatabases | ShowViews)


async def _made(
    size: int, make: Callable[..., ResultTable | None], *args: object
) -> ResultTable | None:
    """The answer, made in a thread if it has many rows; None if it has too many."""
    if size > MAX_ROWS:
        return None
    return make(*args) if size <= _FEW_ROWS else await asyncio.to_thread(make, *args)
