"""Encodes trees of values."""

import struct
from typing import cast

from thriftcodec.values import (
    BOOL,
    BYTE,
    CALL,
    DOUBLE,
    I16,
    I32,
    I64,
    STOP,
    STRING,
    STRUCT,
    VERSION_1,
    Encoded,
    Items,
    Message,
    Pairs,
    Struct,
    Value,
)

_HEAD = struct.Struct(">Ii")  # version with message type, length of the method's name
_FIELD = struct.Struct(">bh")
_LIST = struct.Struct(">bi")
_MAP = struct.Struct(">bbi")
_I32 = struct.Struct(">i")
_NUMBERS = {
    BOOL: struct.Struct(">b"),
    BYTE: struct.Struct(">b"),
    DOUBLE: struct.Struct(">d"),
    I16: struct.Struct(">h"),
    I32: _I32,
    I64: struct.Struct(">q"),
}


def encode_message(message: Message) -> bytes:
    """The bytes of a message."""
    out = bytearray(encode_head(message.name, message.kind, message.seqid))
    write_struct(out, message.body)
    return bytes(out)


def encode_head(name: str, kind: int, seqid: int) -> bytes:
    """The bytes before a message's struct."""
    raw = name.encode("utf-8", "surrogateescape")
    return _HEAD.pack(VERSION_1 | kind, len(raw)) + raw + _I32.pack(seqid)


def call_bytes(method: str, seqid: int, arguments: Struct) -> bytes:
    """The bytes of a call."""
    return encode_message(Message(method, CALL, seqid, arguments))


def encode_struct(fields: Struct) -> bytes:
    """The bytes of a struct, its stop byte included."""
    out = bytearray()
    write_struct(out, fields)
    return bytes(out)


def write_struct(out: bytearray, value: Struct) -> None:
    """Appends a struct and its stop byte."""
    for field, (kind, item) in value.fields.items():
        out += _FIELD.pack(kind, field)
        if kind == STRUCT and type(item) is Struct:
            write_struct(out, item)
        else:
            write_value(out, kind, item)
    out.append(STOP)


def write_value(out: bytearray, kind: int, value: Value) -> None:
    """Appends a value of wire type `kind`."""
    number = _NUMBERS.get(kind)
    if number is not None:
        out += number.pack(value)
    elif kind == STRING:
        raw = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
        out += _I32.pack(len(raw))
        out += raw
    elif isinstance(value, Struct):
        write_struct(out, value)
    elif isinstance(value, Items):
        out += _LIST.pack(value.kind, len(value))
        for item in value:
            write_value(out, value.kind, item)
    elif isinstance(value, Pairs):
        out += _MAP.pack(value.key_kind, value.value_kind, len(value))
        for key, item in value.items():
            write_value(out, value.key_kind, key)
            write_value(out, value.value_kind, item)
    else:
        out += cast(Encoded, value).data
