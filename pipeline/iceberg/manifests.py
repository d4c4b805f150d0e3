"""Lists of manifests, and manifests, which name the files of data and of deletes.

A list has the length of each manifest, a manifest the length of each file, and readers rely on
them. So a rewritten file has the lengths of the rewritten files that it names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.errors import FilesNotEnough
from pipeline.iceberg.avro_file import AvroFile, Record
from pipeline.iceberg.paths import below, is_below, moved

_DELETED = 2  # the status of an entry
_POSITION_DELETES = 1  # the content of a file
_DELETED_PATH = 2147483546  # the field of a delete file's `file_path`
_PARQUET = "PARQUET"
_BOUNDS = ("lower_bounds", "upper_bounds")


@dataclass(frozen=True, slots=True)
class ManifestFiles:
    """The files that readers of a manifest open, and their sizes. `kept` are copied unchanged,
    `deletes` are files of position deletes. Paths are relative to the table's folder.
    """

    kept: dict[str, int] = field(default_factory=dict)
    deletes: dict[str, int] = field(default_factory=dict)


def manifests_of(manifest_list: AvroFile, folder: str) -> dict[str, int]:
    """The manifests of a list and their lengths. Raises FilesNotEnough."""
    found = {}
    for record in manifest_list.records():
        if record.get("key_metadata") is not None:
            raise FilesNotEnough("is encrypted")
        found[below(record["manifest_path"], folder)] = int(record["manifest_length"])
    return found


def files_of(manifest: AvroFile, folder: str) -> ManifestFiles:
    """The files of a manifest of the table in `folder`. Raises FilesNotEnough."""
    found = ManifestFiles()
    for entry in manifest.records():
        if entry["status"] == _DELETED:
            continue
        file = entry["data_file"]
        path, size = below(file["file_path"], folder), int(file["file_size_in_bytes"])
        if file.get("key_metadata") is not None:
            raise FilesNotEnough("is encrypted")
        if file.get("content", 0) != _POSITION_DELETES:
            found.kept[path] = size
        elif str(file["file_format"]).upper() != _PARQUET:
            raise FilesNotEnough(f"has deletes in {file['file_format']}, which no copy has: {path}")
        else:
            found.deletes[path] = size
    return found


def moved_list(
    manifest_list: AvroFile, folder: str, target: str, lengths: Mapping[str, int]
) -> bytes:
    """The list for a copy in the folder `target` whose manifests have these lengths."""

    def change(record: Record) -> None:
        path = below(record["manifest_path"], folder)
        record["manifest_path"] = f"{target}/{path}"
        record["manifest_length"] = lengths[path]

    return manifest_list.changed(change)


def moved_manifest(manifest: AvroFile, folder: str, target: str, sizes: Mapping[str, int]) -> bytes:
    """The manifest for a copy in `target`; `sizes` are those of its rewritten deletes. Raises
    FilesNotEnough.

    An entry of a deleted file outside of the folder stays unchanged, because no reader opens it.
    """

    def change(entry: Record) -> None:
        file = entry["data_file"]
        path = str(file["file_path"])
        if entry["status"] != _DELETED:
            size = sizes.get(below(path, folder))
            if size is not None:
                file["file_size_in_bytes"] = size
        elif not is_below(path, folder):
            return
        file["file_path"] = moved(path, folder, target)
        if file.get("referenced_data_file") is not None:
            file["referenced_data_file"] = moved(file["referenced_data_file"], folder, target)
        if file.get("content", 0) == _POSITION_DELETES:
            for key in _BOUNDS:
                _move_bounds(file.get(key) or (), folder, target)

    return manifest.changed(change)


def _move_bounds(bounds: list[Record] | tuple[()], folder: str, target: str) -> None:
    """Changes the paths in bounds. A reader skips a file of deletes if the path of its data file is
    not within the bounds.
    """
    for each in bounds:
        if each["key"] == _DELETED_PATH:
            each["value"] = moved(each["value"].decode(), folder, target).encode()
