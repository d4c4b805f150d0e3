"""Finds the end of a message that arrives in pieces."""

from dataclasses import dataclass

from thriftcodec.errors import Incomplete, MalformedMessage
from thriftcodec.skip import (
    FIXED_SIZE,
    read_field_header,
    read_list_header,
    read_map_header,
    read_message_header,
    skip_value,
    string_end,
)
from thriftcodec.values import LIST, MAP, MAX_DEPTH, SET, STOP, STRING, STRUCT


@dataclass(slots=True)
class _Container:
    """An unfinished list, set or map: the number of values that remain, and their wire types, which
    are keys and values by turns in a map."""

    kinds: tuple[int, ...]
    remaining: int


class MessageEnd:
    """Receives the bytes of one message piece by piece and finds the message's end.

    Only headers are read, each once, or twice in the first piece. Of the pieces only the beginning
    of an incomplete header is kept, so a long text needs neither time nor memory.
    """

    __slots__ = ("_at", "_open", "_rest", "_skip", "_started")

    def __init__(self) -> None:
        self._started = False
        # Unfinished values, the outermost first; None is a struct.
        self._open: list[_Container | None] = []
        self._skip = 0  # bytes of a value that have not arrived
        self._rest = b""  # the beginning of an incomplete header
        self._at = 0  # the position of the next header in the current bytes

    def feed(self, piece: bytes | bytearray) -> int | None:
        """The number of bytes of `piece` that belong to the message if it ends there, else None.

        Raises MalformedMessage.
        """
        rest_length = len(self._rest)
        data = self._rest + piece if rest_length else piece
        self._at = self._skip
        self._rest = b""
        try:
            if not self._started and self._start(data):
                return self._at - rest_length
            while self._open and self._at <= len(data):
                self._step(data)
        except Incomplete:
            self._rest = bytes(data[self._at :])
            self._skip = 0
            return None
        self._skip = max(0, self._at - len(data))
        return None if self._open or self._skip else self._at - rest_length

    def _start(self, data: bytes | bytearray) -> bool:
        """Reads the message's header; returns whether the message ends in these bytes."""
        *_, self._at = read_message_header(data)
        self._started = True
        try:
            self._at = skip_value(data, self._at, STRUCT)
        except Incomplete:
            self._open.append(None)
            return False
        return True

    def _step(self, data: bytes | bytearray) -> None:
        """Reads one field or element. If it raises Incomplete, `_at` is where its header begins."""
        top = self._open[-1]
        if top is None:
            kind, _, at = read_field_header(data, self._at)
            if kind == STOP:
                self._open.pop()
                self._at = at
            else:
                self._enter(data, kind, at)
        elif top.remaining:
            self._enter(data, top.kinds[top.remaining % len(top.kinds)], self._at)
            top.remaining -= 1
        else:
            self._open.pop()

    def _enter(self, data: bytes | bytearray, kind: int, at: int) -> None:
        """Skips a plain value, which may end in a later piece, or opens a struct or container."""
        if kind == STRING:
            self._at = string_end(data, at)
        elif kind in FIXED_SIZE:
            self._at = at + FIXED_SIZE[kind]
        elif len(self._open) > MAX_DEPTH:
            raise MalformedMessage("A message is nested too deeply.")
        elif kind == STRUCT:
            self._at = at
            self._open.append(None)
        elif kind in (LIST, SET):
            element, count, inside = read_list_header(data, at)
            if element in FIXED_SIZE:
                self._at = inside + count * FIXED_SIZE[element]
            else:
                self._at = inside
                self._open.append(_Container((element,), count))
        elif kind == MAP:
            keys, values, count, self._at = read_map_header(data, at)
            # `remaining` counts down from an even number, so the next value is a key if it is even.
            self._open.append(_Container((keys, values), 2 * count))
        else:
            raise MalformedMessage(f"Unknown wire type {kind}.")
