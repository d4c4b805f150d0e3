"""Reads the feed of changes of one view, over its own connection and without a thread.

Each statement waits for this call, so it takes only one write to a socket and one read from it.
"""

import asyncio
from time import monotonic
from typing import cast

from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.client.connecting import PLAIN
from metastore.client.login import LARGEST_FRAME, mechanism, tls_context
from metastore.client.types import Changes
from metastore.errors import MalformedReply
from saslauth.errors import SaslFailed
from saslauth.frames import FrameReader, framed
from saslauth.negotiation import ClientNegotiation, Mechanism
from saslauth.security_layer import SecurityLayer
from thriftcodec.errors import Incomplete, MalformedMessage
from thriftcodec.reader import read_struct
from thriftcodec.skip import read_message_header
from thriftcodec.values import I64, REPLY, Struct
from thriftcodec.writer import call_bytes

REST = 0.5  # seconds without a call after a time-out
_CALL = "causeway_touched"


class FeedClient:
    """The feed of changes of one view. Belongs to one event loop; one call at a time."""

    def __init__(self, view: Endpoint, timeout: float, login: MetastoreLogin = PLAIN) -> None:
        """`timeout` is the time in seconds for a call, with the connection that it needs."""
        self._view = view
        self._login = login
        self._timeout = timeout
        self._connection = _Connection()
        self._position = 0
        self._rest_until = 0.0
        self.is_absent = False  # whether the last call found that no process listens there

    @property
    def feed(self) -> str:
        """The id of the view's feed; empty without an open connection or an answer on it.

        All views of a process have one feed. While the connection is open, that process runs.
        """
        return self._connection.feed

    async def changes(self) -> Changes | None:
        """The changes since the last call; None if the view does not answer.

        The first answer of a new process is that every table may have changed.
        """
        if monotonic() < self._rest_until:
            return None
        try:
            async with asyncio.timeout(self._timeout):
                changes = await self._ask()
        except TimeoutError:
            self._rest_until, self.is_absent = monotonic() + REST, False
            return None
        except (OSError, MalformedReply) as error:
            self.is_absent = isinstance(error, ConnectionRefusedError)
            return None
        self.is_absent = False
        self._position = changes.position
        return changes

    async def _ask(self) -> Changes:
        if not self._connection.is_open:
            self._connection = connection = _Connection()
            where = self._view.host, self._view.port
            await asyncio.get_running_loop().create_connection(
                lambda: connection, *where, ssl=tls_context(self._login)
            )
            await self._log_in()
        try:
            return await self._connection.ask(self._position)
        except BaseException:
            self._connection.close()
            raise

    async def _log_in(self) -> None:
        if not self._login.sasl:
            return
        try:
            chosen = await asyncio.to_thread(mechanism, self._login, self._view.host)
            if chosen is not None:
                await self._connection.log_in(chosen)
        except SaslFailed as error:
            self._connection.close()
            raise PermissionError(f"the log-in to {self._view} failed: {error}") from error
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Closes the connection. A running call returns None."""
        self._connection.close()


class _Connection(asyncio.Protocol):
    """One connection to a view. `feed` is the id of the feed, after the first answer."""

    def __init__(self) -> None:
        self.feed = ""
        self._transport: asyncio.Transport | None = None
        self._data = bytearray()
        self._sequence = 0
        self._answer: asyncio.Future[Changes] | None = None
        self._arrived: asyncio.Event | None = None  # only during the log-in
        self._layer: SecurityLayer | None = None
        self._frames: FrameReader | None = None  # only after a log-in

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's classes do not derive

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport, self.feed = None, ""
        if self._arrived is not None:
            self._arrived.set()
        self._fail(ConnectionResetError("the view closed the connection"))

    def data_received(self, data: bytes) -> None:
        if self._arrived is not None:
            self._data += data
            self._arrived.set()
            return
        try:
            self._data += data if self._frames is None else self._frames.feed(data)
            changes = _read(self._data, self._sequence)
        except Incomplete:
            return
        except (MalformedMessage, MalformedReply, SaslFailed) as error:
            self._fail(MalformedReply(f"{_CALL}: {error}"))
            return
        self._data.clear()
        self.feed = changes.feed
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(changes)

    async def ask(self, position: int) -> Changes:
        """The changes since a position. Raises OSError, MalformedReply; then call `close`."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._sequence += 1
        call = call_bytes(_CALL, self._sequence, Struct({1: (I64, position)}))
        self._transport.write(call if self._frames is None else framed(self._layer, call))
        return await self._answer

    async def log_in(self, mechanism: Mechanism) -> None:
        """Logs in. Raises SaslFailed, OSError; then call `close`."""
        negotiation, self._arrived = ClientNegotiation(mechanism), asyncio.Event()
        answer = await asyncio.to_thread(negotiation.start)  # a step may wait for a KDC
        while True:
            if self._transport is None:
                raise ConnectionResetError("the view closed the connection in the log-in")
            if answer:
                self._transport.write(answer)
            if negotiation.done:
                break
            await self._arrived.wait()
            self._arrived.clear()
            data = bytes(self._data)
            self._data.clear()
            answer = await asyncio.to_thread(negotiation.receive, data)
        self._arrived, self._layer = None, mechanism.layer
        self._frames = FrameReader(self._layer, LARGEST_FRAME)

    def close(self) -> None:
        self.feed = ""
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


def _read(data: bytearray, sequence: int) -> Changes:
    """The changes in a whole reply.

    Raises Incomplete, MalformedMessage; MalformedReply for another message, such as the exception
    of a view that does not have the call.
    """
    kind, name, its_sequence, at = read_message_header(data)
    result, _ = read_struct(data, at)
    changes = result.get(0)
    if (kind, name, its_sequence) != (REPLY, _CALL, sequence) or not isinstance(changes, Struct):
        raise MalformedReply("not an answer")
    return Changes.read(changes)
