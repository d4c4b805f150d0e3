"""The file systems that Hudi tables are read from.

A path is absolute, with or without a scheme (`/data/t`, `hdfs://nn/data/t`). Calls of `list` are
expensive on a name node or an object store, and HU-1 limits their number; `CountingStorage` counts
them.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from pipeline.hudi.errors import MissingPath, StorageFault

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True, order=True)
class FileInfo:
    """One entry of a directory. `length` in bytes, `modified` in milliseconds since 1970."""

    path: str
    length: int
    modified: int = 0
    is_dir: bool = False

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class HudiStorage(Protocol):
    """A file system. Each method raises MissingPath or StorageFault."""

    def list(self, path: str) -> Sequence[FileInfo]:
        """The direct children of a directory, in no order; for a file, the file itself."""
        ...

    def names(self, path: str) -> Sequence[str]:
        """The names that `list` returns. It is cheaper: a timeline has thousands of files."""
        ...

    def read(self, path: str) -> bytes:
        """The content of a small file: properties, timeline."""
        ...

    def exists(self, path: str) -> bool: ...

    def fetch(self, path: str, into: str) -> None:
        """Writes the content of a file into a file of this machine."""
        ...


class LocalStorage:
    """Files of this machine. A path may begin with `file:`, which its children keep. Every method
    raises StorageFault for another scheme.
    """

    def list(self, path: str) -> list[FileInfo]:
        local = local_path(path)
        try:
            if not os.path.isdir(local):
                return [_status(path, os.stat(local))]
            with os.scandir(local) as entries:
                return list(_present(path.rstrip("/"), entries))
        except FileNotFoundError:
            raise MissingPath(f"{path} does not exist.") from None
        except OSError as fault:
            raise StorageFault(f"cannot list {path}: {fault.strerror}.") from fault

    def names(self, path: str) -> Sequence[str]:
        try:
            return os.listdir(local_path(path))
        except FileNotFoundError:
            raise MissingPath(f"{path} does not exist.") from None
        except OSError as fault:
            raise StorageFault(f"cannot list {path}: {fault.strerror}.") from fault

    def read(self, path: str) -> bytes:
        try:
            with open(local_path(path), "rb") as file:
                return file.read()
        except FileNotFoundError:
            raise MissingPath(f"{path} does not exist.") from None
        except OSError as fault:
            raise StorageFault(f"cannot read {path}: {fault.strerror}.") from fault

    def exists(self, path: str) -> bool:
        return os.path.exists(local_path(path))

    def fetch(self, path: str, into: str) -> None:
        with open(into, "wb") as file:
            file.write(self.read(path))


@dataclass(slots=True)
class CountingStorage:
    """Counts the calls of another storage."""

    inner: HudiStorage = field(default_factory=LocalStorage)
    lists: int = 0
    reads: int = 0
    listed: list[str] = field(default_factory=list)

    def list(self, path: str) -> Sequence[FileInfo]:
        self.lists += 1
        self.listed.append(path)
        return self.inner.list(path)

    def names(self, path: str) -> Sequence[str]:
        self.lists += 1
        self.listed.append(path)
        return self.inner.names(path)

    def read(self, path: str) -> bytes:
        self.reads += 1
        return self.inner.read(path)

    def exists(self, path: str) -> bool:
        return self.inner.exists(path)

    def fetch(self, path: str, into: str) -> None:
        self.reads += 1
        self.inner.fetch(path, into)


def _present(path: str, entries: Iterable[os.DirEntry[str]]) -> Iterator[FileInfo]:
    """The entries of a directory. Those that are deleted meanwhile are left out."""
    for entry in entries:
        with suppress(FileNotFoundError):
            yield _status(f"{path}/{entry.name}", entry.stat())


def local_path(path: str) -> str:
    """The path for `open`. Raises StorageFault when it is not a path of this machine."""
    if not is_local(path):
        raise StorageFault(f"{path} is not on a local file system.")
    if path.startswith("file:"):
        return "/" + path[len("file:") :].lstrip("/")
    return path


def is_local(path: str) -> bool:
    """Whether a path or URI is of this machine's file system: without a scheme, or with `file:`."""
    return path.startswith("file:") or not _SCHEME.match(path)


def _status(path: str, stat: os.stat_result) -> FileInfo:
    is_dir = (stat.st_mode & 0o170000) == 0o040000
    return FileInfo(path, 0 if is_dir else stat.st_size, stat.st_mtime_ns // 1_000_000, is_dir)
