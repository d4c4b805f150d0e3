"""The methods that the pipeline needs of a catalog of tables. `HmsClient` has them for the Hive
metastore.

Another catalog that implements them uses the same objects, `Table`, `Partition` and `Database` of
`metastore.client.types`, and keeps their parameters as they are given. It raises errors of
`metastore.errors`: NoSuchObject for a missing object, AlreadyExists for one that exists, and
MetastoreDown if the catalog does not answer.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from conf.names import TableRef
from metastore.client.partition_decoder import PartitionFacts
from metastore.client.types import Database, Partition, Table

Holds = Callable[[], bool]
"""Whether a lock still keeps other writers out. Check it before a call that changes something."""


def always() -> bool:
    """The `Holds` of a lock that cannot be lost."""
    return True


class CatalogClient(Protocol):
    """A connection to a catalog. Partitions are named `key=value/key2=value2`."""

    def exclusive(self, ref: TableRef) -> AbstractContextManager[Holds]:
        """Locks the table for the block, from reading its facts to writing them back."""
        ...

    def get_all_databases(self) -> list[str]: ...

    def get_database(self, name: str) -> Database: ...

    def get_all_tables(self, database: str) -> list[str]:
        """Names of tables and views."""
        ...

    def get_table(self, ref: TableRef) -> Table: ...

    def get_tables(self, database: str, names: Iterable[str]) -> Iterator[Table]:
        """The named tables that exist."""
        ...

    def create_table(self, table: Table) -> None: ...

    def alter_table(self, ref: TableRef, table: Table) -> None:
        """Replaces the table named `ref` in one step."""
        ...

    def drop_table(self, ref: TableRef, *, delete_data: bool = False) -> None: ...

    def get_partition_names(self, ref: TableRef) -> list[str]: ...

    def get_partitions(self, ref: TableRef, names: Iterable[str]) -> Iterator[Partition]:
        """The named partitions that exist, in any order."""
        ...

    def get_all_partitions(self, ref: TableRef) -> Iterator[Partition]: ...

    def get_partition_facts(self, ref: TableRef, names: Iterable[str]) -> Iterator[PartitionFacts]:
        """Values, location and parameters of the named partitions that exist."""
        ...

    def add_partitions(
        self, ref: TableRef, partitions: Iterable[Partition], *, if_not_exists: bool = False
    ) -> None: ...

    def alter_partitions(self, ref: TableRef, partitions: Iterable[Partition]) -> None:
        """Replaces the partitions that have the same values."""
        ...

    def drop_partition(self, ref: TableRef, name: str, *, delete_data: bool = False) -> None: ...

    def drop_partitions(
        self, ref: TableRef, names: Iterable[str], *, delete_data: bool = False
    ) -> None:
        """Drops the named partitions that exist."""
        ...
