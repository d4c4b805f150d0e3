"""Replicates directories to object stores. The flag is deleted first and written last.

An object store cannot rename a directory, so objects have their final names at once. Readers of the
feed wait for its `availabilityFlag`, which exists only while the directory is complete.
`.causeway-sent` in the directory records the files that were sent (pipeline/copy/sent_files.py).
"""

import json
from collections.abc import Mapping, Sequence

from pipeline.copy.files import CopyOptions, FileCopy, FileEntry, FileListing, Files, FileStatus
from pipeline.copy.sent_files import Sent, batches, read_sent, sent_of, still_sent, version_of
from pipeline.errors import ActionFailed, InputsGone
from pipeline.lease import WorkLease
from pipeline.replication.path_result import PathResult

SENT = ".causeway-sent"  # Readers of directories skip names that begin with a dot.
_ATTEMPTS = 3


def replicate_flagged(
    files: Files, source: str, target: str, flag: str, options: CopyOptions, lease: WorkLease
) -> PathResult:
    """Copies the files of `source` that `target` lacks, the file `flag` last. Raises ActionFailed,
    InputsGone.
    """
    total = 0
    for _ in range(_ATTEMPTS):
        before, copied = files.listings([source, target])
        if before is None or flag not in {entry.path for entry in before.files}:
            raise InputsGone(f"{source} is not there any more, or has no {flag}")
        present = {e.path: e.length for e in copied.files} if copied else {}
        wanted = {e.path: e for e in before.files if e.path not in (flag, SENT)}
        sent = still_sent(wanted, present, _read_sent(files, target) if present else {})
        extra = sorted(present.keys() - wanted.keys() - {flag, SENT})
        if sent.keys() == wanted.keys() and not extra and flag in present:
            return PathResult(f"{target} was up to date")
        lease.check()
        files.delete([f"{target}/{flag}"])
        # Records of files that are replaced are taken back first: the transfer may be killed.
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
            summary = f"{target}: {len(wanted) + 1} files, {total} bytes"
            return PathResult(summary, len(wanted) + 1, before.bytes, total)
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
    for batch in batches(missing):
        results = files.copy_files(batch, options, lambda done, total: lease.check())
        unchanged &= all(each.status is not FileStatus.CHANGED for each in results)
        done = [r for r in results if r.status in (FileStatus.SENT, FileStatus.KEPT)]
        sent |= {r.file.entry.path: version_of(r.file.entry) for r in done}
        size += sum(each.sent for each in done)
        lease.check()
        _write_sent(files, batch[0].target, sent)
        failed = next((each for each in results if each.status is FileStatus.FAILED), None)
        if failed is not None:
            file = failed.file
            raise ActionFailed(f"{file.source}/{file.entry.path}: {failed.message}")
    return size, unchanged


def _is_complete(
    files: Files, source: str, target: str, before: FileListing, wanted: Mapping[str, FileEntry]
) -> bool:
    """Whether the source is as it was listed in `before`, and the target has its files but the
    flag.
    """
    now, copied = files.listings([source, target])
    lengths = {e.path: e.length for e in copied.files if e.path != SENT} if copied else {}
    return now == before and lengths == {path: entry.length for path, entry in wanted.items()}


def _read_sent(files: Files, target: str) -> Sent:
    return sent_of(read_sent(files.read_marker(f"{target}/{SENT}")))


def _write_sent(files: Files, target: str, sent: Sent) -> None:
    files.write_marker(f"{target}/{SENT}", json.dumps(sent))
