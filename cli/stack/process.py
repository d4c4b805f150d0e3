"""Child processes that never outlive their parent, however it ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Self

from cli.stack.plan import Service

_WATCHDOG = "cli.stack.watchdog"
_GRACE = 15.0  # seconds between the polite and the hard end


class Children:
    """The running services, each the leader of a process group of its own.

    A watchdog process holds the other end of a pipe: when this process is gone, even killed,
    the watchdog reads the pipe's end and kills every group that it was given.
    """

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._watchdog = subprocess.Popen(
            [sys.executable, "-m", _WATCHDOG], stdin=subprocess.PIPE, start_new_session=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self, service: Service) -> None:
        """Start it with its output in its log (the last run's kept beside as `.1`)."""
        service.folder.mkdir(parents=True, exist_ok=True)
        service.log.parent.mkdir(parents=True, exist_ok=True)
        if service.log.exists():
            service.log.replace(service.log.with_suffix(".log.1"))
        with service.log.open("wb") as log:
            child = subprocess.Popen(
                service.argv,
                cwd=service.folder,
                env={**os.environ, **service.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._running[service.name] = child
        self._tell(f"+{child.pid}")

    def exit_status(self, name: str) -> int | None:
        """How the service ended, None while it runs."""
        return self._running[name].poll()

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def stop_one(self, name: str) -> None:
        self._end([self._running.pop(name)])

    def stop(self, first: Iterable[str] = ()) -> None:
        """End the services named `first`, then all others, then the watchdog."""
        self._end([self._running[name] for name in first if name in self._running])
        self._end(list(self._running.values()))
        self._running.clear()
        if self._watchdog.stdin is not None:
            self._watchdog.stdin.close()
        self._watchdog.wait()

    def _end(self, children: list[subprocess.Popen[bytes]]) -> None:
        for child in children:
            _signal(child, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE
        for child in children:
            try:
                child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal(child, signal.SIGKILL)
                child.wait()
            self._tell(f"-{child.pid}")

    def _tell(self, line: str) -> None:
        stdin = self._watchdog.stdin
        if stdin is None or stdin.closed:
            return
        # Should someone kill the watchdog, this process still ends its children.
        with suppress(BrokenPipeError):
            stdin.write(f"{line}\n".encode())
            stdin.flush()


def _signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if child.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, number)
