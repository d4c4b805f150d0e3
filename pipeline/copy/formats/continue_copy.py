"""Copies that continue the copy before, in its directory.

All files of a table of Delta or Iceberg but a few are written once, under a name of their own, and
a reader opens only the files that the table's metadata names. So files may be added to a copy while
it is read:

1. `match_files` compares the files of the copy, which were listed first, with those of the source.
   The copy is not continued, and all files are sent to a new directory, if one differs that is
   written once, or if the copy's metadata is not of the same table.
2. The run sends the files that are missing into its own directory, as for any copy. If it is
   interrupted, the next run takes them over as it does for any copy.
3. `complete_copy` moves them into the copy: first files that others name, then those that name
   them. A reader sees a whole version at any time.
4. `condemn` notes the files that the source no longer has. A sweep deletes them later.

A file in the copy that the source does not have a moment later has been deleted there, and never
comes back under its name: this holds even if another run adds files meanwhile.
"""

from collections.abc import Container, Iterable, Sequence

from pipeline.copy.files import FileEntry, FileListing, Files, compare
from pipeline.copy.object_copy import Continued, ObjectCopy
from pipeline.copy.plan import PlannedCopy
from pipeline.copy.runs.staging import condemned_text, gone_path, read_condemned
from pipeline.errors import CopyError
from pipeline.falcon.paths import is_object_store


def list_copies(files: Files, items: Iterable[PlannedCopy]) -> dict[str, FileListing]:
    """The files of each copy that may be continued, by the name of its object."""
    locations = {item.name: item.continues for item in items if item.continues is not None}
    if not locations:
        return {}
    listings = files.listings(list(locations.values()))
    found = zip(locations, listings, strict=True)
    return {name: listing for name, listing in found if listing is not None}


def match_files(
    location: str,
    source: Iterable[FileEntry],
    copy: Iterable[FileEntry],
    replaced: Container[str] = (),
) -> Continued | None:
    """The files of the copy at `location` that are the source's, and those that the source no
    longer has. None if a file differs that is written once, as all are but those with the paths
    `replaced`.

    Without times, which an object store does not keep, files of the same length are the same.
    """
    has_times = not is_object_store(location)
    wanted = {file.path: file for file in source}
    same, gone = set(), []
    for file in copy:
        original = wanted.get(file.path)
        if original is None:
            gone.append(file.path)
        elif original == file or (
            not has_times and original.length == file.length and file.path not in replaced
        ):
            same.add(file.path)
        elif file.path not in replaced:
            return None
    return Continued(location, frozenset(same), tuple(gone))


def complete_copy(files: Files, copy: ObjectCopy) -> str:
    """Moves the files that were sent into the copy that is continued. Returns the reason why the
    copy is not complete then; empty if it is.

    Files that the source has again are first taken out of those that a sweep will delete.
    """
    try:
        _note_condemned(files, copy.location, (), _gone(copy), 0)
        for paths in copy.groups_to_move():
            moves = {f"{copy.target}/{path}": f"{copy.location}/{path}" for path in paths}
            if files.move_files(moves) != moves.keys():  # another run has taken files over
                return "files are missing"
        found = files.listings([copy.location])[0] or FileListing(())
        difference = compare(copy.before, found)
    except CopyError as error:
        return str(error)
    return "files are missing" if difference.missing or difference.unlike else ""


def condemn(files: Files, copy: ObjectCopy, now: float) -> None:
    """Notes the files that the source no longer has, for a sweep. `now` is in epoch seconds."""
    _note_condemned(files, copy.location, _gone(copy), _gone(copy), now)


def _gone(copy: ObjectCopy) -> Sequence[str]:
    return copy.continued.gone if copy.continued else ()


def _note_condemned(
    files: Files, location: str, new: Sequence[str], kept: Sequence[str], now: float
) -> None:
    """Adds `new` files to those that a sweep will delete, and removes all that are not `kept`."""
    path = gone_path(location)
    before = read_condemned(files.read_marker(path))
    after = {file: before[file] for file in before.keys() & frozenset(kept)}
    after |= {file: now for file in new if file not in after}
    if after != before:
        files.write_marker(path, condemned_text(after))
