"""Edits of tables that a request creates."""

from conf.placement import PARTITIONS, PRIMARY, UNIFORM
from metastore.client.object_spans import Edit, Found, Shape, is_partitioned, text
from metastore.view.call import Call
from metastore.view.fact_edits import with_facts
from metastore.view.inbound.foreign_locations import refuse_elsewhere
from metastore.view.inbound.placement_edits import with_location
from metastore.view.locations import ClusterView
from metastore.view.lookups import Asking, database_location

_NAME, _DATABASE, _TYPE = 1, 2, 12


def new_tables(call: Call, view: ClusterView) -> Asking[list[Edit]]:
    """Gives each new table the view's cluster as its primary, and a location in its warehouse."""
    edits: list[Edit] = []
    for found in (each for place in call.spec.inbound for each in call.sent(place)):
        if call.field_text(found, _TYPE) == "VIRTUAL_VIEW":
            edits += with_facts(call.data, found, Shape.TABLE, {})
            continue
        refuse_elsewhere(call, found, view)
        facts = {PRIMARY: str(view.cluster)}
        if is_partitioned(call.data, found):
            facts[PARTITIONS] = UNIFORM
        edits += with_facts(call.data, found, Shape.TABLE, facts)
        if found.location is None or not text(call.data, found.location[0]):
            location = yield from _new_location(call, found, view)
            if location:
                edits += with_location(found, location)
    return edits


def _new_location(call: Call, found: Found, view: ClusterView) -> Asking[str]:
    if found.path is not None:
        return text(call.data, found.path[0])
    database = call.field_text(found, _DATABASE)
    shared = yield from database_location(database)
    if not shared:
        return ""
    name = call.field_text(found, _NAME).lower()
    return f"{view.warehouse_location(shared).rstrip('/')}/{name}"
