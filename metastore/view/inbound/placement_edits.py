"""Edits of the locations of an object in a request (D12)."""

from conf.placement import Placement
from metastore.client.object_spans import Edit, ObjectSpans, encoded
from metastore.view.locations import ClusterView
from metastore.view.lookups import TableNow
from thriftcodec.skip import text_at
from thriftcodec.values import STRING

_SD_LOCATION = 2


def with_location(spans: ObjectSpans, location: str) -> list[Edit]:
    """The edits that set sd.location, also if the client sent none."""
    if spans.location is not None:
        return [(*spans.location, encoded(location))]
    if spans.descriptor is None:
        return []
    header = bytes((STRING,)) + _SD_LOCATION.to_bytes(2, "big")
    return [(spans.descriptor_end, spans.descriptor_end, header + encoded(location))]


def locations_back(
    data: bytes | bytearray, spans: ObjectSpans, placement: Placement, own: str
) -> list[Edit]:
    """The edits that put the object's own location in the place of a copy's. The view sent the
    copy's location to the client, and the client sends it back."""
    copies = {copy.location for copy in placement.copies}
    locations = (span for span in (spans.location, spans.path) if span is not None)
    return [(*span, encoded(own)) for span in locations if text_at(data, span[0]) in copies]


def keep_folder(spans: ObjectSpans, table: TableNow, view: ClusterView) -> list[Edit]:
    """The edits that set the serde's `path` of a renamed table back to its present folder, if the
    metastore will not move that folder.

    The metastore moves only folders in the default cluster's warehouse. Spark has already written
    the new folder's name into `path`.
    """
    if spans.path is None or not view.is_foreign(table.location):
        return []
    return [(*spans.path, encoded(table.location))]
