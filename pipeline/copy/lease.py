"""A run's claim on its directory: a marker that it keeps beating while it works."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from pipeline.copy.files import Files
from pipeline.copy.staging import (
    HEARTBEAT_SECONDS,
    LEASE_SECONDS,
    RunMarker,
    is_run,
    marker_path,
    this_machine,
)
from pipeline.errors import AnotherCopyRuns, CopyError

Clock = Callable[[], float]


def run_markers(files: Files, staging: str) -> dict[str, RunMarker | None]:
    """The marker of every run in a staging, newest run first; None for a run without one."""
    runs = sorted(filter(is_run, files.children(staging)), reverse=True)
    texts = files.read_markers([marker_path(staging, run) for run in runs])
    return {
        run: None if text is None else RunMarker.from_text(text)
        for run, text in zip(runs, texts, strict=True)
    }


class Lease:
    """Held by one run while it works in its staging; one run at a time.

    Raises AnotherCopyRuns on entry when a living run is there. Of two that start at the same
    moment at least one sees the other, twice: before and after it says that it works.
    """

    def __init__(self, files: Files, staging: str, marker: RunMarker, clock: Clock) -> None:
        self._files = files
        self._yard = staging
        self._clock = clock
        self._note = marker
        self._stop = threading.Event()
        self._beater = threading.Thread(target=self._beat, daemon=True)
        self._beaten = marker.beat

    def __enter__(self) -> Self:
        self._write(self._note)
        self._give_way(lambda other: other.working or other.run < self._note.run)
        self._note = self._note.at_work()
        self._write(self._note)
        self._give_way(lambda other: other.run < self._note.run)
        self._beater.start()
        return self

    def _give_way(self, first: Callable[[RunMarker], bool]) -> None:
        here, now = this_machine(), self._clock()
        for run, marker in run_markers(self._files, self._yard).items():
            if marker is None or run == self._note.run or not marker.alive(now, here):
                continue
            if first(marker):
                self._files.delete([f"{self._yard}/{self._note.run}"])
                who = marker.where.split()[0]
                raise AnotherCopyRuns(f"run {run} of {who} works in {self._yard}.")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._beater.join()
        if kind is None or issubclass(kind, Exception):
            self._write(self._note.done_with(self._clock()))

    def check(self) -> None:
        """Raises AnotherCopyRuns when this run may have been taken for dead."""
        text = self._files.read_marker(marker_path(self._yard, self._note.run))
        marker = None if text is None else RunMarker.from_text(text)
        if marker is None or marker.taken_by or self._clock() - self._beaten > LEASE_SECONDS / 2:
            raise AnotherCopyRuns(f"run {self._note.run} lost its place in {self._yard}.")

    def _write(self, marker: RunMarker) -> None:
        self._files.write_marker(marker_path(self._yard, marker.run), marker.to_text())
        self._beaten = marker.beat

    def _beat(self) -> None:
        while not self._stop.wait(HEARTBEAT_SECONDS):
            try:
                text = self._files.read_marker(marker_path(self._yard, self._note.run))
                known = None if text is None else RunMarker.from_text(text)
                if known is None or known.taken_by:
                    return
                self._write(known.beating(self._clock()))
            except CopyError:
                continue  # `check` sees that the last beat is old
