"""Edits of the locations of an object in a request (D12)."""

from conf.placement import Placement
from metastore.client.object_spans import Edit, Found, encoded, text
from metastore.view.locations import ClusterView
from metastore.view.lookups import TableNow
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


def keep_folder(found: Found, table: TableNow, view: ClusterView) -> list[Edit]:
    """Sets the serde's `path` of a renamed table to its folder, if the metastore will not move it.

    The metastore moves only folders in its own warehouse, that of the default cluster; Spark has
    already written the new folder's name into `path`.
    """
    if found.path is None or not view.is_foreign(table.location):
        return []
    return [(*found.path, encoded(table.location))]
