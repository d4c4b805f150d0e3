"""Result sets that the proxy makes itself: all columns are texts."""

from collections.abc import Sequence
from dataclasses import dataclass

from proxy.wire.binary import (
    BOOL,
    I32,
    I64,
    LIST,
    MAP,
    STRING,
    STRUCT,
    Items,
    Pairs,
    Struct,
    Value,
)
from proxy.wire.status import SUCCESS
from proxy.wire.types import COLUMNS_SINCE, STRING_TYPE


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts, None for NULL, under named columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...] = ()


# What a statement without rows has; the Thrift Server calls its only column so.
NO_ROWS = Table(("Result",))
LOG = Table(("operation_log",))


def metadata_reply(table: Table) -> Struct:
    """GetResultSetMetadataResp."""
    columns: list[Value] = [
        _column_description(name, position) for position, name in enumerate(table.columns)
    ]
    schema: Struct = {1: (LIST, Items(STRUCT, columns))}
    return {1: (STRUCT, SUCCESS), 2: (STRUCT, schema)}


def fetch_reply(table: Table, start: int, limit: int, protocol: int) -> Struct:
    """FetchResultsResp with at most `limit` rows from row number `start` on."""
    rows = table.rows[start : start + max(0, limit)]
    row_set: Struct = {1: (I64, start)}
    if protocol >= COLUMNS_SINCE:
        row_set[2] = (LIST, Items(STRUCT, []))
        columns: list[Value] = [
            string_column([row[number] for row in rows]) for number in range(len(table.columns))
        ]
        row_set[3] = (LIST, Items(STRUCT, columns))
    else:
        row_set[2] = (LIST, Items(STRUCT, [_row(row) for row in rows]))
    return {1: (STRUCT, SUCCESS), 2: (BOOL, False), 3: (STRUCT, row_set)}


def string_column(values: Sequence[str | None]) -> Struct:
    """A TColumn of texts. `nulls` is a bitmap, lowest bit first, empty when there are none."""
    nulls = bytearray((len(values) + 7) // 8) if None in values else bytearray()
    for number, value in enumerate(values):
        if value is None:
            nulls[number // 8] |= 1 << number % 8
    texts: list[Value] = [("" if value is None else value).encode() for value in values]
    column: Struct = {1: (LIST, Items(STRING, texts)), 2: (STRING, bytes(nulls))}
    return {7: (STRUCT, column)}


def with_a_column(reply: Struct) -> Struct | None:
    """A FetchResults reply without any column, given one empty one; None when it has some.

    The Thrift Server announces a column for CREATE, INSERT and their kin and sends none, which
    Python's clients cannot read.
    """
    results = reply.get(3, (STRUCT, None))[1]
    if not isinstance(results, dict) or (results.get(3) is not None and not _is_empty(results[3])):
        return None
    rows = results.get(2, (LIST, None))[1]
    if isinstance(rows, Items) and rows.values:
        return None
    results = {**results, 3: (LIST, Items(STRUCT, [string_column([])]))}
    return {**reply, 3: (STRUCT, dict(sorted(results.items())))}


def _is_empty(field: tuple[int, Value]) -> bool:
    return isinstance(field[1], Items) and not field[1].values


def _column_description(name: str, position: int) -> Struct:
    qualifiers: Struct = {1: (MAP, Pairs(STRING, STRUCT, []))}
    primitive: Struct = {1: (I32, STRING_TYPE), 2: (STRUCT, qualifiers)}
    entry: Struct = {1: (STRUCT, primitive)}
    types: Struct = {1: (LIST, Items(STRUCT, [entry]))}
    return {
        1: (STRING, name.encode()),
        2: (STRUCT, types),
        3: (I32, position),
        4: (STRING, b""),
    }


def _row(row: Sequence[str | None]) -> Struct:
    values: list[Value] = []
    for value in row:
        text: Struct = {} if value is None else {1: (STRING, value.encode())}
        column: Struct = {7: (STRUCT, text)}
        values.append(column)
    return {1: (LIST, Items(STRUCT, values))}
