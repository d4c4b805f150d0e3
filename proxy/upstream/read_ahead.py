"""Requests the next batch of a result while the client still reads the batch before it, so that the
cluster encodes rows while the client decodes them.

A request ahead moves the cluster's cursor in the result. If the client then requests the next rows,
it gets the batch. Before any other request the cursor is moved back.
"""

import asyncio
from collections.abc import Callable

from proxy.errors import ClusterLost
from proxy.protocol.cluster_calls import RemoteOperation, fetch_call
from proxy.protocol.replies import read_result, result_failure
from proxy.protocol.requests import FetchResults, Handle
from proxy.protocol.types import FETCH_ROWS, Orientation
from proxy.upstream.upstream_connection import Sink, UpstreamConnection
from proxy.upstream.upstream_session import UpstreamSession

_HELD = 256 << 10  # bytes of a batch kept in memory; the rest waits in the connection
_NO_HANDLE = Handle(b"", b"")  # `fetch_call` replaces it by the cluster's handle
_FULL_BATCHES = 2  # in a row, before the next batch is requested ahead

First = Callable[[int, bytes], bytes]


class _Batch:
    """A requested batch. Keeps the bytes that arrive until it has a `Sink`, then passes them on."""

    def __init__(self, connection: UpstreamConnection, request: bytes, limit: int) -> None:
        self.connection = connection
        self.limit = limit  # rows requested
        self._request = request
        self._length: int | None = None  # of the reply, once that began
        self._head = b""
        self._held: list[bytes] = []
        self._size = 0
        self._first: First | None = None
        self._sink: Sink | None = None
        self._paused: UpstreamConnection | None = None
        self._done = connection.begin_relay(request, self._begin, self)
        self._done.add_done_callback(_seen)

    def another(self) -> "_Batch":
        """Requests as many rows again, behind this batch."""
        return _Batch(self.connection, self._request, self.limit)

    # as a sink

    def _begin(self, length: int, head: bytes) -> bytes:
        if self._first is not None:
            return self._first(length, head)
        self._length, self._head = length, head
        return b""

    def write(self, data: bytes) -> None:
        if self._sink is not None:
            self._sink.write(data)
        else:
            self._held.append(data)
            self._size += len(data)

    @property
    def is_full(self) -> bool:
        return self._size >= _HELD if self._sink is None else self._sink.is_full

    def when_writable(self, source: UpstreamConnection | None) -> None:
        if self._sink is None:
            self._paused = source
        else:
            self._sink.when_writable(source)

    # called by ReadAhead

    @property
    def is_whole(self) -> bool:
        return self._done.done()

    async def give(self, first: First, sink: Sink) -> None:
        """Passes the batch on to `sink`, as `UpstreamConnection.relay` does."""
        if self._done.done():
            self._done.result()  # raises the error of a broken reply before any byte is passed on
        self._first, self._sink = first, sink
        if self._length is not None:
            sink.write(first(self._length, self._head))
            for piece in self._held:
                sink.write(piece)
            self._held.clear()
        if self._paused is not None:
            if sink.is_full:
                sink.when_writable(self._paused)
            else:
                self._paused.resume()
        await self.connection.end_relay(self._done, sink)


class _Nowhere:
    """A sink that discards the bytes."""

    is_full = False

    def write(self, data: bytes) -> None:
        pass

    def when_writable(self, source: UpstreamConnection | None) -> None:
        pass


class ReadAhead:
    """Reads one result of a cluster, one request at a time.

    Requests ahead use a second connection, so that no other call of the session waits behind a
    batch that the client may never fetch.
    """

    def __init__(
        self, upstream: UpstreamSession, operation: RemoteOperation, may_run_ahead: bool
    ) -> None:
        self._over = not may_run_ahead
        self._upstream = upstream
        self._operation = operation
        self._turn = asyncio.Lock()
        self._batch: _Batch | None = None
        self._limit = 0  # rows of each of the last `_full` batches
        self._full = 0

    async def relay(
        self, request: FetchResults, first: First, sink: Sink, rows: Callable[[], int | None]
    ) -> None:
        """Passes on the requested rows. `rows` then returns their number; None: not known.

        Raises ClusterLost, LimitReached, WireError.
        """
        if request.fetch_type != FETCH_ROWS:
            await self._fetch(request, first, sink)
            return
        async with self._turn:
            batch, self._batch = self._batch, None
            if batch is not None and not _serves(batch, request):
                await self._put_back(batch, request)
                batch = None
            try:
                if batch is None:
                    await self._fetch(request, first, sink)
                    self._learn(request, rows())
                    await self._begin_ahead()
                else:
                    await self._give(batch, request, first, sink)
                    self._learn(request, rows())
            finally:
                if self._over:
                    self._drop()

    def stop(self) -> None:
        """The client will fetch no more rows."""
        self._over = True
        if not self._turn.locked():
            self._drop()

    def _drop(self) -> None:
        batch, self._batch = self._batch, None
        if batch is None:
            return
        if batch.is_whole:
            self._upstream.give_back(batch.connection)
        else:
            batch.connection.abort()

    async def _fetch(self, request: FetchResults, first: First, sink: Sink) -> None:
        async with self._upstream.connection() as connection:
            await connection.relay(fetch_call(self._operation, request), first, sink)

    def _learn(self, request: FetchResults, rows: int | None) -> None:
        """Counts consecutive full batches of one size: after some, more rows are likely."""
        as_before = request.orientation == Orientation.NEXT and request.max_rows == self._limit
        self._limit = request.max_rows
        if rows is None or not 0 < request.max_rows <= rows:
            self._full = 0
        else:
            self._full = self._full + 1 if as_before else 1

    @property
    def _may_go_on(self) -> bool:
        return self._full >= _FULL_BATCHES and not self._over

    async def _begin_ahead(self) -> None:
        if self._may_go_on and (connection := await self._upstream.spare()) is not None:
            call = self._call(Orientation.NEXT, self._limit)
            self._batch = _Batch(connection, call, self._limit)

    async def _give(self, batch: _Batch, request: FetchResults, first: First, sink: Sink) -> None:
        """Passes a batch on. Requests the next batch before that, so that the cluster does not wait
        between two batches."""
        connection = batch.connection
        if self._may_go_on and request.max_rows == batch.limit and not connection.broken:
            self._batch = batch.another()
        try:
            await batch.give(first, sink)
        except BaseException:
            self._batch = None
            connection.abort()
            raise
        if self._batch is None:
            self._upstream.give_back(connection)

    async def _put_back(self, batch: _Batch, request: FetchResults) -> None:
        """Moves the cluster's cursor back to where it was before the batch, unless the client
        requests the first rows."""
        try:
            await batch.give(lambda length, head: b"", _Nowhere())
            if request.orientation != Orientation.FIRST:
                back = self._call(Orientation.PRIOR, batch.limit)
                seconds = self._upstream.call_seconds
                read = await batch.connection.call("FetchResults", back, seconds)
                failure = result_failure(read_result(read, "FetchResults"))
                if failure is not None:
                    raise ClusterLost(f"The cluster cannot fetch backwards: {failure.message}")
        except BaseException:
            batch.connection.abort()
            raise
        self._upstream.give_back(batch.connection)

    def _call(self, orientation: Orientation, limit: int) -> bytes:
        return fetch_call(self._operation, FetchResults(_NO_HANDLE, orientation, limit, FETCH_ROWS))


def _serves(batch: _Batch, request: FetchResults) -> bool:
    return request.orientation == Orientation.NEXT and request.max_rows >= batch.limit


def _seen(done: asyncio.Future[None]) -> None:
    """Retrieves the exception, so that asyncio does not log it."""
    if not done.cancelled():
        done.exception()
