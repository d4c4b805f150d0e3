"""Facts in an alter of a client that names clusters (DC-P1, DC-S1)."""

from collections.abc import Mapping
from dataclasses import replace

from conf.placement import COPY_PREFIX, Placement, read_placement, write_placement
from metastore.client.object_spans import ObjectSpans
from metastore.client.types import Table
from metastore.placement.open_formats import why_files_are_not_enough
from metastore.view.errors import FormatNotCopied, PlacementChanged
from metastore.view.inbound.version_updates import Context
from metastore.view.outbound.structures import PRIMARY_FIELD, SECONDARY_FIELD, read_claims
from thriftcodec.reader import read_value
from thriftcodec.skip import find_values
from thriftcodec.values import STRUCT


def claimed_facts(
    data: bytes,
    spans: ObjectSpans,
    placement: Placement,
    current: Mapping[str, str],
    context: Context,
) -> dict[str, str] | None:
    """The object's facts with the copies that the client sent; None if it sent none.

    A copy without a write id counts as a copy of the present data. Raises PlacementChanged if the
    client sent another primary or write id than the object has now.
    """
    if not context.view.aware or spans.descriptor is None:
        return None
    fields = [
        (number, kind, at)
        for number in (PRIMARY_FIELD, SECONDARY_FIELD)
        for at, kind in find_values(data, spans.descriptor, (number,))
    ]
    claims = read_claims(data, fields)
    if claims.primary not in (None, placement.primary):
        raise PlacementChanged(f"The primary cluster is {placement.primary}, not {claims.primary}.")
    if claims.write not in (None, placement.version):
        raise PlacementChanged("The object was written since it was read.")
    if claims.copies is None:
        return None
    new = placement
    for copy in placement.copies:
        new = new.without_copy(copy.cluster)
    for copy in claims.copies:
        wanted = replace(copy, of=copy.of or placement.version)
        known = placement.copy_in(copy.cluster)
        is_known = known is not None and replace(known, metadata="") == wanted
        new = new.with_copy(known if known is not None and is_known else wanted)
    kept = {key: value for key, value in current.items() if not key.startswith(COPY_PREFIX)}
    return {**kept, **write_placement(new)}


def refuse_copies(
    data: bytes, spans: ObjectSpans, placement: Placement, facts: Mapping[str, str]
) -> None:
    """Raises FormatNotCopied if the client sent a new copy of an Iceberg table."""
    copies = read_placement(facts, placement.primary).copies
    if any(copy not in placement.copies for copy in copies):
        why = why_files_are_not_enough(Table(read_value(data, spans.start, STRUCT)[0]))
        if why is not None:
            raise FormatNotCopied(why)
