"""Finds the parts of tables, partitions and databases in Thrift bytes, and replaces some of them.

Fields that are not named here are skipped and keep their bytes, so a field of a newer version is
neither lost nor changed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from struct import Struct as Format

from conf.placement import RESERVED_PREFIX
from thriftcodec.errors import Incomplete, MalformedMessage
from thriftcodec.skip import find_values, read_field_header, read_list_header, skip_value, text_at
from thriftcodec.values import MAP, STOP, STRING, STRUCT

Span = tuple[int, int]
Edit = tuple[int, int, bytes]

_U32 = Format(">I").unpack_from
_RESERVED = RESERVED_PREFIX.encode()
_SD_LOCATION, _SD_SERDE, _SERDE_PARAMETERS = 2, 7, 3
_MAP_HEADER = 6
_PARTITION_KEYS = 8
_NO_FIELD = -1


class Shape(Enum):
    """The Thrift structure of an object."""

    TABLE = "table"
    PARTITION = "partition"
    BARE_PARTITION = "bare"  # PartitionWithoutSD
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class Layout:
    """The ids of the fields that matter in a structure of one shape."""

    descriptor: int = _NO_FIELD
    parameters: int = _NO_FIELD
    location: int = _NO_FIELD


LAYOUTS = {
    Shape.TABLE: Layout(descriptor=7, parameters=9),
    Shape.PARTITION: Layout(descriptor=6, parameters=7),
    Shape.BARE_PARTITION: Layout(parameters=5),
    Shape.DATABASE: Layout(location=3),
}


@dataclass(slots=True)
class ObjectSpans:
    """Where the parts of one object are in the bytes. Spans of strings and maps include their
    length or header.

    `start` is the object's first byte, `end` the byte after its STOP; `descriptor_end` is the
    position of the storage descriptor's STOP. `path` is the serde's parameter of that name. `facts`
    are the object's `causeway.` parameters. `fields` has the spans of the other fields by id.
    """

    start: int
    end: int = 0
    descriptor: int | None = None
    descriptor_end: int = 0
    location: Span | None = None
    path: Span | None = None
    parameters: Span | None = None
    facts: dict[str, str] = field(default_factory=dict)
    fields: dict[int, Span] = field(default_factory=dict)


def scan(data: bytes | bytearray, at: int, shape: Shape) -> ObjectSpans:
    """The spans of the object that begins at `at`. Raises Incomplete, MalformedMessage."""
    layout = LAYOUTS[shape]
    spans = ObjectSpans(at)
    while True:
        kind, number, value = read_field_header(data, at)
        if kind == STOP:
            spans.end = value
            return spans
        if number == layout.descriptor and kind == STRUCT:
            _once(spans.descriptor)
            at = _scan_descriptor(data, value, spans, shape)
        elif number == layout.parameters and kind == MAP:
            _once(spans.parameters)
            at = scan_parameters(data, value, spans)
        else:
            at = skip_value(data, value, kind)
            spans.fields[number] = (value, at)
            if number == layout.location and kind == STRING:
                spans.location = (value, at)


def _once(before: int | Span | None) -> None:
    """Raises MalformedMessage if the field was found before. The metastore uses one value of a
    repeated field, and the view might check the other one."""
    if before is not None:
        raise MalformedMessage("a field is there twice")


def is_partitioned(data: bytes | bytearray, table: ObjectSpans) -> bool:
    """Whether the table has partition keys."""
    keys = table.fields.get(_PARTITION_KEYS)
    return keys is not None and read_list_header(data, keys[0])[1] > 0


def entries(data: bytes | bytearray, span: Span) -> Iterator[tuple[bytes, Span]]:
    """The entries of a map<string, string>: each key, and the span of its entry."""
    at = span[0] + _MAP_HEADER
    while at < span[1]:
        middle = skip_value(data, at, STRING)
        end = skip_value(data, middle, STRING)
        yield bytes(data[at + 4 : middle]), (at, end)
        at = end


def encoded(value: str) -> bytes:
    """A string with its length before it."""
    raw = value.encode("utf-8", "surrogateescape")
    return len(raw).to_bytes(4, "big") + raw


def spliced(data: bytes | bytearray, start: int, end: int, edits: list[Edit]) -> bytes:
    """`data[start:end]` after the edits, which may come in any order and must not overlap."""
    pieces: list[bytes | bytearray] = []
    for first, last, replacement in sorted(edits):
        pieces += (data[start:first], replacement)
        start = last
    pieces.append(data[start:end])
    return b"".join(pieces)


def _scan_descriptor(data: bytes | bytearray, at: int, spans: ObjectSpans, shape: Shape) -> int:
    """Records the parts of a storage descriptor; returns the position after it. The `path` of a
    partition's serde is skipped: it is that of its table, and Spark does not read it."""
    spans.descriptor = at
    while True:
        kind, number, value = read_field_header(data, at)
        if kind == STOP:
            spans.descriptor_end = at
            return value
        at = skip_value(data, value, kind)
        if number == _SD_LOCATION and kind == STRING:
            spans.location = (value, at)
        elif number == _SD_SERDE and kind == STRUCT and shape is Shape.TABLE:
            spans.path = _serde_path(data, value)


def _serde_path(data: bytes | bytearray, at: int) -> Span | None:
    for start, kind in find_values(data, at, (_SERDE_PARAMETERS,)):
        if kind != MAP:
            continue
        for key, (entry, end) in entries(data, (start, skip_value(data, start, MAP))):
            if key.lower() == b"path":
                return entry + 4 + len(key), end
    return None


def scan_parameters(data: bytes | bytearray, at: int, spans: ObjectSpans) -> int:
    """Records the span of the parameters that begin at `at`, and the facts among them. Returns the
    position after the parameters."""
    if at + _MAP_HEADER > len(data):
        raise Incomplete
    start = at
    count = _U32(data, at + 2)[0]
    size = len(data)
    at += _MAP_HEADER
    if count and (data[start], data[start + 1]) != (STRING, STRING):
        raise MalformedMessage("parameters are not text")
    for _ in range(count):
        if at + 4 > size:
            raise Incomplete
        middle = at + 4 + _U32(data, at)[0]
        if middle + 4 > size:
            raise Incomplete
        end = middle + 4 + _U32(data, middle)[0]
        if data.startswith(_RESERVED, at + 4):
            if end > size:
                raise Incomplete
            spans.facts[text_at(data, at)] = text_at(data, middle)
        at = end
    if at > size:
        raise Incomplete
    spans.parameters = (start, at)
    return at
