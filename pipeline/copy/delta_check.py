"""Whether the files of a Delta table, as they were listed, are the whole table (D16)."""

from collections.abc import Iterable, Iterator

from pipeline.copy.files import FileListing, Files
from pipeline.delta.checkpoints import read_checkpoint
from pipeline.delta.log_files import segment_of
from pipeline.delta.table_state import Action, DeltaState, parse_commit
from pipeline.errors import FilesNotEnough

_BATCH = 100  # commits whose texts are in memory


def why_not_whole(files: Files, location: str, listing: FileListing) -> str:
    """Why a copy of the listed files would not be the table, as a sentence's end; empty if it
    would. Reads the newest checkpoint and the commits after it.
    """
    try:
        lengths = {entry.path: entry.length for entry in listing.files}
        return read_state(files, location, lengths.keys()).difference(lengths)
    except FilesNotEnough as error:
        return str(error)


def read_state(files: Files, location: str, paths: Iterable[str]) -> DeltaState:
    """The state at the newest version. Raises FilesNotEnough."""
    segment = segment_of(paths)
    if isinstance(segment, str):
        raise FilesNotEnough(segment)
    state = DeltaState()
    for path in segment.checkpoint:
        for sidecar in state.start(_read(files, location, path)):
            state.start(_read(files, location, sidecar))
    for start in range(0, len(segment.commits), _BATCH):
        some = segment.commits[start : start + _BATCH]
        texts = files.read_markers([f"{location}/{path}" for path in some])
        for path, text in zip(some, texts, strict=True):
            if text is None:
                raise FilesNotEnough(f"lacks {path}")
            state.apply(parse_commit(text))
    return state


def _read(files: Files, location: str, path: str) -> Iterator[Action]:
    data = files.read_file(f"{location}/{path}")
    if data is None:
        raise FilesNotEnough(f"lacks {path}")
    return read_checkpoint(path, data)
