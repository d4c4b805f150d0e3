"""A file of the running writes, which the next process reads if this one is killed.

Theory: a write is added before its mark is set in the metastore, and removed after its mark is
removed. So a process that is killed leaves a line for each mark that it leaves. Each process has a
file of its own in one folder, and holds the file's lock while it lives. A process that starts takes
over the files that no process has locked. A line is JSON: a write that begins, or the id of a write
whose mark is removed. Lines survive the process, not the machine: no write waits for the disk. If
the disk is full, writes go on and their lines are missing.
"""

import fcntl
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from conf.names import ClusterName
from conf.topology import Endpoint
from metastore.placement.write_marks import WriteToken

_log = logging.getLogger(__name__)
_SUFFIX = ".jsonl"
_LARGEST = 1 << 20  # bytes; a larger file is replaced by one with only the running writes


@dataclass(frozen=True, slots=True)
class JournaledWrite:
    """A write, and the session in the cluster that runs it: opened as `user`, with the guid and the
    secret of its handle in `session`."""

    token: WriteToken
    cluster: ClusterName
    endpoint: Endpoint
    user: str
    session: tuple[bytes, bytes]

    def line(self) -> dict[str, Any]:
        """The write as a line of the journal, in JSON's types."""
        guid, secret = self.session
        return {
            "token": self.token.fields(),
            "cluster": self.cluster,
            "endpoint": str(self.endpoint),
            "user": self.user,
            "session": [guid.hex(), secret.hex()],
        }

    @classmethod
    def read(cls, line: Mapping[str, Any]) -> Self:
        guid, secret = (bytes.fromhex(each) for each in line["session"])
        endpoint = Endpoint.parse(line["endpoint"])
        token = WriteToken.read(line["token"])
        return cls(token, ClusterName(line["cluster"]), endpoint, line["user"], (guid, secret))


class WriteJournal:
    """The running `writes` of one process, by the ids of their marks."""

    def __init__(self, folder: Path | None = None) -> None:
        """Without a folder the journal is in memory only. Only the owner may read the folder: a
        handle gives access to its session. Raises OSError."""
        self._folder = folder
        self._file: _LockedFile | None = None
        self.writes: dict[str, JournaledWrite] = {}
        if folder is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = _LockedFile.new(folder)

    def begin(self, write: JournaledWrite) -> None:
        """Adds the write, before its mark is set in the metastore."""
        self.writes[write.token.id] = write
        if self._file is not None:
            self._file.append(write.line())

    def end(self, mark: str) -> None:
        """Removes the write, after its mark is removed."""
        if self.writes.pop(mark, None) is None or self._file is None:
            return
        self._file.append({"ended": mark})
        if self._file.size > _LARGEST:
            self._file = self._renewed(self._file)

    def _renewed(self, old: "_LockedFile") -> "_LockedFile":
        """Replaces the file by one with only the running writes. Returns the old one if a new one
        cannot be created."""
        assert self._folder is not None
        try:
            new = _LockedFile.new(self._folder)
        except OSError:
            return old
        for write in self.writes.values():
            new.append(write.line())
        old.remove()
        return new

    def take_over(self) -> list[JournaledWrite]:
        """Moves the writes of processes that ended without removing their marks into this journal,
        and returns them. Raises OSError."""
        taken: list[JournaledWrite] = []
        for file in _LockedFile.unlocked(self._folder):
            writes = _running(file.lines())
            for write in writes:
                self.begin(write)
            file.remove()
            taken += writes
        return taken

    def close(self) -> None:
        """Closes the file. Removes it if no write is left in it."""
        if self._file is not None:
            self._file.close() if self.writes else self._file.remove()
            self._file = None


class _LockedFile:
    """A file that this process has locked. The kernel releases the lock when the process ends."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self.size = 0

    @classmethod
    def new(cls, folder: Path) -> "_LockedFile":
        path = folder / f"{uuid4().hex}{_SUFFIX}"
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return cls(path, descriptor)

    @classmethod
    def unlocked(cls, folder: Path | None) -> Iterator["_LockedFile"]:
        """Locks and yields the files of the folder that no other process has locked."""
        for path in sorted(folder.glob(f"*{_SUFFIX}")) if folder is not None else ():
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_ours = path.exists()  # else another process has just taken it over
            except BlockingIOError:
                is_ours = False
            if is_ours:
                yield cls(path, descriptor)
            else:
                os.close(descriptor)

    def append(self, line: Mapping[str, Any]) -> None:
        """Writes a line. An error, such as a full disk, is only logged."""
        data = json.dumps(line).encode() + b"\n"
        try:
            written = os.write(self._descriptor, data)
        except OSError as error:
            _log.warning("the journal of running writes lacks a line: %s", error)
        else:
            self.size += written

    def lines(self) -> Iterator[dict[str, Any]]:
        """The complete lines. A line is incomplete if the process was killed, or the disk was full,
        while it was written."""
        with open(self._descriptor, "rb", closefd=False) as file:
            for line in file:
                with suppress(ValueError):
                    yield json.loads(line)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        os.close(self._descriptor)


def _running(lines: Iterator[Mapping[str, Any]]) -> list[JournaledWrite]:
    """The writes that began and whose marks were not removed."""
    running: dict[str, JournaledWrite] = {}
    for line in lines:
        if "ended" in line:
            running.pop(line["ended"], None)
        else:
            write = JournaledWrite.read(line)
            running[write.token.id] = write
    return list(running.values())
