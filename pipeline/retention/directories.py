"""Retention of feeds of directories: deletes those with too old a date (FA-G2, FA-V1)."""

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
class PathHome:
    """The directories of a feed on a cluster, and how long they are kept. `flag` is the file that
    readers wait for.
    """

    feed: str
    storage: Paths
    cluster: Cluster
    limit: timedelta
    flag: str | None = None


def evict_paths(
    files: Files,
    home: PathHome,
    now: datetime,
    is_needed: IsNeeded,
    lease: WorkLease,
    unregister: Callable[[datetime], None],
) -> str:
    """Deletes the directories of all location types with a date older than the limit. `unregister`
    is called with the date of each directory of data, before it is deleted.
    """
    data = with_cluster(home.storage.locations.get("data", ""), home.cluster)
    deleted = kept_back = 0
    templates = {with_cluster(each, home.cluster) for each in home.storage.locations.values()}
    for template in sorted(templates):
        if "${" not in template:
            continue
        root, pattern = _split(template)
        date_pattern = read_date_pattern((("path", pattern),))
        cutoff = date_pattern.truncated(now - home.limit)
        base = path_at(root, now, home.cluster).rstrip("/")
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
                if home.flag is not None and is_object_store(base):
                    # Objects are deleted one after the other.
                    files.delete([f"{base}/{path}/{home.flag}"])
            files.delete([f"{base}/{path}"])
            deleted += 1
    return f"{deleted} directories of {home.feed} deleted, {kept_back} still needed"


def _split(template: str) -> tuple[str, str]:
    """The part of a path before the first dated component, and the rest."""
    parts = template.rstrip("/").split("/")
    first = next(number for number, part in enumerate(parts) if "${" in part)
    return "/".join(parts[:first]) or "/", "/".join(parts[first:])


def _dated(
    files: Files, base: str, pattern: str, date_pattern: DatePattern
) -> Iterator[tuple[str, datetime]]:
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
    reader = DateReader(date_pattern)
    for path in found:
        date = reader.date({"path": path[1:]})
        if date is not None:
            yield path[1:], date
