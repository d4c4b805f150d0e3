"""Two processes of the view over one metastore, and each call to it waits for its turn."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy.util import await_only, greenlet_spawn

from conf.names import ClusterName, TableRef
from conf.topology import Cluster, Topology
from conf.write_ids import new_id
from metastore.client.catalog_client import Holds
from metastore.client.types import Partition, Table
from metastore.view.call import read_call, read_request
from metastore.view.inbound.admission import admit
from metastore.view.inbound.version_updates import Context
from metastore.view.locations import ClusterView
from metastore.view.locks.distributed_locks import DistributedLocks
from metastore.view.lookups import Lookup, T
from metastore.view.server.direct_writes import DirectWriter
from metastore.view.server.orphans_store import OrphanLog
from metastore.view.server.reply_cache import TableCache
from metastore.view.server.shared import Shared
from metastore.view.spark_writes.spark_writes import SparkWrite
from tests.metastore.in_memory import Memory
from thriftcodec.reader import read_struct
from thriftcodec.values import Struct
from thriftcodec.writer import call_bytes

C1, C2 = ClusterName("C1"), ClusterName("C2")
TOPOLOGY = Topology({name: Cluster(name, f"hdfs://{name}", ()) for name in (C1, C2)}, C1)
REF = TableRef("db", "p")
DAYS = ("1", "2")


class Turns:
    """Lets one of the waiting tasks run at a time, chosen at random."""

    def __init__(self, seed: int, check: Callable[[], None]) -> None:
        self.random = random.Random(seed)
        self._check = check
        self._waiting: list[asyncio.Future[None]] = []

    async def next(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    async def run(self, tasks: Iterable[Coroutine[Any, Any, None]]) -> None:
        running = {asyncio.ensure_future(each) for each in tasks}
        while running:
            for _ in range(6):  # until each task waits for its turn, or for another one
                await asyncio.sleep(0)
            for _ in range(200):
                if self._waiting:
                    break
                await asyncio.sleep(0)
            self._check()
            for task in [each for each in running if each.done()]:
                running.discard(task)
                task.result()
            waiting = [each for each in self._waiting if not each.done()]
            if waiting:
                chosen = self.random.choice(waiting)
                self._waiting = [each for each in waiting if each is not chosen]
                chosen.set_result(None)
            else:
                assert not running, "the processes wait for each other"


class SteppedMemory(Memory):
    """Each call is atomic, and others may run before it. `turn` waits in a greenlet."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: Turns | None = None
        self.exclusive_in: Callable[[TableRef], AbstractContextManager[Holds]] | None = None

    def get_table(self, ref: TableRef) -> Table:
        self._turn()
        return _copied(super().get_table(ref))

    def alter_table(self, ref: TableRef, table: Table) -> None:
        self._turn()
        super().alter_table(ref, _copied(table))

    def get_partitions(self, ref: TableRef, names: Iterable[str]) -> list[Partition]:
        self._turn()
        return [Partition(_read_again(each.struct)) for each in super().get_partitions(ref, names)]

    def alter_partitions(self, ref: TableRef, partitions: Iterable[Partition]) -> None:
        self._turn()
        super().alter_partitions(ref, [Partition(_read_again(p.struct)) for p in partitions])

    def _turn(self) -> None:
        if self.turns is not None:
            await_only(self.turns.next())


def _read_again(struct: Struct) -> Struct:
    data = call_bytes("", 0, struct)
    at = len(call_bytes("", 0, Struct())) - 1
    return read_struct(data, at)[0]


def _copied(table: Table) -> Table:
    return Table(_read_again(table.struct))


class Process:
    """Another process of the view, as its peers see it."""

    def __init__(self, name: str, view: "View") -> None:
        self.order = name
        self._view = view

    @property
    def process_id(self) -> str:
        return self._view.shared.locks.process_id

    async def lock(self, owner: str, tables: Iterable[TableRef]) -> "HeldThere":
        held = HeldThere(self._view.shared.locks, owner, frozenset(tables))
        await self._view.shared.locks.take_local(owner, held.tables)
        return held


class HeldThere:
    def __init__(self, locks: DistributedLocks, owner: str, tables: frozenset[TableRef]) -> None:
        self._locks = locks
        self._owner = owner
        self.tables = tables
        self.process_id = locks.process_id

    async def release(self, changed: Iterable[TableRef]) -> None:
        self._locks.release_local(self._owner, self.tables, changed)

    def abandon(self) -> None:
        self._locks.abandon_local(self._owner, self.tables)


class View:
    """One process of the view."""

    def __init__(self, name: str, memory: SteppedMemory) -> None:
        self.name = name
        self._memory = memory
        self.shared = Shared(OrphanLog(None), TableCache(0, False))

    def knows(self, others: Iterable["View"]) -> None:
        places = [Process(each.name, each) for each in others]
        self.shared.locks = DistributedLocks(self.shared.changed, places)
        self.shared.locks.listens_at([self.name])

    async def alter(self, request: bytes, ended: Callable[[], None] = lambda: None) -> None:
        """A client's call."""
        call = read_call(read_request(request))
        async with self.shared.locks.exclusive(call.tables()) as held:
            admitted = await self._answer(admit(call, self._context()))
            await self._answer(_sent(admitted.request))
            ended()
            if admitted.after is not None:
                await self._answer(admitted.after())
            self.shared.changed(admitted.changed)
            held.changed += admitted.changed

    async def report(self, write: SparkWrite) -> None:
        await self._writer("").report(write)

    async def settle(self, ref: TableRef, owner: str) -> None:
        await self.shared.settled(ref, owner)
        await self._writer(owner).settle(ref)

    def _writer(self, owner: str) -> DirectWriter:
        def run(lookup: Lookup[T]) -> Awaitable[T]:
            return self._answer(lookup)

        return DirectWriter(run, self.shared, self._context(), self, owner)

    async def _answer(self, lookup: Lookup[T]) -> T:
        return await greenlet_spawn(self._memory.answered, lookup)

    @staticmethod
    def _context() -> Context:
        return Context(ClusterView(C1, TOPOLOGY), new_id)


def _sent(request: bytes) -> Lookup[None]:
    yield request
