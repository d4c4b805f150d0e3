"""Which files a target in an object store has, and of which version of their sources.

An object store keeps no time that could be compared with the source's. So a transfer records after
every few files which ones it has sent, by their lengths and times at the source: after a kill only
what is missing is sent, and the files of one such batch.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from conf.progress import Progress
from pipeline.copy.files import CopyOptions, FileCopy, FileEntry, FileResult, Files

Sent = Mapping[str, tuple[int, int]]
"""Length and time at the source of each file that the target has."""

NO_VERSION = (-1, -1)  # of a file that is being replaced
_LEAST_FILES, _MOST_FILES, _BATCH_BYTES = 64, 1000, 1 << 30


def batches(copies: Sequence[FileCopy]) -> Iterator[list[FileCopy]]:
    """Batches that are large enough to keep all tasks busy."""
    batch: list[FileCopy] = []
    size = 0
    for copy in copies:
        batch.append(copy)
        size += copy.entry.length
        if len(batch) == _MOST_FILES or (size >= _BATCH_BYTES and len(batch) >= _LEAST_FILES):
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def send(
    files: Files, copies: Sequence[FileCopy], options: CopyOptions, progress: Progress
) -> Iterator[list[FileResult]]:
    """Sends the files in batches, and yields the results of each, which are recorded before the
    next one is sent."""
    total, done = sum(each.entry.length for each in copies), 0
    for batch in batches(copies):
        yield files.copy_files(batch, options, partial(_report, progress, done, total))
        done += sum(each.entry.length for each in batch)


def _report(progress: Progress, before: int, total: int, done: int, _: int) -> None:
    progress(before + done, total)


def version_of(entry: FileEntry) -> tuple[int, int]:
    return entry.length, entry.modified


def still_sent(
    wanted: Mapping[str, FileEntry], present: Mapping[str, int], sent: Sent
) -> dict[str, tuple[int, int]]:
    """The files of the target that are those of the source. `present` are their lengths there."""
    return {
        path: version_of(entry)
        for path, entry in wanted.items()
        if sent.get(path) == version_of(entry) and present.get(path) == entry.length
    }


def sent_of(document: object) -> Sent:
    """The files of a record; none of one that is damaged."""
    if not isinstance(document, dict):
        return {}
    try:
        return {str(path): (int(v[0]), int(v[1])) for path, v in document.items()}
    except (ValueError, TypeError, LookupError):
        return {}


def read_sent(text: str | None) -> object:
    """The document of a record; an empty one of a text that is none."""
    try:
        return json.loads(text or "{}")
    except ValueError:
        return {}
