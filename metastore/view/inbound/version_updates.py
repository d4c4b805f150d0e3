"""Changes of facts that the view makes itself, in addition to the client's call (D10).

A call that may change data makes every copy of that data stale: the view changes the object's write
id before it sends the call on. While a running write is marked, its writer changes the id when the
write ends.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from conf.placement import FACTS, rewritten_parameters, write_placement
from metastore.client.object_spans import Shape, spliced
from metastore.view.call import Call
from metastore.view.fact_edits import with_facts
from metastore.view.locations import ClusterView
from metastore.view.lookups import (
    Lookup,
    PartitionNow,
    TableNow,
    changed,
    partitions_found,
    table_now,
)
from thriftcodec.reader import read_value
from thriftcodec.skip import EACH, find_values
from thriftcodec.values import I16, LIST, MAP, STRING, STRUCT, Struct, string_map
from thriftcodec.writer import call_bytes

NewId = Callable[[], str]
After = Callable[[], Lookup[None]]
"""The calls to make after the client's call has succeeded."""

# Only facts change, so the metastore need not list the files.
_NO_STATISTICS = Struct({1: (MAP, string_map({"DO_NOT_UPDATE_STATS": "true"}))})


@dataclass(frozen=True, slots=True)
class Context:
    """The inputs of an admission beside the call: the cluster's view, and a source of new ids."""

    view: ClusterView
    new_id: NewId


def table_rewritten(table: TableNow, database: str, new_id: NewId) -> Lookup[None]:
    """Gives the table a new write id, which makes its copies stale: any of its data may change."""
    if not table.placement.open:
        yield from set_table(table, database, rewritten_parameters(table.spans.facts, new_id()))


def partitions_rewritten(
    table: TableNow, database: str, partitions: list[PartitionNow], new_id: NewId
) -> Lookup[dict[str, dict[str, str]]]:
    """The new facts of these partitions, by name, which make their copies stale.

    If no partition of the table has copies, the table gets a new id instead. So copies of
    partitions that are being made now will be stale.
    """
    facts = {one.name: dict(one.spans.facts) for one in partitions}
    unmarked = [one for one in partitions if not one.placement.open]
    if unmarked and table.placement.uniform:
        yield from table_rewritten(table, database, new_id)
    else:
        for one in unmarked:
            facts[one.name] = rewritten_parameters(one.spans.facts, new_id())
    return facts


def write_partitions(
    table: TableNow,
    database: str,
    partitions: list[PartitionNow],
    facts: Mapping[str, Mapping[str, str]],
) -> Lookup[None]:
    """Writes the facts of partitions, for a client's call that does not contain the partitions."""
    bodies = []
    for one in partitions:
        if facts[one.name] != one.spans.facts:
            edits = with_facts(one.data, one.spans, Shape.PARTITION, facts[one.name])
            bodies.append(spliced(one.data, one.spans.start, one.spans.end, edits))
    if bodies:
        head = _head("alter_partitions_with_environment_context", database, table.ref.name)
        items = bytes((STRUCT,)) + len(bodies).to_bytes(4, "big") + b"".join(bodies)
        yield from changed(head + _field(LIST, 3) + items + _tail())


def with_exceptions(
    table: TableNow, database: str, names: Iterable[str], context: Context
) -> Lookup[TableNow]:
    """Adds the partitions to the table's list of exceptions, before they get facts of their own.

    Returns the changed table. A table that was uniform loses its copies of the whole table.
    """
    placed = table.placement.with_partition_facts(context.new_id(), names)
    if placed.exceptions == table.placement.exceptions:
        return table
    yield from set_table(table, database, write_placement(placed))
    return (yield from table_now(context.view, database, table.ref.name)) or table


def announced(table: TableNow, database: str, context: Context) -> After | None:
    """The lookup that renews the table's `facts` id after a change of partitions, so that caches
    read the partitions again.

    None while a write of the whole table runs, because its end changes the table's id.
    """
    if any(mark.partitions is None for mark in table.placement.open):
        return None

    def announce() -> Lookup[None]:
        now = yield from table_now(context.view, database, table.ref.name)
        if now is not None:
            yield from set_table(now, database, {**now.spans.facts, FACTS: context.new_id()})

    return announce


def by_expression(call: Call, table: TableNow, database: str) -> Lookup[list[PartitionNow]]:
    """The partitions that a drop_partitions_req selects by Hive's expressions."""
    partitions: list[PartitionNow] = []
    for at, _ in find_values(call.data, call.body, (1, 3, 2, EACH, 1)):
        expression, _ = read_value(call.data, at, STRING)
        fields = {1: database, 2: table.ref.name, 3: expression}
        request = Struct({number: (STRING, value) for number, value in fields.items()})
        request.set(5, I16, -1)
        message = call_bytes("get_partitions_by_expr", 0, Struct({1: (STRUCT, request)}))
        partitions += yield from partitions_found(table, message, "get_partitions_by_expr")
    return partitions


def set_table(table: TableNow, database: str, facts: Mapping[str, str]) -> Lookup[None]:
    """Writes the facts of a table."""
    edits = with_facts(table.data, table.spans, Shape.TABLE, facts)
    body = spliced(table.data, table.spans.start, table.spans.end, edits)
    head = _head("alter_table_with_environment_context", database, table.ref.name)
    yield from changed(head + _field(STRUCT, 3) + body + _tail())


def _head(method: str, database: str, table: str) -> bytes:
    message = call_bytes(method, 0, Struct({1: (STRING, database), 2: (STRING, table)}))
    return message[:-1]


def _field(kind: int, number: int) -> bytes:
    return bytes((kind,)) + number.to_bytes(2, "big")


def _tail() -> bytes:
    """The bytes of the environment context, which is field 4, and of the end of the arguments."""
    call = call_bytes("", 0, Struct({4: (STRUCT, _NO_STATISTICS)}))
    return call[call.index(_field(STRUCT, 4)) :]
