"""A connection to a metastore: sends a call and decodes its reply while it arrives.

Replies have no length, so only decoding finds their end. Lists are decoded element by element, and
decoded bytes are removed from the buffer. After a SASL log-in all bytes are in frames, but a frame
does not show the end of a reply either.
"""

import select
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import TypeVar

from conf.topology import Endpoint
from metastore.client.login import LARGEST_FRAME
from metastore.errors import AlreadyExists, MalformedReply, MetastoreRefused, NoSuchObject
from saslauth.errors import SaslFailed
from saslauth.frames import FrameReader, framed
from saslauth.negotiation import ClientNegotiation, Mechanism
from thriftcodec.errors import Incomplete, MalformedMessage
from thriftcodec.reader import read_struct, read_value
from thriftcodec.skip import read_field_header, read_list_header, read_message_header
from thriftcodec.values import (
    EXCEPTION,
    LIST,
    REPLY,
    STOP,
    STRUCT,
    UNKNOWN_METHOD_CODE,
    Items,
    Struct,
    Value,
)
from thriftcodec.writer import call_bytes

T = TypeVar("T")
Decoder = Callable[[bytes | bytearray, int], tuple[T, int]]

CHUNK = 1 << 18
LARGEST_VALUE = 1 << 28  # bytes of one list element or one struct
UNKNOWN_METHOD = "UnknownMethod"  # the kind of a refusal if the peer has no such call

_KINDS: dict[str, type[MetastoreRefused]] = {
    "NoSuchObjectException": NoSuchObject,
    "AlreadyExistsException": AlreadyExists,
}


def refusal(kind: str, message: str) -> MetastoreRefused:
    """The error for a declared exception of the metastore; `kind` is its Thrift name."""
    return _KINDS.get(kind, MetastoreRefused)(message, kind)


class Connection:
    """A connected socket for one thread. Every wait ends at the call's deadline."""

    def __init__(
        self,
        endpoint: Endpoint,
        timeout: float,
        mechanism: Mechanism | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Connects and logs in within `timeout` seconds, without the time that a KDC takes.

        `mechanism` None: no SASL. Raises OSError, SaslFailed.
        """
        self._deadline = monotonic() + timeout
        self._mechanism = mechanism
        self._frames: FrameReader | None = None
        self._data = bytearray()
        self._at = 0
        self._sequence = 0
        self._socket = socket.create_connection((endpoint.host, endpoint.port), timeout)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if tls is not None:
                self._socket = _over_tls(self._socket, tls, endpoint.host)
            if mechanism is not None:
                self._log_in(mechanism)
        except BaseException:
            self._socket.close()
            raise

    def _log_in(self, mechanism: Mechanism) -> None:
        negotiation = ClientNegotiation(mechanism)
        self._socket.sendall(negotiation.start())
        while not negotiation.done:
            if answer := negotiation.receive(self._received()):
                self._socket.sendall(answer)
        self._frames = FrameReader(mechanism.layer, LARGEST_FRAME)

    def close(self) -> None:
        self._socket.close()

    def abort(self) -> None:
        """Makes a call that waits for its reply fail at once. For another thread."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def idle(self) -> bool:
        """Whether the peer has neither closed the connection nor sent anything."""
        in_frame = self._frames is not None and self._frames.held
        return not in_frame and not self._has_arrived()

    def _has_arrived(self) -> bool:
        """Whether there are bytes to read, or the connection has ended. It uses poll(), because
        select() works only for the first 1,024 open files of a process."""
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
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
        """The value that the call returns, or None. `element` decodes the items of a list.

        Raises MetastoreRefused for a declared exception, MalformedReply, OSError (TimeoutError).
        """
        self._deadline = monotonic() + timeout
        self._sequence += 1
        self._data.clear()
        self._at = 0
        self._socket.settimeout(timeout)
        request = call_bytes(method, self._sequence, arguments)
        try:
            if self._mechanism is not None:
                request = framed(self._mechanism.layer, request)
            self._socket.sendall(request)
            return self._reply(method, exceptions, element)
        except (MalformedMessage, SaslFailed) as error:
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
            family = UNKNOWN_METHOD if code == UNKNOWN_METHOD_CODE else "TApplicationException"
            raise MetastoreRefused(f"{method}: {problem.get(1, '')}", family)
        if kind != REPLY or name != method or sequence != self._sequence:
            raise MalformedReply(f"called {method}#{self._sequence}, got {name}#{sequence}")
        return self._result(exceptions, element)

    def _result(self, exceptions: dict[int, str], element: Decoder[Value] | None) -> Value:
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
        wanted = max(CHUNK, len(self._data))  # doubles, so that a large struct is decoded few times
        received = 0
        while received < wanted:
            if received and not self._has_arrived():
                return
            try:
                chunk = self._received()
            except ConnectionResetError:
                if received:  # it may be a whole reply; if not, the next read fails too
                    return
                raise
            if self._frames is not None:
                chunk = self._frames.feed(chunk)
            self._data += chunk
            received += len(chunk)

    def _received(self) -> bytes:
        """Waits for bytes of the peer, at least one. Raises OSError."""
        left = self._deadline - monotonic()
        if left <= 0:
            raise TimeoutError("the metastore did not answer in time")
        self._socket.settimeout(left)
        chunk = self._socket.recv(CHUNK)
        if not chunk:
            raise ConnectionResetError("the metastore closed the connection")
        return chunk


def _over_tls(plain: socket.socket, tls: ssl.SSLContext, host: str) -> ssl.SSLSocket:
    """Does the TLS handshake, within the time-out of the socket. Raises OSError."""
    try:
        return tls.wrap_socket(plain, server_hostname=host)
    except TimeoutError as error:
        raise TimeoutError("no TLS handshake in time") from error
    except OSError as error:
        raise ConnectionResetError(f"no TLS handshake: {error}") from error


def _reader(kind: int) -> Decoder[Value]:
    return lambda data, at: read_value(data, at, kind)


def _header(data: bytes | bytearray, at: int) -> tuple[tuple[int, int], int]:
    kind, field, end = read_field_header(data, at)
    return (kind, field), end


def _list_header(data: bytes | bytearray, at: int) -> tuple[tuple[int, int], int]:
    kind, count, end = read_list_header(data, at)
    return (kind, count), end
