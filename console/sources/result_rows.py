"""Converts the rows of a FetchResults reply to texts. Pure."""

from collections.abc import Iterable, Iterator

from proxy.errors import WireError
from thriftcodec.values import Items, Struct, Value

MAX_CELL = 500  # characters
_NUMBERS = frozenset((1, 2, 3, 4, 5, 6, 15))  # TTypeId of integers, FLOAT, DOUBLE, DECIMAL
_BOOL = 1  # the field of TColumn for booleans


def is_number(kind: int) -> bool:
    """Whether a column of this TTypeId has numbers."""
    return kind in _NUMBERS


def rows_of(reply: Struct) -> list[tuple[str | None, ...]]:
    """The rows of a columnar result (from protocol V6 on), with None for NULL. Raises WireError."""
    row_set = reply.get(3)
    columns = row_set.get(3) if isinstance(row_set, Struct) else None
    if not isinstance(columns, Items):
        raise WireError("A result without columns.")
    return list(zip(*map(_cells, columns), strict=True))


def _cells(column: Value) -> Iterable[str | None]:
    if not isinstance(column, Struct) or len(column.fields) != 1:
        raise WireError("A column without a type.")
    [(union, (_, typed))] = column.fields.items()
    values, nulls = typed.get(1), typed.get(2, b"")
    if not isinstance(values, Items) or not isinstance(nulls, bytes):
        raise WireError("A column without values.")
    return _texts(values, nulls, union == _BOOL)


def _texts(values: Items, nulls: bytes, boolean: bool) -> Iterator[str | None]:
    for at, value in enumerate(values):
        if at // 8 < len(nulls) and nulls[at // 8] >> at % 8 & 1:
            yield None
        elif boolean:
            yield "true" if value else "false"
        else:
            text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
            yield text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}…"
