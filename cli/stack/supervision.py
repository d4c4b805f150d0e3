"""Restarts services of the stack that have ended, after pauses that grow."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from cli.stack.plan import Service
from conf.topology import Endpoint

PAUSES = (1.0, 2.0, 5.0, 15.0, 30.0)  # seconds before the first, second, .. restart in a row
STEADY = 120.0  # seconds of running after which the count of restarts begins again


class Processes(Protocol):
    """The methods of `cli.stack.process.Children` that the supervision calls."""

    def exit_status(self, name: str) -> int | None: ...

    def stop_one(self, name: str) -> None: ...

    def start(self, service: Service) -> None: ...


@dataclass(slots=True)
class _Run:
    """The state of one service. `ends` counts the ends in a row. `due` is the time of the restart,
    None while the service runs. `answers` says whether it has answered since `began`."""

    began: float
    ends: int = 0
    due: float | None = None
    answers: bool = True


class Supervision:
    """Restarts services that have ended. `answers` returns whether something listens at an
    endpoint. A restarted service that does not answer within `patience` seconds counts as ended.
    Create the object when all services run."""

    def __init__(
        self,
        processes: Processes,
        services: Mapping[str, Service],
        answers: Callable[[Endpoint], bool],
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._processes = processes
        self._services = services
        self._answers = answers
        self._patience = patience
        self._clock = clock
        self._runs = {name: _Run(clock()) for name in services}

    def step(self) -> Iterator[str]:
        """Restarts the services that are due, and yields lines for the user. Call it about every
        second."""
        for name, service in self._services.items():
            yield from self._look_at(service, self._runs[name])

    def _look_at(self, service: Service, run: _Run) -> Iterator[str]:
        now, name = self._clock(), service.name
        if run.due is not None:
            if now >= run.due:
                self._start(service, run)
        elif (status := self._processes.exit_status(name)) is not None:
            yield self._ended(service, run, f"ended with status {status}")
        elif not run.answers:
            if all(map(self._answers, service.listens)):
                run.answers = True
                yield f"{name} answers again, {now - run.began:.1f} s after its start"
            elif now - run.began > self._patience:
                yield self._ended(service, run, f"did not answer within {self._patience:.0f} s")

    def _start(self, service: Service, run: _Run) -> None:
        self._processes.stop_one(service.name)
        self._processes.start(service)
        run.began, run.due, run.answers = self._clock(), None, False

    def _ended(self, service: Service, run: _Run, how: str) -> str:
        now = self._clock()
        if run.answers and now - run.began > STEADY:
            run.ends = 0
        pause = PAUSES[min(run.ends, len(PAUSES) - 1)]
        run.ends += 1
        run.due = now + pause
        return f"{service.name} {how} and restarts in {pause:g} s; its log will be {service.log}.1"
