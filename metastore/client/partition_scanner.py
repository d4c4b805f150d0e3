"""Finds the parts of many partitions of one table quickly.

Partitions of a table differ in their values, times, location and parameters; nearly all have the
same bytes between these. The scanner remembers those bytes of the last partition that it scanned
field by field. A partition with the same bytes has the same structure and is not scanned again.
"""

from struct import Struct as Format
from struct import error as Truncated

from conf.placement import RESERVED_PREFIX
from metastore.client.object_spans import ObjectSpans, Shape, Span, scan, scan_parameters
from thriftcodec.values import I32

VALUES, CREATED, ACCESSED = 1, 4, 5  # fields of Partition
_U32 = Format(">I").unpack_from
_LIST_OF_STRINGS = b"\x0f\x00\x01\x0b"
_MAP_OF_STRINGS = b"\x0b\x0b"
_FIELD_HEADER = 3  # bytes
_RESERVED = RESERVED_PREFIX.encode()


class PartitionScanner:
    """Scans the partitions of one reply or request. `facts` of a partition are empty if its
    parameters do not contain the text `causeway.`."""

    def __init__(self) -> None:
        self._known = False
        self._names = b""  # from the values to the time of creation
        self._created = 0  # its length
        self._between = b""  # from the time of creation to that of the last access
        self._accessed = 0  # its length
        self._head = b""  # from the times to the location
        self._tail = b""  # from the location to the parameters
        self._rest = b""  # from the parameters to the end
        self._descriptor_end = 0  # its distance from the location's end

    def scan(self, data: bytes | bytearray, at: int) -> ObjectSpans:
        """The partition that begins at `at`. Raises Incomplete, MalformedMessage."""
        if self._known:
            try:
                spans = self._scan_like_last(data, at)
            except Truncated:
                spans = None
            if spans is not None:
                return spans
        spans = scan(data, at, Shape.PARTITION)
        self._remember(data, spans)
        return spans

    def _scan_like_last(self, data: bytes | bytearray, at: int) -> ObjectSpans | None:
        """The partition's spans; None if its bytes differ from the last one's. It has few function
        calls, because it runs for each of many partitions."""
        if not data.startswith(_LIST_OF_STRINGS, at):
            return None
        start = at
        count = _U32(data, at + 4)[0]
        at += 8
        for _ in range(count):
            at += 4 + _U32(data, at)[0]
        values_end = at
        if not data.startswith(self._names, at):
            return None
        at += len(self._names) + self._created
        if not data.startswith(self._between, at):
            return None
        at += len(self._between) + self._accessed
        if not data.startswith(self._head, at):
            return None
        location = at + len(self._head)
        after = location + 4 + _U32(data, location)[0]
        if not data.startswith(self._tail, after):
            return None
        parameters = at = after + len(self._tail)
        if not data.startswith(_MAP_OF_STRINGS, at):
            return None
        count = _U32(data, at + 2)[0]
        at += 6
        for _ in range(count):
            at += 4 + _U32(data, at)[0]
            at += 4 + _U32(data, at)[0]
        if not data.startswith(self._rest, at):
            return None
        spans = ObjectSpans(start, at + len(self._rest), location - 1, after + self._descriptor_end)
        spans.location = (location, after)
        spans.parameters = (parameters, at)
        spans.fields = {VALUES: (start + _FIELD_HEADER, values_end)}
        if data.find(_RESERVED, parameters, at) >= 0:
            scan_parameters(data, parameters, spans)
        return spans

    def _remember(self, data: bytes | bytearray, spans: ObjectSpans) -> None:
        self._known = False
        values, location, parameters = spans.fields.get(VALUES), spans.location, spans.parameters
        if values is None or location is None or parameters is None:
            return
        created = _time(data, spans, CREATED) or (location[0], location[0])
        accessed = _time(data, spans, ACCESSED) or (location[0], location[0])
        places = (values[1], *created, *accessed, location[0], parameters[0])
        if values[0] != spans.start + _FIELD_HEADER or list(places) != sorted(places):
            return
        self._known = True
        self._names = bytes(data[values[1] : created[0]])
        self._created = created[1] - created[0]
        self._between = bytes(data[created[1] : accessed[0]])
        self._accessed = accessed[1] - accessed[0]
        self._head = bytes(data[accessed[1] : location[0]])
        self._tail = bytes(data[location[1] : parameters[0]])
        self._rest = bytes(data[parameters[1] : spans.end])
        self._descriptor_end = spans.descriptor_end - location[1]


def _time(data: bytes | bytearray, spans: ObjectSpans, field: int) -> Span | None:
    """The span of a time; None if it is missing or no i32, because only an i32 has a fixed size."""
    span = spans.fields.get(field)
    return span if span is not None and data[span[0] - _FIELD_HEADER] == I32 else None
