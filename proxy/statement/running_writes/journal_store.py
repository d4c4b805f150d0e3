"""The writes that run, in a file, for the process that comes after this one.

Theory: a write is in the file from before its mark is in the metastore until its mark is removed,
so a process that is killed leaves the line of each mark that it leaves. Each process has a file of
its own in one folder, and holds the file's lock while it lives. A process that starts takes over
the files that nobody holds. A line is JSON: a write that begins, or the id of one whose mark is
removed. The lines survive the process, not the machine: nothing waits for the disk. Where the disk
is full writes go on, and lines are missing.
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
_LARGEST = 1 << 20  # bytes of a file before it is replaced by one with the running writes alone


@dataclass(frozen=True, slots=True)
class RunningWrite:
    """A write, and the session in a cluster that runs it: `session` is its handle's guid and
    secret, opened as `user`."""

    token: WriteToken
    cluster: ClusterName
    endpoint: Endpoint
    user: str
    session: tuple[bytes, bytes]

    def line(self) -> dict[str, Any]:
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
    """The writes of one process, by the ids of their marks; without a folder in memory alone."""

    def __init__(self, folder: Path | None = None) -> None:
        """Raises OSError. Only the owner may read the folder: who has a handle has its session."""
        self._folder = folder
        self._file: _LockedFile | None = None
        self.writes: dict[str, RunningWrite] = {}
        if folder is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = _LockedFile.new(folder)

    def begin(self, write: RunningWrite) -> None:
        """The write's mark will be put into the metastore."""
        self.writes[write.token.id] = write
        if self._file is not None:
            self._file.append(write.line())

    def end(self, mark: str) -> None:
        """The mark is removed."""
        if self.writes.pop(mark, None) is None or self._file is None:
            return
        self._file.append({"ended": mark})
        if self._file.size > _LARGEST:
            self._file = self._renewed(self._file)

    def _renewed(self, old: "_LockedFile") -> "_LockedFile":
        """A file with the running writes alone; the old one where there is no room for another."""
        assert self._folder is not None
        try:
            new = _LockedFile.new(self._folder)
        except OSError:
            return old
        for write in self.writes.values():
            new.append(write.line())
        old.remove()
        return new

    def take_over(self) -> list[RunningWrite]:
        """The writes of processes that ended without removing their marks. They are this process's
        from now on. Raises OSError."""
        found: list[RunningWrite] = []
        for file in _LockedFile.unheld(self._folder):
            left = _running(file.lines())
            for write in left:
                self.begin(write)
            file.remove()
            found += left
        return found

    def close(self) -> None:
        """Removes the file if no write is left in it."""
        if self._file is not None:
            self._file.close() if self.writes else self._file.remove()
            self._file = None


class _LockedFile:
    """A file that this process holds: the lock goes with the process."""

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
    def unheld(cls, folder: Path | None) -> Iterator["_LockedFile"]:
        """The files of the folder that no process holds, held by this one."""
        for path in sorted(folder.glob(f"*{_SUFFIX}")) if folder is not None else ():
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_there = path.exists()  # else another process has just taken it over
            except BlockingIOError:
                is_there = False
            if is_there:
                yield cls(path, descriptor)
            else:
                os.close(descriptor)

    def append(self, line: Mapping[str, Any]) -> None:
        data = json.dumps(line).encode() + b"\n"
        try:
            written = os.write(self._descriptor, data)
        except OSError as error:
            _log.warning("the journal of running writes lacks a line: %s", error)
        else:
            self.size += written

    def lines(self) -> Iterator[dict[str, Any]]:
        """The lines that are whole: the process may have ended, or the disk been full, as it wrote
        another one."""
        with open(self._descriptor, "rb", closefd=False) as file:
            for line in file:
                with suppress(ValueError):
                    yield json.loads(line)

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        os.close(self._descriptor)


def _running(lines: Iterator[Mapping[str, Any]]) -> list[RunningWrite]:
    running: dict[str, RunningWrite] = {}
    for line in lines:
        if "ended" in line:
            running.pop(line["ended"], None)
        else:
            write = RunningWrite.read(line)
            running[write.token.id] = write
    return list(running.values())
