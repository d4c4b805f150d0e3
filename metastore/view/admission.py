"""Lets a mutating call pass, changed where cluster facts demand it, or refuses it (DC-M4).

`admit` is a generator: it yields questions to the metastore, is sent the replies, and returns
what to send. It raises a MetastoreError for a call that must not reach the metastore.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field

from conf.names import TableRef, parse_partition_name
from conf.placement import PRIMARY, RESERVED_PREFIX, WRITE, Placement, write_placement
from metastore.hms.binary import MAP, read_value
from metastore.view.bumps import bump_partitions, bump_table, by_expression
from metastore.view.call import Call, ref_of
from metastore.view.errors import PlacementChanged
from metastore.view.facts import (
    Asking,
    PartitionNow,
    TableNow,
    database_location,
    name_of,
    partition_names,
    tables_now,
)
from metastore.view.inbound import with_facts, with_location
from metastore.view.locations import ClusterView, bumped
from metastore.view.methods import Act, Shape
from metastore.view.objects import (
    Edit,
    Found,
    encoded,
    places,
    spliced,
    string_list,
    text,
)
from metastore.view.outbound import real_location
from metastore.view.ownership import (
    Leftover,
    left_by,
    left_by_database,
    left_by_drop,
    named_partitions,
    own_partitions,
    own_table,
    own_tables,
    refuse_foreign_partition,
    refuse_foreign_table,
)
from metastore.view.structures import PRIMARY_FIELD, SECONDARY_FIELD, ClaimedFacts, read_claims

ALL_TABLES = "*"
_TABLE_NAME, _TABLE_DATABASE, _TABLE_TYPE, _PARTITION_VALUES = 1, 2, 12, 1


@dataclass(frozen=True, slots=True)
class Admitted:
    """What to send, which tables it changes, and what it leaves behind at secondaries."""

    request: bytes
    changed: tuple[TableRef, ...] = ()
    leftovers: tuple[Leftover, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What an admission may use: the view, and a source of ids that never come twice."""

    view: ClusterView
    new_id: Callable[[], str] = field(repr=False)


Admission = Generator[bytes, bytes, Admitted]


def admit(call: Call, context: Context) -> Admission:
    """Decides on a call whose act is not RELAY."""
    return _ACTS[call.spec.act](call, context)


def _create_table(call: Call, context: Context) -> Admission:
    edits = yield from _new_tables(call, context.view)
    return _admitted(call, edits)


def _alter_table(call: Call, context: Context) -> Admission:
    table = yield from own_table(call, context.view)
    edits: list[Edit] = []
    changed = list(call.tables())
    for found in call.sent(call.spec.inbound[0]):
        new = ref_of(call.field_text(found, _TABLE_DATABASE), call.field_text(found, _TABLE_NAME))
        changed.append(new)
        if table is None:
            edits += with_facts(call.data, found, Shape.TABLE, {})
            continue
        facts = _facts_kept(call.data, found, table.found.ours, table.placement, context)
        edits += with_facts(call.data, found, Shape.TABLE, facts)
        if not table.is_view:
            edits += _locations_back(call.data, found, table.placement, table.location)
            if new != table.ref:
                edits += _stays(call.data, found, table, context.view)
    return _admitted(call, edits, changed)


def _drop_table(call: Call, context: Context) -> Admission:
    table = yield from own_table(call, context.view)
    if table is None:
        return _admitted(call, [])
    left = yield from left_by_drop(table, call.named()[0][0], context.view)
    return _admitted(call, [], leftovers=left)


def _add_partitions(call: Call, context: Context) -> Admission:
    yield from own_tables(call, context.view)
    edits: list[Edit] = []
    for place in call.spec.inbound:
        for found in call.sent(place):
            edits += with_facts(call.data, found, place.shape, {})
    return _admitted(call, edits)


def _alter_partitions(call: Call, context: Context) -> Admission:
    table = yield from own_table(call, context.view)
    sent = list(call.sent(call.spec.inbound[0]))
    if table is None:
        return _admitted(call, [])
    values = [
        tuple(string_list(call.data, found.fields[_PARTITION_VALUES][0]))
        if _PARTITION_VALUES in found.fields
        else ()
        for found in sent
    ]
    names = [name_of(table, each) for each in values]
    now = yield from own_partitions(table, call.named()[0][0], names, context.view)
    by_values = {partition.values: partition for partition in now}
    edits: list[Edit] = []
    for found, each in zip(sent, values, strict=True):
        edits += _partition_edits(call, found, by_values.get(each), context)
    return _admitted(call, edits)


def _rename_partition(call: Call, context: Context) -> Admission:
    table = yield from own_table(call, context.view)
    if table is None:
        return _admitted(call, [])
    names = named_partitions(call, table)
    now = yield from own_partitions(table, call.named()[0][0], names, context.view)
    edits: list[Edit] = []
    for found in call.sent(call.spec.inbound[0]):
        edits += _partition_edits(call, found, now[0] if now else None, context)
    return _admitted(call, edits)


def _drop_partitions(call: Call, context: Context) -> Admission:
    table = yield from own_table(call, context.view)
    if table is None:
        return _admitted(call, [])
    database = call.named()[0][0]
    names = named_partitions(call, table)
    now = yield from own_partitions(table, database, names, context.view)
    if call.spec.name == "drop_partitions_req":
        more = yield from by_expression(call, table, database)
        for partition in more:
            refuse_foreign_partition(table, partition, context.view)
        now += more
    left = [each for one in now for each in left_by(f"{table.ref}@{one.name}", one.placement)]
    return _admitted(call, [], leftovers=left)


def _exchange(call: Call, context: Context) -> Admission:
    tables = yield from own_tables(call, context.view)
    source = tables[0] if tables else None
    if source is not None:
        database = call.named()[0][0]
        wanted = _map_at(call, (1,))
        names = yield from partition_names(source, database)
        chosen = [name for name in names if _matches(name, wanted)]
        yield from own_partitions(source, database, chosen, context.view)
    return _admitted(call, [])


def _touch(call: Call, context: Context) -> Admission:
    tables = yield from own_tables(call, context.view)
    for (database, _), table in zip(call.named(), tables, strict=True):
        if table is not None:
            names = named_partitions(call, table)
            yield from own_partitions(table, database, names, context.view)
    edits = yield from _new_tables(call, context.view)
    return _admitted(call, edits)


def _written(call: Call, context: Context) -> Admission:
    table = yield from own_table(call, context.view)
    if table is None:
        return _admitted(call, [])
    database = call.named()[0][0]
    names = named_partitions(call, table)
    if names:
        now = yield from own_partitions(table, database, names, context.view)
        yield from bump_partitions(table, database, now, context.new_id())
    else:
        yield from bump_table(table, database, context.new_id())
    return _admitted(call, [])


def _put_database(call: Call, context: Context) -> Admission:
    yield from ()
    edits: list[Edit] = []
    names: list[str] = []
    for found in call.sent(call.spec.inbound[0]):
        names.append(call.field_text(found, 1))
        if found.location is not None:
            location = text(call.data, found.location[0])
            shared = context.view.shared_location(location) if location else location
            edits.append((*found.location, encoded(shared)))
    return _admitted(call, edits, [ref_of(name, ALL_TABLES) for name in names])


def _drop_database(call: Call, context: Context) -> Admission:
    database = "".join(call.strings((1,)))
    left: list[Leftover] = []
    location = yield from database_location(database)
    if call.is_true((3,)):
        for table in (yield from tables_now(context.view, database)):
            refuse_foreign_table(table, context.view)
            left += yield from left_by_drop(table, database, context.view)
    if location is not None:
        left += left_by_database(database, location, context.view)
    return _admitted(call, [], [ref_of(database, ALL_TABLES)], left)


_ACTS: Mapping[Act, Callable[[Call, Context], Admission]] = {
    Act.CREATE_TABLE: _create_table,
    Act.ALTER_TABLE: _alter_table,
    Act.DROP_TABLE: _drop_table,
    Act.ADD_PARTITIONS: _add_partitions,
    Act.ALTER_PARTITIONS: _alter_partitions,
    Act.RENAME_PARTITION: _rename_partition,
    Act.DROP_PARTITIONS: _drop_partitions,
    Act.EXCHANGE: _exchange,
    Act.TOUCH: _touch,
    Act.WRITTEN: _written,
    Act.CREATE_DATABASE: _put_database,
    Act.ALTER_DATABASE: _put_database,
    Act.DROP_DATABASE: _drop_database,
}


def _admitted(
    call: Call,
    edits: list[Edit],
    changed: Iterable[TableRef] | None = None,
    leftovers: Iterable[Leftover] = (),
) -> Admitted:
    request = spliced(call.data, 0, len(call.data), edits) if edits else call.data
    tables = call.tables() if changed is None else tuple(dict.fromkeys(changed))
    return Admitted(request, tables, tuple(leftovers))


def _new_tables(call: Call, view: ClusterView) -> Asking[list[Edit]]:
    """Each new table belongs to the view's cluster and lies in its warehouse."""
    edits: list[Edit] = []
    for found in (each for place in call.spec.inbound for each in call.sent(place)):
        if call.field_text(found, _TABLE_TYPE) == "VIRTUAL_VIEW":
            edits += with_facts(call.data, found, Shape.TABLE, {})
            continue
        edits += with_facts(call.data, found, Shape.TABLE, {PRIMARY: str(view.cluster)})
        if found.location is None or not text(call.data, found.location[0]):
            location = yield from _new_location(call, found, view)
            if location:
                edits += with_location(found, location)
    return edits


def _new_location(call: Call, found: Found, view: ClusterView) -> Asking[str]:
    if found.path is not None:
        return text(call.data, found.path[0])
    database = call.field_text(found, _TABLE_DATABASE)
    shared = yield from database_location(database)
    if not shared:
        return ""
    name = call.field_text(found, _TABLE_NAME).lower()
    return f"{view.warehouse_location(shared).rstrip('/')}/{name}"


def _partition_edits(
    call: Call, found: Found, now: PartitionNow | None, context: Context
) -> list[Edit]:
    if now is None:
        return with_facts(call.data, found, Shape.PARTITION, {})
    facts = _facts_kept(call.data, found, now.found.ours, now.placement, context)
    return [
        *with_facts(call.data, found, Shape.PARTITION, facts),
        *_locations_back(call.data, found, now.placement, now.location),
    ]


def _facts_kept(
    data: bytes,
    found: Found,
    current: Mapping[str, str],
    placement: Placement,
    context: Context,
) -> dict[str, str]:
    """The facts of an altered object: what it has, written anew unless a write is open (D10)."""
    claims = _claims(data, found) if context.view.aware else ClaimedFacts()
    if claims.primary not in (None, placement.primary):
        raise PlacementChanged(f"The primary cluster is {placement.primary}, not {claims.primary}.")
    if claims.write not in (None, placement.write):
        raise PlacementChanged("It was written meanwhile.")
    if claims.copies is None:
        return {**current, WRITE: bumped(current, context.new_id())}
    stated = Placement(placement.primary, placement.write)
    for copy in claims.copies:
        stated = stated.with_copy(copy)
    others = {key: value for key, value in current.items() if not _is_placement(key)}
    return {**others, **write_placement(stated)}


def _is_placement(key: str) -> bool:
    return key.startswith(RESERVED_PREFIX)


def _claims(data: bytes, found: Found) -> ClaimedFacts:
    if found.descriptor is None:
        return ClaimedFacts()
    fields = [
        (number, kind, at)
        for number in (PRIMARY_FIELD, SECONDARY_FIELD)
        for at, kind in places(data, found.descriptor, (number,))
    ]
    return read_claims(data, fields)


def _locations_back(data: bytes, found: Found, placement: Placement, own: str) -> list[Edit]:
    """Undoes what the view did to locations on the way out."""
    copies = {copy.location for copy in placement.copies}
    edits: list[Edit] = []
    for span in (found.location, found.path):
        if span is not None and text(data, span[0]) in copies:
            edits.append((*span, encoded(own)))
    return edits


def _stays(data: bytes, found: Found, table: TableNow, view: ClusterView) -> list[Edit]:
    """A renamed table whose folder the metastore will not move stays where it is.

    It moves only what lies under its own, the default cluster's, warehouse; Spark has already
    written the new folder's name into the serde's `path`.
    """
    if view.shared_location(table.location) == table.location or found.path is None:
        return []
    if real_location(data, found) == table.location:
        return []
    return [(*found.path, encoded(table.location))]


def _map_at(call: Call, path: tuple[int, ...]) -> dict[str, str]:
    for at, kind in places(call.data, call.body, path):
        if kind == MAP:
            return {
                str(key): str(value) for key, value in read_value(call.data, at, MAP)[0].items()
            }
    return {}


def _matches(name: str, wanted: Mapping[str, str]) -> bool:
    return all(wanted.get(key) in ("", None, value) for key, value in parse_partition_name(name))
