"""The report of a run: which objects it copied, and what it sent."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.copy.copy_record import Share
from pipeline.copy.files import FileEntry
from pipeline.copy.plan import PlannedCopy
from pipeline.copy.runs.sweep import SweepResult
from pipeline.errors import CopyError


@dataclass(frozen=True, slots=True)
class CopiedObject:
    """A published copy: the cluster of its source, the version that it has, and its size."""

    primary: str
    version: str
    files: int
    bytes: int


@dataclass(slots=True)
class CopyReport:
    """What a run did. `published` are the names of the objects whose copies are visible now,
    `fresh` the number of those that needed no copy, `gone` those that were dropped, `failed` the
    error of each object that could not be copied. `bytes_sent` are the bytes that went over the
    network, `sent` the same for each object. `copied` has the size of each published copy.
    """

    run: str = ""
    published: list[str] = field(default_factory=list)
    fresh: int = 0
    gone: list[str] = field(default_factory=list)
    files_sent: int = 0
    files_kept: int = 0
    bytes_sent: int = 0
    seconds: float = 0.0
    failed: dict[str, CopyError] = field(default_factory=dict)
    swept: SweepResult = field(default_factory=SweepResult)
    copied: dict[str, CopiedObject] = field(default_factory=dict)
    sent: Counter[str] = field(default_factory=Counter)

    def add_written(self, name: str, files: Sequence[FileEntry]) -> None:
        """Counts the files of an object that the run has written itself."""
        size = sum(file.length for file in files)
        self.files_sent += len(files)
        self.bytes_sent += size
        self.sent[name] += size

    def shares(self, items: Sequence[PlannedCopy], source: str) -> dict[str, Share]:
        """What was copied from each cluster; `source` is the cluster of items without a primary."""
        shares: dict[str, Share] = {}
        for item in items:
            share = shares.setdefault(item.primary or source, Share())
            share.sent += self.sent[item.name]
            if (error := self.failed.get(item.name)) is not None:
                share.errors.append(str(error))
            if (done := self.copied.get(item.name)) is not None:
                share.objects.append((item.name, done.version))
                share.files = (share.files or 0) + done.files
                share.bytes = (share.bytes or 0) + done.bytes
        return shares
