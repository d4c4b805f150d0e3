"""The audit log: one JSON line for each statement and event. A thread of its own (`batch_thread`)
writes the lines, and drops and counts those that cannot be written."""

import logging
import os
import time
from itertools import count
from pathlib import Path
from typing import Protocol

from conf.logs.batch_thread import BatchThread
from conf.logs.printable import json_text

_log = logging.getLogger(__name__)
_numbers = count(1)  # of files that this process renamed


class AuditEntry(Protocol):
    """A statement's record or an event. It must not change after `put`."""

    @property
    def kept(self) -> int:
        """The number of characters that it keeps in memory."""
        ...

    def line(self) -> dict[str, object]:
        """The line of the audit log, in JSON types."""
        ...


class AuditLog(BatchThread[AuditEntry]):
    """Writes entries to `path`; if the file was moved away or deleted, it creates a new one.

    A file that is longer than `size` bytes is renamed, with the time as its suffix, and a new one
    is started; 0 means never.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        super().__init__("audit log")
        self.path = path
        self.size = size
        self._file: int | None = None
        self._failing = False
        self._broken_line = False
        self.start()

    def close(self) -> None:
        """Writes the queued entries, for a few seconds at most."""
        super().close()
        if self._file is not None and not self.is_running:
            os.close(self._file)
            self._file = None

    # Called in the thread

    def write_batch(self, entries: list[AuditEntry]) -> int:
        return self._write([_line(entry) for entry in entries]) if entries else 0

    def _write(self, lines: list[bytes]) -> int:
        """Writes the lines; returns the number of lines that were not written."""
        try:
            file = self._current_file()
            if self._broken_line:  # the last write ended inside a line
                lines = [b"\n" + lines[0], *lines[1:]]
            data = b"".join(lines)
            written = os.write(file, data)
        except OSError as error:
            self._failed(str(error))
            return len(lines)
        self._broken_line = written < len(data) and data[written - 1 : written] != b"\n"
        if written < len(data):
            self._failed("only a part of it was written")
            return data[written:].count(b"\n")
        if self._failing:
            self._failing = False
            _log.warning("the audit log is written again; it lacks %d lines", self.dropped)
        return 0

    def _failed(self, reason: str) -> None:
        if not self._failing:
            self._failing = True
            _log.warning("the audit log %s cannot be written: %s", self.path, reason)

    def _current_file(self) -> int:
        """The open file; a new one if the old one was replaced or is too long. Raises OSError."""
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
        if self._is_current(self._file):  # otherwise another process has renamed it
            stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
            self.path.replace(f"{self.path}.{stamp}.{os.getpid()}.{next(_numbers)}")

    def _is_current(self, file: int) -> bool:
        try:
            at_path, opened = os.stat(self.path), os.fstat(file)
        except FileNotFoundError:
            return False
        return (at_path.st_dev, at_path.st_ino) == (opened.st_dev, opened.st_ino)


def _line(entry: AuditEntry) -> bytes:
    return json_text(entry.line()).encode() + b"\n"
