"""Reads the number of rows in a FetchResults reply from its first bytes, without decoding it."""

import re

_NUMBER = b"(.{4})"
_HEAD = len(b"vvvvllllFetchResultsssss")
_REPLY = re.compile(
    b"\x0c\0\0\x0c\0\1\x08\0\1\0\0\0[\0\1]\0"  # the result, its status: a success without messages
    b"(?:\x02\0\2.)?"  # hasMoreRows
    b"\x0c\0\3\x0a\0\1.{8}"  # the row set, its start
    b"\x0f\0\2\x0c"
    + _NUMBER  # the rows of old protocols
    + b"(?:\x0f\0\3\x0c"
    + _NUMBER  # the columns of newer ones
    + b"(?:\x0c..\x0f\0\1."
    + _NUMBER
    + b")?)?",  # the first one's values
    re.DOTALL,
)


def rows_in(head: bytes) -> int | None:
    """The number of rows in the reply that begins with `head`; None if it has another layout."""
    match = _REPLY.match(head, _HEAD)
    if match is None:
        return None
    rows, columns, values = match.groups()
    if columns is None or not any(columns):
        return int.from_bytes(rows, "big")
    return None if values is None else int.from_bytes(values, "big")
