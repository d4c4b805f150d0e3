"""The audit log: one JSON line for each statement and event, written by a thread of its own.

No client waits for the disk. Lines that cannot be written, or that arrive faster than the disk
takes them, are dropped and counted, so that a slow or full disk neither stops work nor fills
memory.
"""

import logging
import os
import threading
import time
from contextlib import suppress
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

from conf.printable import json_text
from proxy.operations.incidents import internal_error

_log = logging.getLogger(__name__)
MAX_WAITING = 10_000
MAX_CHARACTERS = 64 << 20  # of the texts that wait
_BATCH = 500
_numbers = count(1)
_CLOSE = 5.0  # seconds to write what still waits at the end


class AuditEntry(Protocol):
    """A statement's record or an event. It does not change after `put`."""

    @property
    def kept(self) -> int:
        """Characters in memory."""
        ...

    def line(self) -> dict[str, object]:
        """The line as JSON types."""
        ...


class Audit:
    """Writes entries to `path`, also after the file was moved away or deleted.

    A file that is longer than `size` bytes gets the time as its suffix, and a new one is started;
    0: never.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        self.path = path
        self.size = size
        self._queue: SimpleQueue[AuditEntry | None] = SimpleQueue()
        self._put = self._characters_put = 0  # written by the event loop alone
        self._taken = self._characters_taken = 0  # by the thread alone
        self._refused = self._lost = 0
        self._file: int | None = None
        self._failing = False
        self._broken_line = False
        self._thread = threading.Thread(target=self._write_all, name="audit", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """The number of statements and events that the log lacks."""
        return self._refused + self._lost

    def put(self, record: AuditEntry) -> None:
        """Queues an entry; drops it if too much is waiting."""
        waiting = self._put - self._taken
        characters = self._characters_put - self._characters_taken
        if waiting >= MAX_WAITING or characters >= MAX_CHARACTERS:
            self._refused += 1
            return
        self._put += 1
        self._characters_put += record.kept
        self._queue.put(record)

    def close(self) -> None:
        """Writes what is queued, for a few seconds at most."""
        self._queue.put(None)
        self._thread.join(_CLOSE)

    # The thread's side

    def _write_all(self) -> None:
        going = True
        while going:
            batch, going = self._batch()
            if batch:
                try:
                    self._write([_line(record) for record in batch])
                except Exception:
                    internal_error(_log, "writing the audit log")
                    self._lost += len(batch)
                self._taken += len(batch)
                self._characters_taken += sum(record.kept for record in batch)
        if self._file is not None:
            os.close(self._file)

    def _batch(self) -> tuple[list[AuditEntry], bool]:
        batch: list[AuditEntry] = []
        record = self._queue.get()
        with suppress(Empty):
            while record is not None:
                batch.append(record)
                if len(batch) == _BATCH:
                    return batch, True
                record = self._queue.get_nowait()
            return batch, False
        return batch, True

    def _write(self, lines: list[bytes]) -> None:
        try:
            file = self._opened()
            if self._broken_line:  # the last write ended inside a line
                lines = [b"\n" + lines[0], *lines[1:]]
            data = b"".join(lines)
            written = os.write(file, data)
            self._broken_line = written < len(data) and data[written - 1 : written] != b"\n"
            if written < len(data):
                self._lost += data[written:].count(b"\n")
                raise OSError("only a part of it was written")
        except OSError as error:
            self._failed(error, len(lines))
            return
        if self._failing:
            self._failing = False
            _log.warning("the audit log is written again; it lacks %d lines", self.dropped)

    def _failed(self, error: OSError, lines: int) -> None:
        if error.errno is not None:
            self._lost += lines
        if not self._failing:
            self._failing = True
            _log.warning("the audit log %s cannot be written: %s", self.path, error)

    def _opened(self) -> int:
        """The file; a new one if it was replaced or is too long."""
        if self._file is not None and self.size and os.fstat(self._file).st_size >= self.size:
            self._rotate()
        if self._file is not None and not self._is_current(self._file):
            os.close(self._file)
            self._file = None
        if self._file is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._file = os.open(self.path, flags, 0o600)
        return self._file

    def _rotate(self) -> None:
        assert self._file is not None
        if self._is_current(self._file):  # otherwise another process has done it
            stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
            self.path.replace(f"{self.path}.{stamp}.{os.getpid()}.{next(_numbers)}")

    def _is_current(self, file: int) -> bool:
        try:
            there, ours = os.stat(self.path), os.fstat(file)
        except FileNotFoundError:
            return False
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _line(record: AuditEntry) -> bytes:
    return json_text(record.line()).encode() + b"\n"
