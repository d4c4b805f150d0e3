"""`causeway table assign`: an operator states where a table's or partition's data is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from conf.names import ClusterName, TableRef, parse_partition_name
from conf.placement import Copy, Placement
from conf.topology import Topology
from metastore.client.types import Table
from metastore.errors import BadTarget
from metastore.placement.placement_store import PlacementStore, new_id


@dataclass(frozen=True, slots=True)
class Assignment:
    """What is stated of `table`, or of those of its partitions that `partitions` match.

    Each of `partitions` is `k=v` pairs with `/` between them, of all keys or of some. `copies`
    are clusters with locations that hold the data now; `gone` are clusters without a copy.
    `end_writes` says that no write is running, whatever marks there are.
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
    """How many objects were changed."""

    tables: int
    partitions: int


def assign(
    facts: PlacementStore,
    wanted: Assignment,
    topology: Topology,
    progress: Callable[[int], None] = lambda _: None,
) -> Assigned:
    """Writes it. Of a partitioned table without partitions named, all are meant, and the table.

    Raises BadTarget when something cannot be; then nothing was changed, except by `end_writes`.
    """
    unknown = sorted(wanted.clusters() - topology.clusters.keys()) if topology.in_use else []
    if unknown:
        known = ", ".join(sorted(topology.clusters))
        raise BadTarget(f"no cluster {', '.join(unknown)}; there are {known}.")
    if wanted.end_writes:
        end_writes(facts, wanted.table)
    table, placement = facts.table(wanted.table)
    names = _chosen(facts, table, wanted.partitions)
    _check_quiet(wanted, placement, names)
    whole = not wanted.partitions
    single = wanted.partitions == tuple(names)
    if whole:
        _stated(wanted, placement, wanted.copies)  # raises before anything is changed
    changed = facts.change_partitions(
        wanted.table,
        names,
        lambda name, old: _stated(wanted, old, _locations(wanted, None if single else name)),
        progress,
    )
    if whole:
        facts.change_table(wanted.table, lambda old: _stated(wanted, old, wanted.copies))
    return Assigned(int(whole), changed)


def end_writes(facts: PlacementStore, ref: TableRef) -> None:
    """Takes away all marks of running writes of the table, whose writers are dead.

    Copies become stale for good: what the lost writers wrote is not known.
    """
    next_id = new_id()

    def change(old: Placement) -> Placement:
        return replace(old, open=(), write=next_id) if old.open else old

    facts.change_table(ref, change)


def _check_quiet(wanted: Assignment, placement: Placement, names: Sequence[str]) -> None:
    if not wanted.copies:
        return
    for mark in placement.open:
        if not wanted.partitions or any(map(mark.covers, names)):
            raise BadTarget(
                f"{wanted.table} is being written by {mark.by or 'someone'}, so no copy can be"
                " up to date. If that writer is dead, say --end-writes."
            )


def _locations(wanted: Assignment, name: str | None) -> dict[ClusterName, str]:
    """Where the copies of the partition `name` are; None: exactly where it was said."""
    if name is None:
        return dict(wanted.copies)
    return {
        cluster: f"{location.rstrip('/')}/{name}" for cluster, location in wanted.copies.items()
    }


def _stated(wanted: Assignment, old: Placement, locations: Mapping[ClusterName, str]) -> Placement:
    new = old
    for cluster in wanted.gone:
        new = new.without_copy(cluster)
    if wanted.primary is not None:
        new = replace(new, primary=wanted.primary)
    for cluster, location in locations.items():
        if cluster == new.primary:
            raise BadTarget(f"{cluster} is the primary cluster; it holds no copy.")
        new = new.with_copy(Copy(cluster, location, new.version))
    if new.copy_in(new.primary) is not None:
        raise BadTarget(f"{new.primary} holds a copy; take it away with --no-copy {new.primary}.")
    return new


def _chosen(facts: PlacementStore, table: Table, partitions: Sequence[str]) -> list[str]:
    """The names of the partitions that are meant, in the order of the metastore."""
    keys = [key for key, _ in table.partition_keys]
    if not keys:
        if partitions:
            raise BadTarget(f"{table.ref} is not partitioned.")
        return []
    names = facts.client.get_partition_names(table.ref)
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
