"""SHOW and DESCRIBE statements, answered from memory where the answer is certain.

Answers come from the facts by which the statement was routed, and from the metastore's current
lists of names. The cluster in which the statement would run may answer in another way because of
the session's settings or temporary views, or because it has a copy of the table. In these cases,
and in all others without a certain answer, the statement is left to the cluster.
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
from proxy.errors import ThriftServerError
from proxy.protocol.results import ResultTable
from proxy.session.user_session import UserSession
from proxy.statement.metastore_access import Loader

MAX_ROWS = 200_000  # in one answer
_FEW_ROWS = 2_000  # rows that take some ms; more are made in a thread
_ROWS_A_TABLE = 30  # the number of rows that take as long as the description of a table


@dataclass(frozen=True, slots=True)
class _Context:
    """A statement's session, the cluster in which it would run, and Spark's time zone there."""

    session: UserSession
    cluster: ClusterName
    zone: str

    @property
    def has_views(self) -> bool:
        return bool(self.session.state.objects)

    def visible_databases(self, names: Sequence[str]) -> Sequence[str]:
        """The databases that the user may see."""
        access = self.session.state.access
        return names if access is None else list(filter(access.sees_database, names))

    def visible_tables(self, database: str, names: Sequence[str]) -> Sequence[str]:
        """The tables of the database that the user may see."""
        access = self.session.state.access
        if access is None:
            return names
        return [name for name in names if access.sees_table(TableRef(database, name))]


class CatalogStatements:
    """Answers SHOW and DESCRIBE; there is one for all clients of the process."""

    def __init__(self, loader: Loader, facts: ClusterFacts) -> None:
        self._loader = loader
        self._facts = facts

    async def answer(
        self, command: CatalogCommand, cluster: ClusterName, session: UserSession
    ) -> ResultTable | None:
        """The whole result of the statement in that cluster; None if the cluster has to answer."""
        try:
            context = await self._context(command, cluster, session)
            table = None if context is None else await self._answer(command, context)
        except (CausewayError, ThriftServerError):
            return None
        return table

    async def _context(
        self, command: CatalogCommand, cluster: ClusterName, session: UserSession
    ) -> _Context | None:
        """The statement's context; None if the session's settings or views forbid an answer."""
        upstream = await session.upstream(cluster)
        facts = await self._facts.of(upstream, session.state)
        usual = facts.lists if _is_list(command) else facts.usual
        if not usual or not upstream.replay.understood:
            return None
        return _Context(session, cluster, facts.zone or "")

    async def _answer(self, command: CatalogCommand, context: _Context) -> ResultTable | None:
        match command:
            case ShowDatabases(pattern):
                names = await self._loader.schemas(lambda name: True)
                if names is None or not descriptions.is_certain(pattern):
                    return None
                return descriptions.databases(context.visible_databases(names), pattern)
            case ShowTables() | ShowViews():
                return await self._list(command, context)
            case DescribeDatabase():
                return await self._describe_database(command, context)
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
            case ShowCreateTable() if context.cluster not in table.copies:
                return descriptions.create_statement(table)
            case ShowProperties(_, key):
                return descriptions.properties(table, key)
            case DescribeTable(extended=False):
                return descriptions.description(table)
            case DescribeTable() if context.cluster not in table.copies:
                return descriptions.extended_description(table, context.zone)
        return None

    async def _partitions(self, table: SparkTable, spec: PartitionSpec) -> ResultTable | None:
        values = descriptions.metastore_values(table, spec)
        if values is None:
            return None
        names = await self._loader.partition_names(table.ref, values if spec else ())
        return await _build(len(names), descriptions.partitions, table, names)

    async def _describe_partition(
        self, table: SparkTable, spec: PartitionSpec
    ) -> ResultTable | None:
        """DESCRIBE of a partition; None if it does not exist or this is not certain."""
        values = descriptions.metastore_values(table, spec)
        if values is None or "" in values or not table.partitions_in_catalog:
            return None
        names = await self._loader.partition_names(table.ref, values)
        keys = (each.lower() for each in table.partition_columns)
        name = partition_name(zip(keys, values, strict=True))
        return descriptions.description(table) if name in names else None

    async def _describe_database(
        self, command: DescribeDatabase, context: _Context
    ) -> ResultTable | None:
        database = await self._loader.spark_database(command.name.lower())
        if database is None or database.location is None:
            return None
        topology = context.session.state.configured
        if moved(database.location, topology, context.cluster) != database.location:
            return None  # the metastore view of the cluster shows another location
        return descriptions.database_description(database, command.name, command.extended)

    async def _list(self, command: ShowTables | ShowViews, context: _Context) -> ResultTable | None:
        database, pattern = command.database, command.pattern
        if context.has_views or database == GLOBAL_TEMP or not descriptions.is_certain(pattern):
            return None
        if isinstance(command, ShowViews):
            views = await self._loader.view_names(database)
            if views is None:
                return None
            views = context.visible_tables(database, views)
            return await _build(len(views), descriptions.views, database, views, pattern)
        names = await self._loader.table_names(database)
        if names is None:
            return None
        names = context.visible_tables(database, names)
        if not command.extended:
            return await _build(len(names), descriptions.tables, database, names, pattern)
        wanted = list(descriptions.matching(names, pattern))
        tables = await self._loader.spark_tables(database, wanted)
        if tables is None or any(each and context.cluster in each.copies for each in tables):
            return None
        size = len(tables) * _ROWS_A_TABLE
        return await _build(size, descriptions.tables_extended, tables, context.zone)


def _is_list(command: CatalogCommand) -> bool:
    """Whether the rows of the answer have only names."""
    is_table = isinstance(command, ShowTables) and not command.extended
    return is_table or isinstance(command, ShowDatabases | ShowViews)


async def _build(
    size: int, make: Callable[..., ResultTable | None], *args: object
) -> ResultTable | None:
    """The answer, which is made in a thread if it has many rows; None if it has too many."""
    if size > MAX_ROWS:
        return None
    return make(*args) if size <= _FEW_ROWS else await asyncio.to_thread(make, *args)
