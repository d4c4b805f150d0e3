"""Decodes bytes into trees of values."""

import struct
from enum import Enum

from thriftcodec.errors import Incomplete, MalformedMessage
from thriftcodec.skip import FIXED_SIZE, read_list_header, read_map_header, read_message_header
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
    Items,
    Message,
    Pairs,
    Struct,
    Value,
)

UNLIMITED = 1 << 62  # values
_I16 = struct.Struct(">h")
_I32 = struct.Struct(">i")
_NUMBERS = {
    BOOL: struct.Struct(">b"),
    BYTE: struct.Struct(">b"),
    DOUBLE: struct.Struct(">d"),
    I16: _I16,
    I32: _I32,
    I64: struct.Struct(">q"),
}
# A field's id with its number; below, with the length of its text.
_NUMBER_FIELDS = {
    kind: struct.Struct(f">h{number.format[1:]}") for kind, number in _NUMBERS.items()
}
_TEXT_FIELD = struct.Struct(">hi")
# The smallest size of an element in bytes, to check a count before a list is made.
_MIN_SIZE = {**FIXED_SIZE, STRING: 4, STRUCT: 1, MAP: 6, SET: 5, LIST: 5}


class Texts(Enum):
    """The type of decoded texts: bytes, or str with lone surrogates for bytes that are no UTF-8."""

    BYTES = "bytes"
    STR = "str"


def decode_message(
    data: bytes | bytearray, max_values: int = UNLIMITED, texts: Texts = Texts.BYTES
) -> Message:
    """The message in `data`, with at most `max_values` values (fields and elements).

    Raises MalformedMessage, also if bytes follow the message.
    """
    kind, name, seqid, at = read_message_header(data)
    reader = _Reader(memoryview(data) if isinstance(data, bytearray) else data, texts, max_values)
    body, end = reader.struct(at, 0)
    if end != len(data):
        raise MalformedMessage(f"{len(data) - end} bytes after the end of {name}.")
    return Message(name, kind, seqid, body)


def read_struct(data: bytes | bytearray, at: int) -> tuple[Struct, int]:
    """The struct at the position `at`, with texts as str, and the position of its end.

    Raises Incomplete, MalformedMessage.
    """
    return _Reader(data, Texts.STR, UNLIMITED).struct(at, 0)


def read_value(data: bytes | bytearray, at: int, kind: int) -> tuple[Value, int]:
    """The value of wire type `kind` at the position `at`, with texts as str, and its end.

    Raises Incomplete, MalformedMessage.
    """
    return _Reader(data, Texts.STR, UNLIMITED).value(at, kind, 0)


class _Reader:
    """Reads values of one buffer. Every method takes a position and returns a value and its end."""

    __slots__ = ("_as_str", "_data", "_left")

    def __init__(self, data: bytes | bytearray | memoryview, texts: Texts, max_values: int) -> None:
        self._data = data
        self._as_str = texts is Texts.STR
        self._left = max_values

    def value(self, at: int, kind: int, depth: int) -> tuple[Value, int]:
        if kind == STRING:
            return self._text(at)
        if kind == STRUCT:
            return self.struct(at, depth)
        number = _NUMBERS.get(kind)
        if number is not None:
            try:
                return number.unpack_from(self._data, at)[0], at + number.size
            except struct.error as error:
                raise Incomplete from error
        if depth > MAX_DEPTH:
            raise MalformedMessage("A message is nested too deeply.")
        if kind in (LIST, SET):
            return self._items(at, depth)
        if kind == MAP:
            return self._pairs(at, depth)
        raise MalformedMessage(f"Unknown wire type {kind}.")

    def struct(self, at: int, depth: int) -> tuple[Struct, int]:
        """Reads texts and numbers without a call for each, for speed. It does not check their ends:
        after a text that exceeds the buffer there is no stop byte, which raises Incomplete."""
        if depth > MAX_DEPTH:
            raise MalformedMessage("A message is nested too deeply.")
        data, as_str = self._data, self._as_str
        result = Struct()
        fields = result.fields
        left = self._left
        try:
            while (kind := data[at]) != STOP:
                left -= 1
                if kind == STRING:
                    field, length = _TEXT_FIELD.unpack_from(data, at + 1)
                    if length < 0:
                        raise MalformedMessage(f"A text of {length} bytes.")
                    start, at = at + 7, at + 7 + length
                    raw = data[start:at]
                    fields[field] = (
                        STRING,
                        str(raw, "utf-8", "surrogateescape") if as_str else bytes(raw),
                    )
                elif (number := _NUMBER_FIELDS.get(kind)) is not None:
                    field, value = number.unpack_from(data, at + 1)
                    fields[field] = (kind, value)
                    at += 1 + number.size
                else:
                    self._left = left
                    (field,) = _I16.unpack_from(data, at + 1)
                    value, at = self.value(at + 3, kind, depth + 1)
                    fields[field] = (kind, value)
                    left = self._left
                if left < 0:
                    raise MalformedMessage("A message of too many values.")
        except (IndexError, struct.error) as error:
            raise Incomplete from error
        self._left = left
        return result, at + 1

    def _text(self, at: int) -> tuple[str | bytes, int]:
        data = self._data
        if at + 4 > len(data):
            raise Incomplete
        (length,) = _I32.unpack_from(data, at)
        if length < 0:
            raise MalformedMessage(f"A text of {length} bytes.")
        end = at + 4 + length
        if end > len(data):
            raise Incomplete
        raw = data[at + 4 : end]
        return str(raw, "utf-8", "surrogateescape") if self._as_str else bytes(raw), end

    def _items(self, at: int, depth: int) -> tuple[Items, int]:
        element, count, at = read_list_header(self._data, at)
        self._check_count(at, count, element)
        items = Items(element)
        value: Value
        for _ in range(count):
            if element == STRING:
                value, at = self._text(at)
            else:
                value, at = self.value(at, element, depth + 1)
            items.append(value)
        return items, at

    def _pairs(self, at: int, depth: int) -> tuple[Pairs, int]:
        keys, values, count, at = read_map_header(self._data, at)
        self._check_count(at, count, keys, values)
        pairs = Pairs(keys, values)
        for _ in range(count):
            key, at = self.value(at, keys, depth + 1)
            value, at = self.value(at, values, depth + 1)
            try:
                pairs[key] = value
            except TypeError as error:
                raise MalformedMessage("A map's key is not a plain value.") from error
        return pairs, at

    def _check_count(self, at: int, count: int, *kinds: int) -> None:
        if not count:
            return  # an empty container may name any types
        sizes = [_MIN_SIZE[kind] for kind in kinds if kind in _MIN_SIZE]
        if len(sizes) < len(kinds):
            raise MalformedMessage("Unknown wire type in a container.")
        if count * sum(sizes) > len(self._data) - at:
            raise Incomplete
        self._left -= count
        if self._left < 0:
            raise MalformedMessage("A message of too many values.")
