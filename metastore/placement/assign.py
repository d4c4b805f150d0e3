"""`causeway table assign`: an operator sets the primary and the copies of a table or partitions."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from conf.names import ClusterName, TableRef, parse_partition_name
from conf.placement import Copy, OpenWrite, Placement
from conf.topology import Topology
from conf.write_ids import new_id
from metastore.client.types import Table
from metastore.errors import BadTarget
from metastore.placement.open_formats import why_files_are_not_enough
from metastore.placement.placement_store import PlacementStore


@dataclass(frozen=True, slots=True)
class Assignment:
    """The facts to set for `table`, or for its partitions that match one of `partitions`.

    Each of `partitions` is a list of `k=v`, separated by `/`, for all or some keys. `copies` maps
    clusters to locations that have the present data; `gone` are clusters that lose their copy.
    `end_writes` removes all marks of running writes.
    """

    table: TableRef
    primary: ClusterName | None = None
    partitions: tuple[str, ...] = ()
    copies: Mapping[ClusterName, str] = field(default_factory=dict)
    gone: frozenset[ClusterName] = frozenset()
    end_writes: bool = False

    def clusters(self) -> frozenset[ClusterName]:
        named = {self.primary} if self.primary is not None else set()
        return frozenset({*named, *self.copies, *self.gone})


@dataclass(frozen=True, slots=True)
class Assigned:
    """The numbers of objects that were changed."""

    tables: int
    partitions: int


def assign(
    store: PlacementStore,
    wanted: Assignment,
    topology: Topology,
    progress: Callable[[int], None] = lambda _: None,
) -> Assigned:
    """Writes the facts. Without `partitions`, a partitioned table and all its partitions change.

    Raises BadTarget if the facts contradict each other; then only `end_writes` was applied.
    """
    unknown = sorted(wanted.clusters() - topology.clusters.keys()) if topology.in_use else []
    if unknown:
        known = ", ".join(sorted(topology.clusters))
        raise BadTarget(f"no cluster {', '.join(unknown)}; there are {known}.")
    if wanted.end_writes:
        end_writes(store, wanted.table)
    table, placement = store.table(wanted.table)
    if wanted.copies and (why := why_files_are_not_enough(table)) is not None:
        raise BadTarget(why)
    names = _chosen(store, table, wanted.partitions)
    _check_no_write(store, wanted, table, placement, names)
    whole = not wanted.partitions
    single = wanted.partitions == tuple(names)
    if whole:
        _assigned(wanted, placement, wanted.copies)  # raises before anything is changed
    changed = store.change_partitions(
        wanted.table,
        names,
        lambda name, old: _assigned(wanted, old, _locations(wanted, None if single else name)),
        progress,
    )
    if whole:
        store.change_table(wanted.table, lambda old: _assigned(wanted, old, wanted.copies))
    return Assigned(int(whole), changed)


def end_writes(store: PlacementStore, ref: TableRef) -> None:
    """Removes all marks of running writes of the table. If there were any, all copies become stale,
    because it is not known what their writers wrote.
    """
    next_id = new_id()

    def change(old: Placement) -> Placement:
        return replace(old, open=()).rewritten(next_id) if old.open else old

    store.change_table(ref, change)


def _check_no_write(
    store: PlacementStore,
    wanted: Assignment,
    table: Table,
    placement: Placement,
    names: Sequence[str],
) -> None:
    for mark in placement.open:
        if wanted.copies and (not wanted.partitions or any(map(mark.covers, names))):
            raise _written(wanted, mark, "no copy can be up to date")
    if wanted.primary is None:
        return
    written = [name for name in names if any(mark.covers(name) for mark in placement.open)]
    for partition in store.client.get_partitions(table.ref, written):
        name = partition.name(table)
        _check_primary(wanted, store.partition_placement(partition, name, table, placement))


def _check_primary(wanted: Assignment, old: Placement) -> None:
    """Raises BadTarget if an object that is being written would get another primary: its writer
    would continue outside of it."""
    if old.open and wanted.primary not in (None, old.primary):
        raise _written(wanted, old.open[0], "its primary cannot change")


def _written(wanted: Assignment, mark: OpenWrite, why: str) -> BadTarget:
    return BadTarget(
        f"{wanted.table} is being written by {mark.by or 'an unknown writer'}, so {why}."
        " If that writer is dead, use --end-writes."
    )


def _locations(wanted: Assignment, name: str | None) -> dict[ClusterName, str]:
    """The locations of the copies of the partition `name`, below those of `wanted`; None: exactly
    those of `wanted`."""
    if name is None:
        return dict(wanted.copies)
    return {
        cluster: f"{location.rstrip('/')}/{name}" for cluster, location in wanted.copies.items()
    }


def _assigned(
    wanted: Assignment, old: Placement, locations: Mapping[ClusterName, str]
) -> Placement:
    """The placement of an object after the assignment. Raises BadTarget."""
    new = old
    for cluster in wanted.gone:
        new = new.without_copy(cluster)
    _check_primary(wanted, old)
    if wanted.primary is not None:
        new = replace(new, primary=wanted.primary)
    for cluster, location in locations.items():
        if cluster == new.primary:
            raise BadTarget(f"{cluster} is the primary cluster; it has no copy.")
        notes = {"at": round(time.time(), 3)}
        new = new.with_copy(Copy(cluster, location, new.version, notes))
    if new.copy_in(new.primary) is not None:
        raise BadTarget(f"{new.primary} has a copy; remove it with --no-copy {new.primary}.")
    return new


def _chosen(store: PlacementStore, table: Table, partitions: Sequence[str]) -> list[str]:
    """The names of the selected partitions, in the order of the metastore."""
    keys = [key for key, _ in table.partition_keys]
    if not keys:
        if partitions:
            raise BadTarget(f"{table.ref} is not partitioned.")
        return []
    names = store.client.get_partition_names(table.ref)
    if not partitions:
        return names
    chosen: dict[str, None] = {}
    for text in partitions:
        spec = _spec(text, keys)
        matching = [name for name in names if spec <= set(parse_partition_name(name))]
        if not matching:
            raise BadTarget(f"{table.ref} has no partition {text}.")
        chosen.update(dict.fromkeys(matching))
    return list(chosen)


def _spec(text: str, keys: Sequence[str]) -> set[tuple[str, str]]:
    try:
        spec = set(parse_partition_name(text))
    except ValueError as error:
        raise BadTarget(f"{error}.") from error
    unknown = {key for key, _ in spec} - set(keys)
    if unknown:
        raise BadTarget(f"no partition key {', '.join(sorted(unknown))}; {', '.join(keys)}.")
    return spec
