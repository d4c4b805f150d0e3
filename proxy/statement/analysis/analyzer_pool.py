"""Chooses where a statement is analysed, so that no statement and no user delays the others.

The event loop analyses a statement if its result is cached, or if it is short, takes few steps
(`dialect.work` counts them) and its user has not used up a share of the loop's time. Two processes
analyse all other statements. The user with the least recent use goes first, and of one user the
session with the least. One of the processes takes only tasks of users with little use, so that no
user waits behind a slow statement of another user.
"""

import asyncio
import math
from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from time import thread_time

from cachetools import LRUCache

from conf.catalog.tables import Catalog, NotLoaded, TableInfo
from conf.names import TableRef
from dialect.analyze import attempt, cached_answer, too_long
from dialect.grammar import cluster_statements
from dialect.grammar.cluster_statements import ClusterCommand
from dialect.statement import Analysis, Namespace, Needs
from dialect.work import TooMuchWork, bounded
from proxy.errors import LimitReached
from proxy.statement.analysis.analyzer_process import (
    Analyze,
    AnalyzerProcess,
    ParseCommand,
    Result,
    Task,
    packed,
)

SHORT_TEXT = 4 << 10  # characters; longer texts are never analysed in the event loop
STEPS = 500  # of one analysis in the event loop, some 3 ms
LOOP_SHARE = 0.05  # of the event loop's time for the analyses of one user ..
LOOP_CREDIT = 0.05  # .. and the seconds that they may take at once
LITTLE = 0.2  # seconds of recent use; the quick process takes only tasks of users below it
HALF_LIFE = 10.0  # seconds after which use counts half
WAITING_OF_USER, WAITING = 1_000, 4_000  # waiting tasks, at most
WAITING_BYTES = 128 << 20  # of all waiting tasks; those of one user may have half of it
_USERS = 10_000  # users and sessions whose use is kept
_HINTS = 10_000  # texts of which the needed tables are kept, or that their analysis is slow


@dataclass(frozen=True, slots=True)
class Client:
    """The user and the session of a statement."""

    user: str
    session: Hashable


class Usage:
    """Recently used processor time by key, in seconds. It halves every `half_life` seconds."""

    def __init__(self, half_life: float) -> None:
        self._rate = math.log(2) / half_life
        self._used: LRUCache[Hashable, tuple[float, float]] = LRUCache(_USERS)

    def of(self, key: Hashable, now: float) -> float:
        """The recent use at the time `now` of the event loop, in seconds."""
        used, at = self._used.get(key, (0.0, now))
        return used * math.exp(self._rate * (at - now))

    def add(self, key: Hashable, seconds: float, now: float) -> None:
        self._used[key] = (self.of(key, now) + seconds, now)


@dataclass(slots=True, eq=False)
class _Waiting:
    client: Client
    task: bytes
    result: asyncio.Future[Result]


@dataclass(slots=True, eq=False)
class _Lane:
    """A process. `quick`: it takes only tasks of users with little recent use."""

    quick: bool
    process: AnalyzerProcess = field(default_factory=AnalyzerProcess)
    busy: bool = False


class AnalyzerPool:
    """Analyses the statements of all users, fairly."""

    def __init__(self) -> None:
        self._lanes = (_Lane(quick=True), _Lane(quick=False))
        self._waiting: list[_Waiting] = []
        self._running: set[asyncio.Task[None]] = set()
        self._in_loop = Usage(LOOP_CREDIT / LOOP_SHARE * math.log(2))
        self._in_processes = Usage(HALF_LIFE)
        self._needed: LRUCache[int, frozenset[TableRef]] = LRUCache(_HINTS)
        self._slow: LRUCache[int, bool] = LRUCache(_HINTS)
        self.in_loop = self.in_processes = 0  # numbers of analyses in each place

    async def analyse(
        self, sql: str, namespace: Namespace, catalog: Catalog, client: Client
    ) -> Analysis:
        """The result of `dialect.analyze.analyze` for the statement. Raises LimitReached."""
        if (unknown := too_long(sql)) is not None:
            return unknown
        if len(sql) <= SHORT_TEXT:
            analysis = self._in_event_loop(sql, namespace, catalog, client)
            if analysis is not None:
                return analysis
        self.in_processes += 1
        tables = _known(self._needed.get(hash(sql), ()), catalog)
        while True:
            result = await self._run(Analyze(sql, namespace, tables), client)
            assert isinstance(result, Analysis)
            if not isinstance(result, Needs):
                return result
            self._needed[hash(sql)] = result.tables | tables.keys()
            more = _known(result.tables, catalog)
            if len(more) < len(result.tables):
                return result
            tables = {**tables, **more}

    async def command(self, sql: str, in_use: bool, client: Client) -> ClusterCommand | None:
        """The result of `dialect.grammar.cluster_statements.parse`. Raises LimitReached."""
        if not in_use or not cluster_statements.may_be_cluster_command(sql) or too_long(sql):
            return None
        if len(sql) <= SHORT_TEXT:
            with suppress(TooMuchWork), bounded(STEPS):
                return cluster_statements.parse(sql, in_use)
        result = await self._run(ParseCommand(sql), client)
        assert not isinstance(result, Analysis)
        return result

    @property
    def waiting(self) -> int:
        """Statements that wait for a process that analyses them."""
        return len(self._waiting)

    async def close(self) -> None:
        """Ends the processes."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        for lane in self._lanes:
            await lane.process.close()

    def _in_event_loop(
        self, sql: str, namespace: Namespace, catalog: Catalog, client: Client
    ) -> Analysis | None:
        """The analysis, if it is cached or takes few steps; else None."""
        answer: Analysis | None = cached_answer(sql, namespace, catalog)
        now = asyncio.get_running_loop().time()
        if answer is None and self._may_try(sql, client.user, now):
            began = thread_time()
            try:
                answer = attempt(sql, namespace, catalog, STEPS)
            except TooMuchWork:
                self._slow[hash(sql)] = True
            self._in_loop.add(client.user, thread_time() - began, now)
        self.in_loop += answer is not None
        return answer

    def _may_try(self, sql: str, user: str, now: float) -> bool:
        return hash(sql) not in self._slow and self._in_loop.of(user, now) < LOOP_CREDIT

    async def _run(self, task: Task, client: Client) -> Result:
        """Runs the task in one of the processes when its turn comes. Returns the result."""
        waiting = _Waiting(client, packed(task), asyncio.get_running_loop().create_future())
        self._admit(waiting)
        self._waiting.append(waiting)
        self._assign()
        try:
            return await waiting.result
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def _admit(self, new: _Waiting) -> None:
        """Raises LimitReached if too many tasks or bytes wait, of the user or in all."""
        own = [each for each in self._waiting if each.client.user == new.client.user]
        bytes_of_user, in_all = _bytes((*own, new)), _bytes((*self._waiting, new))
        full = len(own) >= WAITING_OF_USER or len(self._waiting) >= WAITING
        if full or bytes_of_user > WAITING_BYTES // 2 or in_all > WAITING_BYTES:
            raise LimitReached("Too many statements wait for their analysis.")

    def _assign(self) -> None:
        """Gives waiting tasks to free processes."""
        now = asyncio.get_running_loop().time()
        for lane in self._lanes:
            waiting = None if lane.busy else self._next(lane, now)
            if waiting is not None:
                lane.busy = True
                self._waiting.remove(waiting)
                task = asyncio.ensure_future(self._serve(lane, waiting))
                self._running.add(task)
                task.add_done_callback(self._running.discard)

    def _next(self, lane: _Lane, now: float) -> _Waiting | None:
        used = self._in_processes
        waiting = [
            each
            for each in self._waiting
            if not lane.quick or used.of(each.client.user, now) < LITTLE
        ]
        return min(
            waiting,
            key=lambda each: (used.of(each.client.user, now), used.of(each.client, now)),
            default=None,
        )

    async def _serve(self, lane: _Lane, waiting: _Waiting) -> None:
        client, result = waiting.client, waiting.result
        try:
            answer, seconds = await lane.process.run(waiting.task)
        except BaseException as error:
            if not result.done():
                result.set_exception(error)
            if isinstance(error, asyncio.CancelledError):
                raise
        else:
            now = asyncio.get_running_loop().time()
            self._in_processes.add(client.user, seconds, now)
            self._in_processes.add(client, seconds, now)
            if not result.done():
                result.set_result(answer)
        finally:
            lane.busy = False
        self._assign()


def _known(tables: Iterable[TableRef], catalog: Catalog) -> dict[TableRef, TableInfo | None]:
    """The tables that the catalog has in memory; None for one that does not exist."""
    found: dict[TableRef, TableInfo | None] = {}
    for ref in tables:
        try:
            found[ref] = catalog.table(ref)
        except NotLoaded:
            continue
    return found


def _bytes(waiting: Iterable[_Waiting]) -> int:
    return sum(len(each.task) for each in waiting)
