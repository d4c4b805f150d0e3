"""A metastore in memory without a socket: as much of an HmsClient as `Facts` uses, and replies to
the lookups of a view."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from conf.names import TableRef
from metastore.client.catalog_client import Holds, always
from metastore.client.types import Partition, Table
from metastore.errors import NoSuchObject
from metastore.view.lookups import Lookup, T
from thriftcodec.reader import read_struct
from thriftcodec.skip import read_message_header
from thriftcodec.values import LIST, REPLY, STRUCT, Items, Struct, strings
from thriftcodec.writer import call_bytes


class Memory:
    """Tables, and partitions by name."""

    def __init__(self) -> None:
        self.tables: dict[TableRef, Table] = {}
        self.partitions: dict[TableRef, dict[str, Partition]] = {}

    # as a client

    def exclusive(self, ref: TableRef) -> AbstractContextManager[Holds]:
        return nullcontext(always)

    def get_table(self, ref: TableRef) -> Table:
        if ref not in self.tables:
            raise NoSuchObject(str(ref))
        return self.tables[ref]

    def alter_table(self, ref: TableRef, table: Table) -> None:
        self.tables[ref] = table

    def get_partitions(self, ref: TableRef, names: Iterable[str]) -> list[Partition]:
        return [self.partitions[ref][name] for name in names if name in self.partitions[ref]]

    def alter_partitions(self, ref: TableRef, partitions: Iterable[Partition]) -> None:
        for each in partitions:
            self.partitions[ref][each.name(self.tables[ref])] = each

    # as a view sees it

    def answered(self, lookup: Lookup[T]) -> T:
        """Answers the requests of a view's lookup; returns its result."""
        try:
            request = next(lookup)
            while True:
                request = lookup.send(self._reply(request))
        except StopIteration as stop:
            result: T = stop.value
            return result

    def _reply(self, request: bytes) -> bytes:
        _, method, sequence, at = read_message_header(request)
        arguments, _ = read_struct(request, at)
        result = Struct()
        success = getattr(self, f"_{method}")(arguments)
        if success is not None:
            result.set(0, *success)
        message = bytearray(call_bytes(method, sequence, result))
        message[3] = REPLY
        return bytes(message)

    def _get_table(self, arguments: Struct) -> tuple[int, Any] | None:
        table = self.tables.get(TableRef(arguments.get(1), arguments.get(2)))
        return None if table is None else (STRUCT, table.struct)

    def _get_all_databases(self, arguments: Struct) -> tuple[int, Any]:
        return LIST, strings(sorted({ref.db for ref in self.tables}))

    def _get_all_tables(self, arguments: Struct) -> tuple[int, Any]:
        names = [ref.name for ref in self.tables if ref.db == arguments.get(1)]
        return LIST, strings(names)

    def _get_table_objects_by_name(self, arguments: Struct) -> tuple[int, Any]:
        refs = [TableRef(arguments.get(1), name) for name in arguments.get(2)]
        found = [self.tables[ref].struct for ref in refs if ref in self.tables]
        return LIST, Items(STRUCT, found)

    def _get_partitions_by_names(self, arguments: Struct) -> tuple[int, Any]:
        ref = TableRef(arguments.get(1), arguments.get(2))
        found = self.get_partitions(ref, arguments.get(3))
        return LIST, Items(STRUCT, [each.struct for each in found])

    def _alter_table_with_environment_context(self, arguments: Struct) -> None:
        self.alter_table(TableRef(arguments.get(1), arguments.get(2)), Table(arguments.get(3)))

    def _alter_partitions_with_environment_context(self, arguments: Struct) -> None:
        ref = TableRef(arguments.get(1), arguments.get(2))
        self.alter_partitions(ref, map(Partition, arguments.get(3)))
