"""How much data an incremental read of a Hudi table reads, for EXPLAIN CLUSTER."""

from dataclasses import dataclass
from typing import Protocol

from conf.formats import size_text
from router.claim import ChangeRange

UNKNOWN = "how much is read is not known"


@dataclass(frozen=True, slots=True)
class FilesRead:
    """Numbers of partitions, files and bytes. `partitions` is None for a table without any."""

    partitions: int | None
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ChangeSize:
    """What the read of a range of commits reads. `whole` is the table as it is now; None: not
    known. `fallback` is the reason why Hudi reads all files for the range; None: it does not."""

    commits: int
    changed: FilesRead
    whole: FilesRead | None = None
    fallback: str | None = None

    def __str__(self) -> str:
        of = self.whole
        parts = [f"{self.commits:,} commit{'' if self.commits == 1 else 's'}"]
        if self.changed.partitions is not None:
            all_partitions = None if of is None else of.partitions
            parts.append(f"{_of(self.changed.partitions, all_partitions)} partitions")
        parts.append(f"{_of(self.changed.files, None if of is None else of.files)} files")
        size = size_text(self.changed.bytes)
        parts.append(size if of is None else f"{size} of {size_text(of.bytes)}")
        why = "" if self.fallback is None else f" (all files are read: {self.fallback})"
        return ", ".join(parts) + why


class ChangeSizes(Protocol):
    """Reads the timelines of tables. Implemented in `cli.server.change_sizes`."""

    async def __call__(self, location: str, changes: ChangeRange) -> ChangeSize | None:
        """The size of this range of the table at `location`; None if it cannot be read in time."""
        ...


def _of(some: int, whole: int | None) -> str:
    return f"{some:,}" if whole is None else f"{some:,} of {whole:,}"
