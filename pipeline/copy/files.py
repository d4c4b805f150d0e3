"""Files as facts: listings, orders to carry, results; and the seam to what carries them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from heapq import heapreplace
from typing import Protocol


@dataclass(frozen=True, slots=True, order=True)
class FileEntry:
    """A file: path relative to its object's directory, length in bytes, time in epoch ms."""

    path: str
    length: int
    modified: int


@dataclass(frozen=True, slots=True)
class FileListing:
    """All files below one directory, by path."""

    files: tuple[FileEntry, ...]

    @property
    def bytes(self) -> int:
        return sum(entry.length for entry in self.files)


@dataclass(frozen=True, slots=True)
class FileCopy:
    """Carry the file `entry` from directory `source` to directory `target` (URIs)."""

    source: str
    target: str
    entry: FileEntry


class FileStatus(Enum):
    SENT = "sent"
    KEPT = "kept"  # was already there, complete
    CHANGED = "changed"  # the source is not as it was listed
    DIFFERS = "differs"  # of a comparison: the checksums are not the same
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of an order. `checksum` is CRC-32C in hex, empty when none was taken."""

    order: FileCopy
    status: FileStatus
    sent: int
    checksum: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """How files are carried. `bandwidth` is bytes a second over all tasks, 0 for unbounded;
    `parallelism` the most files at once, 0 for as many as Spark has cores; `pause` is in
    seconds and doubles with each retry.
    """

    checksum: bool = True
    parallelism: int = 0
    bandwidth: int = 0
    attempts: int = 3
    pause: float = 0.5
    keep_owner: bool = True


Progress = Callable[[int, int], None]  # bytes of the finished batches, bytes of all


def no_progress(done: int, total: int) -> None:
    """For callers that show none."""


class Files(Protocol):
    """File systems by URI. Errors are CopyError."""

    def listings(self, locations: Sequence[str]) -> list[FileListing | None]:
        """What is below each directory; None where there is none."""
        ...

    def copy_files(
        self, orders: Sequence[FileCopy], options: CopyOptions, progress: Progress = no_progress
    ) -> list[FileResult]:
        """Carries them all, in parallel; never raises for a single file."""
        ...

    def compare(
        self, orders: Sequence[FileCopy], options: CopyOptions, progress: Progress = no_progress
    ) -> list[FileResult]:
        """Reads both sides of each order, in parallel: KEPT, DIFFERS, CHANGED or FAILED."""
        ...

    def make_folders(self, likes: Mapping[str, str], keep_owner: bool) -> None:
        """Makes each directory, with the permission and owner of its model."""
        ...

    def move(self, moves: Mapping[str, str]) -> frozenset[str]:
        """Renames directories; those sources that were there and could be moved."""
        ...

    def delete(self, locations: Sequence[str]) -> None:
        """Deletes each with all below it; no error when it is gone."""
        ...

    def children(self, location: str) -> tuple[str, ...]:
        """Names of the directories directly below; empty when there is no such directory."""
        ...

    def read_marker(self, location: str) -> str | None:
        """A small text file, None when there is none."""
        ...

    def folders(self, locations: Sequence[str]) -> list[tuple[str, ...]]:
        """`children` of many at once."""
        ...

    def read_markers(self, locations: Sequence[str]) -> list[str | None]:
        """`marker` of many at once."""
        ...

    def write_marker(self, location: str, text: str) -> None:
        """Writes one, whole or not at all."""
        ...


@dataclass(frozen=True, slots=True)
class Difference:
    """How a copied directory differs from its source; false when it does not."""

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.unlike)

    def __str__(self) -> str:
        parts = (("missing", self.missing), ("extra", self.extra), ("differs", self.unlike))
        return "; ".join(_some(name, paths) for name, paths in parts if paths) or "none"


def compare(source: FileListing, target: FileListing) -> Difference:
    """By path and length."""
    wanted = {entry.path: entry.length for entry in source.files}
    found = {entry.path: entry.length for entry in target.files}
    return Difference(
        missing=tuple(sorted(wanted.keys() - found.keys())),
        extra=tuple(sorted(found.keys() - wanted.keys())),
        unlike=tuple(sorted(p for p in wanted.keys() & found.keys() if wanted[p] != found[p])),
    )


def _some(name: str, paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"{name}: {', '.join(paths[:3])}{more}"


@dataclass(frozen=True, slots=True)
class Batches:
    """Orders shared out among tasks; `loads` are the bytes of each."""

    orders: tuple[tuple[FileCopy, ...], ...]
    loads: tuple[int, ...] = field(default=())


FILE_COST = 1 << 20  # opening and placing a file weighs like a MiB


def share_out(orders: Sequence[FileCopy], tasks: int) -> Batches:
    """Into at most `tasks` batches of nearly equal weight: the largest first, to the lightest."""
    count = max(1, min(tasks, len(orders)))
    heap = [(0, number) for number in range(count)]
    shares: list[list[FileCopy]] = [[] for _ in range(count)]
    for order in sorted(orders, key=lambda each: -each.entry.length):
        weight, number = heap[0]
        shares[number].append(order)
        heapreplace(heap, (weight + order.entry.length + FILE_COST, number))
    filled = [tuple(share) for share in shares if share]
    return Batches(tuple(filled), tuple(sum(o.entry.length for o in share) for share in filled))
