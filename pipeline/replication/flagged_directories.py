"""Directories on object stores, where no rename makes a directory appear: the flag is written last.

Objects get their final names at once. Readers of the feed wait for its `availabilityFlag`, which is
deleted before anything else changes and written when everything is there. An object store keeps no
time that could be compared with the source's, so `.causeway-sent` in the directory records which
files it has, by their lengths and times at the source. It is written after every few files: a
transfer that was killed sends only what is missing, and the files of one such batch.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from pipeline.copy.files import CopyOptions, FileCopy, FileEntry, FileListing, Files, FileStatus
from pipeline.errors import ActionFailed, InputsGone
from pipeline.lease import WorkLease
from pipeline.replication.path_result import PathResult

SENT = ".causeway-sent"  # readers of directories skip names with a dot
_ATTEMPTS = 3
_LEAST_FILES, _MOST_FILES, _BATCH_BYTES = 64, 1000, 1 << 30

Sent = Mapping[str, tuple[int, int]]
"""Length and time at the source of each file that the target has."""


def replicate_flagged(
    files: Files, source: str, target: str, flag: str, options: CopyOptions, lease: WorkLease
) -> PathResult:
    """Copies the directory `source` to `target`, `flag` last, without the files that the target
    has. Raises ActionFailed, InputsGone.
    """
    total = 0
    for _ in range(_ATTEMPTS):
        before, there = files.listings([source, target])
        if before is None or flag not in {entry.path for entry in before.files}:
            raise InputsGone(f"{source} is not there any more, or has no {flag}")
        present = {e.path: e.length for e in there.files} if there else {}
        wanted = {e.path: e for e in before.files if e.path not in (flag, SENT)}
        sent = _still_sent(wanted, present, _read_sent(files, target) if present else {})
        extra = sorted(present.keys() - wanted.keys() - {flag, SENT})
        if sent.keys() == wanted.keys() and not extra and flag in present:
            return PathResult(f"{target} was up to date")
        lease.check()
        files.delete([f"{target}/{flag}"])
        # What is replaced is taken out first, because the transfer may be killed at any file.
        _write_sent(files, target, sent)
        files.delete([f"{target}/{path}" for path in extra])
        missing = [
            FileCopy(source, target, entry) for path, entry in wanted.items() if path not in sent
        ]
        size, unchanged = _send(files, missing, sent, options, lease)
        total += size
        if unchanged and _is_complete(files, source, target, before, wanted):
            text = files.read_marker(f"{source}/{flag}")
            lease.check()
            files.write_marker(f"{target}/{flag}", text or "")
            words = f"{target}: {len(wanted) + 1} files, {total} bytes"
            return PathResult(words, len(wanted) + 1, before.bytes, total)
    raise ActionFailed(f"{source} changed during each of {_ATTEMPTS} copies")


def _send(
    files: Files,
    missing: Sequence[FileCopy],
    sent: dict[str, tuple[int, int]],
    options: CopyOptions,
    lease: WorkLease,
) -> tuple[int, bool]:
    """Copies the files and adds them to `sent`. Returns the number of bytes, and whether no file
    had changed at the source. Raises ActionFailed.
    """
    size, unchanged = 0, True
    for batch in _batches(missing):
        results = files.copy_files(batch, options, lambda done, total: lease.check())
        unchanged &= all(each.status is not FileStatus.CHANGED for each in results)
        done = [r for r in results if r.status in (FileStatus.SENT, FileStatus.KEPT)]
        sent |= {r.file.entry.path: _version(r.file.entry) for r in done}
        size += sum(each.sent for each in done)
        lease.check()
        _write_sent(files, batch[0].target, sent)
        failed = next((each for each in results if each.status is FileStatus.FAILED), None)
        if failed is not None:
            file = failed.file
            raise ActionFailed(f"{file.source}/{file.entry.path}: {failed.message}")
    return size, unchanged


def _still_sent(
    wanted: Mapping[str, FileEntry], present: Mapping[str, int], sent: Sent
) -> dict[str, tuple[int, int]]:
    """The files of the target that are those of the source."""
    return {
        path: _version(entry)
        for path, entry in wanted.items()
        if sent.get(path) == _version(entry) and present.get(path) == entry.length
    }


def _is_complete(
    files: Files, source: str, target: str, before: FileListing, wanted: Mapping[str, FileEntry]
) -> bool:
    """Whether the source is as it was, and the target has all of its files."""
    now, there = files.listings([source, target])
    lengths = {e.path: e.length for e in there.files if e.path != SENT} if there else {}
    return now == before and lengths == {path: entry.length for path, entry in wanted.items()}


def _batches(copies: Sequence[FileCopy]) -> Iterator[list[FileCopy]]:
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


def _version(entry: FileEntry) -> tuple[int, int]:
    return entry.length, entry.modified


def _read_sent(files: Files, target: str) -> Sent:
    text = files.read_marker(f"{target}/{SENT}")
    try:
        return {str(path): (int(v[0]), int(v[1])) for path, v in json.loads(text or "{}").items()}
    except (ValueError, TypeError, AttributeError, LookupError):
        return {}


def _write_sent(files: Files, target: str, sent: Sent) -> None:
    files.write_marker(f"{target}/{SENT}", json.dumps(sent))
