"""Reads headers, skips values, and finds values by their path, without decoding anything else."""

import struct
from collections.abc import Iterator

from thriftcodec.errors import Incomplete, MalformedMessage
from thriftcodec.values import (
    BOOL,
    BYTE,
    DOUBLE,
    I16,
    I32,
    I64,
    LIST,
    MAP,
    MAX_DEPTH,
    SET,
    STOP,
    STRING,
    STRUCT,
    VERSION_1,
)

Path = tuple[int, ...]
"""The way to values in a struct: field ids, and EACH."""
EACH = -1  # in a path: every element of a list

FIXED_SIZE = {BOOL: 1, BYTE: 1, DOUBLE: 8, I16: 2, I32: 4, I64: 8}  # bytes
MAX_NAME = 1024  # bytes of a method's name
_HEAD = struct.Struct(">Ii")  # version with message type, length of the method's name
_FIELD = struct.Struct(">bh")
_LIST = struct.Struct(">bi")
_MAP = struct.Struct(">bbi")
_I32 = struct.Struct(">i")
_length = struct.Struct(">I").unpack_from


def read_message_header(data: bytes | bytearray, at: int = 0) -> tuple[int, str, int, int]:
    """Message type, method, sequence number, and the position of the argument or result struct.

    Raises Incomplete, MalformedMessage.
    """
    if len(data) < at + 8:
        raise Incomplete
    version, length = _HEAD.unpack_from(data, at)
    if version & 0xFFFF0000 != VERSION_1 or not 0 <= length < MAX_NAME:
        raise MalformedMessage("Not a strict TBinaryProtocol message.")
    end = at + 8 + length
    if len(data) < end + 4:
        raise Incomplete
    name = bytes(data[at + 8 : end]).decode("utf-8", "surrogateescape")
    return version & 0xFF, name, _I32.unpack_from(data, end)[0], end + 4


def read_field_header(data: bytes | bytearray, at: int) -> tuple[int, int, int]:
    """Type, id and end of the field header at `at`; type STOP has no id."""
    if at >= len(data):
        raise Incomplete
    if data[at] == STOP:
        return STOP, 0, at + 1
    if at + 3 > len(data):
        raise Incomplete
    kind, field = _FIELD.unpack_from(data, at)
    return kind, field, at + 3


def read_list_header(data: bytes | bytearray | memoryview, at: int) -> tuple[int, int, int]:
    """Element type, count and end of the header of a list or set."""
    if at + 5 > len(data):
        raise Incomplete
    element, count = _LIST.unpack_from(data, at)
    if count < 0:
        raise MalformedMessage(f"A list of {count} elements.")
    return element, count, at + 5


def read_map_header(data: bytes | bytearray | memoryview, at: int) -> tuple[int, int, int, int]:
    """Key type, value type, count and end of the header of a map."""
    if at + 6 > len(data):
        raise Incomplete
    keys, values, count = _MAP.unpack_from(data, at)
    if count < 0:
        raise MalformedMessage(f"A map of {count} elements.")
    return keys, values, count, at + 6


def string_end(data: bytes | bytearray, at: int) -> int:
    """The end of the text at the position `at`, which may be beyond `data`."""
    if at + 4 > len(data):
        raise Incomplete
    length: int = _I32.unpack_from(data, at)[0]
    if length < 0:
        raise MalformedMessage(f"A text of {length} bytes.")
    return at + 4 + length


def skip_value(data: bytes | bytearray, at: int, kind: int, depth: int = 0) -> int:
    """The end of the value of wire type `kind` at the position `at`.

    Raises Incomplete, MalformedMessage.
    """
    if kind == STRING:
        return _within(data, string_end(data, at))
    size = FIXED_SIZE.get(kind)
    if size is not None:
        return _within(data, at + size)
    if depth > MAX_DEPTH:
        raise MalformedMessage("A message is nested too deeply.")
    if kind == STRUCT:
        while True:
            inner, _, at = read_field_header(data, at)
            if inner == STOP:
                return at
            at = skip_value(data, at, inner, depth + 1)
    if kind in (LIST, SET):
        element, count, at = read_list_header(data, at)
        if element in FIXED_SIZE:
            return _within(data, at + count * FIXED_SIZE[element])
        for _ in range(count):
            at = skip_value(data, at, element, depth + 1)
        return at
    if kind == MAP:
        keys, values, count, at = read_map_header(data, at)
        for _ in range(count):
            at = skip_value(data, at, keys, depth + 1)
            at = skip_value(data, at, values, depth + 1)
        return at
    raise MalformedMessage(f"Unknown wire type {kind}.")


def _within(data: bytes | bytearray, end: int) -> int:
    if end > len(data):
        raise Incomplete
    return end


def find_values(
    data: bytes | bytearray, at: int, path: Path, kind: int = STRUCT
) -> Iterator[tuple[int, int]]:
    """The (position, wire type) of every value at `path` below the value at `at`.

    Raises Incomplete, and MalformedMessage, also if a field on the path is repeated: a receiver
    might use another value than the one that was checked.
    """
    if not path:
        yield at, kind
        return
    step, rest = path[0], path[1:]
    if step == EACH:
        if kind != LIST:
            raise MalformedMessage("a list was expected")
        element, count, at = read_list_header(data, at)
        for _ in range(count):
            yield from find_values(data, at, rest, element)
            at = skip_value(data, at, element)
        return
    if kind != STRUCT:
        raise MalformedMessage("a structure was expected")
    is_found = False
    while True:
        inner, number, value = read_field_header(data, at)
        if inner == STOP:
            return
        if number == step:
            if is_found:
                raise MalformedMessage("a field is there twice")
            is_found = True
            yield from find_values(data, value, rest, inner)
        at = skip_value(data, value, inner)


def strings_at(data: bytes | bytearray, at: int, path: Path) -> list[str]:
    """Every string at `path` in the struct at `at`."""
    return [text_at(data, start) for start, kind in find_values(data, at, path) if kind == STRING]


def text_at(data: bytes | bytearray, at: int) -> str:
    """The string whose length field begins at `at`."""
    end = at + 4 + _length(data, at)[0]
    return str(data[at + 4 : end], "utf-8", "surrogateescape")


def string_list(data: bytes | bytearray, at: int) -> list[str]:
    """The list of strings at `at`. Raises MalformedMessage for a list of anything else."""
    element, count, at = read_list_header(data, at)
    if element != STRING and count:
        raise MalformedMessage("a list of strings was expected")
    values = []
    for _ in range(count):
        values.append(text_at(data, at))
        at = skip_value(data, at, STRING)
    return values
