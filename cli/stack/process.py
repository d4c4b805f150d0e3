"""Starts child processes that end with their parent, even if it is killed."""

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
_GRACE = 15.0  # seconds between SIGTERM and SIGKILL


class Children:
    """The running services, each the leader of a process group of its own.

    A watchdog process reads the group ids from a pipe. When this process ends, even by SIGKILL, the
    pipe closes, and the watchdog kills every group that is left.
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
        """Starts the service with its output in its log. Keeps the last run's log as `.1`."""
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
        self._send(f"+{child.pid}")

    def exit_status(self, name: str) -> int | None:
        """The service's exit status; None while it runs."""
        return self._running[name].poll()

    def pid(self, name: str) -> int:
        return self._running[name].pid

    def stop_one(self, name: str) -> None:
        self._end([self._running.pop(name)])

    def stop(self, first: Iterable[str] = ()) -> None:
        """Ends the services named in `first`, then all others, then the watchdog."""
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
            self._send(f"-{child.pid}")

    def _send(self, line: str) -> None:
        stdin = self._watchdog.stdin
        if stdin is None or stdin.closed:
            return
        # The watchdog may have been killed; then only this process ends the children.
        with suppress(BrokenPipeError):
            stdin.write(f"{line}\n".encode())
            stdin.flush()


def _signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if child.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, number)
