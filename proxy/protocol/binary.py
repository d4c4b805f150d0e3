"""TBinaryProtocol (strict), generically: a struct keeps the wire type of all its fields.

So what is not understood survives being read, changed elsewhere and written again. All
lengths are checked against what is there: nothing is allocated on a peer's word.
"""

import struct
from dataclasses import dataclass

from proxy.errors import WireError

BOOL, BYTE, DOUBLE, I16, I32, I64, STRING, STRUCT, MAP, SET, LIST = (
    2,
    3,
    4,
    6,
    8,
    10,
    11,
    12,
    13,
    14,
    15,
)
CALL, REPLY, EXCEPTION, ONEWAY = 1, 2, 3, 4
MAX_DEPTH = 64
MAX_VALUES = 1 << 18  # in a client's request: a byte of an empty struct takes 100 in memory

_VERSION = 0x80010000
_FIELD = struct.Struct(">bh")
_I16 = struct.Struct(">h")
_I32 = struct.Struct(">i")
_HEAD = struct.Struct(">II")  # version and kind, the length of the name
_NUMBERS = {
    BYTE: struct.Struct(">b"),
    DOUBLE: struct.Struct(">d"),
    I16: _I16,
    I32: _I32,
    I64: struct.Struct(">q"),
}
# The least bytes one element can take, so that a count is checked before a list is made.
_LEAST = {
    BOOL: 1,
    BYTE: 1,
    DOUBLE: 8,
    I16: 2,
    I32: 4,
    I64: 8,
    STRING: 4,
    STRUCT: 1,
    MAP: 6,
    SET: 5,
    LIST: 5,
}


@dataclass(frozen=True, slots=True)
class Items:
    """A list or set: all elements have the wire type `element`."""

    element: int
    values: "list[Value]"


@dataclass(frozen=True, slots=True)
class Pairs:
    """A map, in wire order."""

    key: int
    value: int
    pairs: "list[tuple[Value, Value]]"


@dataclass(frozen=True, slots=True)
class Encoded:
    """A value of any type as its bytes: only written, never read."""

    data: bytes


Struct = dict[int, "tuple[int, Value]"]
Value = bool | int | float | bytes | Struct | Items | Pairs | Encoded


@dataclass(frozen=True, slots=True)
class Message:
    """One thrift message: a call, reply or exception with its argument struct."""

    name: str
    kind: int
    seqid: int
    body: Struct


def decode_message(data: bytes, most: int = 1 << 40) -> Message:
    """The message that `data` is, whole, of `most` values at most: fields and elements.

    Raises WireError, also for bytes after its end.
    """
    reader = _Reader(data, most)
    name, kind, seqid = reader.head()
    body = reader.struct(0)
    if reader.at != len(data):
        raise WireError(f"{len(data) - reader.at} bytes after the end of {name}.")
    return Message(name, kind, seqid, body)


def decode_head(data: bytes) -> tuple[str, int, int, int]:
    """Name, kind and seqid of a message, and where its body starts. Raises WireError."""
    reader = _Reader(data)
    return (*reader.head(), reader.at)


def encode_message(message: Message) -> bytes:
    """The bytes of a message."""
    out = [encode_head(message.name, message.kind, message.seqid)]
    _write_struct(out, message.body)
    return b"".join(out)


def encode_head(name: str, kind: int, seqid: int) -> bytes:
    """The bytes before a message's body."""
    raw = name.encode()
    return _HEAD.pack(_VERSION | kind, len(raw)) + raw + _I32.pack(seqid)


def encode_struct(fields: Struct) -> bytes:
    """The bytes of a struct, its stop byte included."""
    out: list[bytes] = []
    _write_struct(out, fields)
    return b"".join(out)


class _Reader:
    __slots__ = ("at", "data", "room")

    def __init__(self, data: bytes, room: int = 0) -> None:
        self.data = data
        self.at = 0
        self.room = room

    def head(self) -> tuple[str, int, int]:
        version = self.length()
        if version & 0xFFFF0000 != _VERSION:
            raise WireError("Not a strict TBinaryProtocol message.")
        try:
            name = self.text().decode()
        except UnicodeDecodeError as error:
            raise WireError("A method's name is not text.") from error
        return name, version & 0xFF, self.length()

    def take(self, count: int) -> bytes:
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise WireError("A message ends too early.")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def length(self) -> int:
        try:
            (value,) = _I32.unpack_from(self.data, self.at)
        except struct.error as error:
            raise WireError("A message ends too early.") from error
        self.at += 4
        assert isinstance(value, int)
        return value

    def scalar(self, kind: int) -> int | float:
        packed = _NUMBERS[kind]
        try:
            (value,) = packed.unpack_from(self.data, self.at)
        except struct.error as error:
            raise WireError("A message ends too early.") from error
        self.at += packed.size
        assert isinstance(value, int | float)
        return value

    def text(self) -> bytes:
        return self.take(self.length())

    def struct(self, depth: int) -> Struct:
        """Texts, most of what there is, are read here: what runs past the end lacks a stop byte."""
        if depth > MAX_DEPTH:
            raise WireError("A message is nested too deeply.")
        data, at = self.data, self.at
        fields: Struct = {}
        try:
            while (kind := data[at]) != 0:
                (field,) = _I16.unpack_from(data, at + 1)
                self.take_room(1)
                if kind == STRING:
                    (length,) = _I32.unpack_from(data, at + 3)
                    if length < 0:
                        raise WireError("A text of negative length.")
                    at += 7 + length
                    fields[field] = (STRING, data[at - length : at])
                else:
                    self.at = at + 3
                    fields[field] = (kind, self.value(kind, depth))
                    at = self.at
        except (IndexError, struct.error) as error:
            raise WireError("A message ends too early.") from error
        self.at = at + 1
        return fields

    def take_room(self, count: int) -> None:
        self.room -= count
        if self.room < 0:
            raise WireError("A message of too many values.")

    def value(self, kind: int, depth: int) -> Value:
        if kind == STRING:
            return self.text()
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind == BOOL:
            return self.take(1) != b"\0"
        if kind in _NUMBERS:
            return self.scalar(kind)
        if depth > MAX_DEPTH:
            raise WireError("A message is nested too deeply.")
        if kind in (LIST, SET):
            return self.items(depth)
        if kind == MAP:
            return self.pairs(depth)
        raise WireError(f"Unknown wire type {kind}.")

    def items(self, depth: int) -> Items:
        element = self.take(1)[0]
        count = self.count(_LEAST.get(element))
        return Items(element, [self.value(element, depth + 1) for _ in range(count)])

    def pairs(self, depth: int) -> Pairs:
        key, value = self.take(2)
        count = self.length()
        if count == 0:
            return Pairs(key, value, [])
        self.at -= 4
        count = self.count(_LEAST.get(key), _LEAST.get(value))
        pairs = [(self.value(key, depth + 1), self.value(value, depth + 1)) for _ in range(count)]
        return Pairs(key, value, pairs)

    def count(self, *least: int | None) -> int:
        count = self.length()
        if count == 0:
            return 0
        sizes = [size for size in least if size is not None]
        if len(sizes) < len(least):
            raise WireError("Unknown wire type in a container.")
        if count < 0 or count * sum(sizes) > len(self.data) - self.at:
            raise WireError("A message ends too early.")
        self.take_room(count)
        return count


def _write_struct(out: list[bytes], fields: Struct) -> None:
    for field, (kind, value) in fields.items():
        out.append(_FIELD.pack(kind, field))
        _write_value(out, kind, value)
    out.append(b"\0")


def _write_value(out: list[bytes], kind: int, value: Value) -> None:
    if isinstance(value, bytes):
        out.append(_I32.pack(len(value)))
        out.append(value)
    elif isinstance(value, dict):
        _write_struct(out, value)
    elif isinstance(value, bool):
        out.append(b"\1" if value else b"\0")
    elif isinstance(value, int | float):
        out.append(_NUMBERS[kind].pack(value))
    elif isinstance(value, Items):
        out.append(bytes((value.element,)) + _I32.pack(len(value.values)))
        for each in value.values:
            _write_value(out, value.element, each)
    elif isinstance(value, Encoded):
        out.append(value.data)
    else:
        out.append(bytes((value.key, value.value)) + _I32.pack(len(value.pairs)))
        for key, mapped in value.pairs:
            _write_value(out, value.key, key)
            _write_value(out, value.value, mapped)
