"""Takes locks of tables in another process of the view, by `causeway_lock` and `causeway_unlock`.

A connection holds the locks of one call at a time. When it is lost, the other process keeps its
locks for `GRACE` more seconds, until the metastore has finished what their owner sent.
"""

import asyncio
from collections import deque
from collections.abc import Collection, Iterable

from conf.names import TableRef
from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.client.changes.view_sync import PAUSE, TRIES
from metastore.client.connecting import PLAIN
from metastore.client.streams import open_streams
from metastore.view.errors import FactsUnavailable
from metastore.view.locks.distributed_locks import GrantedLocks
from saslauth.framed_streams import Reader, Writer
from thriftcodec.errors import MalformedMessage
from thriftcodec.message_end import MessageEnd
from thriftcodec.reader import read_struct
from thriftcodec.skip import read_message_header
from thriftcodec.values import I32, LIST, REPLY, STRING, UNKNOWN_METHOD_CODE, Struct, strings
from thriftcodec.writer import call_bytes

LOCK, UNLOCK = "causeway_lock", "causeway_unlock"
_CONNECT = 5.0  # seconds for a connection with its log-in
_UNLOCK = 5.0  # seconds
_WAIT = 300.0  # seconds for a lock: a call that adds many partitions may hold it for minutes
_IDLE = 16  # connections that are kept open
_CHUNK = 64 * 1024


class PeerClient:
    """The connections to one address of a `PeerProcess`."""

    def __init__(self, endpoint: Endpoint, login: MetastoreLogin = PLAIN) -> None:
        self._endpoint = endpoint
        self._login = login
        self._idle: deque[_Connection] = deque()
        self._busy: set[_Connection] = set()
        self._process_id = ""

    @property
    def order(self) -> str:
        return str(self._endpoint)

    @property
    def process_id(self) -> str:
        is_open = any(each.is_open for each in (*self._busy, *self._idle))
        return self._process_id if is_open else ""

    async def lock(self, owner: str, tables: Collection[TableRef]) -> GrantedLocks | None:
        """As `PeerProcess.lock`."""
        fields = {
            1: (LIST, strings(sorted(map(str, tables)))),
            2: (STRING, owner),
            3: (I32, int(_WAIT * 1000)),
        }
        problem: Exception | None = None
        for _ in range(TRIES):
            try:
                connection = await self._connected()
            except ConnectionRefusedError:
                return None
            except ConnectionResetError as error:  # the process ended before TLS had begun
                problem = error
                await asyncio.sleep(PAUSE)
                continue
            except (OSError, TimeoutError) as error:
                problem = error
                break
            try:
                async with asyncio.timeout(_WAIT + _CONNECT):
                    reply = await connection.call(LOCK, Struct(fields))
            except (OSError, MalformedMessage) as error:
                self.drop(connection)
                problem = error
                if isinstance(error, TimeoutError):
                    break
                await asyncio.sleep(PAUSE)
                continue
            except BaseException:
                self.drop(connection)
                raise
            return self._granted(connection, reply)
        raise FactsUnavailable(
            f"the metastore view at {self._endpoint} does not answer ({problem}), so it may be"
            " changing the same tables."
        ) from problem

    def _granted(self, connection: "_Connection", reply: "_Reply") -> GrantedLocks | None:
        if reply.error_code is not None:
            self.keep(connection)
            if reply.error_code == UNKNOWN_METHOD_CODE:
                return None
            raise FactsUnavailable(f"the metastore view at {self._endpoint}: {reply.text}.")
        self._process_id = reply.text
        return _GrantedByPeer(self, connection, reply.text)

    def keep(self, connection: "_Connection") -> None:
        """Keeps an open connection for the next lock."""
        self._busy.discard(connection)
        self._idle.append(connection)
        if len(self._idle) > _IDLE:
            self._idle.popleft().close()

    def drop(self, connection: "_Connection") -> None:
        """Closes a connection."""
        self._busy.discard(connection)
        connection.close()

    def close(self) -> None:
        """Closes the idle connections."""
        while self._idle:
            self._idle.pop().close()

    async def _connected(self) -> "_Connection":
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open:
                self._busy.add(connection)
                return connection
            connection.close()
        async with asyncio.timeout(_CONNECT):
            streams = await open_streams(self._endpoint, self._login)
        connection = _Connection(*streams)
        self._busy.add(connection)
        return connection


class _GrantedByPeer:
    """`GrantedLocks` that the other process keeps for one connection."""

    def __init__(self, peer: PeerClient, connection: "_Connection", process_id: str) -> None:
        self._peer = peer
        self._connection = connection
        self.process_id = process_id

    async def release(self, changed: Iterable[TableRef]) -> None:
        fields = {1: (LIST, strings(sorted({str(each) for each in changed})))}
        try:
            async with asyncio.timeout(_UNLOCK):
                await self._connection.call(UNLOCK, Struct(fields))
        except (OSError, MalformedMessage):  # the process has ended, or releases it by itself
            self.abandon()
        except BaseException:
            self.abandon()
            raise
        else:
            self._peer.keep(self._connection)

    def abandon(self) -> None:
        self._peer.drop(self._connection)


class _Reply:
    """The text that a call returned, or the code and the text of its error."""

    def __init__(self, text: str, error_code: int | None = None) -> None:
        self.text = text
        self.error_code = error_code


class _Connection:
    def __init__(self, reader: Reader, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer
        self._sequence = 0

    @property
    def is_open(self) -> bool:
        return not self._reader.at_eof() and not self._writer.is_closing()

    async def call(self, name: str, arguments: Struct) -> _Reply:
        """Makes a call and waits for its reply. Raises OSError, MalformedMessage."""
        self._sequence += 1
        self._writer.write(call_bytes(name, self._sequence, arguments))
        data, end, chunk = bytearray(), MessageEnd(), b""
        while end.feed(chunk) is None:
            chunk = await self._reader.read(_CHUNK)
            if not chunk:
                raise ConnectionResetError("the view closed the connection")
            data += chunk
        kind, method, sequence, at = read_message_header(data)
        if (method, sequence) != (name, self._sequence):
            raise MalformedMessage(f"called {name}, got {method}")
        result, _ = read_struct(data, at)
        if kind != REPLY:
            return _Reply(str(result.get(1, "")), int(result.get(2, 0)))
        return _Reply(str(result.get(0, "")))

    def close(self) -> None:
        self._writer.close()
