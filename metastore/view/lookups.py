"""Calls that the view itself makes to the metastore, mostly before it admits a client's call.

Each is a generator: it yields the bytes of a request, receives the bytes of the whole reply, and
returns what it read. So it does no I/O. The server sends the requests over the client's own
connection, so they have the client's permissions.
"""

from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from conf.names import TableRef
from conf.placement import BadPlacement, Placement, read_partition_placement, read_placement
from metastore.client.object_spans import ObjectSpans, Shape, scan
from metastore.client.partition_scanner import PartitionScanner
from metastore.view.call import ref_of
from metastore.view.errors import FactsUnavailable, PlacementUnreadable
from metastore.view.locations import ClusterView
from metastore.view.outbound.locations_out import PartitionsOf, real_location
from thriftcodec.skip import (
    EACH,
    find_values,
    read_field_header,
    read_list_header,
    read_message_header,
    skip_value,
    string_list,
    strings_at,
    text_at,
)
from thriftcodec.values import I16, LIST, REPLY, STOP, STRING, Struct, strings
from thriftcodec.writer import call_bytes

T = TypeVar("T")
Lookup = Generator[bytes, bytes, T]

BATCH = 500  # partitions or tables in one call
_NO_LIMIT = -1
_TABLE_KEYS, _TABLE_TYPE = 8, 12
_PARTITION_VALUES = 1


@dataclass(frozen=True, slots=True)
class TableNow:
    """A table as it is in the metastore now. `data` is the reply that contains it, at `spans`."""

    ref: TableRef
    placement: Placement
    kind: str
    keys: tuple[str, ...]
    key_types: tuple[str, ...]
    location: str
    data: bytes
    spans: ObjectSpans

    @property
    def partitions(self) -> PartitionsOf:
        return PartitionsOf(self.placement, self.keys)

    @property
    def is_view(self) -> bool:
        return self.kind == "VIRTUAL_VIEW"


@dataclass(frozen=True, slots=True)
class PartitionNow:
    """A partition as it is in the metastore now. `data` is the reply that contains it."""

    name: str
    values: tuple[str, ...]
    placement: Placement
    location: str
    data: bytes
    spans: ObjectSpans


def table_now(view: ClusterView, database: str, name: str) -> Lookup[TableNow | None]:
    """The table, or None if it does not exist."""
    reply = yield table_request(database, name)
    return table_in(view, database, reply)


def table_request(database: str, name: str) -> bytes:
    """The request for a table."""
    return _call("get_table", database, name)


def table_in(view: ClusterView, database: str, reply: bytes) -> TableNow | None:
    """The table in the reply to `table_request`; None if it does not exist."""
    at = _success(reply, "get_table")
    return None if at is None else _table(view, database, reply, at)


def database_names() -> Lookup[list[str]]:
    """The names of all databases."""
    reply = yield _call("get_all_databases")
    at = _success(reply, "get_all_databases")
    return [] if at is None else string_list(reply, at)


def table_names(database: str) -> Lookup[list[str]]:
    """The names of all tables and views of a database; none if it does not exist."""
    reply = yield _call("get_all_tables", database)
    at = _success(reply, "get_all_tables")
    return [] if at is None else string_list(reply, at)


def tables_now(view: ClusterView, database: str) -> Lookup[list[TableNow]]:
    """All tables and views of a database. Raises PlacementUnreadable."""
    tables = []
    for reply, start in (yield from _tables_named(database, (yield from table_names(database)))):
        tables.append(_table(view, database, reply, start))
    return tables


def readable_tables(
    view: ClusterView, database: str, names: Iterable[str]
) -> Lookup[list[TableNow]]:
    """The named tables that exist and have readable facts."""
    tables = []
    for reply, start in (yield from _tables_named(database, names)):
        with suppress(PlacementUnreadable):
            tables.append(_table(view, database, reply, start))
    return tables


def database_location(database: str) -> Lookup[str | None]:
    """The location of a database in the metastore; None if it has none or does not exist."""
    reply = yield _call("get_database", database)
    at = _success(reply, "get_database")
    if at is None:
        return None
    spans = scan(reply, at, Shape.DATABASE)
    return text_at(reply, spans.location[0]) if spans.location else None


def partitions_named(
    table: TableNow, database: str, names: Iterable[str]
) -> Lookup[list[PartitionNow]]:
    """The named partitions that exist."""
    partitions: list[PartitionNow] = []
    for batch in _batches(list(names)):
        arguments = Struct(
            {1: (STRING, database), 2: (STRING, table.ref.name), 3: (LIST, strings(batch))}
        )
        reply = yield call_bytes("get_partitions_by_names", 0, arguments)
        scanner = PartitionScanner()
        for start in _objects(reply, "get_partitions_by_names"):
            spans = scanner.scan(reply, start)
            partitions.append(_partition(table, reply, spans))
    return partitions


def partition_names(table: TableNow, database: str) -> Lookup[list[str]]:
    """The names of all partitions."""
    arguments = Struct({1: (STRING, database), 2: (STRING, table.ref.name), 3: (I16, _NO_LIMIT)})
    reply = yield call_bytes("get_partition_names", 0, arguments)
    at = _success(reply, "get_partition_names")
    return [] if at is None else string_list(reply, at)


def partitions_found(table: TableNow, request: bytes, method: str) -> Lookup[list[PartitionNow]]:
    """The partitions that `request` selects; its reply has the type PartitionsByExprResult."""
    reply = yield request
    at = _success(reply, method)
    if at is None:
        return []
    starts = [start for start, _ in find_values(reply, at, (1, EACH))]
    return [_partition(table, reply, scan(reply, start, Shape.PARTITION)) for start in starts]


def changed(request: bytes) -> Lookup[None]:
    """Makes a call that changes something. Raises FactsUnavailable if it fails."""
    reply = yield request
    kind, method, _, at = read_message_header(reply)
    inner, _, value = read_field_header(reply, at)
    if kind != REPLY or inner != STOP:
        message = "".join(strings_at(reply, value, (1,))) if kind == REPLY else ""
        raise FactsUnavailable(f"{method} failed in the metastore: {message}.")


def _table(view: ClusterView, database: str, reply: bytes, at: int) -> TableNow:
    spans = scan(reply, at, Shape.TABLE)
    name = text_at(reply, spans.fields[1][0])
    ref = ref_of(database, name)
    kind = text_at(reply, spans.fields[_TABLE_TYPE][0]) if _TABLE_TYPE in spans.fields else ""
    keys = strings_at(reply, at, (_TABLE_KEYS, EACH, 1))
    try:
        placement = read_placement(spans.facts, view.owner)
    except BadPlacement as error:
        raise PlacementUnreadable(f"{ref}: {error}.") from error
    return TableNow(
        ref,
        placement,
        kind,
        tuple(keys),
        tuple(strings_at(reply, at, (_TABLE_KEYS, EACH, 2))),
        real_location(reply, spans),
        reply,
        spans,
    )


def _partition(table: TableNow, reply: bytes, spans: ObjectSpans) -> PartitionNow:
    values = tuple(string_list(reply, spans.fields[_PARTITION_VALUES][0]))
    name = table.partitions.name(values)
    try:
        placement = read_partition_placement(spans.facts, table.placement, name)
    except BadPlacement as error:
        raise PlacementUnreadable(f"{table.ref}@{name}: {error}.") from error
    return PartitionNow(name, values, placement, real_location(reply, spans), reply, spans)


def _tables_named(database: str, names: Iterable[str]) -> Lookup[list[tuple[bytes, int]]]:
    """The named tables that exist, as pairs of a reply and the position in it."""
    tables = []
    for batch in _batches(list(names)):
        arguments = Struct({1: (STRING, database), 2: (LIST, strings(batch))})
        reply = yield call_bytes("get_table_objects_by_name", 0, arguments)
        tables += [(reply, start) for start in _objects(reply, "get_table_objects_by_name")]
    return tables


def _call(method: str, *names: str) -> bytes:
    fields = {number: (STRING, name) for number, name in enumerate(names, 1)}
    return call_bytes(method, 0, Struct(fields))


def _success(reply: bytes, method: str) -> int | None:
    """The position of the result's value; None if the object does not exist. Raises
    FactsUnavailable for any other error of the metastore."""
    kind, _, _, at = read_message_header(reply)
    if kind != REPLY:
        raise FactsUnavailable(f"{method} failed in the metastore.")
    inner, number, value = read_field_header(reply, at)
    if inner == STOP:
        return None
    if number == 0:
        return value
    message = "".join(strings_at(reply, value, (1,)))
    if number == _NO_SUCH_OBJECT[method]:
        return None
    raise FactsUnavailable(f"{method} failed in the metastore: {message}.")


# The field of NoSuchObjectException in each result; 0 if it is not declared.
_NO_SUCH_OBJECT = {
    "get_table": 2,
    "get_all_databases": 0,
    "get_all_tables": 0,
    "get_table_objects_by_name": 3,
    "get_database": 1,
    "get_partitions_by_names": 2,
    "get_partition_names": 0,
    "get_partitions_by_expr": 2,
}


def _objects(reply: bytes, method: str) -> Iterator[int]:
    at = _success(reply, method)
    if at is None:
        return
    element, count, at = read_list_header(reply, at)
    for _ in range(count):
        yield at
        at = skip_value(reply, at, element)


def _batches(names: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(names), BATCH):
        yield names[start : start + BATCH]
