"""Edits of the tables in a request that creates tables."""

from conf.placement import PARTITIONS, PRIMARY, UNIFORM
from metastore.client.object_spans import Edit, ObjectSpans, Shape, is_partitioned
from metastore.view.call import Call
from metastore.view.fact_edits import with_facts
from metastore.view.inbound.foreign_locations import refuse_elsewhere
from metastore.view.inbound.placement_edits import with_location
from metastore.view.locations import ClusterView
from metastore.view.lookups import Lookup, database_location
from thriftcodec.skip import text_at

_NAME, _DATABASE, _TYPE = 1, 2, 12


def new_tables(call: Call, view: ClusterView) -> Lookup[list[Edit]]:
    """The edits that give each new table the view's cluster as its primary, and a location in that
    cluster's warehouse if the client chose none. Raises OutsidePrimary."""
    edits: list[Edit] = []
    for spans in (each for place in call.spec.inbound for each in call.objects_at(place)):
        if call.field_text(spans, _TYPE) == "VIRTUAL_VIEW":
            edits += with_facts(call.data, spans, Shape.TABLE, {})
            continue
        refuse_elsewhere(call, spans, view)
        facts = {PRIMARY: str(view.cluster)}
        if is_partitioned(call.data, spans):
            facts[PARTITIONS] = UNIFORM
        edits += with_facts(call.data, spans, Shape.TABLE, facts)
        if spans.location is None or not text_at(call.data, spans.location[0]):
            location = yield from _new_location(call, spans, view)
            if location:
                edits += with_location(spans, location)
    return edits


def _new_location(call: Call, spans: ObjectSpans, view: ClusterView) -> Lookup[str]:
    if spans.path is not None:
        return text_at(call.data, spans.path[0])
    database = call.field_text(spans, _DATABASE)
    shared = yield from database_location(database)
    if not shared:
        return ""
    name = call.field_text(spans, _NAME).lower()
    return f"{view.warehouse_location(shared).rstrip('/')}/{name}"
