"""Where an unframed thrift message ends (NOSASL sends them bare), without keeping its bytes."""

from dataclasses import dataclass, field

from proxy.errors import WireError
from proxy.protocol.binary import (
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
    STRING,
    STRUCT,
)

_FIXED = {BOOL: 1, BYTE: 1, DOUBLE: 8, I16: 2, I32: 4, I64: 8}


@dataclass(slots=True)
class _Container:
    """What remains of an open list, set or map: element types in turn, and how many."""

    kinds: tuple[int, ...]
    remaining: int


@dataclass(slots=True)
class EndFinder:
    """Told a message's bytes piece by piece, finds where it ends. One per message.

    A piece is looked at once, and only the headers in it: a long string costs nothing.
    """

    _open: list[_Container | None] = field(default_factory=list)  # None is a struct
    _skip: int = 0
    _rest: bytes = b""
    _started: bool = False

    def feed(self, data: bytes) -> int | None:
        """How many of these bytes belong to the message when it ends here, else None.

        Raises WireError.
        """
        before = len(self._rest)
        data = self._rest + data
        at = 0
        while True:
            skipped = min(self._skip, len(data) - at)
            at += skipped
            self._skip -= skipped
            if self._skip:
                self._rest = b""
                return None
            if self._started and not self._open:
                return at - before
            used = self._header(data, at)
            if used is None:
                self._rest = data[at:]
                return None
            at += used

    def _header(self, data: bytes, at: int) -> int | None:
        """Reads one header at `at`: how many bytes it took, None when it is not all here."""
        if not self._started:
            return self._message_head(data, at)
        top = self._open[-1]
        if top is None:
            return self._field(data, at)
        if top.remaining == 0:
            self._open.pop()
            return 0
        kind = top.kinds[top.remaining % len(top.kinds)]
        used = self._value(kind, data, at)
        if used is not None:
            top.remaining -= 1
        return used

    def _message_head(self, data: bytes, at: int) -> int | None:
        if len(data) - at < 8:
            return None
        if data[at : at + 2] != b"\x80\x01":
            raise WireError("Not a strict TBinaryProtocol message.")
        self._started = True
        self._open.append(None)
        self._skip = _length(data, at + 4) + 4
        return 8

    def _field(self, data: bytes, at: int) -> int | None:
        if at == len(data):
            return None
        kind = data[at]
        if kind == 0:
            self._open.pop()
            return 1
        if len(data) - at < 3:
            return None
        used = self._value(kind, data, at + 3)
        return None if used is None else 3 + used

    def _value(self, kind: int, data: bytes, at: int) -> int | None:
        """Starts a value: how many bytes of it are header; opens it or sets what to skip."""
        here = len(data) - at
        if kind in _FIXED:
            self._skip = _FIXED[kind]
            return 0
        if kind == STRING:
            if here < 4:
                return None
            self._skip = _length(data, at)
            return 4
        if kind == STRUCT:
            self._push(None)
            return 0
        if kind in (LIST, SET):
            if here < 5:
                return None
            self._push(_Container((data[at],), _length(data, at + 1)))
            return 5
        if kind == MAP:
            if here < 6:
                return None
            # Counted down, so the key's turn is when an even number remains.
            self._push(_Container((data[at], data[at + 1]), 2 * _length(data, at + 2)))
            return 6
        raise WireError(f"Unknown wire type {kind}.")

    def _push(self, container: _Container | None) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise WireError("A message is nested too deeply.")
        self._open.append(container)


def _length(data: bytes, at: int) -> int:
    length = int.from_bytes(data[at : at + 4], "big", signed=True)
    if length < 0:
        raise WireError("A negative length.")
    return length
