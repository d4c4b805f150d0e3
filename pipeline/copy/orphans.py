"""Deletes what drops left behind, from the record of the metastore view.

The record says what a drop was about to leave. Whether anything uses it now is asked of the
metastore: of every database, table, partition and copy, whatever the record says.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from conf.names import ClusterName
from conf.topology import Topology
from metastore.view.locations import moved
from metastore.view.server.orphans_store import LeftoverLog
from pipeline.copy.copy_catalog import ObjectCatalog
from pipeline.copy.files import FileListing, Files
from pipeline.copy.path_usage import FolderPath, PathUsage
from pipeline.copy.staging import default_root

_ALL = ".*"  # ends the name of what a dropped database left


@dataclass(frozen=True, slots=True)
class Orphan:
    """One directory that a drop was to leave in `cluster`. `at` is the call's epoch second;
    `dropped`: the call is known to have succeeded.
    """

    ticket: str
    at: float
    what: str
    cluster: ClusterName
    location: str
    dropped: bool


@dataclass(slots=True)
class CleanupResult:
    """What a cleaning deleted, and why it left the others: location to reason."""

    deleted: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)


def read_orphans(text: str) -> list[Orphan]:
    """What is still to be deleted, oldest first. A line that was cut short is overlooked: its
    drop counts as one whose result is not known.
    """
    found: list[Orphan] = []
    dropped: set[str] = set()
    deleted: set[tuple[str, str]] = set()
    for line in text.splitlines():
        try:
            entry = json.loads(line)
            ticket = str(entry["id"])
            for each in entry.get("left", ()):
                where = ClusterName(each["cluster"]), str(each["location"])
                found.append(Orphan(ticket, float(entry["at"]), str(each["what"]), *where, False))
            deleted |= {(ticket, str(location)) for location in entry.get("deleted", ())}
            if entry.get("dropped") is True:
                dropped.add(ticket)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
    return [
        Orphan(e.ticket, e.at, e.what, e.cluster, e.location, e.ticket in dropped)
        for e in found
        if (e.ticket, e.location) not in deleted
    ]


def delete_orphans(
    files: Files,
    objects: ObjectCatalog,
    topology: Topology,
    left: Sequence[Orphan],
    log: LeftoverLog,
    before: float,
) -> CleanupResult:
    """Deletes what was left before the epoch second `before` and nothing uses.

    Raises UnreadableFacts, with nothing deleted, when it cannot be seen what an object uses.
    """
    cleaned = CleanupResult()
    due: dict[Orphan, str] = {}
    for each in left:
        location = _full(each, topology)
        if each.at <= before and location is not None:
            due[each] = location
    if not due:
        return cleaned
    watch = PathUsage({each: FolderPath.of(location) for each, location in due.items()})
    there = _look(objects, topology, watch, {each.what for each in due})
    used = watch.found()
    listings = files.listings(list(due.values()))
    for (each, location), listing in zip(due.items(), listings, strict=True):
        reason = used.get(each) or _reason(each, there, listing)
        if reason:
            cleaned.kept[location] = reason
            continue
        files.delete([location])
        log.deleted(each.ticket, [each.location])
        if listing is not None:
            cleaned.deleted.append(location)
    return cleaned


def _full(left: Orphan, topology: Topology) -> str | None:
    """With its file system; None where that is not known any more."""
    if not left.location.startswith("/"):
        return left.location
    return moved(left.location, topology, left.cluster) if left.cluster in topology else None


def _reason(left: Orphan, there: frozenset[str], listing: FileListing | None) -> str:
    """Why it stays although nothing uses it; empty when it may go."""
    if not left.dropped and left.what in there:
        return f"{left.what} is still there"
    if listing is None or not listing.files:
        return ""
    if left.what.endswith(_ALL):
        return "there are files in it that are not of a table"
    if max(entry.modified for entry in listing.files) > (left.at + 1) * 1000:  # `at` is cut
        return "it was written to after the drop"
    return ""


def _look(
    objects: ObjectCatalog, topology: Topology, watch: PathUsage[Orphan], wanted: set[str]
) -> frozenset[str]:
    """Shows `watch` everything in use; those of the wanted objects that exist."""
    for name, cluster in topology.clusters.items():
        watch.see(f"cluster {name}", [cluster.filesystem, default_root(cluster.filesystem)])
    there: set[str] = set()
    for database, location in objects.databases():
        folders = [location, *(moved(location, topology, name) for name in topology.clusters)]
        watch.see(f"database {database}", folders)
        there.add(database + _ALL)
        for state in objects.tables(database):
            copies = [copy.location for copy in state.placement.copies]
            holds = not state.partitioned
            watch.see(str(state.ref), [state.location, *copies], holds=holds)
            there.add(str(state.ref))
            for each in objects.objects(state, objects.names(state)) if state.partitioned else ():
                what = f"{state.ref}@{each.name}"
                copies = [copy.location for copy in each.placement.copies]
                watch.see(what, [each.location, *copies], holds=True)
                if what in wanted:
                    there.add(what)
    return frozenset(there)
