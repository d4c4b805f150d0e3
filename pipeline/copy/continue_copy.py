"""Copies of Delta tables that continue the copy before, in its directory.

All files of a Delta table but the pointer to a checkpoint are written once, and a reader knows
only the files that the log names. So files may be added to a copy while it is read:

1. `continued_copy` compares the listings of the source and of the copy, which is read first. The
   copy is continued if the newest commit that it has is the source's, byte for byte, each later
   commit is there, and no file differs. Otherwise all files are sent to a new directory.
2. The run sends the other files into its own directory, as for any copy. So it is continued as
   any other when it is interrupted.
3. `join` moves them into the copy: what the log names before the log, and commits in their order.
   A reader sees a whole version at any time.
4. `condemn` notes the files that the source no longer has. A sweep deletes them later.

A file in the copy that the source does not have a moment later has been deleted there, and never
comes back under its name: this holds even if another run adds files meanwhile.
"""

from collections.abc import Iterable, Sequence

from pipeline.copy.files import FileEntry, FileListing, Files, compare
from pipeline.copy.object_copy import Continued, ObjectCopy
from pipeline.copy.plan import PlannedCopy
from pipeline.copy.runs.staging import condemned_text, gone_path, read_condemned
from pipeline.delta.log_files import REPLACED, commit_path, is_unique, segment_of
from pipeline.falcon.paths import is_object_store


def list_copies(files: Files, items: Iterable[PlannedCopy]) -> dict[str, FileListing]:
    """The files of each copy that may be continued, by the name of its object."""
    found = {item.name: item.continues for item in items if item.continues is not None}
    if not found:
        return {}
    listings = files.listings(list(found.values()))
    return {name: each for name, each in zip(found, listings, strict=True) if each is not None}


def continued_copy(
    files: Files, item: PlannedCopy, source: FileListing, copy: FileListing | None
) -> Continued | None:
    """The copy that is continued; None if all files have to be sent. `copy` was listed before
    `source`, whose log is complete.
    """
    if copy is None or item.continues is None:
        return None
    paths = {each.path for each in source.files}
    ours, theirs = segment_of(each.path for each in copy.files), segment_of(paths)
    if isinstance(ours, str) or isinstance(theirs, str):
        return None
    later = range(ours.version + 1, theirs.version + 1)
    if not all(commit_path(version) in paths for version in later):
        return None
    if not _has_same_history(files, (item.source, item.continues), ours.version):
        return None
    return _compared(item.continues, source, copy)


def _has_same_history(files: Files, folders: tuple[str, str], version: int) -> bool:
    """Whether two logs have the same commit of a version, and so all before it. A commit that no
    other table can have ends the comparison: in practice the first one.
    """
    for each in range(version, -1, -1):
        path = commit_path(each)
        first, second = files.read_markers([f"{folder}/{path}" for folder in folders])
        if first is None or first != second:
            return False
        if is_unique(first):
            return True
    return False


def _compared(location: str, source: FileListing, copy: FileListing) -> Continued | None:
    """None if a file differs that is written once. An object store keeps no time of the source."""
    has_times = not is_object_store(location)
    sent = {each.path: each for each in source.files}
    same, gone = set(), []
    for each in copy.files:
        wanted = sent.get(each.path)
        if wanted is None:
            gone.append(each.path)
        elif is_same(wanted, each, has_times):
            same.add(each.path)
        elif each.path not in REPLACED:
            return None
    return Continued(location, frozenset(same), tuple(gone))


def is_same(wanted: FileEntry, found: FileEntry, has_times: bool) -> bool:
    """Whether a file of a copy is the source's. Without times the length has to do."""
    if has_times:
        return wanted == found
    return wanted.length == found.length and wanted.path not in REPLACED


def join(files: Files, copy: ObjectCopy) -> bool:
    """Moves what was sent into the copy that is continued. False if that is not complete then:
    another run has taken files over. Raises CopyError.
    """
    for paths in copy.in_order():
        moves = {f"{copy.target}/{path}": f"{copy.location}/{path}" for path in paths}
        if files.move_files(moves) != moves.keys():
            return False
    found = files.listings([copy.location])[0] or FileListing(())
    difference = compare(copy.before, found)
    return not difference.missing and not difference.unlike


def spare(files: Files, copy: ObjectCopy) -> None:
    """Takes files that the source has again out of those that a sweep will delete. Called before
    a commit that names them is moved."""
    _note(files, copy.location, (), copy.continued.gone if copy.continued else (), 0)


def condemn(files: Files, copy: ObjectCopy, now: float) -> None:
    """Notes which files the source no longer has, for a sweep."""
    gone = copy.continued.gone if copy.continued else ()
    _note(files, copy.location, gone, gone, now)


def _note(files: Files, location: str, new: Sequence[str], kept: Sequence[str], now: float) -> None:
    path = gone_path(location)
    known = read_condemned(files.read_marker(path))
    stays = frozenset(kept)
    noted = {each: since for each, since in known.items() if each in stays}
    noted |= {each: now for each in new if each not in noted}
    if noted != known:
        files.write_marker(path, condemned_text(noted))
