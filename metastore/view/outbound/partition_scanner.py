"""Goes over the partitions of one table quickly.

They differ in their values, time, location and parameters; all else is the same bytes again and
again. What lies between those is remembered from the last partition that was walked with care:
bytes equal to a structure already understood need no second look.
"""

from struct import Struct as Format
from struct import error as Truncated

from conf.placement import RESERVED_PREFIX
from metastore.view.methods import Shape
from metastore.view.objects import Found, scan, scan_parameters

_U32 = Format(">I").unpack_from
_VALUES, _CREATED = 1, 4  # fields of Partition
_LIST_OF_STRINGS = b"\x0f\x00\x01\x0b"
_MAP_OF_STRINGS = b"\x0b\x0b"


class PartitionWalker:
    """`marker` is what a partition's parameters have when its facts matter to the caller."""

    def __init__(self, marker: str = RESERVED_PREFIX) -> None:
        self._marker = marker.encode()
        self._known = False
        self._names = b""  # from the values to the time
        self._time = 0  # its length
        self._head = b""  # from the time to the location
        self._tail = b""  # from the location to the parameters
        self._rest = b""  # from the parameters to the end
        self._descriptor_end = 0  # from the location's end

    def walk(self, data: bytes | bytearray, at: int) -> Found:
        """The partition that begins at `at`; `ours` is empty where the marker is not in it.

        Raises Incomplete, Malformed.
        """
        if self._known:
            try:
                found = self._quick(data, at)
            except Truncated:
                found = None
            if found is not None:
                return found
        found = scan(data, at, Shape.PARTITION)
        self._remember(data, found)
        return found

    def _quick(self, data: bytes | bytearray, at: int) -> Found | None:
        """None when it is not like the one before. A loop of few calls: it runs most of all."""
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
        at += len(self._names) + self._time
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
        found = Found(start, at + len(self._rest), location - 1, after + self._descriptor_end)
        found.location = (location, after)
        found.parameters = (parameters, at)
        found.fields = {_VALUES: (start + 3, values_end)}
        if data.find(self._marker, parameters, at) >= 0:
            scan_parameters(data, parameters, found)
        return found

    def _remember(self, data: bytes | bytearray, found: Found) -> None:
        self._known = False
        values, location, parameters = found.fields.get(_VALUES), found.location, found.parameters
        if values is None or location is None or parameters is None:
            return
        created = found.fields.get(_CREATED, (location[0], location[0]))
        in_order = values[1] <= created[0] <= created[1] <= location[0] <= parameters[0]
        if in_order and values[0] == found.start + 3:
            self._known = True
            self._names = bytes(data[values[1] : created[0]])
            self._time = created[1] - created[0]
            self._head = bytes(data[created[1] : location[0]])
            self._tail = bytes(data[location[1] : parameters[0]])
            self._rest = bytes(data[parameters[1] : found.end])
            self._descriptor_end = found.descriptor_end - location[1]
