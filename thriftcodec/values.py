"""Wire types, and the Python types of decoded values.

A value is an int (bool, byte, i16, i32, i64), a float, a text, a `Struct`, an `Items` (list or set)
or a `Pairs` (map). A text is `bytes`, or a `str` with lone surrogates for bytes that are not UTF-8,
so that they are written unchanged; `reader.Texts` chooses between the two.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

STOP, BOOL, BYTE, DOUBLE, I16, I32, I64 = 0, 2, 3, 4, 6, 8, 10
STRING, STRUCT, MAP, SET, LIST = 11, 12, 13, 14, 15
CALL, REPLY, EXCEPTION = 1, 2, 3
# Types of a TApplicationException.
UNKNOWN_METHOD_CODE, INTERNAL_ERROR_CODE, PROTOCOL_ERROR_CODE = 1, 6, 7
VERSION_1 = 0x80010000
MAX_DEPTH = 64  # of structs and containers in each other

Value = (
    Any  # int | float | str | bytes | Struct | Items | Pairs | Encoded, which mypy cannot narrow
)


class Struct:
    """A struct: `fields[id] = (wire type, value)`, in the order of the bytes."""

    __slots__ = ("fields",)

    def __init__(self, fields: Mapping[int, tuple[int, Value]] | None = None) -> None:
        self.fields: dict[int, tuple[int, Value]] = {} if fields is None else dict(fields)

    def get(self, field: int, default: Value = None) -> Value:
        """The field's value, or `default` when the field is unset."""
        entry = self.fields.get(field)
        return default if entry is None else entry[1]

    def set(self, field: int, kind: int, value: Value) -> None:
        self.fields[field] = (kind, value)

    def replaced(self, field: int, kind: int, value: Value) -> "Struct":
        """A copy with another value of one field."""
        return Struct({**self.fields, field: (kind, value)})

    def __contains__(self, field: int) -> bool:
        return field in self.fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Struct) and self.fields == other.fields

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Struct({self.fields!r})"


class Items(list[Value]):
    """A list or set whose elements have the wire type `kind`."""

    __slots__ = ("kind",)

    def __init__(self, kind: int, items: Iterable[Value] = ()) -> None:
        super().__init__(items)
        self.kind = kind


class Pairs(dict[Any, Value]):
    """A map whose keys and values have these wire types."""

    __slots__ = ("key_kind", "value_kind")

    def __init__(self, key_kind: int, value_kind: int, pairs: Iterable[Any] = ()) -> None:
        super().__init__(pairs)
        self.key_kind = key_kind
        self.value_kind = value_kind


@dataclass(frozen=True, slots=True)
class Encoded:
    """A struct, list, set or map that is encoded already. It can be written, and never is read."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """A call, reply or exception with its argument or result struct."""

    name: str
    kind: int
    seqid: int
    body: Struct


def strings(values: Iterable[str]) -> Items:
    """A list<string>."""
    return Items(STRING, values)


def string_map(pairs: Mapping[str, str]) -> Pairs:
    """A map<string, string>."""
    return Pairs(STRING, STRING, pairs.items())
