"""Replicates directories of feeds that have no table in a metastore (FA-G2).

A copy is made in a staging directory of the target's file system, and renamed when it is complete.
After a kill the next attempt continues in the staging directory. If the instance is a part of its
directory (falcon/partition_paths.py), each directory of the part is copied by itself.
"""

import time
from dataclasses import dataclass, replace

from pipeline.copy.copy_record import CopyRoute, RecordCopy, Share, no_records, recorded
from pipeline.copy.files import CopyOptions, FileCopy, FileListing, Files, FileStatus, compare
from pipeline.errors import ActionFailed, InputsGone
from pipeline.falcon.partition_paths import Part, is_pattern, names_like
from pipeline.falcon.paths import is_object_store, unpublishable
from pipeline.lease import WorkLease
from pipeline.replication.flagged_directories import replicate_flagged
from pipeline.replication.path_result import PathResult
from pipeline.replication.plan import fingerprint

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class PathCopy:
    """Copy the directory `source` to `target` by way of `staging` (URIs): all of it, or the
    directories of `part`. `flag` is the file that is written last. `between` are the names of the
    clusters of source and target.
    """

    source: str
    target: str
    staging: str
    part: Part = ()
    flag: str | None = None
    between: tuple[str, str] = ("", "")


def replicate_path(
    files: Files,
    copy: PathCopy,
    options: CopyOptions,
    lease: WorkLease,
    record: RecordCopy = no_records,
) -> PathResult:
    """Copies the files of an instance that the target lacks. Raises ActionFailed; before it sends
    anything if readers of the target could see a part of the copy.
    """
    if reason := unpublishable(copy.target, copy.flag, copy.part):
        raise ActionFailed(f"{copy.target}: {reason}", final=True)
    shares: dict[str, Share] = {}
    route = CopyRoute("", copy.source, copy.target, *copy.between, copy.target)
    with recorded(record, time.time, route, lambda: shares):
        done = _replicate(files, copy, options, lease)
        if done.files or done.sent:
            shares[route.source] = Share([("", "")], done.files, done.bytes, done.sent)
    return done


def _replicate(files: Files, copy: PathCopy, options: CopyOptions, lease: WorkLease) -> PathResult:
    if copy.flag is not None and is_object_store(copy.target):
        return replicate_flagged(files, copy.source, copy.target, copy.flag, options, lease)
    if not copy.part:
        return _replicate_directory(files, copy, options, lease)
    if files.listings([copy.source]) == [None]:
        raise InputsGone(f"{copy.source} is not there any more")
    chosen, total = _directories(files, copy.source, copy.part), PathResult("")
    for path in chosen:
        source, target, staging = (
            f"{place}/{path}" for place in (copy.source, copy.target, copy.staging)
        )
        done = _replicate_directory(files, PathCopy(source, target, staging), options, lease)
        lease.log(done.text)
        total = PathResult(
            "", total.files + done.files, total.bytes + done.bytes, total.sent + done.sent
        )
    dropped = sorted({*_directories(files, copy.target, copy.part)} - {*chosen})
    lease.check()
    files.delete([f"{copy.target}/{path}" for path in dropped])
    files.delete([copy.staging])
    if copy.flag is not None:
        text = files.read_marker(f"{copy.source}/{copy.flag}")
        files.write_marker(f"{copy.target}/{copy.flag}", text or "")
    part = "/".join(copy.part)
    text = f"{copy.target}: {len(chosen)} directories {part}, {len(dropped)} deleted"
    return replace(total, text=text)


def _directories(files: Files, root: str, part: Part) -> list[str]:
    """The existing directories of a part, relative to `root`."""
    paths = [""]
    for level in part:
        if is_pattern(level):
            folders = files.folders([root + path for path in paths])
            pairs = zip(paths, folders, strict=True)
            paths = [f"{path}/{name}" for path, names in pairs for name in names_like(level, names)]
        else:
            paths = [f"{path}/{level}" for path in paths]
    listings = files.listings([root + path for path in paths]) if paths else []
    return [path[1:] for path, each in zip(paths, listings, strict=True) if each is not None]


def _replicate_directory(
    files: Files, copy: PathCopy, options: CopyOptions, lease: WorkLease
) -> PathResult:
    """Copies the whole directory, again while its source changes. Raises ActionFailed."""
    staged_copy = f"{copy.staging}/new"
    for _ in range(_ATTEMPTS):
        before, target = files.listings([copy.source, copy.target])
        if before is None:
            raise InputsGone(f"{copy.source} is not there any more")
        if target is not None and fingerprint(target) == fingerprint(before):
            return PathResult(f"{copy.target} was up to date")
        files.make_folders({staged_copy: copy.source}, options.keep_owner)
        sent = _copy_files(files, copy, staged_copy, before, options, lease)
        staged, now = files.listings([staged_copy, copy.source])
        extra = {e.path for e in staged.files} - {e.path for e in before.files} if staged else ()
        files.delete([f"{staged_copy}/{path}" for path in sorted(extra)])
        if now == before and sent is not None:
            difference = compare(before, staged or FileListing(()))
            if difference.missing or difference.unlike:
                reason = f"{staged_copy} does not have what was copied to it: "
                raise ActionFailed(reason + str(replace(difference, extra=())))
            lease.check()
            replace_target(files, copy, staged_copy)
            text = f"{copy.target}: {len(before.files)} files, {sent} bytes"
            return PathResult(text, len(before.files), before.bytes, sent)
    raise ActionFailed(f"{copy.source} changed during each of {_ATTEMPTS} copies")


def _copy_files(
    files: Files,
    copy: PathCopy,
    staged_copy: str,
    before: FileListing,
    options: CopyOptions,
    lease: WorkLease,
) -> int | None:
    """Copies the files of `before`. Returns the number of bytes sent; None if the source changed.
    Raises ActionFailed.
    """
    copies = [FileCopy(copy.source, staged_copy, entry) for entry in before.files]
    results = files.copy_files(copies, options, lambda done, total: lease.check())
    for each in results:
        if each.status is FileStatus.FAILED:
            raise ActionFailed(f"{copy.source}/{each.file.entry.path}: {each.message}")
    if any(each.status is FileStatus.CHANGED for each in results):
        return None
    return sum(each.sent for each in results)


def replace_target(files: Files, copy: PathCopy, staged_copy: str) -> None:
    """Replaces the target by the staged copy, by renames. For a moment readers find no directory;
    they never find a part of it.
    """
    parent, _, _ = copy.target.rpartition("/")
    files.make_folders({parent: copy.source.rpartition("/")[0]}, False)
    old = f"{copy.staging}/old"
    files.delete([old])
    files.move({copy.target: old})
    if staged_copy not in files.move({staged_copy: copy.target}):
        files.move({old: copy.target})
        raise ActionFailed(f"{staged_copy} could not be moved to {copy.target}")
    files.delete([copy.staging])
