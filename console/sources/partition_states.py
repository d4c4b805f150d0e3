"""Computes the states of a table's partitions from their cluster facts. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from conf.copies import lacking_since
from conf.names import ClusterName
from conf.placement import Placement
from console.drawing.matrix import ObjectState, PartitionStates


def clusters_in_order(
    placements: Iterable[Placement], known: Sequence[ClusterName]
) -> tuple[ClusterName, ...]:
    """The clusters of the settings, then other clusters in the facts."""
    named = set()
    for each in placements:
        named.add(each.primary)
        named.update(copy.cluster for copy in each.copies)
    return (*known, *sorted(named.difference(known)))


def partition_states(
    partitions: Mapping[str, Placement], known: Sequence[ClusterName]
) -> PartitionStates:
    """The states of the partitions, sorted by name; numbers in names are compared as numbers."""
    names = sorted(partitions, key=_order)
    clusters = clusters_in_order(partitions.values(), known)
    numbers: dict[tuple[ObjectState, ...], int] = {}
    groups: list[int] = []
    since: dict[int, float] = {}
    for index, name in enumerate(names):
        states, lacking = _states(partitions[name], clusters)
        groups.append(numbers.setdefault(states, len(numbers)))
        if lacking is not None:
            since[index] = lacking
    return PartitionStates(names, clusters, tuple(numbers), groups, since)


def _states(
    placement: Placement, clusters: Sequence[ClusterName]
) -> tuple[tuple[ObjectState, ...], float | None]:
    """The state in each cluster, and the earliest time since which a copy is stale."""
    found = dict.fromkeys(clusters, ObjectState.ABSENT)
    first: float | None = None
    for copy in placement.copies:
        if placement.is_fresh(copy):
            found[copy.cluster] = ObjectState.FRESH
            continue
        found[copy.cluster] = ObjectState.STALE
        began = lacking_since(placement, copy)
        if began is not None:
            first = began if first is None else min(first, began)
    found[placement.primary] = ObjectState.PRIMARY
    return tuple(found.values()), first


def _order(name: str) -> list[str]:
    """The sort key of a partition's name, which places `hour=9` before `hour=10`."""
    if "/" not in name:
        return [_padded(name)]
    return [_padded(part) for part in name.split("/")]


def _padded(part: str) -> str:
    key, _, value = part.partition("=")
    return f"{key}={value:>0{20}}" if value.isdecimal() else part
