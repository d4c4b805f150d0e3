"""Thrift's binary protocol, between bytes and trees that keep every field.

A value on the wire is an int (bool, byte, i16, i32, i64), a float, a str, a `Struct`, an `Items`
(list or set) or a `Pairs` (map). A str holds any bytes: those that are not UTF-8 become lone
surrogates and come back as they were.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import Any

STOP, BOOL, BYTE, DOUBLE, I16, I32, I64 = 0, 2, 3, 4, 6, 8, 10
STRING, STRUCT, MAP, SET, LIST = 11, 12, 13, 14, 15
CALL, REPLY, EXCEPTION, ONEWAY = 1, 2, 3, 4
VERSION_1 = 0x80010000
MAX_DEPTH = 64

FIXED_SIZE = {BOOL: 1, BYTE: 1, DOUBLE: 8, I16: 2, I32: 4, I64: 8}
_I16 = struct.Struct(">h")
_I32 = struct.Struct(">i")
_FIELD = struct.Struct(">bh")
_LIST = struct.Struct(">bi")
_MAP = struct.Struct(">bbi")
_NUMBERS = {
    BOOL: struct.Struct(">b"),
    BYTE: struct.Struct(">b"),
    DOUBLE: struct.Struct(">d"),
    I16: _I16,
    I32: _I32,
    I64: struct.Struct(">q"),
}

Value = Any  # int | float | str | Struct | Items | Pairs; a closed union that mypy cannot narrow


class Incomplete(Exception):
    """The value goes on beyond the bytes at hand."""


class Malformed(ValueError):
    """The bytes cannot be a thrift value."""


class Struct:
    """A thrift struct: `fields[id] = (type, value)` in the order of the wire."""

    __slots__ = ("fields",)

    def __init__(self, fields: Mapping[int, tuple[int, Value]] | None = None) -> None:
        self.fields: dict[int, tuple[int, Value]] = dict(fields or {})

    def get(self, field: int, default: Value = None) -> Value:
        entry = self.fields.get(field)
        return default if entry is None else entry[1]

    def set(self, field: int, kind: int, value: Value) -> None:
        self.fields[field] = (kind, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct) and self.fields == other.fields

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Struct({self.fields!r})"


class Items(list[Value]):
    """A thrift list or set whose elements are of wire type `kind`."""

    __slots__ = ("kind",)

    def __init__(self, kind: int, items: Iterable[Value] = ()) -> None:
        super().__init__(items)
        self.kind = kind


class Pairs(dict[Any, Value]):
    """A thrift map whose keys and values are of those wire types."""

    __slots__ = ("key_kind", "value_kind")

    def __init__(self, key_kind: int, value_kind: int, pairs: Iterable[Any] = ()) -> None:
        super().__init__(pairs)
        self.key_kind = key_kind
        self.value_kind = value_kind


def strings(values: Iterable[str]) -> Items:
    """A list<string>."""
    return Items(STRING, values)


def string_map(pairs: Mapping[str, str]) -> Pairs:
    """A map<string, string>."""
    return Pairs(STRING, STRING, pairs.items())


def read_value(data: bytes | bytearray, at: int, kind: int, depth: int = 0) -> tuple[Value, int]:
    """The value of wire type `kind` at `at`, and where it ends. Raises Incomplete, Malformed."""
    if kind == STRING:
        return _read_string(data, at)
    if kind == STRUCT:
        return read_struct(data, at, depth)
    if kind in _NUMBERS:
        number = _NUMBERS[kind]
        end = at + number.size
        if end > len(data):
            raise Incomplete
        return number.unpack_from(data, at)[0], end
    if depth > MAX_DEPTH:
        raise Malformed("nested too deep")
    if kind in (LIST, SET):
        element, count, at = read_list_header(data, at)
        items = Items(element)
        for _ in range(count):
            value, at = read_value(data, at, element, depth + 1)
            items.append(value)
        return items, at
    if kind == MAP:
        return _read_map(data, at, depth)
    raise Malformed(f"unknown wire type {kind}")


def read_struct(data: bytes | bytearray, at: int, depth: int = 0) -> tuple[Struct, int]:
    """The struct at `at`, and where it ends."""
    if depth > MAX_DEPTH:
        raise Malformed("nested too deep")
    result = Struct()
    fields = result.fields
    while True:
        kind, field, at = read_field_header(data, at)
        if kind == STOP:
            return result, at
        value, at = read_value(data, at, kind, depth + 1)
        fields[field] = (kind, value)


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


def read_list_header(data: bytes | bytearray, at: int) -> tuple[int, int, int]:
    """Element type, count and end of the header of a list or set."""
    if at + 5 > len(data):
        raise Incomplete
    element, count = _LIST.unpack_from(data, at)
    if count < 0:
        raise Malformed(f"list of {count}")
    return element, count, at + 5


def skip_value(data: bytes | bytearray, at: int, kind: int, depth: int = 0) -> int:
    """Where the value of wire type `kind` at `at` ends."""
    if kind == STRING:
        return string_end(data, at)
    size = FIXED_SIZE.get(kind)
    if size is not None:
        return at + size if at + size <= len(data) else _raise_incomplete()
    if depth > MAX_DEPTH:
        raise Malformed("nested too deep")
    if kind == STRUCT:
        while True:
            inner, _, at = read_field_header(data, at)
            if inner == STOP:
                return at
            at = skip_value(data, at, inner, depth + 1)
    if kind in (LIST, SET):
        element, count, at = read_list_header(data, at)
        if element in FIXED_SIZE:
            at += count * FIXED_SIZE[element]
            return at if at <= len(data) else _raise_incomplete()
        for _ in range(count):
            at = skip_value(data, at, element, depth + 1)
        return at
    if kind == MAP:
        keys, values, count, at = read_map_header(data, at)
        for _ in range(count):
            at = skip_value(data, at, keys, depth + 1)
            at = skip_value(data, at, values, depth + 1)
        return at
    raise Malformed(f"unknown wire type {kind}")


def write_value(out: bytearray, kind: int, value: Value) -> None:
    """Append the value as wire type `kind`."""
    if kind == STRING:
        raw = value.encode("utf-8", "surrogateescape")
        out += _I32.pack(len(raw))
        out += raw
    elif kind == STRUCT:
        write_struct(out, value)
    elif kind in (LIST, SET):
        out += _LIST.pack(value.kind, len(value))
        for item in value:
            write_value(out, value.kind, item)
    elif kind == MAP:
        out += _MAP.pack(value.key_kind, value.value_kind, len(value))
        for key, item in value.items():
            write_value(out, value.key_kind, key)
            write_value(out, value.value_kind, item)
    else:
        out += _NUMBERS[kind].pack(value)


def write_struct(out: bytearray, value: Struct) -> None:
    for field, (kind, item) in value.fields.items():
        out += _FIELD.pack(kind, field)
        write_value(out, kind, item)
    out.append(STOP)


def call_bytes(method: str, sequence: int, arguments: Struct) -> bytes:
    """One strict-mode call message, unframed as the metastore wants it."""
    name = method.encode("utf-8", "surrogateescape")
    out = bytearray(struct.pack(">Ii", VERSION_1 | CALL, len(name)))
    out += name
    out += _I32.pack(sequence)
    write_struct(out, arguments)
    return bytes(out)


def read_message_header(data: bytes | bytearray, at: int = 0) -> tuple[int, str, int, int]:
    """Message type, method, sequence number and where the arguments or result begin."""
    if len(data) < at + 8:
        raise Incomplete
    version, length = struct.unpack_from(">Ii", data, at)
    if version & 0xFFFF0000 != VERSION_1 or not 0 <= length < 1024:
        raise Malformed("not a strict binary message")
    end = at + 8 + length
    if len(data) < end + 4:
        raise Incomplete
    name = bytes(data[at + 8 : end]).decode("utf-8", "surrogateescape")
    return version & 0xFF, name, _I32.unpack_from(data, end)[0], end + 4


def string_end(data: bytes | bytearray, at: int) -> int:
    """Where the string at `at` ends."""
    if at + 4 > len(data):
        raise Incomplete
    length = _I32.unpack_from(data, at)[0]
    if length < 0:
        raise Malformed(f"string of {length} bytes")
    end: int = at + 4 + length
    if end > len(data):
        raise Incomplete
    return end


def _read_string(data: bytes | bytearray, at: int) -> tuple[str, int]:
    end = string_end(data, at)
    return str(data[at + 4 : end], "utf-8", "surrogateescape"), end


def read_map_header(data: bytes | bytearray, at: int) -> tuple[int, int, int, int]:
    """Key type, value type, count and end of the header of a map."""
    if at + 6 > len(data):
        raise Incomplete
    keys, values, count = _MAP.unpack_from(data, at)
    if count < 0:
        raise Malformed(f"map of {count}")
    return keys, values, count, at + 6


def _read_map(data: bytes | bytearray, at: int, depth: int) -> tuple[Pairs, int]:
    keys, values, count, at = read_map_header(data, at)
    pairs = Pairs(keys, values)
    for _ in range(count):
        key, at = read_value(data, at, keys, depth + 1)
        value, at = read_value(data, at, values, depth + 1)
        try:
            pairs[key] = value
        except TypeError as error:
            raise Malformed("a map's key is not a plain value") from error
    return pairs, at


def _raise_incomplete() -> int:
    raise Incomplete
