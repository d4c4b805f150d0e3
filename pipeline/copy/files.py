"""Listings of directories, files to copy and their results, and the protocol of a file system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from heapq import heapreplace
from typing import Protocol

from conf.progress import Progress, no_progress


@dataclass(frozen=True, slots=True, order=True)
class FileEntry:
    """A file: its path relative to the listed directory, its length in bytes, and its time of
    modification in epoch milliseconds.
    """

    path: str
    length: int
    modified: int


@dataclass(frozen=True, slots=True)
class FileListing:
    """All files below one directory, ordered by path."""

    files: tuple[FileEntry, ...]

    @property
    def bytes(self) -> int:
        return sum(entry.length for entry in self.files)


@dataclass(frozen=True, slots=True)
class FileCopy:
    """The file `entry` is to be copied from directory `source` to directory `target` (URIs)."""

    source: str
    target: str
    entry: FileEntry


class FileStatus(Enum):
    SENT = "sent"
    KEPT = "kept"  # the target had the complete file already
    CHANGED = "changed"  # the source is not as it was listed
    DIFFERS = "differs"  # of a comparison: the checksums differ
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result of copying or comparing one file. `sent` are bytes. `checksum` is CRC-32C in
    hexadecimal, or empty.
    """

    file: FileCopy
    status: FileStatus
    sent: int
    checksum: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """How files are copied. `bandwidth` is bytes a second over all tasks, 0 for no limit.
    `parallelism` is the number of files copied at the same time, 0 for the number of Spark's
    cores. `pause` is in seconds and doubles with each retry.
    """

    checksum: bool = True
    parallelism: int = 0
    bandwidth: int = 0
    attempts: int = 3
    pause: float = 0.5
    keep_owner: bool = True


class Files(Protocol):
    """File systems by URI. Errors are CopyError."""

    def listings(self, locations: Sequence[str]) -> list[FileListing | None]:
        """The files below each directory; None for a directory that does not exist."""
        ...

    def copy_files(
        self, copies: Sequence[FileCopy], options: CopyOptions, progress: Progress = no_progress
    ) -> list[FileResult]:
        """Copies the files in parallel. The failure of a file is a result, not an exception."""
        ...

    def compare(
        self, copies: Sequence[FileCopy], options: CopyOptions, progress: Progress = no_progress
    ) -> list[FileResult]:
        """Compares sources and targets in parallel. The results: KEPT, DIFFERS, CHANGED, FAILED."""
        ...

    def make_folders(self, likes: Mapping[str, str], keep_owner: bool) -> None:
        """Makes the directories that are the keys, each with the permissions of the directory that
        is its value, and its owner if `keep_owner`.
        """
        ...

    def move(self, moves: Mapping[str, str]) -> frozenset[str]:
        """Renames directories from key to value. Returns the keys that existed and were moved."""
        ...

    def move_files(self, moves: Mapping[str, str]) -> frozenset[str]:
        """Renames files from key to value, in an object store by a copy within it and a deletion.
        Returns the keys that existed and were moved.
        """
        ...

    def delete(self, locations: Sequence[str]) -> None:
        """Deletes files, and directories with all below them. A location may not exist."""
        ...

    def children(self, location: str) -> tuple[str, ...]:
        """The names of the directories in a directory; none if it does not exist."""
        ...

    def folders(self, locations: Sequence[str]) -> list[tuple[str, ...]]:
        """`children` of many directories."""
        ...

    def read_file(self, location: str) -> bytes | None:
        """The content of a file of at most 512 MiB; None when it does not exist."""
        ...

    def write_file(self, location: str, data: bytes) -> None:
        """Writes a file in one step."""
        ...

    def read_marker(self, location: str) -> str | None:
        """The text of a small file; None when it does not exist."""
        ...

    def read_markers(self, locations: Sequence[str]) -> list[str | None]:
        """`read_marker` of many files."""
        ...

    def write_marker(self, location: str, text: str) -> None:
        """Writes a small file in one step."""
        ...


@dataclass(frozen=True, slots=True)
class Difference:
    """How a directory differs from its source, by paths. False if it does not."""

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.unlike)

    def __str__(self) -> str:
        parts = (("missing", self.missing), ("extra", self.extra), ("differs", self.unlike))
        return "; ".join(_some(name, paths) for name, paths in parts if paths) or "none"


def compare(source: FileListing, target: FileListing) -> Difference:
    """The difference by path and length."""
    expected = {entry.path: entry.length for entry in source.files}
    actual = {entry.path: entry.length for entry in target.files}
    both = expected.keys() & actual.keys()
    return Difference(
        missing=tuple(sorted(expected.keys() - actual.keys())),
        extra=tuple(sorted(actual.keys() - expected.keys())),
        unlike=tuple(sorted(path for path in both if expected[path] != actual[path])),
    )


def _some(name: str, paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"{name}: {', '.join(paths[:3])}{more}"


@dataclass(frozen=True, slots=True)
class Batches:
    """Files distributed among tasks; `loads` are the bytes of each batch."""

    copies: tuple[tuple[FileCopy, ...], ...]
    loads: tuple[int, ...] = field(default=())


FILE_COST = 1 << 20  # opening and renaming a file take as long as copying so many bytes


def distribute(copies: Sequence[FileCopy], tasks: int) -> Batches:
    """At most `tasks` batches of equal cost: the largest file first, to the smallest batch."""
    count = max(1, min(tasks, len(copies)))
    heap = [(0, number) for number in range(count)]
    shares: list[list[FileCopy]] = [[] for _ in range(count)]
    for copy in sorted(copies, key=lambda each: -each.entry.length):
        cost, number = heap[0]
        shares[number].append(copy)
        heapreplace(heap, (cost + copy.entry.length + FILE_COST, number))
    filled = [tuple(share) for share in shares if share]
    return Batches(tuple(filled), tuple(sum(c.entry.length for c in share) for share in filled))
