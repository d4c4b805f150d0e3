"""The proxy's access to the metastore, as protocols: facts in memory (`SnapshotAccess`), and calls
that load them (`Loader`)."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from conf.catalog.listing import ListedTable
from conf.catalog.spark_table import SparkDatabase, SparkTable
from conf.catalog.tables import Catalog, ViewText
from conf.copies import TableCopies
from conf.names import ClusterName, PartitionRef, TableRef
from conf.partitions import TableFacts
from dialect.statement import PartitionPredicate


class SnapshotAccess(Catalog, Protocol):
    """The facts in memory. Implemented by `metastore.snapshot.snapshot.Snapshot`.

    Methods raise NotLoaded if the facts are not in memory.
    """

    def facts(
        self, ref: TableRef, selectors: Sequence[PartitionPredicate] | None = None
    ) -> TableFacts | None:
        """The placement of the table, and of its partitions that the selectors match; None: there
        is no such table."""
        ...

    def placement(self, ref: TableRef) -> object:
        """A value that changes whenever the table's placement changes."""
        ...

    def database_exists(self, name: str) -> bool: ...

    def invalidate(self, refs: Iterable[TableRef] | None) -> None:
        """Removes these tables from memory; None: all."""
        ...

    def lacking_since(self) -> Mapping[tuple[TableRef, ClusterName], float | None]:
        """For each table in memory and cluster with copies the Unix time since which a copy is
        stale; None: all copies are fresh."""
        ...

    def counts(self) -> Mapping[str, int]:
        """The numbers of objects in memory, by kind, such as `tables`."""
        ...


class Loader(Protocol):
    """Calls to the metastore. Implemented by `metastore.snapshot.loader_client.SnapshotLoader`.

    All coroutines may raise a CausewayError.
    """

    async def load(self, tables: Iterable[TableRef]) -> None:
        """Loads the tables into the snapshot."""
        ...

    async def load_facts(
        self,
        tables: Iterable[TableRef],
        selectors: Mapping[TableRef, Sequence[PartitionPredicate]] | None = None,
    ) -> frozenset[TableRef]:
        """Updates the tables, and their partitions that the selectors match. Returns the tables
        that differed from the snapshot: statements that use them are analysed again."""
        ...

    async def load_database(self, name: str) -> None:
        """Loads whether the database exists."""
        ...

    async def sql_functions(self) -> Mapping[str, ViewText | None]:
        """The texts of permanent functions written in SQL, by `db.name`; None: not readable."""
        ...

    def forget_functions(self) -> None:
        """Has `sql_functions` read the texts again: a permanent function was changed."""
        ...

    async def tables_in(self, database: str) -> list[TableRef]:
        """The tables and views that the database has now; none if there is no such database."""
        ...

    @property
    def keeps_lists(self) -> bool:
        """Whether the settings let `listed` and `schemas` return an answer."""
        ...

    async def listed(
        self, wanted: Callable[[str], bool]
    ) -> Sequence[tuple[str, Sequence[ListedTable]]] | None:
        """The tables of the wanted databases, by database; None if the list is not certain."""
        ...

    async def schemas(self, wanted: Callable[[str], bool]) -> Sequence[str] | None:
        """The wanted databases, in the metastore's order; None if the list is not certain."""
        ...

    async def table_names(self, database: str) -> Sequence[str] | None:
        """The tables and views, in the metastore's order; None if the list is not certain."""
        ...

    async def view_names(self, database: str) -> Sequence[str] | None:
        """The views, in the metastore's order; None if the list is not certain."""
        ...

    async def spark_tables(
        self, database: str, names: Sequence[str]
    ) -> Sequence[SparkTable | None] | None:
        """The tables in the order of the names, with None for each one that is not certain; None if
        no table is certain."""
        ...

    async def spark_database(self, name: str) -> SparkDatabase | None:
        """The database, with its location in the metastore; None if it is not certain."""
        ...

    async def partition_names(self, table: TableRef, values: Sequence[str] = ()) -> Sequence[str]:
        """The names of all partitions, or of those that the metastore finds for the values, one
        value for each partition column."""
        ...

    def spark_table(self, table: TableRef) -> SparkTable | None:
        """The table as it is in the snapshot; None if it is not certain."""
        ...

    async def copies(
        self, tables: Mapping[TableRef, Collection[str] | None]
    ) -> Sequence[TableCopies]:
        """The copies of the tables that exist, and of these partitions; None: of all partitions."""
        ...

    def new_write(self, targets: Sequence[TableRef | PartitionRef]) -> Any:
        """A WriteToken with a new id, which its mark will have."""
        ...

    async def open_write(self, token: Any) -> Any:
        """Marks the targets as being written. Returns the token for `close_write`."""
        ...

    async def close_write(self, token: Any) -> None:
        """Gives what was written new write ids, and removes the mark."""
        ...

    async def claim(self, table: TableRef, cluster: ClusterName) -> None:
        """Makes the cluster the primary of the new table."""
        ...
