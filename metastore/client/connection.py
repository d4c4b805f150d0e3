"""A connection to a metastore: sends a call and decodes its reply while it arrives.

Replies are unframed, so only decoding finds their end. Lists are decoded element by element, and
decoded bytes are removed from the buffer.
"""

import select
import socket
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import TypeVar

from conf.topology import Endpoint
from metastore.errors import AlreadyExists, MalformedReply, MetastoreRefused, NoSuchObject
from thriftcodec.errors import Incomplete, MalformedMessage
from thriftcodec.reader import read_struct, read_value
from thriftcodec.skip import read_field_header, read_list_header, read_message_header
from thriftcodec.values import EXCEPTION, LIST, REPLY, STOP, STRUCT, Items, Struct, Value
from thriftcodec.writer import call_bytes

T = TypeVar("T")
Decoder = Callable[[bytes | bytearray, int], tuple[T, int]]

CHUNK = 1 << 18
LARGEST_VALUE = 1 << 28  # bytes of one list element or one struct
UNKNOWN_METHOD = "UnknownMethod"  # the kind of a refusal if the peer has no such call
_UNKNOWN_METHOD = 1

_KINDS: dict[str, type[MetastoreRefused]] = {
    "NoSuchObjectException": NoSuchObject,
    "AlreadyExistsException": AlreadyExists,
}


def refusal(kind: str, message: str) -> MetastoreRefused:
    """The error for an exception that the metastore declared."""
    return _KINDS.get(kind, MetastoreRefused)(message, kind)


class Connection:
    """A connected socket for one thread. Every wait ends at the call's deadline."""

    def __init__(self, endpoint: Endpoint, timeout: float) -> None:
        """Connects within `timeout` seconds. Raises OSError."""
        self._socket = socket.create_connection((endpoint.host, endpoint.port), timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._data = bytearray()
        self._at = 0
        self._deadline = 0.0
        self._sequence = 0

    def close(self) -> None:
        self._socket.close()

    def abort(self) -> None:
        """Called from another thread: a call that waits for its reply fails at once."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def idle(self) -> bool:
        """Whether the peer has neither closed the connection nor sent anything."""
        return not self._has_arrived()

    def _has_arrived(self) -> bool:
        """Whether there are bytes to read, or the connection's end. select() would do for the first
        1,024 open files of a process alone."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def call(
        self,
        method: str,
        arguments: Struct,
        exceptions: dict[int, str],
        timeout: float,
        element: Decoder[Value] | None = None,
    ) -> Value:
        """The reply's success value, or None; `element` decodes the items of a list.

        Raises MetastoreRefused for a declared exception, MalformedReply, OSError (TimeoutError).
        """
        self._deadline = monotonic() + timeout
        self._sequence += 1
        self._data.clear()
        self._at = 0
        self._socket.settimeout(timeout)
        self._socket.sendall(call_bytes(method, self._sequence, arguments))
        try:
            return self._reply(method, exceptions, element)
        except MalformedMessage as error:
            raise MalformedReply(f"{method}: {error}") from error

    def _reply(
        self, method: str, exceptions: dict[int, str], element: Decoder[Value] | None
    ) -> Value:
        while True:
            try:
                kind, name, sequence, self._at = read_message_header(self._data)
                break
            except Incomplete:
                self._fill()
        if kind == EXCEPTION:
            problem: Struct = self._decode(read_struct)
            code = problem.get(2, 0)
            family = UNKNOWN_METHOD if code == _UNKNOWN_METHOD else "TApplicationException"
            raise MetastoreRefused(f"{method}: {problem.get(1, '')}", family)
        if kind != REPLY or name != method or sequence != self._sequence:
            raise MalformedReply(f"called {method}#{self._sequence}, got {name}#{sequence}")
        return self._result(method, exceptions, element)

    def _result(
        self, method: str, exceptions: dict[int, str], element: Decoder[Value] | None
    ) -> Value:
        success: Value = None
        refused: MetastoreRefused | None = None
        while True:
            kind, field = self._decode(_header)
            if kind == STOP:
                break
            if field != 0 and kind == STRUCT:
                problem: Struct = self._decode(read_struct)
                refused = refusal(exceptions.get(field, "MetaException"), str(problem.get(1, "")))
            elif kind == LIST:
                success = self._list(element)
            else:
                success = self._decode(_reader(kind))
        if refused is not None:
            raise refused
        return success

    def _list(self, element: Decoder[Value] | None) -> Items:
        kind, count = self._decode(_list_header)
        decode = element or _reader(kind)
        items = Items(kind)
        data, at = self._data, self._at
        while len(items) < count:
            try:
                for _ in range(count - len(items)):
                    value, at = decode(data, at)
                    items.append(value)
            except Incomplete:
                self._at = at
                self._fill()
                at = self._at
        self._at = at
        return items

    def _decode(self, decode: Decoder[T]) -> T:
        while True:
            try:
                value, self._at = decode(self._data, self._at)
                return value
            except Incomplete:
                self._fill()

    def _fill(self) -> None:
        """Removes decoded bytes, then reads what has arrived; waits for at least one byte."""
        del self._data[: self._at]
        self._at = 0
        if len(self._data) > LARGEST_VALUE:
            raise MalformedReply(f"a value of more than {LARGEST_VALUE} bytes")
        wanted = max(CHUNK, len(self._data))  # growing, so that a large struct is decoded few times
        got = 0
        while got < wanted:
            left = self._deadline - monotonic()
            if left <= 0:
                raise TimeoutError("the metastore did not answer in time")
            if got and not self._has_arrived():
                return
            self._socket.settimeout(left)
            chunk = self._socket.recv(CHUNK)
            if not chunk:
                raise ConnectionResetError("the metastore closed the connection")
            self._data += chunk
            got += len(chunk)


def _reader(kind: int) -> Decoder[Value]:
    return lambda data, at: read_value(data, at, kind)


def _header(data: bytes | bytearray, at: int) -> tuple[tuple[int, int], int]:
    kind, field, end = read_field_header(data, at)
    return (kind, field), end


def _list_header(data: bytes | bytearray, at: int) -> tuple[tuple[int, int], int]:
    kind, count, end = read_list_header(data, at)
    return (kind, count), end
