"""The exclusive right of a run to copy some objects of a table: a marker with heartbeats."""

import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from pipeline.copy.files import Files
from pipeline.copy.runs.staging import (
    HEARTBEAT_SECONDS,
    LEASE_SECONDS,
    OPEN,
    RunMarker,
    is_run,
    marker_path,
    open_path,
    this_machine,
)
from pipeline.errors import AnotherCopyRuns, CopyError

Clock = Callable[[], float]


def run_markers(files: Files, staging: str) -> dict[str, RunMarker | None]:
    """The marker of every run in a staging directory, the newest run first; None for a run without
    a readable marker.
    """
    return _markers(files, staging, files.children(staging))


def open_markers(files: Files, staging: str) -> dict[str, RunMarker | None]:
    """The markers, as `run_markers` returns them, of the open runs: those that work, or have left
    files that they did not publish.
    """
    return _markers(files, staging, files.children(f"{staging}/{OPEN}"))


def _markers(files: Files, staging: str, children: Iterable[str]) -> dict[str, RunMarker | None]:
    runs = sorted(filter(is_run, children), reverse=True)
    texts = files.read_markers([marker_path(staging, run) for run in runs])
    return {
        run: None if text is None else RunMarker.from_text(text)
        for run, text in zip(runs, texts, strict=True)
    }


class Lease:
    """A context that a run holds while it works in a staging directory.

    Entering raises AnotherCopyRuns when another run copies one of its objects. Each run reads the
    markers of the others twice: before and after it marks itself as working. So of two runs that
    start at the same moment at least one finds the other. A run that leaves no files for another
    run to take over sets `finished`.
    """

    def __init__(self, files: Files, staging: str, marker: RunMarker, clock: Clock) -> None:
        self._files = files
        self._staging = staging
        self._clock = clock
        self._marker = marker
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._send_heartbeats, daemon=True)
        self._last_heartbeat = marker.heartbeat
        self.finished = False

    def __enter__(self) -> Self:
        self._write(self._marker)
        self._files.write_marker(f"{open_path(self._staging, self._marker.run)}/run", "")
        self._yield_to(lambda other: other.working or other.run < self._marker.run)
        self._marker = self._marker.as_working()
        self._write(self._marker)
        self._yield_to(lambda other: other.run < self._marker.run)
        self._thread.start()
        return self

    def _yield_to(self, has_priority: Callable[[RunMarker], bool]) -> None:
        machine, now = this_machine(), self._clock()
        for run, other in open_markers(self._files, self._staging).items():
            if other is None or run == self._marker.run or not other.is_alive(now, machine):
                continue
            if other.shares_objects(self._marker) and has_priority(other):
                own = self._marker.run
                self._files.delete([open_path(self._staging, own), f"{self._staging}/{own}"])
                host = other.machine.split()[0]
                raise AnotherCopyRuns(f"run {run} of {host} works in {self._staging}.")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        if kind is None or issubclass(kind, Exception):
            self._write(self._marker.as_done(self._clock()))
            if self.finished:
                self._files.delete([open_path(self._staging, self._marker.run)])

    def check(self) -> None:
        """Raises AnotherCopyRuns when another run may have considered this one interrupted."""
        text = self._files.read_marker(marker_path(self._staging, self._marker.run))
        marker = None if text is None else RunMarker.from_text(text)
        late = self._clock() - self._last_heartbeat > LEASE_SECONDS / 2
        if marker is None or marker.taken_by or late:
            raise AnotherCopyRuns(f"run {self._marker.run} lost its lease of {self._staging}.")

    def _write(self, marker: RunMarker) -> None:
        self._files.write_marker(marker_path(self._staging, marker.run), marker.to_text())
        self._last_heartbeat = marker.heartbeat

    def _send_heartbeats(self) -> None:
        while not self._stop.wait(HEARTBEAT_SECONDS):
            try:
                text = self._files.read_marker(marker_path(self._staging, self._marker.run))
                current = None if text is None else RunMarker.from_text(text)
                if current is None or current.taken_by:
                    return
                self._write(current.with_heartbeat(self._clock()))
            except CopyError:
                continue  # `check` raises when the last heartbeat is old.
