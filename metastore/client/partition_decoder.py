"""Many partitions read quickly: only values, location and Causeway's parameters.

Partitions of one table have nearly the same storage descriptor. The bytes before and after its
location are remembered and compared at once; a decoder in the same state reads the same bytes to
the same end, so an equal prefix needs no decoding.
"""

from dataclasses import dataclass

from conf.placement import RESERVED_PREFIX
from thriftcodec.errors import Incomplete, MalformedMessage
from thriftcodec.reader import read_value
from thriftcodec.skip import read_field_header, skip_value
from thriftcodec.values import LIST, MAP, STOP, STRING, STRUCT

_RESERVED = RESERVED_PREFIX.encode()
_VALUES, _STORAGE, _PARAMETERS = 1, 6, 7
_LOCATION = 2
_TYPES = {_VALUES: LIST, _STORAGE: STRUCT, _PARAMETERS: MAP}


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """What routing needs of one partition. `parameters` are the `causeway.` ones alone."""

    values: tuple[str, ...]
    location: str
    parameters: dict[str, str]


@dataclass(slots=True)
class PartitionDecoder:
    """Decodes one Partition after another; call it as a `Decoder`."""

    _before: bytes = b"\xff"
    _after: bytes = b"\xff"

    def __call__(self, data: bytes | bytearray, at: int) -> tuple[PartitionFacts, int]:
        values: tuple[str, ...] = ()
        location = ""
        parameters: dict[str, str] = {}
        while True:
            kind, number, at = read_field_header(data, at)
            if kind == STOP:
                return PartitionFacts(values, location, parameters), at
            if _TYPES.get(number, kind) != kind:
                raise MalformedMessage(f"field {number} of a partition has type {kind}")
            if number == _VALUES:
                items, at = read_value(data, at, LIST)
                values = tuple(items)
            elif number == _STORAGE:
                location, at = self._storage(data, at)
            elif number == _PARAMETERS:
                parameters, at = _own_parameters(data, at)
            else:
                at = skip_value(data, at, kind)

    def _storage(self, data: bytes | bytearray, at: int) -> tuple[str, int]:
        start = at
        if data.startswith(self._before, at):
            at += len(self._before)
        else:
            at = _find_location(data, at)
            if at < 0:
                return "", skip_value(data, start, STRUCT)
            self._before = bytes(data[start:at])
        location, at = read_value(data, at, STRING)
        if data.startswith(self._after, at):
            return location, at + len(self._after)
        start, at = at, _skip_fields(data, at)
        self._after = bytes(data[start:at])
        return location, at


def _find_location(data: bytes | bytearray, at: int) -> int:
    """Where the location's string begins in a storage descriptor; -1 when it has none."""
    while True:
        kind, number, at = read_field_header(data, at)
        if kind == STOP:
            return -1
        if number == _LOCATION and kind == STRING:
            return at
        at = skip_value(data, at, kind)


def _skip_fields(data: bytes | bytearray, at: int) -> int:
    while True:
        kind, _, at = read_field_header(data, at)
        if kind == STOP:
            return at
        at = skip_value(data, at, kind)


def _own_parameters(data: bytes | bytearray, at: int) -> tuple[dict[str, str], int]:
    if at + 6 > len(data):
        raise Incomplete
    keys, values = data[at], data[at + 1]
    count = int.from_bytes(data[at + 2 : at + 6], "big")
    if count and (keys, values) != (STRING, STRING):
        raise MalformedMessage("parameters are not text")
    at += 6
    own: dict[str, str] = {}
    for _ in range(count):
        start = at + 4
        at = start + int.from_bytes(data[at:start], "big")
        mine = data.startswith(_RESERVED, start)
        key_end = at
        at += 4 + int.from_bytes(data[at : at + 4], "big")
        if at > len(data) or key_end + 4 > len(data):
            raise Incomplete
        if mine:
            key = str(data[start:key_end], "utf-8", "surrogateescape")
            own[key] = str(data[key_end + 4 : at], "utf-8", "surrogateescape")
    return own, at
