"""One object of a run, and the protocol of the metastores to which a run publishes it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.copy.files import FileCopy, FileListing
from pipeline.copy.plan import MetadataStep, PlannedCopy
from pipeline.copy.runs.staging import RunMarker


@dataclass(frozen=True, slots=True)
class ObjectCopy:
    """One object in a round: its current source and version, its directory in the target, and
    the source's content before the copy.
    """

    item: PlannedCopy
    target: str
    before: FileListing

    @property
    def name(self) -> str:
        return self.item.name

    def files(self) -> tuple[FileCopy, ...]:
        return tuple(FileCopy(self.item.source, self.target, each) for each in self.before.files)


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
