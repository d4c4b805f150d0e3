"""Starts, watches and ends the worker processes of a server, and answers operators for all of them.

The supervisor sends lines of JSON to a worker's standard input and receives lines from its standard
output. The first line is the WorkerConfig; the worker answers `{"ready": true}` when it serves.
After that each line is an operator's request (`administration`) with an id, or its answer. When a
worker's standard input ends, the supervisor has ended, and the worker ends, too.
"""

import asyncio
import json
import logging
import mmap
import os
import secrets
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Self

from conf.errors import CausewayError
from proxy.administration.operator_requests import (
    EXPLAIN,
    HEALTH,
    RunAction,
    StandingRequests,
    merged,
)
from proxy.auth.cookies import KEY_BYTES
from proxy.auth.login_throttle import LoginThrottle, empty_throttle
from proxy.counters import SharedCounters, shared_size
from proxy.errors import NotFound, WorkerFailed
from proxy.server.peers import WorkerGroup
from proxy.session.replay import function_changes
from proxy.session.replay.function_changes import FunctionChanges
from proxy.statement.write_queue.queue_server import WriteQueueServer

_log = logging.getLogger(__name__)
_PAUSES = (0.1, 0.5, 2.0, 5.0)  # seconds before the first, second .. restart of a worker
_STEADY = 60.0  # seconds of running after which earlier ends do not count
_START_TIME = 60.0  # seconds for a worker to start
_MAX_MISSES = 3  # unanswered health checks in a row after which a worker is killed
_MAX_LINE = 64 << 20  # bytes
_STDOUT = 1
# Files of shared memory.
_COUNTERS, _THROTTLE = "counters", "failures"
_FUNCTIONS, _CACHED = "functions", "cached"
_WRITES = "writes"  # the socket of the queue of writes
_KILL_DELAY = 5.0  # seconds between SIGTERM and SIGKILL


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The first line that a worker reads. `ports` are those of the binary and the HTTP transport;
    0 for a transport that is not served."""

    number: int
    size: int
    folder: Path
    cookie_key: bytes
    ports: tuple[int, int]

    def line(self) -> bytes:
        fields = {
            "number": self.number,
            "size": self.size,
            "folder": str(self.folder),
            "cookie_key": self.cookie_key.hex(),
            "ports": self.ports,
        }
        return json.dumps(fields).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        fields = json.loads(line)
        binary, http = fields["ports"]
        key = bytes.fromhex(fields["cookie_key"])
        return cls(fields["number"], fields["size"], Path(fields["folder"]), key, (binary, http))

    def workers(self) -> WorkerGroup:
        """The worker's group, with the memory that all workers share. Raises OSError."""
        sockets = {number: self.folder / str(number) for number in range(self.size)}
        counters = SharedCounters(_shared(self.folder / _COUNTERS), self.number, self.size)
        throttle = LoginThrottle(memory=_shared(self.folder / _THROTTLE))
        functions, cached = (
            FunctionChanges(_shared(self.folder / name), self.number, self.size)
            for name in (_FUNCTIONS, _CACHED)
        )
        writes = self.folder / _WRITES
        return WorkerGroup(
            self.number, sockets, counters, throttle, functions, cached, writes, used_before=True
        )


def _shared(path: Path) -> memoryview:
    """The file's bytes as memory that processes share. Raises OSError."""
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0))


class WorkerProcess:
    """The supervisor's side of a worker. It sends one request at a time, and waits `patience`
    seconds for each answer."""

    def __init__(self, process: asyncio.subprocess.Process, patience: float) -> None:
        self.process = process
        self.serves = False
        self._patience = patience
        self._turn = asyncio.Lock()
        self._numbers = count()

    @property
    def is_running(self) -> bool:
        return self.process.returncode is None

    async def ready(self, standing: StandingRequests) -> None:
        """Waits until the worker serves, and sends it the standing requests of operators.

        Raises WorkerFailed.
        """
        async with self._turn:
            message = await self._read()
            if message == {"ready": True}:
                self.serves = True
                for action, argument in standing.requests():
                    with suppress(NotFound):  # a reload may have removed the cluster
                        await self._request(action, argument)
        if message != {"ready": True}:
            await self.process.wait()
            raise WorkerFailed(
                f"A worker ended with status {self.process.returncode} before it served."
            )

    async def run_action(self, action: str, argument: str) -> Any:
        """The worker's answer. Raises NotFound, WorkerFailed."""
        async with self._turn:
            return await self._request(action, argument)

    async def _request(self, action: str, argument: str) -> Any:
        number = next(self._numbers)
        request = {"id": number, "action": action, "argument": argument}
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            async with asyncio.timeout(self._patience):
                while (reply := await self._read()) is not None:
                    if reply.get("id") == number:  # else a late reply to an earlier request
                        return _answer(reply)
        except (OSError, TimeoutError) as error:
            raise WorkerFailed("A worker does not answer.") from error
        raise WorkerFailed("A worker ended.")

    async def _read(self) -> dict[str, Any] | None:
        assert self.process.stdout is not None
        try:
            line = await self.process.stdout.readline()
            message: dict[str, Any] | None = json.loads(line) if line else None
        except ValueError:
            return None
        return message

    def send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            self.process.send_signal(number)


def _answer(reply: dict[str, Any]) -> Any:
    if "missing" in reply:
        raise NotFound(reply["missing"])
    if "failed" in reply:
        raise WorkerFailed(reply["failed"])
    return reply["answer"]


class Supervisor:
    """Starts, watches and ends the workers.

    `argv` is the command line of a worker. `folder` is an empty folder that other users cannot
    enter. Each worker's health is checked every `patience` seconds, which is also the time-out for
    a worker's answers.
    """

    def __init__(
        self,
        argv: Sequence[str],
        size: int,
        folder: Path,
        ports: tuple[int, int],
        patience: float = 10.0,
    ) -> None:
        self._patience = patience
        self._argv = argv
        self._size = size
        self._folder = folder
        self._ports = ports
        self._key = secrets.token_bytes(KEY_BYTES)
        self._workers: dict[int, WorkerProcess] = {}
        self._stopping = False
        self._reloads = 0
        self._standing = StandingRequests()
        self._writes = WriteQueueServer()
        (folder / _COUNTERS).write_bytes(bytes(shared_size(size)))
        (folder / _THROTTLE).write_bytes(empty_throttle())
        for name in (_FUNCTIONS, _CACHED):
            (folder / name).write_bytes(bytes(function_changes.shared_size(size)))

    async def start(self) -> None:
        """Starts all workers and waits until they serve.

        Raises WorkerFailed after all workers have ended.
        """
        await self._writes.listen(self._folder / _WRITES)
        try:
            await self._start(0)  # alone, so that a wrong setting is reported once
            await asyncio.gather(*(self._start(number) for number in range(1, self._size)))
        except BaseException:
            await self.end(0.0)
            raise

    async def watch(self) -> None:
        """Restarts workers that end, and kills workers that hang, until `end`."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._size):
                group.create_task(self._watch(number))
                group.create_task(self._check_health(number))

    async def run_action(self, action: str, argument: str = "") -> Any:
        """The merged answers of all workers; of one worker if all have the same answer.

        Raises NotFound, WorkerFailed.
        """
        running = [worker for worker in self._workers.values() if worker.is_running]
        if action == EXPLAIN:
            running = running[:1]
        answers = await asyncio.gather(
            *(worker.run_action(action, argument) for worker in running), return_exceptions=True
        )
        results = [answer for answer in answers if not isinstance(answer, BaseException)]
        errors = [answer for answer in answers if isinstance(answer, BaseException)]
        if errors and (not results or not isinstance(errors[0], CausewayError)):
            raise errors[0]
        if not results:
            raise WorkerFailed("No worker is running.")
        self._standing.note(action, argument)
        return merged(action, results)

    async def end(self, patience: float) -> None:
        """Waits until all workers have ended. Sends SIGTERM to the remaining ones after `patience`
        seconds, and SIGKILL a few seconds later."""
        self._stopping = True
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await self._ended_within(patience):
                break
            self.signal(number)
            patience = _KILL_DELAY
        else:
            await self._ended_within(patience)
        self._writes.close()

    def stop(self, number: int) -> None:
        """Sends the signal to all workers, and restarts no worker from now on."""
        self._stopping = True
        self.signal(number)

    def reload(self) -> None:
        """Sends SIGHUP to each worker, so that it reloads the settings; a starting worker receives
        it when it serves."""
        self._reloads += 1
        for worker in self._workers.values():
            if worker.is_running and worker.serves:
                worker.send(signal.SIGHUP)

    def signal(self, number: int) -> None:
        for worker in self._workers.values():
            if worker.is_running:
                worker.send(number)

    async def _ended_within(self, wait: float) -> bool:
        waits = [worker.process.wait() for worker in self._workers.values()]
        try:
            async with asyncio.timeout(wait):
                await asyncio.gather(*waits)
        except TimeoutError:
            return False
        return True

    async def _start(self, number: int) -> None:
        process = await asyncio.create_subprocess_exec(
            *self._argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_MAX_LINE,
            start_new_session=True,  # only the supervisor receives Ctrl-C; it signals the workers
        )
        self._workers[number] = worker = WorkerProcess(process, self._patience)
        reloads = self._reloads
        assert process.stdin is not None
        config = WorkerConfig(number, self._size, self._folder, self._key, self._ports)
        process.stdin.write(config.line())
        try:
            async with asyncio.timeout(_START_TIME):
                await worker.ready(self._standing)
        except TimeoutError:
            worker.send(signal.SIGKILL)
            raise WorkerFailed("A worker did not start in time.") from None
        _log.info("worker %d serves", number)
        if reloads != self._reloads:
            worker.send(signal.SIGHUP)

    async def _watch(self, number: int) -> None:
        loop, ends = asyncio.get_running_loop(), 0
        while not self._stopping:
            began = loop.time()
            status = await self._workers[number].process.wait()
            if self._stopping:
                return
            ends = 0 if loop.time() - began > _STEADY else ends + 1
            _log.error("worker %d ended with status %d; its sessions are lost", number, status)
            await asyncio.sleep(_PAUSES[min(ends, len(_PAUSES) - 1)])
            if not self._stopping:
                with suppress(WorkerFailed):
                    await self._start(number)

    async def _check_health(self, number: int) -> None:
        misses = 0
        while not self._stopping:
            await asyncio.sleep(self._patience)
            worker = self._workers[number]
            try:
                await worker.run_action(HEALTH, "")
                misses = 0
            except WorkerFailed:
                misses += 1
            if misses == _MAX_MISSES and worker.is_running and not self._stopping:
                _log.error("worker %d does not answer and is killed", number)
                worker.send(signal.SIGKILL)
                misses = 0


async def answer_supervisor(reader: asyncio.StreamReader, run_action: RunAction) -> None:
    """The worker's side: answers the supervisor's requests until the supervisor has ended."""
    while line := await reader.readline():
        request = json.loads(line)
        reply: dict[str, Any] = {"id": request["id"]}
        try:
            reply["answer"] = await run_action(request["action"], request["argument"])
        except NotFound as error:
            reply["missing"] = error.args[0]
        except CausewayError as error:
            reply["failed"] = str(error)
        await asyncio.to_thread(send_to_supervisor, reply)


def send_to_supervisor(message: dict[str, Any]) -> None:
    """Writes a line to the supervisor. Blocks while the pipe is full."""
    data = memoryview(json.dumps(message, ensure_ascii=False).encode(errors="replace") + b"\n")
    while data:
        data = data[os.write(_STDOUT, data) :]
