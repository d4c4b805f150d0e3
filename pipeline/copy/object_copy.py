"""One object of a run, and the protocol of the metastores to which a run publishes it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pipeline.copy.files import FileCopy, FileEntry, FileListing
from pipeline.copy.plan import MetadataStep, PlannedCopy
from pipeline.copy.runs.staging import RunMarker
from pipeline.delta.log_files import in_order
from pipeline.iceberg.table_state import IcebergState


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
    source's content before the copy, and the copy that it continues. `iceberg` are the files of a
    table of Iceberg: then `before` is what the copy has or gets, and `to_write` are about the
    bytes that the run will write itself.
    """

    item: PlannedCopy
    target: str
    before: FileListing
    continued: Continued | None = None
    iceberg: IcebergState | None = None
    to_write: int = 0

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

    @property
    def metadata(self) -> str:
        """The location of the copy's own metadata file, of a table of Iceberg."""
        return "" if self.iceberg is None else f"{self.location}/{self.iceberg.metadata.path}"

    def files(self) -> tuple[FileCopy, ...]:
        """The files that are sent as the source has them."""
        made = self._made()
        sent = (each for each in self.to_send.files if each.path not in made)
        return tuple(FileCopy(self.item.source, self.target, each) for each in sent)

    def with_files(self, made: Iterable[FileEntry]) -> "ObjectCopy":
        """With files that the run has written itself."""
        before = FileListing(tuple(sorted([*self.before.files, *made])))
        return replace(self, before=before, to_write=0)

    def is_unchanged(self, source: FileListing | None) -> bool:
        """Whether the source, listed again, has all that the copy has of it. A table of Iceberg may
        have more: its metadata file names all that is the table.
        """
        if self.iceberg is None or source is None:
            return source == self.before
        made = self._made()
        return {each for each in self.before.files if each.path not in made} <= {*source.files}

    def in_order(self) -> Iterator[Sequence[str]]:
        """The paths of the files to send, in the groups in which they may appear in a copy that is
        read: what others name comes first.
        """
        paths = [each.path for each in self.to_send.files]
        if self.iceberg is None:
            yield from in_order(paths)
            return
        made, sent = self._made(), set(paths)
        yield [path for path in paths if path not in made]
        for group in self.iceberg.made:
            yield [path for path in group if path in sent]

    def _made(self) -> frozenset[str]:
        groups = () if self.iceberg is None else self.iceberg.made
        return frozenset(path for group in groups for path in group)


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
