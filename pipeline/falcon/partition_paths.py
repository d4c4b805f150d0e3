"""Parts of the directories of a feed: partition expressions, and `${cluster.NAME}` in paths. Pure.

A feed of paths declares the levels of directories below its instances (`partitions`). The partition
expressions of a source and a target, one after the other, name the directories that are copied:
`*/${cluster.colo}`. The expression of an input names those that a process reads. `*` and `?` stand
for characters within one level. Several sources of one target write different directories, so their
expressions have to differ in a level that both of them name.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import combinations

from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Feed, FeedCluster, Paths, Role, Storage
from pipeline.falcon.entities.process import Input
from pipeline.falcon.errors import DocumentProblem

Part = tuple[str, ...]
"""Names of directories or patterns, one a level; empty: the whole instance."""

DATE_VARIABLES = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE")
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_BARE = re.compile(rf"\$({'|'.join(DATE_VARIABLES)})")
_WILD = re.compile(r"[*?]")
_UNKNOWN_PATTERNS = re.compile(r"[\[\]{}]")


def with_cluster(text: str, cluster: Cluster | None) -> str:
    """The text with the values of `${cluster.colo}`, `${cluster.name}` and the cluster's
    properties; unknown variables stay.
    """
    values = _variables_of(cluster) if cluster else {}
    return _VARIABLE.sub(lambda match: values.get(match[1], match[0]), text)


def _variables_of(cluster: Cluster) -> dict[str, str]:
    own = {"colo": cluster.colo, "name": str(cluster.name)}
    return {f"cluster.{name}": value for name, value in (own | dict(cluster.properties)).items()}


def part_of(expression: str | None, cluster: Cluster | None) -> Part:
    """The levels of a partition expression, with the cluster's values."""
    return tuple(filter(None, with_cluster(expression or "", cluster).split("/")))


def copied_part(
    source: FeedCluster, target: FeedCluster, clusters: tuple[Cluster | None, Cluster | None]
) -> Part:
    """The part of each instance's directories that is copied from the source to the target."""
    return part_of(source.partition, clusters[0]) + part_of(target.partition, clusters[1])


def is_pattern(level: str) -> bool:
    """Whether a level stands for several names."""
    return _WILD.search(level) is not None


def names_like(level: str, names: Iterable[str]) -> list[str]:
    """The names that match a level, in order."""
    return sorted(name for name in names if fnmatchcase(name, level))


def are_disjoint(one: Part, other: Part) -> bool:
    """Whether no directory of one part is, contains or is inside one of the other."""
    levels = zip(one, other, strict=False)
    return any(a != b and not is_pattern(a) and not is_pattern(b) for a, b in levels)


def date_variables(paths: Paths) -> frozenset[str]:
    """The date variables in the paths of the data."""
    path = paths.locations.get("data", "")
    return frozenset(name for name in DATE_VARIABLES if f"${{{name}}}" in path)


def unknown_variables(
    text: str, cluster: Cluster | None, known: Collection[str] = ()
) -> Iterator[str]:
    """The names of a text's variables that have no value. Without a cluster, `${cluster.NAME}` is
    not checked.
    """
    for name in _VARIABLE.findall(text):
        if name in known or (cluster is None and name.startswith("cluster.")):
            continue
        if cluster is None or name not in _variables_of(cluster):
            yield name


def storage_problems(storage: Storage, cluster: Cluster | None) -> Iterator[DocumentProblem]:
    """Variables in the paths of a feed that have no value on a cluster."""
    if isinstance(storage, Paths):
        for path in storage.locations.values():
            for name in unknown_variables(path, cluster, DATE_VARIABLES):
                yield DocumentProblem(storage.line, "locations", f"{path}: no variable ${{{name}}}")
            for name in _BARE.findall(path):
                yield DocumentProblem(storage.line, "locations", f"{path}: ${name} is ${{{name}}}")


def expression_problem(expression: str, cluster: Cluster | None) -> str | None:
    """The reason why a partition expression cannot be used on a cluster, or None."""
    for name in unknown_variables(expression, cluster):
        where = f" on {cluster.name}" if cluster else ""
        return f"partition {expression}: no variable ${{{name}}}{where}"
    part = part_of(expression, cluster)
    plain = _VARIABLE.sub("", "/".join(part))
    if _UNKNOWN_PATTERNS.search(plain) or {".", ".."} & set(part):
        return f"partition {expression}: names, '*' and '?' only"
    return None


def input_problem(used: Input, feed: Feed, cluster: Cluster | None) -> str | None:
    """The reason why a process cannot read this part of a feed of paths, or None."""
    if used.partition is None:
        return None
    count, declared = len(part_of(used.partition, cluster)), len(feed.partitions or ())
    if count > declared:
        return f"partition {used.partition} has {count} levels, feed {feed.name} has {declared}"
    return expression_problem(used.partition, cluster)


def feed_problems(feed: Feed, clusters: dict[str, Cluster | None]) -> Iterator[DocumentProblem]:
    """Problems of a feed's partition expressions. `clusters` are the feed's clusters by name."""
    if not isinstance(feed.storage, Paths):
        for each in feed.clusters:
            if each.partition is not None:
                reason = "partition cannot be chosen of a table: its URI names the partitions"
                yield DocumentProblem(each.line, "cluster", reason)
        return
    for each in feed.clusters:
        if reason_not := expression_problem(each.partition or "", clusters.get(each.name)):
            yield DocumentProblem(each.line, "cluster", reason_not)
    sources = feed.with_role(Role.SOURCE)
    for target in feed.with_role(Role.TARGET):
        parts = {
            each: copied_part(each, target, (clusters.get(each.name), clusters.get(target.name)))
            for each in sources
        }
        yield from _level_problems(feed, target, parts)
        if len(sources) > 1:
            yield from _source_problems(feed, target, parts)


def _level_problems(
    feed: Feed, target: FeedCluster, parts: dict[FeedCluster, Part]
) -> Iterator[DocumentProblem]:
    """Problems of parts with more levels than the feed declares."""
    declared = len(feed.partitions or ())
    for source, part in parts.items():
        if len(part) > declared:
            reason = f"partition {'/'.join(part)} of {source.name} and {target.name} has"
            reason = f"{reason} {len(part)} levels, the feed has {declared} partitions"
            yield DocumentProblem(target.line, "cluster", reason)


def _source_problems(
    feed: Feed, target: FeedCluster, parts: dict[FeedCluster, Part]
) -> Iterator[DocumentProblem]:
    """Problems of several sources of one target: they may not write the same directories, and none
    of them can write a flag for the whole instance.
    """
    for source in parts:
        if not part_of(source.partition, None):
            reason = f"{source.name} needs a partition, since {target.name} has several sources"
            yield DocumentProblem(source.line, "cluster", reason)
    for (one, first), (other, second) in combinations(parts.items(), 2):
        if not are_disjoint(first, second):
            reason = f"{one.name} and {other.name} may write the same directories of {target.name}"
            yield DocumentProblem(other.line, "cluster", reason)
    if feed.availability_flag:
        reason = f"{target.name} has several sources: no one of them knows when all data is there"
        yield DocumentProblem(feed.line, "availabilityFlag", reason)
