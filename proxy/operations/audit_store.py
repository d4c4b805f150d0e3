"""The audit log: one JSON line for each statement and event, written by a thread of its own that
no client waits for.

What cannot be written is dropped and counted: neither a slow disk nor a full one is a reason to
refuse work or to keep ever more of it in memory.
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
MAX_CHARACTERS = 64 << 20  # of statements that wait
_BATCH = 500
_numbers = count(1)
_GOODBYE = 5.0  # seconds for what still waits at the end


class Entry(Protocol):
    """A statement's record or an event, which does not change any more."""

    @property
    def kept(self) -> int:
        """Characters in memory."""
        ...

    def line(self) -> dict[str, object]:
        """JSON's types."""
        ...


class Audit:
    """`reopen` after the file was moved away; it is noticed as well without.

    `size` is in bytes; a file that is longer is renamed to end in the time. 0: never.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        self.path = path
        self.size = size
        self._queue: SimpleQueue[Entry | None] = SimpleQueue()
        self._put = self._characters_put = 0  # written by the loop alone
        self._taken = self._characters_taken = 0  # by the thread alone
        self._refused = self._lost = 0
        self._file: int | None = None
        self._failing = False
        self._broken_line = False
        self._thread = threading.Thread(target=self._write_all, name="audit", daemon=True)
        self._thread.start()

    @property
    def dropped(self) -> int:
        """Statements and events that are not in the log."""
        return self._refused + self._lost

    def put(self, record: Entry) -> None:
        """Takes a record that nobody changes any more."""
        waiting = self._put - self._taken
        characters = self._characters_put - self._characters_taken
        if waiting >= MAX_WAITING or characters >= MAX_CHARACTERS:
            self._refused += 1
            return
        self._put += 1
        self._characters_put += record.kept
        self._queue.put(record)

    def close(self) -> None:
        """Writes what still waits, for a few seconds at most."""
        self._queue.put(None)
        self._thread.join(_GOODBYE)

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

    def _batch(self) -> tuple[list[Entry], bool]:
        batch: list[Entry] = []
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
            if self._broken_line:  # a full disk took half of one
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
            _log.warning("the audit log is written again; %d lines are missing", self.dropped)

    def _failed(self, error: OSError, lines: int) -> None:
        if error.errno is not None:
            self._lost += lines
        if not self._failing:
            self._failing = True
            _log.warning("the audit log %s cannot be written: %s", self.path, error)

    def _opened(self) -> int:
        """The file, opened anew where another one is in its place, or it is too long."""
        if self._file is not None and self.size and os.fstat(self._file).st_size >= self.size:
            self._set_aside()
        if self._file is not None and not self._is_current(self._file):
            os.close(self._file)
            self._file = None
        if self._file is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._file = os.open(self.path, flags, 0o600)
        return self._file

    def _set_aside(self) -> None:
        assert self._file is not None
        if self._is_current(self._file):  # else another process was first
            stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
            self.path.replace(f"{self.path}.{stamp}.{os.getpid()}.{next(_numbers)}")

    def _is_current(self, file: int) -> bool:
        try:
            there, ours = os.stat(self.path), os.fstat(file)
        except FileNotFoundError:
            return False
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def _line(record: Entry) -> bytes:
    return json_text(record.line()).encode() + b"\n"
