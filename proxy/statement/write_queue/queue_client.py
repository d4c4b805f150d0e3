"""A statement's place in the queue of writes, which is in this process or in the supervisor."""

import asyncio
import json
from collections.abc import Collection
from pathlib import Path
from typing import Protocol

from proxy.errors import TableBusy, WorkerFailed
from proxy.statement.write_queue.queue import WriteQueue


class WritePlace(Protocol):
    """A statement's place; `ahead` statements were ahead when it was taken."""

    ahead: int

    async def turn(self) -> None:
        """Returns when its turn comes, or after `leave`. Raises WorkerFailed if the supervisor is
        gone."""
        ...

    def leave(self) -> None:
        """Gives the place back, whether it waits or has its turn. A second call does nothing."""
        ...


class WritePlaces(Protocol):
    """Gives places; `waiting` statements of this process wait for their turn."""

    waiting: int

    async def take(self, tables: Collection[str]) -> WritePlace:
        """A place behind all statements that write one of the tables.

        Raises TableBusy if too many wait, and WorkerFailed.
        """
        ...


class LocalPlaces:
    """The places of a server that is one process."""

    def __init__(self, queue: WriteQueue) -> None:
        self._queue = queue
        self.waiting = 0

    async def take(self, tables: Collection[str]) -> WritePlace:
        return _LocalPlace(self._queue, tables)


class _LocalPlace:
    def __init__(self, queue: WriteQueue, tables: Collection[str]) -> None:
        self._queue = queue
        self._turn = asyncio.Event()
        self.ahead = queue.enter(self, tables)
        if not self.ahead:
            self._turn.set()

    def on_turn(self) -> None:
        self._turn.set()

    async def turn(self) -> None:
        await self._turn.wait()

    def leave(self) -> None:
        self._queue.leave(self)
        self._turn.set()


class SharedPlaces:
    """The places of one of several workers; `path` is their supervisor's socket."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.waiting = 0

    async def take(self, tables: Collection[str]) -> WritePlace:
        try:
            reader, writer = await asyncio.open_unix_connection(str(self._path))
        except OSError as error:
            raise WorkerFailed(f"The queue of writes is not served: {error}.") from error
        place = _SharedPlace(reader, writer)
        try:
            await place.enter(tables)
        except BaseException:
            place.leave()
            raise
        return place


class _SharedPlace:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._left = False
        self.ahead = 0

    async def enter(self, tables: Collection[str]) -> None:
        self._writer.write(json.dumps(list(tables)).encode() + b"\n")
        reply = json.loads(await self._line())
        if "busy" in reply:
            raise TableBusy(reply["busy"])
        self.ahead = reply["ahead"]

    async def turn(self) -> None:
        if self.ahead and not self._left:
            await self._line()

    async def _line(self) -> bytes:
        line = await self._reader.readline()
        if not line and not self._left:
            raise WorkerFailed("The queue of writes ended.")
        return line

    def leave(self) -> None:
        self._left = True
        self._writer.close()
