"""One server in several processes: started, started again, asked as one, and ended together.

Each worker is told what it is on its standard input and answers there for the operators; when
that ends, its supervisor is gone and it goes as well. A line is a JSON object, both ways.
"""

import asyncio
import json
import logging
import mmap
import os
import secrets
import signal
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Self

from conf.errors import CausewayError
from proxy.auth.cookies import KEY_BYTES
from proxy.auth.login_throttle import Failures, no_failures
from proxy.errors import NoSuchThing, WorkerFailed
from proxy.operations.administration import DRAIN, HEALTH, RESUME, Ask, merged
from proxy.operations.counters import SharedTally, shared_size
from proxy.operations.peers import Crew
from proxy.session import function_changes
from proxy.session.function_changes import FunctionChanges

_log = logging.getLogger(__name__)
_PAUSES = (0.1, 0.5, 2.0, 5.0)  # seconds before a worker is started again
_STEADY = 60.0  # seconds after which an earlier end of a worker is forgotten
_READY = 60.0  # seconds for a worker to begin
_MISSES = 3  # answers in a row after which a worker is taken for hung
_LINE = 64 << 20
_STDOUT = 1
# Files of memory that all workers share.
_TALLY, _FAILURES, _FUNCTIONS = "tally", "failures", "functions"
_KILL = 5.0  # seconds between the last polite word and the other one


@dataclass(frozen=True, slots=True)
class Brief:
    """What a worker is told. `ports` are those of the binary and the HTTP door."""

    number: int
    size: int
    folder: Path
    cookie_key: bytes
    ports: tuple[int, int]

    def line(self) -> bytes:
        told = {
            "number": self.number,
            "size": self.size,
            "folder": str(self.folder),
            "cookie_key": self.cookie_key.hex(),
            "ports": self.ports,
        }
        return json.dumps(told).encode() + b"\n"

    @classmethod
    def read(cls, line: bytes) -> Self:
        told = json.loads(line)
        binary, http = told["ports"]
        key = bytes.fromhex(told["cookie_key"])
        return cls(told["number"], told["size"], Path(told["folder"]), key, (binary, http))

    def crew(self) -> Crew:
        """The worker among the others. Raises OSError."""
        sockets = {number: self.folder / str(number) for number in range(self.size)}
        tally = SharedTally(_shared(self.folder / _TALLY), self.number, self.size)
        failures = Failures(memory=_shared(self.folder / _FAILURES))
        memory = _shared(self.folder / _FUNCTIONS)
        functions = FunctionChanges(memory, self.number, self.size)
        return Crew(self.number, sockets, tally, failures, functions)


def _shared(path: Path) -> memoryview:
    """The file's bytes, which are those of all who ask. Raises OSError."""
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), 0))


class Worker:
    """One process, asked one question at a time, each answered within `patience` seconds."""

    def __init__(self, process: asyncio.subprocess.Process, patience: float) -> None:
        self.process = process
        self.serves = False
        self._patience = patience
        self._turn = asyncio.Lock()
        self._numbers = count()

    @property
    def is_there(self) -> bool:
        return self.process.returncode is None

    async def ready(self, drained: Collection[str]) -> None:
        """Until it serves, and knows what operators drained; until then it is asked nothing.

        Raises WorkerFailed.
        """
        async with self._turn:
            told = await self._read()
            if told == {"ready": True}:
                self.serves = True
                for place in tuple(drained):
                    with suppress(NoSuchThing):  # it is not in the settings any more
                        await self._asked(DRAIN, place)
        if told != {"ready": True}:
            await self.process.wait()
            raise WorkerFailed(
                f"A worker ended with status {self.process.returncode} before it served."
            )

    async def ask(self, action: str, argument: str) -> Any:
        """Its answer. Raises NoSuchThing, WorkerFailed."""
        async with self._turn:
            return await self._asked(action, argument)

    async def _asked(self, action: str, argument: str) -> Any:
        number = next(self._numbers)
        asked = {"id": number, "action": action, "argument": argument}
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(asked).encode() + b"\n")
            async with asyncio.timeout(self._patience):
                while (told := await self._read()) is not None:
                    if told.get("id") == number:  # an earlier one may have come too late
                        return _answer(told)
        except (OSError, TimeoutError) as error:
            raise WorkerFailed("A worker does not answer.") from error
        raise WorkerFailed("A worker ended.")

    async def _read(self) -> dict[str, Any] | None:
        assert self.process.stdout is not None
        try:
            line = await self.process.stdout.readline()
            told: dict[str, Any] | None = json.loads(line) if line else None
        except ValueError:
            return None
        return told

    def send(self, number: int) -> None:
        with suppress(ProcessLookupError):
            self.process.send_signal(number)


def _answer(told: dict[str, Any]) -> Any:
    if "missing" in told:
        raise NoSuchThing(told["missing"])
    if "failed" in told:
        raise WorkerFailed(told["failed"])
    return told["answer"]


class Supervisor:
    """`argv` starts a worker; `folder` is empty, the server's own and no other user's. Every
    `patience` seconds each worker is asked how it is, and has as many to answer."""

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
        self._workers: dict[int, Worker] = {}
        self._stopping = False
        self._reloads = 0
        self._drained: set[str] = set()  # by the operators, of whom a new worker knows nothing
        (folder / _TALLY).write_bytes(bytes(shared_size(size)))
        (folder / _FAILURES).write_bytes(no_failures())
        (folder / _FUNCTIONS).write_bytes(bytes(function_changes.shared_size(size)))

    async def start(self) -> None:
        """Until all serve. Raises WorkerFailed; none is left then."""
        try:
            await self._start(0)  # what is wrong with the settings is said once
            await asyncio.gather(*(self._start(number) for number in range(1, self._size)))
        except BaseException:
            await self.end(0.0)
            raise

    async def watch(self) -> None:
        """Starts again whoever ends, and ends whoever hangs, until `end`."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._size):
                group.create_task(self._watch(number))
                group.create_task(self._look_after(number))

    async def ask(self, action: str, argument: str = "") -> Any:
        """Asks every worker (`administration.Ask`). Raises NoSuchThing, WorkerFailed."""
        there = [worker for worker in self._workers.values() if worker.is_there]
        answers = await asyncio.gather(
            *(worker.ask(action, argument) for worker in there), return_exceptions=True
        )
        good = [answer for answer in answers if not isinstance(answer, BaseException)]
        bad = [answer for answer in answers if isinstance(answer, BaseException)]
        if bad and (not good or not isinstance(bad[0], CausewayError)):
            raise bad[0]
        if not good:
            raise WorkerFailed("No worker is there.")
        if action == DRAIN:
            self._drained.add(argument)
        elif action == RESUME:
            self._drained.discard(argument)
        return merged(action, good)

    async def end(self, patience: float) -> None:
        """Until no worker is left: those that are there after `patience` seconds are told to go
        at once, and a little later not asked any more."""
        self._stopping = True
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await self._gone(patience):
                return
            self.signal(number)
            patience = _KILL
        await self._gone(patience)

    def stop(self, number: int) -> None:
        """Passes on the signal to stop: none is started again."""
        self._stopping = True
        self.signal(number)

    def reload(self) -> None:
        """Has each worker read the settings anew; one that does not serve yet, once it does."""
        self._reloads += 1
        for worker in self._workers.values():
            if worker.is_there and worker.serves:
                worker.send(signal.SIGHUP)

    def signal(self, number: int) -> None:
        for worker in self._workers.values():
            if worker.is_there:
                worker.send(number)

    async def _gone(self, wait: float) -> bool:
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
            limit=_LINE,
            start_new_session=True,  # Ctrl-C is for the supervisor, which passes it on
        )
        self._workers[number] = worker = Worker(process, self._patience)
        reloads = self._reloads
        assert process.stdin is not None
        brief = Brief(number, self._size, self._folder, self._key, self._ports)
        process.stdin.write(brief.line())
        try:
            async with asyncio.timeout(_READY):
                await worker.ready(self._drained)
        except TimeoutError:
            worker.send(signal.SIGKILL)
            raise WorkerFailed("A worker did not begin in time.") from None
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

    async def _look_after(self, number: int) -> None:
        misses = 0
        while not self._stopping:
            await asyncio.sleep(self._patience)
            worker = self._workers[number]
            try:
                await worker.ask(HEALTH, "")
                misses = 0
            except WorkerFailed:
                misses += 1
            if misses == _MISSES and worker.is_there and not self._stopping:
                _log.error("worker %d does not answer and is ended", number)
                worker.send(signal.SIGKILL)
                misses = 0


async def answer_supervisor(reader: asyncio.StreamReader, ask: Ask) -> None:
    """A worker's side: answers until the supervisor is gone."""
    while line := await reader.readline():
        asked = json.loads(line)
        told: dict[str, Any] = {"id": asked["id"]}
        try:
            told["answer"] = await ask(asked["action"], asked["argument"])
        except NoSuchThing as error:
            told["missing"] = error.args[0]
        except CausewayError as error:
            told["failed"] = str(error)
        await asyncio.to_thread(say, told)


def say(told: dict[str, Any]) -> None:
    """A line for the supervisor; waits for it to read."""
    data = memoryview(json.dumps(told, ensure_ascii=False).encode(errors="replace") + b"\n")
    while data:
        data = data[os.write(_STDOUT, data) :]
