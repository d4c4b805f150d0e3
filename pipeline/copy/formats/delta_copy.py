"""Copies of Delta tables: all files of the directory, if they are the whole table (D16).

The log names the files of the table's versions, by paths relative to the directory. So the files as
they were listed are a copy of the table if the log is complete and each file that its newest
version needs is among them.

The copy before is continued (`continue_copy`) if the newest commit that it has is the source's,
byte for byte, each later commit is there, and no file differs. Otherwise all files are sent.
"""

from collections.abc import Iterator

from pipeline.copy.files import FileListing, Files
from pipeline.copy.formats.continue_copy import match_files
from pipeline.copy.object_copy import Continued, ObjectCopy
from pipeline.copy.plan import PlannedCopy
from pipeline.delta.checkpoints import read_checkpoint, sidecar_path
from pipeline.delta.log_files import REPLACED, LogSegment, commit_path, is_unique, segment_of
from pipeline.delta.table_state import Action, DeltaState, parse_commit
from pipeline.errors import FilesNotEnough

_BATCH = 100  # commits that are in memory at a time


def staged_delta(
    files: Files, item: PlannedCopy, target: str, source: FileListing, copy: FileListing | None
) -> ObjectCopy:
    """The copy of a table of Delta into `target`. Raises FilesNotEnough."""
    lengths = {file.path: file.length for file in source.files}
    segment = segment_of(lengths)
    if isinstance(segment, str):
        raise FilesNotEnough(segment)
    if difference := read_state(files, item.source, segment).difference(lengths):
        raise FilesNotEnough(difference)
    return ObjectCopy(item, target, source, _continued(files, item, source, segment.version, copy))


def _continued(
    files: Files, item: PlannedCopy, source: FileListing, newest: int, copy: FileListing | None
) -> Continued | None:
    """The copy that is continued; None if all files have to be sent. `newest` is the version of
    the source.
    """
    if copy is None or item.continues is None:
        return None
    segment = segment_of(file.path for file in copy.files)
    if isinstance(segment, str):
        return None
    paths = {file.path for file in source.files}
    if not all(commit_path(version) in paths for version in range(segment.version + 1, newest + 1)):
        return None
    if not _has_same_history(files, item.source, item.continues, segment.version):
        return None
    return match_files(item.continues, source.files, copy.files, REPLACED)


def _has_same_history(files: Files, source: str, copy: str, newest: int) -> bool:
    """Whether both logs have the same commits up to the version `newest`. A commit that no other
    table can have ends the comparison: in practice the first one that is compared.
    """
    for version in range(newest, -1, -1):
        path = commit_path(version)
        ours, theirs = files.read_markers([f"{source}/{path}", f"{copy}/{path}"])
        if ours is None or ours != theirs:
            return False
        if is_unique(ours):
            return True
    return False


def read_state(files: Files, location: str, segment: LogSegment) -> DeltaState:
    """The table's state at the version of `segment`. Raises FilesNotEnough."""
    checkpoint = _checkpoint_actions(files, location, segment)
    commits = _commits(files, location, segment)
    state = DeltaState()
    state.start(checkpoint)
    for commit in commits:
        state.apply(commit)
    return state


def _checkpoint_actions(files: Files, location: str, segment: LogSegment) -> Iterator[Action]:
    """The actions of the checkpoint, those in its sidecars included."""
    for path in segment.checkpoint:
        sidecars = []
        for action in _read_checkpoint(files, location, path):
            if sidecar := action.get("sidecar"):
                sidecars.append(sidecar_path(sidecar))
            yield action
        for sidecar_file in sidecars:
            yield from _read_checkpoint(files, location, sidecar_file)


def _read_checkpoint(files: Files, location: str, path: str) -> Iterator[Action]:
    data = files.read_file(f"{location}/{path}")
    if data is None:
        raise FilesNotEnough(f"lacks {path}")
    return read_checkpoint(path, data)


def _commits(files: Files, location: str, segment: LogSegment) -> Iterator[Iterator[Action]]:
    """The actions of each commit after the checkpoint."""
    for start in range(0, len(segment.commits), _BATCH):
        paths = segment.commits[start : start + _BATCH]
        texts = files.read_markers([f"{location}/{path}" for path in paths])
        for path, text in zip(paths, texts, strict=True):
            if text is None:
                raise FilesNotEnough(f"lacks {path}")
            yield parse_commit(text)
