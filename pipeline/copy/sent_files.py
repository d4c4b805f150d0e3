"""Records which files were sent to an object store, and in which version.

An object store keeps no time that could be compared with the source's. So a transfer records after
each batch which files it has sent, with their lengths and times at the source. After a kill only
files without a record are sent: those that are missing, and at most one batch again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from conf.progress import Progress, part_progress
from pipeline.copy.files import CopyOptions, FileCopy, FileEntry, FileResult, Files

Sent = Mapping[str, tuple[int, int]]
"""Length and time at the source of each file that the target has."""

NO_VERSION = (-1, -1)  # recorded for a file that is being replaced
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
    """Sends the files in batches and yields the results of each batch, so that the caller records
    them before the next batch is sent.
    """
    total, done = sum(each.entry.length for each in copies), 0
    for batch in batches(copies):
        yield files.copy_files(batch, options, part_progress(progress, done, total))
        done += sum(each.entry.length for each in batch)


def version_of(entry: FileEntry) -> tuple[int, int]:
    """The length and the time of a file of the source."""
    return entry.length, entry.modified


def still_sent(
    wanted: Mapping[str, FileEntry], present: Mapping[str, int], sent: Sent
) -> dict[str, tuple[int, int]]:
    """The files of the target that are equal to those of the source, with their versions. `present`
    are the lengths of the target's files.
    """
    return {
        path: version_of(entry)
        for path, entry in wanted.items()
        if sent.get(path) == version_of(entry) and present.get(path) == entry.length
    }


def sent_of(document: object) -> Sent:
    """The files of a parsed record; none if it is damaged."""
    if not isinstance(document, dict):
        return {}
    try:
        return {str(path): (int(v[0]), int(v[1])) for path, v in document.items()}
    except (ValueError, TypeError, LookupError):
        return {}


def read_sent(text: str | None) -> object:
    """Parses the text of a record. Returns an empty document if it is missing or damaged."""
    try:
        return json.loads(text or "{}")
    except ValueError:
        return {}
