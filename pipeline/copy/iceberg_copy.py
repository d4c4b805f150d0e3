"""Copies of Iceberg tables: the files of all snapshots, and metadata rewritten for their folder.

Iceberg's metadata has absolute paths and lengths of files. So a copy gets metadata of its own, in
which both are those of the copy: position deletes, then manifests, lists of manifests and at last
the metadata file, each with the lengths of those before. Data files are copied as they are. A
reader begins with the metadata file that the metastore names, so nothing of this is seen before it
is published, and all of it at once.

Every file of a table is written once, under a name of its own. So a copy is continued in its
folder: files that it has are not sent again, and those that no snapshot needs any more are left to
a sweep.
"""

from collections.abc import Mapping

from pipeline.copy.continue_copy import is_same
from pipeline.copy.files import FileEntry, FileListing, Files
from pipeline.copy.object_copy import Continued, ObjectCopy
from pipeline.copy.plan import PlannedCopy
from pipeline.errors import FilesNotEnough
from pipeline.falcon.paths import is_object_store
from pipeline.iceberg.avro_file import read_avro
from pipeline.iceberg.manifests import files_of, manifests_of, moved_list, moved_manifest
from pipeline.iceberg.position_deletes import moved_deletes
from pipeline.iceberg.table_metadata import TableMetadata, read_metadata
from pipeline.iceberg.table_state import IcebergState


def read_state(files: Files, folder: str, metadata: str) -> IcebergState:
    """The files of the table in `folder` with this metadata file (URIs). Raises FilesNotEnough."""
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
    """The copy with the files that it gets as they are, and those that it has. `copy` are the
    files of the copy that may be continued, listed before `source`. Raises FilesNotEnough.
    """
    state = read_state(files, item.source, item.metadata)
    if why := state.difference({each.path: each.length for each in source.files}):
        raise FilesNotEnough(why)
    kept = FileListing(tuple(each for each in source.files if each.path in state.kept))
    continued = _continued(files, item, state, kept, copy)
    made = {path for group in state.made for path in group}
    there = []
    if copy is not None and continued is not None:
        there = [each for each in copy.files if each.path in made]
    before = FileListing(tuple(sorted([*kept.files, *there])))
    missing = made - {each.path for each in there}
    to_write = sum(each.length for each in source.files if each.path in missing)
    return ObjectCopy(item, target, before, continued, state, to_write)


def _continued(
    files: Files,
    item: PlannedCopy,
    state: IcebergState,
    kept: FileListing,
    copy: FileListing | None,
) -> Continued | None:
    """None if all files have to be sent: to a table with another id, or where a file differs."""
    if copy is None or item.continues is None:
        return None
    try:
        before = _read_metadata(files, item.continued_metadata)
    except FilesNotEnough:
        return None
    if before.uuid != state.metadata.uuid or before.folder != item.continues:
        return None
    has_times, wanted = not is_object_store(item.continues), {e.path: e for e in kept.files}
    made = {path for group in state.made for path in group}
    same, gone = set(), []
    for each in copy.files:
        if each.path in made:
            same.add(each.path)
        elif each.path not in wanted:
            gone.append(each.path)
        elif is_same(wanted[each.path], each, has_times):
            same.add(each.path)
        else:
            return None
    if not state.is_whole_with(frozenset(same | wanted.keys())):
        return None
    return Continued(item.continues, frozenset(same), tuple(gone))


def write_metadata(files: Files, copy: ObjectCopy) -> ObjectCopy:
    """Writes what the copy has with paths of its own, into its directory in the run. Returns the
    copy with these files. Raises FilesNotEnough, CopyError.
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
        [path for path in group if path not in lengths] for group in state.made
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
    return copy.with_files(new)


def _read_metadata(files: Files, location: str) -> TableMetadata:
    return read_metadata(location, _read(files, location))


def _read(files: Files, location: str) -> bytes:
    data = files.read_file(location)
    if data is None:
        raise FilesNotEnough(f"lacks {location}")
    return data
