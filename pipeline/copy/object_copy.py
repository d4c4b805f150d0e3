"""One object of a run, and the protocol of the metastores to which a run publishes it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.copy.files import FileCopy, FileListing
from pipeline.copy.plan import MetadataStep, PlannedCopy
from pipeline.copy.runs.staging import RunMarker


@dataclass(frozen=True, slots=True)
class Continued:
    """The published copy that a new one continues. `same` are the paths of its files that the
    source has, too; `gone` those that the source no longer has.
    """

    location: str
    same: frozenset[str]
    gone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ObjectCopy:
    """One object in a round: its current source and version, its directory in the run, the
    source's content before the copy, and the copy that it continues.
    """

    item: PlannedCopy
    target: str
    before: FileListing
    continued: Continued | None = None

    @property
    def name(self) -> str:
        return self.item.name

    @property
    def location(self) -> str:
        """The directory that is published."""
        return self.target if self.continued is None else self.continued.location

    @property
    def to_send(self) -> FileListing:
        """The files of the source that a copy which is continued does not have."""
        if self.continued is None:
            return self.before
        same = self.continued.same
        return FileListing(tuple(each for each in self.before.files if each.path not in same))

    def files(self) -> tuple[FileCopy, ...]:
        sent = self.to_send.files
        return tuple(FileCopy(self.item.source, self.target, each) for each in sent)


class CopyCatalog(Protocol):
    """The metastores of a run. Objects go by their names."""

    def current(
        self, items: Mapping[str, PlannedCopy]
    ) -> tuple[list[PlannedCopy], Collection[str]]:
        """The objects that still exist, with their current source and version; and the names of
        those that are being written. Called before any file is listed.
        """
        ...

    def publish(self, copies: Sequence[ObjectCopy]) -> frozenset[str]:
        """Makes copies visible whose sources are unchanged. Returns their names."""
        ...

    def withdraw(self, names: Collection[str]) -> None:
        """Hides copies again: their sources changed while they were published."""
        ...

    def used(self, marker: RunMarker) -> frozenset[str]:
        """Every directory to which the table of a run's marker refers now."""
        ...

    def apply(self, step: MetadataStep) -> None:
        """Executes a step of its own kind. A step may be applied several times."""
        ...
