"""Retention of feeds of paths: deletes the directories with too old dates (FA-G2, FA-V1)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.copy.files import Files
from pipeline.errors import ActionFailed
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Paths
from pipeline.falcon.partition_paths import with_cluster
from pipeline.falcon.paths import is_object_store, path_at
from pipeline.lease import WorkLease
from pipeline.retention.partition_dates import DatePattern, DateReader, read_date_pattern
from pipeline.retention.plan import IsNeeded

MAX_DIRECTORIES = 1_000_000


@dataclass(frozen=True, slots=True)
class PathEviction:
    """The eviction of a feed of paths on a cluster: its directories, and how long they are kept.
    `flag` is the file that readers wait for.
    """

    feed: str
    storage: Paths
    cluster: Cluster
    limit: timedelta
    flag: str | None = None


def evict_paths(
    files: Files,
    eviction: PathEviction,
    now: datetime,
    is_needed: IsNeeded,
    lease: WorkLease,
    unregister: Callable[[datetime], None],
) -> str:
    """Deletes the directories of all location types with a date older than the limit; returns a
    line of text about it. `unregister` is called with the date of each directory of data before the
    directory is deleted. Raises ActionFailed, LeaseLost.
    """
    locations = eviction.storage.locations
    data = with_cluster(locations.get("data", ""), eviction.cluster)
    deleted = kept_back = 0
    templates = {with_cluster(each, eviction.cluster) for each in locations.values()}
    for template in sorted(templates):
        if "${" not in template:
            continue
        root, pattern = _split(template)
        date_pattern = read_date_pattern((("path", pattern),))
        cutoff = date_pattern.truncated(now - eviction.limit)
        base = path_at(root, now, eviction.cluster).rstrip("/")
        for path, date in _dated(files, base, pattern, date_pattern):
            if date >= cutoff:
                continue
            if is_needed(date):
                kept_back += 1
                continue
            lease.check()
            lease.log(f"evict {base}/{path}")
            if template == data:
                unregister(date)
                if eviction.flag is not None and is_object_store(base):
                    # Objects are deleted one by one, so readers must miss the flag first.
                    files.delete([f"{base}/{path}/{eviction.flag}"])
            files.delete([f"{base}/{path}"])
            deleted += 1
    return f"{deleted} directories of {eviction.feed} deleted, {kept_back} still needed"


def _split(template: str) -> tuple[str, str]:
    """The part of a path before the first dated component, and the rest."""
    parts = template.rstrip("/").split("/")
    first = next(number for number, part in enumerate(parts) if "${" in part)
    return "/".join(parts[:first]) or "/", "/".join(parts[first:])


def _dated(
    files: Files, base: str, pattern: str, date_pattern: DatePattern
) -> Iterator[tuple[str, datetime]]:
    """The directories below `base` that match the pattern, with their dates. Raises ActionFailed
    for more than MAX_DIRECTORIES.
    """
    paths = [""]
    for part in pattern.split("/"):
        if "${" not in part:
            paths = [f"{path}/{part}" for path in paths]
            continue
        folders = files.folders([base + path for path in paths])
        paths = [f"{p}/{name}" for p, names in zip(paths, folders, strict=True) for name in names]
        if len(paths) > MAX_DIRECTORIES:
            raise ActionFailed(f"{base} has more than {MAX_DIRECTORIES} directories", final=True)
    reader = DateReader(date_pattern)
    for path in paths:
        date = reader.date({"path": path[1:]})
        if date is not None:
            yield path[1:], date
