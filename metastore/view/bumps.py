"""Changes that the view makes itself: a new write id before data changes (D10)."""

from conf.placement import WRITE
from metastore.hms.binary import (
    I16,
    LIST,
    MAP,
    STRING,
    STRUCT,
    Struct,
    call_bytes,
    read_value,
    string_map,
)
from metastore.view.call import Call
from metastore.view.facts import Asking, PartitionNow, TableNow, changed, partitions_found
from metastore.view.inbound import with_facts
from metastore.view.locations import bumped
from metastore.view.methods import LIST as EACH
from metastore.view.methods import Shape
from metastore.view.objects import places, spliced

# The change is of facts alone: the metastore shall not look at the files for it.
_NO_STATISTICS = Struct({1: (MAP, string_map({"DO_NOT_UPDATE_STATS": "true"}))})


def bump_table(table: TableNow, database: str, write_id: str) -> Asking[None]:
    """All copies of an unpartitioned table become stale."""
    facts = {**table.found.ours, WRITE: bumped(table.found.ours, write_id)}
    edits = with_facts(table.data, table.found, Shape.TABLE, facts)
    body = spliced(table.data, table.found.start, table.found.end, edits)
    head = _head("alter_table_with_environment_context", database, table.ref.name)
    yield from changed(head + _field(STRUCT, 3) + body + _tail())


def bump_partitions(
    table: TableNow, database: str, partitions: list[PartitionNow], write_id: str
) -> Asking[None]:
    """All copies of these partitions become stale."""
    bodies = []
    for one in partitions:
        facts = {**one.found.ours, WRITE: bumped(one.found.ours, write_id)}
        edits = with_facts(one.data, one.found, Shape.PARTITION, facts)
        bodies.append(spliced(one.data, one.found.start, one.found.end, edits))
    if bodies:
        head = _head("alter_partitions_with_environment_context", database, table.ref.name)
        items = bytes((STRUCT,)) + len(bodies).to_bytes(4, "big") + b"".join(bodies)
        yield from changed(head + _field(LIST, 3) + items + _tail())


def by_expression(call: Call, table: TableNow, database: str) -> Asking[list[PartitionNow]]:
    """The partitions that drop_partitions_req chooses by Hive's own expressions."""
    partitions: list[PartitionNow] = []
    for at, _ in places(call.data, call.body, (1, 3, 2, EACH, 1)):
        expression, _ = read_value(call.data, at, STRING)
        request = Struct(
            {
                1: (STRING, database),
                2: (STRING, table.ref.name),
                3: (STRING, expression),
                5: (I16, -1),
            }
        )
        message = call_bytes("get_partitions_by_expr", 0, Struct({1: (STRUCT, request)}))
        partitions += yield from partitions_found(table, message, "get_partitions_by_expr")
    return partitions


def _head(method: str, database: str, table: str) -> bytes:
    message = call_bytes(method, 0, Struct({1: (STRING, database), 2: (STRING, table)}))
    return message[:-1]


def _field(kind: int, number: int) -> bytes:
    return bytes((kind,)) + number.to_bytes(2, "big")


def _tail() -> bytes:
    """The environment context, field 4, and the end of the arguments."""
    call = call_bytes("x", 0, Struct({4: (STRUCT, _NO_STATISTICS)}))
    return call[call.index(_field(STRUCT, 4)) :]
