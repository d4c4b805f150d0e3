"""Copies of Iceberg tables: the files of all snapshots, and metadata rewritten for their folder.

Iceberg's metadata has absolute paths and lengths of files. So a copy gets metadata of its own, in
which both are those of the copy: position deletes, then manifests, lists of manifests and at last
the metadata file, each with the lengths of those before. Data files are copied as they are. A
reader begins with the metadata file that the metastore names, so readers see nothing of the copy
before it is published, and then all of it at once.

Every file of a table is written once, under a name of its own. So a copy is continued in its
folder: files that it has are not sent again, and those that no snapshot needs any more are left to
a sweep.
"""

from collections.abc import Mapping
from dataclasses import replace

from pipeline.copy.files import FileEntry, FileListing, Files
from pipeline.copy.formats.continue_copy import match_files
from pipeline.copy.object_copy import Continued, ObjectCopy
from pipeline.copy.plan import PlannedCopy
from pipeline.errors import FilesNotEnough
from pipeline.iceberg.avro_file import read_avro
from pipeline.iceberg.manifests import files_of, manifests_of, moved_list, moved_manifest
from pipeline.iceberg.position_deletes import moved_deletes
from pipeline.iceberg.table_metadata import TableMetadata, read_metadata
from pipeline.iceberg.table_state import IcebergState


def read_state(files: Files, folder: str, metadata: str) -> IcebergState:
    """The files of the table in `folder`, from its file `metadata` on (URIs). Raises
    FilesNotEnough.
    """
    found = _read_metadata(files, metadata)
    kept: dict[str, int] = dict(found.statistics)
    deletes: dict[str, int] = {}
    lists: dict[str, Mapping[str, int]] = {}
    manifests: dict[str, tuple[str, ...]] = {}
    for path in found.lists:
        lists[path] = manifests_of(read_avro(_read(files, f"{folder}/{path}")), found.folder)
        for manifest in lists[path]:
            if manifest not in manifests:
                data = read_avro(_read(files, f"{folder}/{manifest}"))
                named = files_of(data, found.folder)
                kept |= named.kept
                deletes |= named.deletes
                manifests[manifest] = tuple(named.deletes)
    return IcebergState(found, kept, deletes, manifests, lists)


def staged_iceberg(
    files: Files,
    item: PlannedCopy,
    target: str,
    source: FileListing,
    copy: FileListing | None,
) -> ObjectCopy:
    """The copy of a table of Iceberg into `target`, before its metadata is written. Raises
    FilesNotEnough.
    """
    state = read_state(files, item.source, item.metadata)
    if why := state.difference({each.path: each.length for each in source.files}):
        raise FilesNotEnough(why)
    kept = FileListing(tuple(each for each in source.files if each.path in state.kept))
    continued = _continued(files, item, state, kept, copy)
    rewritten = {path for group in state.rewritten for path in group}
    present = []
    if copy is not None and continued is not None:
        present = [file for file in copy.files if file.path in rewritten]
    before = FileListing(tuple(sorted([*kept.files, *present])))
    missing = rewritten - {file.path for file in present}
    to_write = sum(file.length for file in source.files if file.path in missing)
    return ObjectCopy(item, target, before, continued, state, to_write)


def _continued(
    files: Files,
    item: PlannedCopy,
    state: IcebergState,
    kept: FileListing,
    copy: FileListing | None,
) -> Continued | None:
    """The copy that is continued; None if all files have to be sent. `kept` are the source's files
    that a copy has unchanged.
    """
    if copy is None or item.continues is None:
        return None
    try:
        before = _read_metadata(files, item.continued_metadata)
    except FilesNotEnough:
        return None
    if before.uuid != state.metadata.uuid or before.folder != item.continues:
        return None
    rewritten = {path for group in state.rewritten for path in group}
    present = frozenset(file.path for file in copy.files) & rewritten
    data_files = [file for file in copy.files if file.path not in rewritten]
    matched = match_files(item.continues, kept.files, data_files)
    if matched is None:
        return None
    same = matched.same | present
    if not state.is_whole_with(same | {file.path for file in kept.files}):
        return None
    return replace(matched, same=same)


def write_metadata(files: Files, copy: ObjectCopy) -> list[FileEntry]:
    """Writes the files that have the copy's paths in them into its directory in the run. Returns
    these files. Raises FilesNotEnough, CopyError.
    """
    state = copy.iceberg
    assert state is not None
    source, location, folder = copy.item.source, copy.location, state.metadata.folder
    lengths = {each.path: each.length for each in copy.before.files}
    new: list[FileEntry] = []

    def put(path: str, data: bytes) -> None:
        files.write_file(f"{copy.target}/{path}", data)
        lengths[path] = len(data)
        new.append(FileEntry(path, len(data), 0))

    deletes, manifests, lists, last = (
        [path for path in group if path not in lengths] for group in state.rewritten
    )
    for path in deletes:
        put(path, moved_deletes(_read(files, f"{source}/{path}"), folder, location))
    for path in manifests:
        sizes = {each: lengths[each] for each in state.manifests[path]}
        data = read_avro(_read(files, f"{source}/{path}"))
        put(path, moved_manifest(data, folder, location, sizes))
    for path in lists:
        data = read_avro(_read(files, f"{source}/{path}"))
        put(path, moved_list(data, folder, location, lengths))
    for path in last:
        put(path, state.metadata.moved_to(location))
    return new


def _read_metadata(files: Files, location: str) -> TableMetadata:
    return read_metadata(location, _read(files, location))


def _read(files: Files, location: str) -> bytes:
    data = files.read_file(location)
    if data is None:
        raise FilesNotEnough(f"lacks {location}")
    return data
