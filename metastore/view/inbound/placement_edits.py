"""Edits of the locations of an object in a request (D12)."""

from conf.placement import Placement
from metastore.client.object_spans import Edit, Found, encoded, text
from thriftcodec.values import STRING

_SD_LOCATION = 2


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
