"""Admits a call that changes something, with the changes that cluster facts require, or refuses it
(DC-M4).

`admit` is a generator: it yields requests to the metastore, receives the replies, and returns the
request to send. It raises a MetastoreError for a call that must not reach the metastore. There is
one function for each `Act`.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass

from conf.names import TableRef, parse_partition_name
from conf.placement import Placement, rewritten_parameters
from metastore.client.object_spans import Edit, ObjectSpans, Shape, encoded, spliced
from metastore.view.call import Call, ref_of
from metastore.view.fact_edits import with_facts
from metastore.view.inbound.client_placement import claimed_facts, refuse_copies
from metastore.view.inbound.foreign_locations import (
    locations_of_specs,
    refuse_database_folder,
    refuse_elsewhere,
    refuse_location,
)
from metastore.view.inbound.new_tables import new_tables
from metastore.view.inbound.ownership import (
    OrphanFolder,
    named_partitions,
    orphans_of,
    orphans_of_database,
    own_partitions,
    own_table,
    own_tables,
    refuse_foreign_partition,
    refuse_foreign_table,
    table_of_partitions,
)
from metastore.view.inbound.placement_edits import keep_folder, locations_back
from metastore.view.inbound.removed_folders import (
    NONE,
    Removed,
    deletes_data,
    drop_of_table,
    dropped_partitions,
    emptied_table,
    removed_partitions,
    renamed_partitions,
    renamed_table,
)
from metastore.view.inbound.version_updates import (
    After,
    Context,
    announced,
    by_expression,
    partitions_rewritten,
    table_rewritten,
    with_exceptions,
    write_partitions,
)
from metastore.view.lookups import (
    PartitionNow,
    TableNow,
    database_location,
    partition_names,
    tables_now,
)
from metastore.view.methods import Act
from thriftcodec.reader import read_value
from thriftcodec.skip import find_values, string_list, text_at
from thriftcodec.values import MAP

ALL_TABLES = "*"
_TABLE_NAME, _TABLE_DATABASE = 1, 2
_PARTITION_VALUES = 1


@dataclass(frozen=True, slots=True)
class Admitted:
    """The request to send, the tables that it changes, and the folders that it leaves as orphans.

    `after` are the lookups to run when the call has succeeded; None: none. `table` is the table of
    the call. `removed` are the folders that the metastore deletes or moves for the call.
    """

    request: bytes
    changed: tuple[TableRef, ...] = ()
    orphans: tuple[OrphanFolder, ...] = ()
    after: After | None = None
    table: TableNow | None = None
    removed: Removed = NONE


Admission = Generator[bytes, bytes, Admitted]


def admit(call: Call, context: Context) -> Admission:
    """Decides a call, whose act must not be RELAY."""
    return _ACTS[call.spec.act](call, context)


def _create_table(call: Call, context: Context) -> Admission:
    edits = yield from new_tables(call, context.view)
    return _admitted(call, edits)


def _alter_table(call: Call, context: Context) -> Admission:
    table = yield from own_table(call, context.view)
    edits: list[Edit] = []
    changed = list(call.tables())
    removed = NONE
    for spans in call.objects_at(call.spec.inbound[0]):
        new = ref_of(call.field_text(spans, _TABLE_DATABASE), call.field_text(spans, _TABLE_NAME))
        changed.append(new)
        if table is None:
            edits += with_facts(call.data, spans, Shape.TABLE, {})
            continue
        facts = claimed_facts(call.data, spans, table.placement, table.spans.facts, context)
        if facts is None:
            facts = _after_alter(table, context)
        else:
            refuse_copies(call.data, spans, table.placement, facts)
        edits += with_facts(call.data, spans, Shape.TABLE, facts)
        if not table.is_view:
            refuse_elsewhere(
                call, spans, context.view, *_locations(table.location, table.placement)
            )
            edits += locations_back(call.data, spans, table.placement, table.location)
            if new != table.ref:
                edits += keep_folder(spans, table, context.view)
                database = call.field_text(spans, _TABLE_DATABASE)
                removed |= yield from renamed_table(table, database, new)
    return _admitted(call, edits, changed, table=table, removed=removed)


def _drop_table(call: Call, context: Context) -> Admission:
    table = yield from own_table(call, context.view)
    if table is None:
        return _admitted(call, [])
    database, deletes = call.name_pairs()[0][0], deletes_data(call)
    left, removed = yield from drop_of_table(table, database, context.view, deletes=deletes)
    return _admitted(call, [], orphans=left, removed=removed)


def _add_partitions(call: Call, context: Context) -> Admission:
    tables = yield from own_tables(call, context.view)
    table = tables[0] if tables else None
    home = table.location if table else ""
    edits: list[Edit] = []
    for place in call.spec.inbound:
        for spans in call.objects_at(place):
            refuse_elsewhere(call, spans, context.view, home)
            edits += with_facts(call.data, spans, place.shape, {})
    for location in locations_of_specs(call):
        refuse_location(location, context.view, home)
    if table is None:
        return _admitted(call, edits)
    after = announced(table, call.name_pairs()[0][0], context)
    return _admitted(call, edits, after=after, table=table)


def _alter_partitions(call: Call, context: Context) -> Admission:
    """Decides alters of partitions, and rename_partition, which has the old values and the new
    partition."""
    table = yield from table_of_partitions(call, context.view)
    if table is None:
        return _admitted(call, [])
    database = call.name_pairs()[0][0]
    sent = list(call.objects_at(call.spec.inbound[0]))
    names = named_partitions(call, table) or [
        table.partitions.name(_values(call, spans)) for spans in sent
    ]
    now = yield from own_partitions(table, database, names, context.view)
    by_name = {partition.name: partition for partition in now}
    for name, spans in zip(names, sent, strict=True):
        one = by_name.get(name)
        own = _locations(one.location, one.placement) if one else ()
        refuse_elsewhere(call, spans, context.view, table.location, *own)
    claims = {
        name: claimed_facts(call.data, spans, one.placement, one.spans.facts, context)
        for name, spans in zip(names, sent, strict=True)
        if (one := by_name.get(name)) is not None
    }
    table = yield from with_exceptions(table, database, _gaining(call, table, claims), context)
    unclaimed = [one for one in now if claims[one.name] is None]
    rewritten = yield from partitions_rewritten(table, database, unclaimed, context.new_id)
    edits: list[Edit] = []
    for name, spans in zip(names, sent, strict=True):
        facts = claims.get(name) or rewritten.get(name, {})
        edits += _partition_edits(call, spans, by_name.get(name), facts)
    removed = NONE
    if call.spec.act is Act.RENAME_PARTITION:
        new_names = [table.partitions.name(_values(call, spans)) for spans in sent]
        removed = renamed_partitions(table, now, new_names)
    after = announced(table, database, context)
    return _admitted(call, edits, after=after, table=table, removed=removed)


def _drop_partitions(call: Call, context: Context) -> Admission:
    table = yield from table_of_partitions(call, context.view)
    if table is None:
        return _admitted(call, [])
    database = call.name_pairs()[0][0]
    names = named_partitions(call, table)
    now: list[PartitionNow] = []
    more: list[PartitionNow] = []
    if call.spec.name == "drop_partitions_req":
        more = yield from by_expression(call, table, database)
        for partition in more:
            refuse_foreign_partition(table, partition, context.view)
    if names or not more:
        now = yield from own_partitions(table, database, names, context.view)
    now += more
    left = [each for one in now for each in orphans_of(f"{table.ref}@{one.name}", one.placement)]
    removed = dropped_partitions(table, now) if deletes_data(call) else NONE
    after = announced(table, database, context)
    return _admitted(call, [], orphans=left, after=after, table=table, removed=removed)


def _exchange(call: Call, context: Context) -> Admission:
    """Moves partitions, with their facts, from the first table to the second."""
    tables = yield from own_tables(call, context.view)
    if len(tables) != 2 or tables[0] is None or tables[1] is None:
        return _admitted(call, [])
    source, target = tables[0], tables[1]
    (database, _), (target_database, _) = call.name_pairs()
    wanted = _map_at(call, (1,))
    names = yield from partition_names(source, database)
    chosen = [name for name in names if _matches(name, wanted)]
    moving = yield from own_partitions(source, database, chosen, context.view)
    yield from with_exceptions(target, target_database, chosen, context)
    after = announced(target, target_database, context)
    removed = removed_partitions(source, moving, target)
    return _admitted(call, [], after=after, table=target, removed=removed)


def _touch(call: Call, context: Context) -> Admission:
    tables = yield from own_tables(call, context.view)
    for (database, _), table in zip(call.name_pairs(), tables, strict=True):
        if table is not None:
            names = named_partitions(call, table)
            yield from own_partitions(table, database, names, context.view)
    edits = yield from new_tables(call, context.view)
    return _admitted(call, edits)


def _written(call: Call, context: Context) -> Admission:
    table = yield from own_table(call, context.view)
    if table is None:
        return _admitted(call, [])
    database = call.name_pairs()[0][0]
    names = named_partitions(call, table)
    truncates, removed = call.spec.name == "truncate_table", NONE
    if not names:
        if table.keys and not table.placement.uniform:
            every = yield from partition_names(table, database)
            yield from own_partitions(table, database, every, context.view)
        yield from table_rewritten(table, database, context.new_id)
        if truncates:
            removed = yield from emptied_table(table, database, context.view)
        return _admitted(call, [], removed=removed)
    now = yield from own_partitions(table, database, names, context.view)
    facts = yield from partitions_rewritten(table, database, now, context.new_id)
    yield from write_partitions(table, database, now, facts)
    removed = removed_partitions(table, now) if truncates else NONE
    return _admitted(call, [], after=announced(table, database, context), removed=removed)


def _put_database(call: Call, context: Context) -> Admission:
    yield from ()
    edits: list[Edit] = []
    names: list[str] = []
    for spans in call.objects_at(call.spec.inbound[0]):
        names.append(call.field_text(spans, 1))
        if spans.location is not None:
            location = text_at(call.data, spans.location[0])
            refuse_location(location, context.view)
            shared = context.view.shared_location(location) if location else location
            edits.append((*spans.location, encoded(shared)))
    return _admitted(call, edits, [ref_of(name, ALL_TABLES) for name in names])


def _drop_database(call: Call, context: Context) -> Admission:
    database = "".join(call.strings((1,)))
    left: list[OrphanFolder] = []
    deletes, removed = deletes_data(call), NONE
    location = yield from database_location(database)
    if call.is_true((3,)):
        for table in (yield from tables_now(context.view, database)):
            refuse_foreign_table(table, context.view)
            orphans, folders = yield from drop_of_table(
                table, database, context.view, deletes=deletes
            )
            left += orphans
            removed |= folders
    if location is not None and deletes:
        home = yield from database_location("default")
        refuse_database_folder(database, location, home or "", context.view)
        removed |= Removed(frozenset({location}))
    if location is not None:
        left += orphans_of_database(database, location, context.view)
    return _admitted(call, [], [ref_of(database, ALL_TABLES)], left, removed=removed)


_ACTS: Mapping[Act, Callable[[Call, Context], Admission]] = {
    Act.CREATE_TABLE: _create_table,
    Act.ALTER_TABLE: _alter_table,
    Act.DROP_TABLE: _drop_table,
    Act.ADD_PARTITIONS: _add_partitions,
    Act.ALTER_PARTITIONS: _alter_partitions,
    Act.RENAME_PARTITION: _alter_partitions,
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
    orphans: Iterable[OrphanFolder] = (),
    after: After | None = None,
    table: TableNow | None = None,
    removed: Removed = NONE,
) -> Admitted:
    request = spliced(call.data, 0, len(call.data), edits) if edits else call.data
    tables = call.tables() if changed is None else tuple(dict.fromkeys(changed))
    return Admitted(request, tables, tuple(orphans), after, table, removed)


def _after_alter(table: TableNow, context: Context) -> dict[str, str]:
    """The facts of a table after an alter. The alter may have changed the data of a table without
    partitions, or of one that is copied as a whole, so such a table gets a new write id (D10)."""
    facts = dict(table.spans.facts)
    in_parts = table.keys and not (table.placement.uniform and table.placement.copies)
    if not (table.is_view or in_parts or table.placement.open):
        facts = rewritten_parameters(facts, context.new_id())
    return facts


def _gaining(call: Call, table: TableNow, claims: Mapping[str, dict[str, str] | None]) -> list[str]:
    """The partitions that get facts of their own by this alter: those whose copies the client sent,
    and the new name of a renamed partition that has such facts."""
    named = [name for name, facts in claims.items() if facts is not None]
    if call.spec.act is Act.RENAME_PARTITION and claims.keys() & (table.placement.exceptions or ()):
        sent = call.objects_at(call.spec.inbound[0])
        named += [table.partitions.name(_values(call, spans)) for spans in sent]
    return named


def _partition_edits(
    call: Call, spans: ObjectSpans, now: PartitionNow | None, facts: Mapping[str, str]
) -> list[Edit]:
    edits = with_facts(call.data, spans, Shape.PARTITION, facts)
    if now is not None:
        edits += locations_back(call.data, spans, now.placement, now.location)
    return edits


def _locations(location: str, placement: Placement) -> tuple[str, ...]:
    """The present locations of an object: its own, then those of its copies."""
    return (location, *(copy.location for copy in placement.copies))


def _values(call: Call, spans: ObjectSpans) -> list[str]:
    span = spans.fields.get(_PARTITION_VALUES)
    return string_list(call.data, span[0]) if span else []


def _map_at(call: Call, path: tuple[int, ...]) -> dict[str, str]:
    for at, kind in find_values(call.data, call.body, path):
        if kind == MAP:
            return {
                str(key): str(value) for key, value in read_value(call.data, at, MAP)[0].items()
            }
    return {}


def _matches(name: str, wanted: Mapping[str, str]) -> bool:
    return all(wanted.get(key) in ("", None, value) for key, value in parse_partition_name(name))
