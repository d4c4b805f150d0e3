"""Facts that a client that names clusters sends with an alter (DC-P1, DC-S1)."""

from collections.abc import Mapping
from dataclasses import replace

from conf.placement import COPY_PREFIX, Placement, write_placement
from metastore.client.object_spans import Found, places
from metastore.client.types import Table
from metastore.placement.open_formats import why_not_copied
from metastore.view.errors import FormatNotCopied, PlacementChanged
from metastore.view.inbound.version_updates import Context
from metastore.view.outbound.structures import PRIMARY_FIELD, SECONDARY_FIELD, read_claims
from thriftcodec.reader import read_value
from thriftcodec.values import STRUCT


def claimed_facts(
    data: bytes, found: Found, placement: Placement, current: Mapping[str, str], context: Context
) -> dict[str, str] | None:
    """The facts with the client's copies; None if the client sent none.

    A copy without a write id counts as a copy of the present data. Raises PlacementChanged if the
    client sent another primary or write id than the present one.
    """
    if not context.view.aware or found.descriptor is None:
        return None
    fields = [
        (number, kind, at)
        for number in (PRIMARY_FIELD, SECONDARY_FIELD)
        for at, kind in places(data, found.descriptor, (number,))
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
        of = copy.of or placement.version
        known = placement.copy_in(copy.cluster)
        notes = known.notes if known == replace(copy, of=of) and known is not None else {}
        new = new.with_copy(replace(copy, of=of, notes=notes))
    kept = {key: value for key, value in current.items() if not key.startswith(COPY_PREFIX)}
    return {**kept, **write_placement(new)}


def refuse_copies(data: bytes, found: Found, facts: Mapping[str, str]) -> None:
    """Raises FormatNotCopied where the client gave copies to a table of Iceberg."""
    if any(key.startswith(COPY_PREFIX) for key in facts):
        why = why_not_copied(Table(read_value(data, found.start, STRUCT)[0]))
        if why is not None:
            raise FormatNotCopied(why)
