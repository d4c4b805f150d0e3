"""Replicates a Hudi table to another file system, commit by commit.

The files of a complete commit never change, and a commit becomes visible by the file that
completes it on the timeline. So a replica gets all files of the new commits first, then the
timeline files in the order of completion. Before each commit becomes visible, a listing of the
replica is compared with the plan; the tasks' results alone are not relied on. The replica's own
timeline is the bookmark. Readers find whole commits only, and after a kill the next run continues.
The first run copies the latest files, and the properties last: without them there is no table.
After the commits, the replica deletes files that its source has cleaned, and archives actions that
its source has archived (`trim`).
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from conf.progress import Progress, no_progress
from pipeline.copy.files import (
    CopyOptions,
    Difference,
    FileCopy,
    FileEntry,
    FileListing,
    FileResult,
    Files,
    FileStatus,
    compare,
)
from pipeline.errors import VerifyFailed
from pipeline.falcon.paths import is_object_store
from pipeline.hudi.errors import StorageFault
from pipeline.hudi.replicas.object_files import SENT, ReplicaObjects, present_files
from pipeline.hudi.replicas.replica_plan import (
    ORIGIN,
    PROPERTIES_PATH,
    HudiReplicationPlan,
    folder_of,
)
from pipeline.hudi.replicas.trim import COMPARE
from pipeline.hudi.table.archive import VERSION
from pipeline.hudi.table.table import LOCKS


@dataclass(frozen=True, slots=True)
class HudiReplicationResult:
    """The numbers of commits that became visible, and of files and bytes sent."""

    commits: int
    files: int
    bytes: int


def run_replication(
    planned: HudiReplicationPlan,
    files: Files,
    options: CopyOptions,
    progress: Progress = no_progress,
    earlier: Sequence[str] = (),
) -> HudiReplicationResult:
    """Executes the plan. Raises StorageFault for the first file that cannot be copied, VerifyFailed
    when the replica has less than the tasks reported. The next run continues from there.

    `earlier` are directories in an object store in which interrupted runs began this replica, the
    newest first. A new replica takes over their files.
    """
    if planned.whole:
        sent = [_copy_table(planned, files, options, progress, earlier)]
    else:
        sent = _copy_changes(planned, files, options, progress)
    if planned.version:
        _write_text(planned, f"{planned.archive_folder}/{VERSION}", planned.version, files)
    files.delete(_at(planned, planned.retired))
    if planned.whole:
        _check_all_files(planned, files)
    if planned.postponed:
        _write_text(planned, COMPARE, json.dumps(planned.postponed), files)
    elif planned.compared:
        files.delete(_at(planned, [COMPARE]))
    _write_text(planned, PROPERTIES_PATH, planned.properties, files)
    if is_object_store(planned.target) and not planned.whole:
        files.delete(_at(planned, [SENT]))
    return HudiReplicationResult(
        len(planned.completed), sum(n for n, _ in sent), sum(length for _, length in sent)
    )


def _copy_table(
    planned: HudiReplicationPlan,
    files: Files,
    options: CopyOptions,
    progress: Progress,
    earlier: Sequence[str],
) -> tuple[int, int]:
    """Copies all files of a new replica, in any order, because it has no readers. Returns the
    numbers of files and bytes sent.
    """
    if files.read_marker(f"{planned.target}/{ORIGIN}") is None:
        files.write_marker(f"{planned.target}/{ORIGIN}", planned.source)
    return _continue(planned, _all_files(planned), files, options, progress, earlier)


def _copy_changes(
    planned: HudiReplicationPlan, files: Files, options: CopyOptions, progress: Progress
) -> list[tuple[int, int]]:
    """Makes one commit after the other visible, so that no reader finds one without the earlier
    ones. Then follows what the source cleaned and archived. Returns numbers of files and bytes
    sent.
    """
    if planned.compared:
        _write_text(planned, COMPARE, json.dumps(planned.compared), files)
    sent = [
        _continue(planned, planned.data, files, options, progress),
        _copy_files(planned, planned.prepared, files, options, progress),
    ]
    _check(planned, [*planned.data, *planned.prepared], files)
    for entry in planned.completed:
        sent.append(_copy_files(planned, [entry], files, options, progress))
        _check(planned, [entry], files, visible=True)
    files.delete(_at(planned, planned.cleaned))
    for entries in (planned.cleans, planned.archived):
        sent.append(_copy_files(planned, entries, files, options, progress))
        _check(planned, entries, files, visible=True)
    return sent


def _continue(
    planned: HudiReplicationPlan,
    entries: Sequence[FileEntry],
    files: Files,
    options: CopyOptions,
    progress: Progress,
    earlier: Sequence[str] = (),
) -> tuple[int, int]:
    """Copies the files that interrupted runs have not sent. Outside of object stores the tasks find
    these by their times. Returns the numbers of files and bytes sent.
    """
    if not entries or not is_object_store(planned.target):
        return _copy_files(planned, entries, files, options, progress)
    objects = ReplicaObjects(files, planned.source, planned.target, options, progress)
    return _sent(planned, objects.copy(entries, planned.whole, earlier))


def _check(
    planned: HudiReplicationPlan,
    entries: Sequence[FileEntry],
    files: Files,
    visible: bool = False,
) -> None:
    """Raises VerifyFailed unless the replica has each file with its length. Deletes wrong files if
    they are `visible` to readers. Makes one listing of each folder.
    """
    difference = _difference(planned, entries, files)
    if difference:
        if visible:
            files.delete(_at(planned, difference.unlike))
        raise _verify_failed(planned, difference)


def _difference(
    planned: HudiReplicationPlan, entries: Sequence[FileEntry], files: Files
) -> Difference:
    """How the replica differs from the plan in these files. Other files do not count."""
    present = present_files(files, planned.target, (folder_of(entry.path) for entry in entries))
    return replace(compare(FileListing(tuple(entries)), FileListing(tuple(present))), extra=())


def _verify_failed(planned: HudiReplicationPlan, difference: Difference) -> VerifyFailed:
    return VerifyFailed(f"{planned.target} does not have what was copied to it: {difference}.")


def _write_text(planned: HudiReplicationPlan, path: str, text: str, files: Files) -> None:
    place = f"{planned.target}/{path}"
    if files.read_marker(place) != text:
        files.write_marker(place, text)


def _at(planned: HudiReplicationPlan, paths: Iterable[str]) -> list[str]:
    return [f"{planned.target}/{path}" for path in paths]


def _check_all_files(planned: HudiReplicationPlan, files: Files) -> None:
    """Compares a new replica with the plan, before it has readers. Deletes files that an
    interrupted first run has left and the source no longer has: otherwise a commit that was undone
    since would appear in the replica. Raises VerifyFailed.
    """
    wanted = FileListing(tuple(_all_files(planned)))
    listing = files.listings([planned.target])[0] or FileListing(())
    difference = compare(wanted, listing)
    if difference.missing or difference.unlike:
        raise _verify_failed(planned, replace(difference, extra=()))
    own = {ORIGIN, f"{planned.archive_folder}/{VERSION}"}
    extra = (path for path in difference.extra if not path.startswith((LOCKS, f"{SENT}/")))
    files.delete(_at(planned, [path for path in extra if path not in own]))


def _all_files(planned: HudiReplicationPlan) -> list[FileEntry]:
    parts = (planned.data, planned.prepared, planned.completed, planned.cleans, planned.archived)
    return [entry for part in parts for entry in part]


def _copy_files(
    planned: HudiReplicationPlan,
    entries: Sequence[FileEntry],
    files: Files,
    options: CopyOptions,
    progress: Progress,
) -> tuple[int, int]:
    if not entries:
        return 0, 0
    copies = [FileCopy(planned.source, planned.target, entry) for entry in entries]
    return _sent(planned, files.copy_files(copies, options, progress))


def _sent(planned: HudiReplicationPlan, results: Sequence[FileResult]) -> tuple[int, int]:
    """The numbers of files and bytes sent. Raises StorageFault for the first failure."""
    for result in results:
        if result.status not in (FileStatus.SENT, FileStatus.KEPT):
            path, why = result.file.entry.path, result.message or result.status.value
            raise StorageFault(f"{planned.source}/{path} was not copied: {why}.")
    sent = [result for result in results if result.status is FileStatus.SENT]
    return len(sent), sum(result.sent for result in sent)
