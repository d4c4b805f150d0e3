"""All files that the snapshots of a table need, and which of them name which."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.iceberg.table_metadata import TableMetadata


@dataclass(frozen=True, slots=True)
class IcebergState:
    """Paths are relative to the table's folder. `kept` are the sizes of files that have no paths in
    them, `deletes` the sizes of files of position deletes. `manifests` has the position deletes of
    each manifest, `lists` the lengths of the manifests of each list.
    """

    metadata: TableMetadata
    kept: Mapping[str, int]
    deletes: Mapping[str, int]
    manifests: Mapping[str, tuple[str, ...]]
    lists: Mapping[str, Mapping[str, int]]

    @property
    def rewritten(self) -> tuple[tuple[str, ...], ...]:
        """The files that have paths in them, which a copy gets rewritten, in groups. A file names
        only files of earlier groups, and data files.
        """
        last = (self.metadata.path,)
        return tuple(self.deletes), tuple(self.manifests), tuple(self.lists), last

    def is_whole_with(self, present: frozenset[str]) -> bool:
        """Whether each file of a copy with the files `present` names only files among them."""
        names = {**self.manifests, **self.lists, self.metadata.path: tuple(self.lists)}
        return all(present.issuperset(inner) for path, inner in names.items() if path in present)

    def difference(self, lengths: Mapping[str, int]) -> str:
        """Which file a folder with files of these lengths lacks, as the end of a sentence; empty if
        none.
        """
        for path, size in (*self.kept.items(), *self.deletes.items()):
            if lengths.get(path) != size:
                return _difference(path, size, lengths.get(path))
        return ""

    def wrong_length(self, lengths: Mapping[str, int]) -> str:
        """Which manifest has another length than its lists say, as the end of a sentence; empty if
        none.
        """
        for named in self.lists.values():
            for path, size in named.items():
                if lengths.get(path) != size:
                    return _difference(path, size, lengths.get(path))
        return ""


def _difference(path: str, size: int, found: int | None) -> str:
    if found is None:
        return f"lacks {path}"
    return f"has {path} with {found} bytes, and its metadata says {size}"
