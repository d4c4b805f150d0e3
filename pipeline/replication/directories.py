"""Feeds of directories instead of tables: replication and eviction without a metastore (FA-G2).

A copy is made in a staging directory of the target's file system, and moved to its place when it is
complete. After a kill the next attempt continues in the staging directory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.copy.files import CopyOptions, FileCopy, FileListing, Files, FileStatus
from pipeline.falcon.calendar import format_time
from pipeline.falcon.model import Cluster, Paths
from pipeline.replication.plan import fingerprint
from pipeline.retention.partition_dates import Dating, Reader, read_dating
from pipeline.scheduler.errors import ActionFailed
from pipeline.scheduler.tables import path_at
from pipeline.scheduler.work import Task, Ticket

_ATTEMPTS = 3
MAX_DIRECTORIES = 1_000_000


@dataclass(frozen=True, slots=True)
class PathCopy:
    """Copy the directory `source` to `target`, by way of `staging` (URIs)."""

    source: str
    target: str
    staging: str

    @classmethod
    def of(
        cls, task: Task, storages: tuple[Paths, Paths], ends: tuple[Cluster, Cluster]
    ) -> "PathCopy":
        """Raises ActionFailed when both ends are the same directory."""
        nominal = task.instance.nominal
        source = path_at(storages[0].locations["data"], nominal, ends[0])
        target = path_at(storages[1].locations["data"], nominal, ends[1])
        if source == target:
            raise ActionFailed(f"{source} would be copied onto itself", final=True)
        key, time = task.schedule.key, format_time(nominal).replace(":", "")
        name = f"{key.entity.name}/{key.source}/{key.cluster}/{time}"
        root = path_at(ends[1].locations["staging"], nominal, ends[1]).rstrip("/")
        return cls(source, target, f"{root}/causeway/{name}")


def replicate_path(files: Files, copy: PathCopy, options: CopyOptions, ticket: Ticket) -> str:
    """Copies one directory, without the files that the target has. Raises ActionFailed."""
    staged_copy = f"{copy.staging}/new"
    for _ in range(_ATTEMPTS):
        before, there = files.listings([copy.source, copy.target])
        if before is None:
            raise ActionFailed(f"{copy.source} is not there any more")
        if there is not None and fingerprint(there) == fingerprint(before):
            return f"{copy.target} was up to date"
        files.make_folders({staged_copy: copy.source}, options.keep_owner)
        sent = _copy_files(files, copy, staged_copy, before, options, ticket)
        staged, now = files.listings([staged_copy, copy.source])
        extra = {e.path for e in staged.files} - {e.path for e in before.files} if staged else ()
        files.delete([f"{staged_copy}/{path}" for path in sorted(extra)])
        if now == before and sent is not None:
            ticket.check()
            _replace_target(files, copy, staged_copy)
            return f"{copy.target}: {len(before.files)} files, {sent} bytes"
    raise ActionFailed(f"{copy.source} changed during each of {_ATTEMPTS} copies")


def _copy_files(
    files: Files,
    copy: PathCopy,
    staged_copy: str,
    before: FileListing,
    options: CopyOptions,
    ticket: Ticket,
) -> int | None:
    """The number of bytes sent; None when the source changed meanwhile. Raises ActionFailed."""
    copies = [FileCopy(copy.source, staged_copy, entry) for entry in before.files]
    results = files.copy_files(copies, options, lambda done, total: ticket.check())
    for each in results:
        if each.status is FileStatus.FAILED:
            raise ActionFailed(f"{copy.source}/{each.file.entry.path}: {each.message}")
    if any(each.status is FileStatus.CHANGED for each in results):
        return None
    return sum(each.sent for each in results)


def _replace_target(files: Files, copy: PathCopy, staged_copy: str) -> None:
    """Renames the directories: a reader may miss the directory for a moment, but sees no part of
    it.
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


@dataclass(frozen=True, slots=True)
class PathHome:
    """The directories of a feed on a cluster, and how long they are kept."""

    feed: str
    storage: Paths
    cluster: Cluster
    limit: timedelta


def evict_paths(files: Files, home: PathHome, task: Task, ticket: Ticket) -> str:
    """Deletes the directories of every location type whose date is older than the limit."""
    gone = held = 0
    for template in sorted(set(home.storage.locations.values())):
        if "${" not in template:
            continue
        root, pattern = _split(template)
        dating = read_dating((("path", pattern),))
        cutoff = dating.truncated(task.now - home.limit)
        base = path_at(root, task.now, home.cluster).rstrip("/")
        for path, date in _dated(files, base, pattern, dating):
            if date >= cutoff:
                continue
            if task.held(date):
                held += 1
                continue
            ticket.check()
            ticket.log(f"evict {base}/{path}")
            files.delete([f"{base}/{path}"])
            gone += 1
    return f"{gone} directories of {home.feed} deleted, {held} held"


def _split(template: str) -> tuple[str, str]:
    """The part of a path before the first dated component, and the rest."""
    parts = template.rstrip("/").split("/")
    first = next(number for number, part in enumerate(parts) if "${" in part)
    return "/".join(parts[:first]) or "/", "/".join(parts[first:])


def _dated(files: Files, base: str, pattern: str, dating: Dating) -> Iterator[tuple[str, datetime]]:
    """The directories below `base` that match the pattern, with their dates."""
    found = [""]
    for part in pattern.split("/"):
        if "${" not in part:
            found = [f"{path}/{part}" for path in found]
            continue
        folders = files.folders([base + path for path in found])
        found = [f"{p}/{name}" for p, names in zip(found, folders, strict=True) for name in names]
        if len(found) > MAX_DIRECTORIES:
            raise ActionFailed(f"{base} has more than {MAX_DIRECTORIES} directories", final=True)
    reader = Reader(dating)
    for path in found:
        date = reader.date({"path": path[1:]})
        if date is not None:
            yield path[1:], date
