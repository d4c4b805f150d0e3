"""Encodes the proxy's own result sets, and decodes small result sets of clusters."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from proxy.errors import WireError
from proxy.protocol.status import SUCCESS
from proxy.protocol.types import COLUMNS_SINCE, STRING_TYPE
from thriftcodec.values import (
    BOOL,
    BYTE,
    I16,
    I32,
    I64,
    LIST,
    MAP,
    STRING,
    STRUCT,
    Encoded,
    Items,
    Pairs,
    Struct,
    Value,
)

Cell = str | int | None
TYPE_IDS = {BOOL: 0, BYTE: 1, I16: 2, I32: 3, STRING: STRING_TYPE}  # TTypeId by wire type
_UNION = {BOOL: 1, BYTE: 2, I16: 3, I32: 4, STRING: 7}  # field in TColumn and TColumnValue, by type
_LETTERS = {BOOL: "b", BYTE: "b", I16: "h", I32: "i"}


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A result set: named columns, and rows with None for NULL.

    `types` has the wire type of each column (STRING, I32, I16, BYTE, BOOL); if it is empty, all
    columns are texts. `comments` has the comment of each column; if it is empty, there are none.
    `of_statement`: nulls are encoded as in a statement's result; otherwise as in a metadata call's
    result, in which the Thrift Server encodes them in another way.
    """

    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]] = ()
    types: tuple[int, ...] = ()
    comments: tuple[str, ...] = ()
    of_statement: bool = False


# The result of a statement without rows; the Thrift Server uses this column name.
NO_ROWS = ResultTable(("Result",))
LOG = ResultTable(("operation_log",))


def metadata_reply(table: ResultTable) -> Struct:
    """GetResultSetMetadataResp."""
    types = table.types or (STRING,) * len(table.columns)
    comments = table.comments or ("",) * len(table.columns)
    described = zip(table.columns, types, comments, strict=True)
    columns: list[Value] = [
        _column_description(name, position, TYPE_IDS[kind], comment)
        for position, (name, kind, comment) in enumerate(described)
    ]
    schema = Struct({1: (LIST, Items(STRUCT, columns))})
    return Struct({1: (STRUCT, SUCCESS), 2: (STRUCT, schema)})


def fetch_reply(table: ResultTable, start: int, limit: int, protocol: int) -> Struct:
    """FetchResultsResp with at most `limit` rows from row number `start`."""
    rows = table.rows[start : start + max(0, limit)]
    types = table.types or (STRING,) * len(table.columns)
    row_set = Struct({1: (I64, start)})
    if protocol >= COLUMNS_SINCE:
        row_set.set(2, LIST, Items(STRUCT, []))
        cells = zip(*rows, strict=True) if rows else ((),) * len(types)
        columns: list[Value] = [
            column(kind, values, table.of_statement)
            for kind, values in zip(types, cells, strict=True)
        ]
        row_set.set(3, LIST, Items(STRUCT, columns))
    else:
        row_set.set(2, LIST, Items(STRUCT, [_row(types, row) for row in rows]))
    return Struct({1: (STRUCT, SUCCESS), 2: (BOOL, False), 3: (STRUCT, row_set)})


def column(kind: int, values: Sequence[Cell], of_statement: bool = False) -> Struct:
    """A TColumn with values of wire type `kind`."""
    head = bytes((kind,)) + len(values).to_bytes(4, "big")
    items = Encoded(head + (_texts(values) if kind == STRING else _numbers(kind, values)))
    typed = Struct({1: (LIST, items), 2: (STRING, _nulls(values, of_statement))})
    return Struct({_UNION[kind]: (STRUCT, typed)})


def _nulls(values: Sequence[Cell], of_statement: bool) -> bytes:
    """The bitmap of nulls, the lowest bit first. In a statement's result it ends with the byte of
    the last null. In a metadata call's result it has Hive's length: one byte, and one more for each
    eight values up to the last null."""
    missing = values.count(None)
    if not missing:
        bits = 0
    elif missing == len(values):
        bits = (1 << missing) - 1
    else:
        bits = int("".join(["1" if each is None else "0" for each in reversed(values)]), 2)
    length = (bits.bit_length() + 7) // 8 if of_statement else 1 + bits.bit_length() // 8
    return bits.to_bytes(length, "little")


def _texts(values: Sequence[Cell]) -> bytes:
    """Encodes each distinct text once, since lists of tables contain many equal texts."""
    encoded = {value: _text(value) for value in set(values)}
    return b"".join([encoded[value] for value in values])


def _text(value: Cell) -> bytes:
    raw = b"" if value is None else str(value).encode(errors="surrogateescape")
    return len(raw).to_bytes(4, "big") + raw


def _numbers(kind: int, values: Sequence[Cell]) -> bytes:
    return struct.pack(f">{len(values)}{_LETTERS[kind]}", *[value or 0 for value in values])


def header(reply: Struct) -> list[tuple[str, int]]:
    """The columns' names and types (TTypeId) in a GetResultSetMetadata reply. Raises WireError."""
    columns = []
    for each in _list(_struct(reply, 2), 1):
        entries = _list(_struct(each, 2), 1)
        primitive = _struct(entries[0], 1) if len(entries) == 1 else Struct()
        kind = primitive.get(1, -1)
        columns.append((_decoded(each.get(1, b"")), kind if isinstance(kind, int) else -1))
    return columns


def rows_in(reply: Struct, types: Sequence[int], protocol: int) -> list[tuple[Cell, ...]]:
    """All rows of a small FetchResults reply. `types` are the wire types of its columns.

    Raises WireError if the columns have other types.
    """
    row_set = _struct(reply, 3)
    try:
        if protocol < COLUMNS_SINCE:
            return [_row_in(each, types) for each in _list(row_set, 2)]
        columns = zip(_list(row_set, 3), types, strict=True)
        return list(zip(*[_column_in(each, kind) for each, kind in columns], strict=True))
    except ValueError as error:
        raise WireError("Rows of another length than their header.") from error


def _column_in(union: Struct, kind: int) -> list[Cell]:
    typed = _struct(union, _UNION[kind])
    values = typed.get(1)
    nulls = typed.get(2, b"")
    if not isinstance(values, Items) or not isinstance(nulls, bytes):
        raise WireError("A column without values.")
    return [
        None if at // 8 < len(nulls) and nulls[at // 8] >> at % 8 & 1 else _cell(kind, value)
        for at, value in enumerate(values)
    ]


def _row_in(row: Struct, types: Sequence[int]) -> tuple[Cell, ...]:
    cells = []
    for each, kind in zip(_list(row, 1), types, strict=True):
        value = _struct(each, _UNION[kind]).get(1)
        cells.append(None if value is None else _cell(kind, value))
    return tuple(cells)


def _cell(kind: int, value: Value) -> Cell:
    if kind == STRING:
        return _decoded(value)
    if not isinstance(value, int):
        raise WireError("A cell of another type.")
    return value


def _decoded(value: Value) -> str:
    if not isinstance(value, bytes):
        raise WireError("A text of another type.")
    return value.decode(errors="surrogateescape")


def _struct(fields: Struct, number: int) -> Struct:
    value = fields.get(number)
    if not isinstance(value, Struct):
        raise WireError(f"A reply lacks its field {number}.")
    return value


def _list(fields: Struct, number: int) -> list[Struct]:
    value = fields.get(number)
    if not isinstance(value, Items):
        raise WireError(f"A reply lacks its list {number}.")
    return [each for each in value if isinstance(each, Struct)]


def with_empty_column(reply: Struct) -> Struct | None:
    """A FetchResults reply without columns, with one empty column added; None if it has columns.

    The Thrift Server announces a column for CREATE, INSERT and similar statements and sends none,
    which Python's clients cannot read.
    """
    results = reply.get(3)
    if not isinstance(results, Struct) or results.get(3):
        return None
    rows = results.get(2)
    if isinstance(rows, Items) and rows:
        return None
    results = results.replaced(3, LIST, Items(STRUCT, [column(STRING, [])]))
    return reply.replaced(3, STRUCT, Struct(dict(sorted(results.fields.items()))))


def _column_description(name: str, position: int, kind: int, comment: str) -> Struct:
    qualifiers = Struct({1: (MAP, Pairs(STRING, STRUCT, []))})
    primitive = Struct({1: (I32, kind), 2: (STRUCT, qualifiers)})
    entry = Struct({1: (STRUCT, primitive)})
    types = Struct({1: (LIST, Items(STRUCT, [entry]))})
    return Struct(
        {
            1: (STRING, name.encode()),
            2: (STRUCT, types),
            3: (I32, position),
            4: (STRING, comment.encode()),
        }
    )


def _row(types: Sequence[int], row: Sequence[Cell]) -> Struct:
    values: list[Value] = []
    for kind, value in zip(types, row, strict=True):
        cell = Struct()
        if value is not None:
            cell.set(1, kind, value)
        union = Struct({_UNION[kind]: (STRUCT, cell)})
        values.append(union)
    return Struct({1: (LIST, Items(STRUCT, values))})
