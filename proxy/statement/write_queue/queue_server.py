"""The queue of writes that the workers of a server share, served by their supervisor.

Each statement that writes has a connection of its own to a Unix socket. It sends a line of JSON
with its tables, receives a line with the number of statements ahead (or with the error), and
another line when its turn comes. It leaves the queue by closing the connection; the connections of
a worker that dies are closed as well.
"""

import asyncio
import json
from pathlib import Path
from typing import cast

from proxy.errors import TableBusy
from proxy.statement.write_queue.queue import WriteQueue


class WriteQueueServer:
    """Serves the queue to the workers of one supervisor."""

    def __init__(self) -> None:
        self.queue = WriteQueue()
        self._server: asyncio.Server | None = None

    async def listen(self, path: Path) -> None:
        """Serves at this socket. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: _Waiter(self.queue), str(path))

    def close(self) -> None:
        if self._server is not None:
            self._server.close()


class _Waiter(asyncio.Protocol):
    """The connection of one statement of a worker (a `QueuedWrite`)."""

    def __init__(self, queue: WriteQueue) -> None:
        self._queue = queue
        self._received = b""
        self._transport: asyncio.WriteTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)  # uvloop's are of no such class

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._received.endswith(b"\n"):
            self._transport.write(json.dumps(self._enter()).encode() + b"\n")

    def _enter(self) -> dict[str, object]:
        try:
            return {"ahead": self._queue.enter(self, json.loads(self._received))}
        except TableBusy as error:
            return {"busy": error.args[0]}

    def on_turn(self) -> None:
        self._transport.write(b"turn\n")

    def connection_lost(self, error: Exception | None) -> None:
        self._queue.leave(self)
