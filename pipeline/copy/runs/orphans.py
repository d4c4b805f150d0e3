"""Deletes the directories of copies that drops left behind, as the metastore view recorded them.

The view records a directory before the drop (docs/guide/metastore-view.md). Whether it is in use
now is decided by the locations of all databases, tables, partitions and copies in the metastore.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from conf.names import ClusterName
from conf.topology import Topology
from metastore.view.locations import moved
from metastore.view.server.orphans_store import OrphanLog
from pipeline.copy.copy_catalog import ObjectCatalog
from pipeline.copy.files import FileListing, Files
from pipeline.copy.path_usage import FolderPath, PathUsage
from pipeline.copy.runs.staging import default_root

_ALL = ".*"  # ends the name of a dropped database


@dataclass(frozen=True, slots=True)
class Orphan:
    """A directory in `cluster` that the drop of `name` leaves. `at` is the epoch second of the
    drop; `dropped`: the drop is known to have succeeded.
    """

    drop_id: str
    at: float
    name: str
    cluster: ClusterName
    location: str
    dropped: bool


@dataclass(slots=True)
class CleanupResult:
    """The directories that were deleted, and the reason for each that was kept."""

    deleted: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)


def read_orphans(text: str) -> list[Orphan]:
    """The directories that are still to be deleted, oldest first. Incomplete lines are ignored, so
    the outcome of their drops is unknown.
    """
    found: list[Orphan] = []
    dropped: set[str] = set()
    deleted: set[tuple[str, str]] = set()
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            drop_id = str(entry["id"])
            for each in entry.get("left", ()):
                where = ClusterName(each["cluster"]), str(each["location"])
                found.append(Orphan(drop_id, float(entry["at"]), str(each["what"]), *where, False))
            deleted |= {(drop_id, str(location)) for location in entry.get("deleted", ())}
            if entry.get("dropped") is True:
                dropped.add(drop_id)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
    return [
        Orphan(e.drop_id, e.at, e.name, e.cluster, e.location, e.drop_id in dropped)
        for e in found
        if (e.drop_id, e.location) not in deleted
    ]


def delete_orphans(
    files: Files,
    objects: ObjectCatalog,
    topology: Topology,
    orphans: Sequence[Orphan],
    log: OrphanLog,
    before: float,
) -> CleanupResult:
    """Deletes those of the directories that no object uses and that were left before the epoch
    second `before`.

    Raises UnreadableFacts, before anything is deleted, when the facts of an object cannot be read.
    """
    result = CleanupResult()
    due: dict[Orphan, str] = {}
    for each in orphans:
        location = _full_location(each, topology)
        if each.at <= before and location is not None:
            due[each] = location
    if not due:
        return result
    usage = PathUsage({each: FolderPath.of(location) for each, location in due.items()})
    existing = _add_users(usage, objects, topology, {each.name for each in due})
    used = usage.reasons()
    listings = files.listings(list(due.values()))
    for (each, location), listing in zip(due.items(), listings, strict=True):
        reason = used.get(each) or _reason_to_keep(each, existing, listing)
        if reason:
            result.kept[location] = reason
            continue
        files.delete([location])
        log.deleted(each.drop_id, [each.location])
        if listing is not None:
            result.deleted.append(location)
    return result


def _full_location(orphan: Orphan, topology: Topology) -> str | None:
    """The location with its file system; None for a cluster that the settings no longer have."""
    if not orphan.location.startswith("/"):
        return orphan.location
    if orphan.cluster not in topology:
        return None
    return moved(orphan.location, topology, orphan.cluster)


def _reason_to_keep(orphan: Orphan, existing: frozenset[str], listing: FileListing | None) -> str:
    """The reason to keep an unused directory; empty when it may be deleted."""
    if not orphan.dropped and orphan.name in existing:
        return f"{orphan.name} is still there"
    if listing is None or not listing.files:
        return ""
    if orphan.name.endswith(_ALL):
        return "there are files in it that are not of a table"
    # `at` has no fractions of a second.
    if max(entry.modified for entry in listing.files) > (orphan.at + 1) * 1000:
        return "it was written to after the drop"
    return ""


def _add_users(
    usage: PathUsage[Orphan], objects: ObjectCatalog, topology: Topology, names: set[str]
) -> frozenset[str]:
    """Adds every location in use to `usage`. Returns the names of all databases (`db.*`) and
    tables, and those of the partitions among `names`.
    """
    for cluster_name, cluster in topology.clusters.items():
        usage.add(f"cluster {cluster_name}", [cluster.filesystem, default_root(cluster.filesystem)])
    existing: set[str] = set()
    for database, location in objects.databases():
        folders = [location, *(moved(location, topology, each) for each in topology.clusters)]
        usage.add(f"database {database}", folders)
        existing.add(database + _ALL)
        for state in objects.tables(database):
            copies = [copy.location for copy in state.placement.copies]
            usage.add(str(state.ref), [state.location, *copies], tree=not state.partitioned)
            existing.add(str(state.ref))
            for each in objects.objects(state, objects.names(state)) if state.partitioned else ():
                name = f"{state.ref}@{each.name}"
                copies = [copy.location for copy in each.placement.copies]
                usage.add(name, [each.location, *copies], tree=True)
                if name in names:
                    existing.add(name)
    return frozenset(existing)
