"""Where a message ends that comes in pieces."""

from dataclasses import dataclass

from metastore.client.binary import (
    FIXED_SIZE,
    LIST,
    MAP,
    MAX_DEPTH,
    SET,
    STOP,
    STRING,
    STRUCT,
    Incomplete,
    Malformed,
    read_field_header,
    read_list_header,
    read_map_header,
    read_message_header,
    skip_value,
    string_end,
)


@dataclass(slots=True)
class _Elements:
    """What is left of a list, set or map: the wire types in turn, and how many."""

    kinds: tuple[int, ...]
    left: int


class Ending:
    """Told a growing buffer again and again, finds the end of the message that it begins with.

    Each byte is looked at once, or twice in the first piece: a request with ten thousand
    partitions comes in hundreds of pieces.
    """

    def __init__(self) -> None:
        self._at = 0
        self._open: list[_Elements | None] = []  # None is a struct

    def find(self, data: bytes | bytearray) -> int | None:
        """The end, None while it is not there. Raises Malformed."""
        try:
            if not self._at:
                *_, self._at = read_message_header(data)
                self._open.append(None)
                return skip_value(data, self._at, STRUCT)
            while self._open:
                self._step(data)
            return self._at
        except Incomplete:
            return None

    def _step(self, data: bytes | bytearray) -> None:
        """One field or element; what is not all here is begun again. Raises Incomplete."""
        top = self._open[-1]
        if top is None:
            kind, _, at = read_field_header(data, self._at)
            if kind == STOP:
                self._open.pop()
                self._at = at
            else:
                self._enter(data, kind, at)
        elif top.left:
            self._enter(data, top.kinds[top.left % len(top.kinds)], self._at)
            top.left -= 1
        else:
            self._open.pop()

    def _enter(self, data: bytes | bytearray, kind: int, at: int) -> None:
        if kind == STRING:
            self._at = string_end(data, at)
        elif kind in FIXED_SIZE:
            self._at = skip_value(data, at, kind)
        elif len(self._open) > MAX_DEPTH:
            raise Malformed("nested too deep")
        elif kind == STRUCT:
            self._at = at
            self._open.append(None)
        elif kind in (LIST, SET):
            element, count, inside = read_list_header(data, at)
            if element in FIXED_SIZE:
                self._at = skip_value(data, at, kind)
            else:
                self._at = inside
                self._open.append(_Elements((element,), count))
        elif kind == MAP:
            keys, values, count, self._at = read_map_header(data, at)
            # Counted down: a key's turn is when what is left is even.
            self._open.append(_Elements((keys, values), 2 * count))
        else:
            raise Malformed(f"unknown wire type {kind}")
