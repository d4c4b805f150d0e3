"""Edits of an object in a request that keep its cluster facts (D12)."""

from collections.abc import Mapping

from conf.placement import RESERVED_PREFIX, Placement
from metastore.client.object_spans import LAYOUTS, Edit, Found, Shape, encoded, entries, text
from thriftcodec.values import MAP, STRING

_RESERVED = RESERVED_PREFIX.encode()
_SD_LOCATION = 2


def with_facts(
    data: bytes | bytearray, found: Found, shape: Shape, ours: Mapping[str, str]
) -> list[Edit]:
    """Replaces the `causeway.` parameters that the client sent by `ours`."""
    if found.parameters is None:
        if not ours:
            return []
        header = bytes((MAP,)) + LAYOUTS[shape].parameters.to_bytes(2, "big")
        at = found.end - 1
        return [(at, at, header + _map((), ours))]
    kept = []
    for key, (start, end) in entries(data, found.parameters):
        if not key.startswith(_RESERVED):
            kept.append(bytes(data[start:end]))
    return [(*found.parameters, _map(kept, ours))]


def with_location(found: Found, location: str) -> list[Edit]:
    """Sets sd.location, also if the client sent none."""
    if found.location is not None:
        return [(*found.location, encoded(location))]
    if found.descriptor is None:
        return []
    header = bytes((STRING,)) + _SD_LOCATION.to_bytes(2, "big")
    return [(found.descriptor_end, found.descriptor_end, header + encoded(location))]


def locations_back(
    data: bytes | bytearray, found: Found, placement: Placement, own: str
) -> list[Edit]:
    """Replaces locations of copies, which the view has sent to the client, by the object's own."""
    copies = {copy.location for copy in placement.copies}
    spans = (span for span in (found.location, found.path) if span is not None)
    return [(*span, encoded(own)) for span in spans if text(data, span[0]) in copies]


def _map(kept: list[bytes] | tuple[()], ours: Mapping[str, str]) -> bytes:
    pairs = [encoded(key) + encoded(value) for key, value in ours.items()]
    count = (len(kept) + len(pairs)).to_bytes(4, "big")
    return b"".join((bytes((STRING, STRING)), count, *kept, *pairs))
