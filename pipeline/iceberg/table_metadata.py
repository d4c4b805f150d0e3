"""A table's metadata file: the JSON document that every reader reads first.

All paths in it are absolute. The document of a copy has paths in the folder of the copy. Its log of
earlier metadata files is empty, because the copy has none of them. It has all snapshots, so
`VERSION AS OF` and `TIMESTAMP AS OF` return the same rows as in the primary.
"""

import gzip
import json
import zlib
from dataclasses import dataclass
from typing import Any

from pipeline.errors import FilesNotEnough
from pipeline.iceberg.paths import below, is_below, moved

FORMATS = (1, 2)
_KEYS = frozenset({
    "format-version", "table-uuid", "location", "last-sequence-number", "last-updated-ms",
    "last-column-id", "schema", "schemas", "current-schema-id", "partition-spec",
    "partition-specs", "default-spec-id", "last-partition-id", "properties",
    "current-snapshot-id", "snapshots", "snapshot-log", "metadata-log", "sort-orders",
    "default-sort-order-id", "refs", "statistics", "partition-statistics",
})  # fmt: skip
"""All keys of a document of these formats. An unknown key could name files."""
_STATISTICS = ("statistics", "partition-statistics")
_PATH_PROPERTIES = (
    "write.data.path", "write.metadata.path", "write.object-storage.path",
    "write.folder-storage.path",
)  # fmt: skip
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """The document of the table in `folder`. Paths are relative to it: `path` is that of the
    document, `lists` those of the lists of manifests of all snapshots, `statistics` those of other
    files, with their sizes. `packed`: the file is compressed by gzip.
    """

    document: dict[str, Any]
    folder: str
    path: str
    uuid: str
    lists: tuple[str, ...]
    statistics: dict[str, int]
    packed: bool

    def moved_to(self, target: str) -> bytes:
        """The document of a copy in the folder `target`."""
        new = {**self.document, "location": target, "metadata-log": []}
        new["snapshots"] = [
            {**each, "manifest-list": moved(each["manifest-list"], self.folder, target)}
            for each in self.document.get("snapshots") or ()
        ]
        for key in _STATISTICS:
            if key in new:
                new[key] = [
                    {**each, "statistics-path": moved(each["statistics-path"], self.folder, target)}
                    for each in new[key]
                ]
        new["properties"] = {
            key: self._property(key, value, target)
            for key, value in (self.document.get("properties") or {}).items()
        }
        data = json.dumps(new, ensure_ascii=False).encode()
        return gzip.compress(data, mtime=0) if self.packed else data

    def _property(self, key: str, value: str, target: str) -> str:
        if key in _PATH_PROPERTIES and is_below(value, self.folder):
            return moved(value, self.folder, target)
        return value


def read_metadata(location: str, data: bytes) -> TableMetadata:
    """The document at the URI `location`. Raises FilesNotEnough."""
    packed = data.startswith(_GZIP)
    try:
        document = json.loads(gzip.decompress(data) if packed else data)
        _check(document)
        folder = str(document["location"]).rstrip("/")
        snapshots = document.get("snapshots") or ()
        lists = tuple(below(each["manifest-list"], folder) for each in snapshots)
        statistics = {
            below(each["statistics-path"], folder): int(each["file-size-in-bytes"])
            for key in _STATISTICS
            for each in document.get(key) or ()
        }
        return TableMetadata(
            document,
            folder,
            below(location, folder),
            str(document["table-uuid"]),
            tuple(dict.fromkeys(lists)),
            statistics,
            packed,
        )
    except (ValueError, LookupError, TypeError, OSError, EOFError, zlib.error) as error:
        raise FilesNotEnough(
            f"has a metadata file that cannot be read: {location}: {error!r}"
        ) from error


def _check(document: dict[str, Any]) -> None:
    version = document["format-version"]
    if version not in FORMATS:
        raise FilesNotEnough(
            f"is of format version {version}, and {FORMATS[-1]} is the newest known"
        )
    if unknown := sorted(document.keys() - _KEYS):
        raise FilesNotEnough(f"has metadata that is not known: {unknown[0]}")
    for each in document.get("snapshots") or ():
        if "manifest-list" not in each:
            raise FilesNotEnough("has a snapshot without a list of manifests")
        if each.get("key-id"):
            raise FilesNotEnough("is encrypted")
    if any(key.startswith("encryption.") for key in document.get("properties") or {}):
        raise FilesNotEnough("is encrypted")
