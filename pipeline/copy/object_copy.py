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
    """One object in a round: `item` has its current source and version, `target` is its directory
    in the run, `before` the source's content as it was listed, `continued` the copy that it
    continues.

    `iceberg` are the files of a table of Iceberg. Then `before` are the files that the copy has or
    gets so far, and `to_write` is about the number of bytes that the run will write itself.
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
        """The files of the source; those that the copy lacks if one is continued."""
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
        rewritten = self._rewritten()
        sent = (file for file in self.to_send.files if file.path not in rewritten)
        return tuple(FileCopy(self.item.source, self.target, file) for file in sent)

    def with_files(self, written: Iterable[FileEntry]) -> "ObjectCopy":
        """The copy with the files that the run has written itself."""
        before = FileListing(tuple(sorted([*self.before.files, *written])))
        return replace(self, before=before, to_write=0)

    def is_unchanged(self, source: FileListing | None) -> bool:
        """Whether the source, listed again as `source`, has all that the copy has of it. The
        directory of a table of Iceberg may have more: its metadata file names the table's files.
        """
        if self.iceberg is None or source is None:
            return source == self.before
        rewritten = self._rewritten()
        return {f for f in self.before.files if f.path not in rewritten} <= {*source.files}

    def groups_to_move(self) -> Iterator[Sequence[str]]:
        """The paths of the files to send, in the groups in which they may appear in a copy that is
        read: files come before those that name them.
        """
        paths = [each.path for each in self.to_send.files]
        if self.iceberg is None:
            yield from in_order(paths)
            return
        rewritten, sent = self._rewritten(), set(paths)
        yield [path for path in paths if path not in rewritten]
        for group in self.iceberg.rewritten:
            yield [path for path in group if path in sent]

    def _rewritten(self) -> frozenset[str]:
        """The paths of the files that the run writes itself."""
        groups = () if self.iceberg is None else self.iceberg.rewritten
        return frozenset(path for group in groups for path in group)


class CopyCatalog(Protocol):
    """The metastores of a run. Objects are named as in the plan."""

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
        """Hides copies again whose sources changed while they were published."""
        ...

    def used(self, marker: RunMarker) -> frozenset[str]:
        """Every directory to which the table of a run's marker refers now."""
        ...

    def apply(self, step: MetadataStep) -> None:
        """Executes a step of its own kind. A step may be applied several times."""
        ...
