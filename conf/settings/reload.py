"""Compares old and new settings: which changes a running proxy applies, which need a restart."""

from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from conf.settings.clusters import VIEW
from conf.settings.rows import LIVE, group_of, rows_of
from conf.settings.settings import CLUSTERS, DEFAULT_CLUSTER, USE_DEFAULT, Settings, Writers
from conf.topology import Topology

T = TypeVar("T")
_OF_CLUSTERS = {
    "logins": f"Authentication and what belongs to it in {CLUSTERS.name}",
    "views": f"{VIEW} in {CLUSTERS.name}",
}


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The settings from now on, the names of changed ones, and of those that need a restart."""

    settings: Settings
    changed: tuple[str, ...]
    restart: tuple[str, ...]


def reloaded(old: Settings, new: Settings) -> Reloaded:
    """`old` with the values of `new` for all settings that may change at run time."""
    topology, changed, restart = _topology(old, new)
    settings, live, fixed = _applied(old, replace(new, topology=old.topology))
    return Reloaded(
        replace(settings, topology=topology),
        tuple(dict.fromkeys(changed + live)),
        tuple(dict.fromkeys(restart + fixed)),
    )


def _applied(old: T, new: T) -> tuple[T, list[str], list[str]]:
    """`old` with the live settings of `new`, their names, and the names of changed settings that
    need a restart."""
    applied: dict[str, Any] = {}
    changed, restart = list[str](), list[str]()
    for each in fields(old):  # type: ignore[arg-type]
        before, after = getattr(old, each.name), getattr(new, each.name)
        if before == after or not each.compare:
            continue
        rows = rows_of(each)
        name = _OF_CLUSTERS.get(each.name) or " and ".join(row.name for row in rows)
        if group_of(each) and None not in (before, after):
            applied[each.name], live, fixed = _applied(before, after)
            changed += live
            restart += fixed
        elif rows and all(row.change is LIVE for row in rows):
            applied[each.name] = after
            changed.append(name)
        elif name:  # a field without a name depends on another one, as LDAP on the methods
            restart.append(name)
    return replace(old, **applied), changed, restart  # type: ignore[type-var]


def _topology(old: Settings, new: Settings) -> tuple[Topology, list[str], list[str]]:
    """The topology from now on, its changes, and the changes that need a restart. Clusters and
    endpoints may be added and removed. A cluster that stays keeps its file system, because facts of
    its tables depend on it."""
    before, after, restart = old.topology, new.topology, list[str]()
    if before == after:
        return before, [], []
    if before.default != after.default:
        restart.append(DEFAULT_CLUSTER.name)
    if before.use_default != after.use_default:
        restart.append(USE_DEFAULT.name)
    known, named = set(before.clusters), set(after.clusters)
    if before.in_use != after.in_use or before.default not in named:
        return before, [], [*restart, CLUSTERS.name]
    if old.writers is Writers.VIEWS and known != named:
        return before, [], [*restart, f"{CLUSTERS.name} (snapshot.writers = views)"]
    clusters, changed = {}, [f"{name} removed" for name in sorted(known - named)]
    for name, cluster in after.clusters.items():
        present = before.clusters.get(name)
        clusters[name] = cluster
        if present is None:
            changed.append(f"{name} added")
        elif present != cluster:
            clusters[name] = replace(cluster, filesystem=present.filesystem)
            if present.filesystem != cluster.filesystem:
                restart.append(f"FileSystem of {name} in {CLUSTERS.name}")
            if present.hs2 != cluster.hs2:
                changed.append(f"JobTracker of {name}")
    return Topology(clusters, before.default, before.use_default), changed, restart
