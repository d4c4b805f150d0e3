"""What the proxy asks of the metastore: facts in memory (`Snapshot`), and calls (`Loader`)."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

from conf.catalog.listing import ListedTable
from conf.catalog.spark_table import SparkDatabase, SparkTable
from conf.catalog.tables import Catalog, ViewText
from conf.copies import TableCopies
from conf.names import ClusterName, PartitionRef, TableRef
from conf.partitions import TableFacts
from dialect.statement import PartitionPredicate


class Snapshot(Catalog, Protocol):
    """The facts that are in memory (`metastore.snapshot.snapshot`)."""

    def facts(
        self, ref: TableRef, selectors: Sequence[PartitionPredicate] | None = None
    ) -> TableFacts | None:
        """None when there is no such table. Raises NotLoaded."""
        ...

    def placement(self, ref: TableRef) -> object:
        """A value that changes with the table's placement. Raises NotLoaded."""
        ...

    def database_exists(self, name: str) -> bool:
        """Raises NotLoaded."""
        ...

    def invalidate(self, refs: Iterable[TableRef] | None) -> None:
        """Forgets these tables; None: everything."""
        ...

    def lacking_since(self) -> Mapping[tuple[TableRef, ClusterName], float | None]:
        """Since when copies in memory lack something, by table and cluster; None: all are fresh."""
        ...

    def counts(self) -> Mapping[str, int]:
        """The numbers of objects in memory, by kind, such as `tables`."""
        ...


class Loader(Protocol):
    """Calls to the metastore (`metastore.snapshot.loader_client`).

    All may raise a CausewayError.
    """

    async def load(self, tables: Iterable[TableRef]) -> None: ...

    async def load_facts(
        self,
        tables: Iterable[TableRef],
        selectors: Mapping[TableRef, Sequence[PartitionPredicate]] | None = None,
    ) -> frozenset[TableRef]:
        """Loads the tables. Returns those that differ from the snapshot: analyse again."""
        ...

    async def load_database(self, name: str) -> None: ...

    async def sql_functions(self) -> Mapping[str, ViewText | None]:
        """The texts of permanent functions written in SQL, by `db.name`; None: not readable."""
        ...

    def forget_functions(self) -> None:
        """A permanent function was changed: the texts are read again."""
        ...

    async def tables_in(self, database: str) -> list[TableRef]:
        """The tables and views that the database has now; none when there is no such."""
        ...

    @property
    def keeps_lists(self) -> bool:
        """Whether `listed` and `schemas` can have an answer, for these settings."""
        ...

    async def listed(
        self, wanted: Callable[[str], bool]
    ) -> Sequence[tuple[str, Sequence[ListedTable]]] | None:
        """The tables of the wanted databases, by database; None when that is not certain."""
        ...

    async def schemas(self, wanted: Callable[[str], bool]) -> Sequence[str] | None:
        """The wanted databases, in the metastore's order; None when that is not certain."""
        ...

    async def table_names(self, database: str) -> Sequence[str] | None:
        """The tables and views, in the metastore's order; None when that is not certain."""
        ...

    async def view_names(self, database: str) -> Sequence[str] | None:
        """The views, in the metastore's order; None when that is not certain."""
        ...

    async def spark_tables(
        self, database: str, names: Sequence[str]
    ) -> Sequence[SparkTable | None] | None:
        """The tables, with None for one that is not certain; None if no table is certain."""
        ...

    async def spark_database(self, name: str) -> SparkDatabase | None:
        """The database, with its location in the metastore; None when it is not certain."""
        ...

    async def partition_names(self, table: TableRef, values: Sequence[str] = ()) -> Sequence[str]:
        """All partitions, or those that the metastore finds for the values, one a column."""
        ...

    def spark_table(self, table: TableRef) -> SparkTable | None:
        """A table as it was routed; None when it is not certain."""
        ...

    async def copies(
        self, tables: Mapping[TableRef, Collection[str] | None]
    ) -> Sequence[TableCopies]:
        """The copies of the existing tables and of these partitions (None: of all)."""
        ...

    def new_write(self, targets: Sequence[TableRef | PartitionRef]) -> Any:
        """A write with the id that its mark will have."""
        ...

    async def open_write(self, token: Any) -> Any:
        """Marks the write as running; the answer is for `close_write`."""
        ...

    async def close_write(self, token: Any) -> None: ...

    async def claim(self, table: TableRef, cluster: ClusterName) -> None: ...
