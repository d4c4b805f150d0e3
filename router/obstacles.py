"""The clusters that a decision considered and the obstacles in each, as data.

Messages (`describe`), EXPLAIN CLUSTER EXTENDED, the REST API and the audit log show this data.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from conf.names import ClusterName, TableRef
from router.rule_names import rule_name

NAMED = 8  # the most partitions in an obstacle, and in a statement that copies them
SHOWN = 3  # the most of these in a sentence


class ObstacleKind(StrEnum):
    """Why a cluster cannot run a statement, or was not chosen."""

    ABSENT = "absent"  # it has no copy
    STALE = "stale"  # it has a stale copy
    PATH = "path"  # a path is in another cluster
    PINNED = "pinned"  # the session is pinned to another cluster
    DOWN = "down"
    WRITTEN = "written"  # an output is written in another cluster
    SESSION = "session"  # an object of the session is in another cluster
    COST = "cost"  # it can run the statement, but another cluster was chosen by cost


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason against `cluster`.

    `table` is the table that the cluster lacks or may not write. Of a partitioned table that it
    lacks, `partitions` is the number of missing partitions that are read, and `first` has the names
    of the first ones; the kind is STALE if the cluster has a stale copy of at least one. `other` is
    the cluster of the path, the pin, the output or the session's object, or the one chosen by cost.
    """

    cluster: ClusterName
    kind: ObstacleKind
    table: TableRef | None = None
    partitions: int | None = None
    first: tuple[str, ...] = ()
    other: ClusterName | None = None

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "cluster": self.cluster,
            "kind": self.kind.value,
            "table": None if self.table is None else str(self.table),
            "partitions": self.partitions,
            "first": list(self.first),
            "other": self.other,
        }


@dataclass(frozen=True, slots=True)
class Considered:
    """A cluster that `rule` chose, or did not choose because of the obstacles.

    A cluster that is down may be chosen, if no other one can run the statement.
    """

    cluster: ClusterName
    rule: str
    chosen: bool
    obstacles: tuple[Obstacle, ...] = ()

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "cluster": self.cluster,
            "rule": rule_name(self.rule),
            "chosen": self.chosen,
            "obstacles": [each.document() for each in self.obstacles],
        }


def describe(obstacle: Obstacle) -> str:
    """A phrase for an obstacle of the kind absent, stale or path."""
    if obstacle.kind is ObstacleKind.PATH:
        return f"a path lies in {obstacle.other}"
    word = "stale" if obstacle.kind is ObstacleKind.STALE else "missing"
    if obstacle.partitions is None:
        return f"{obstacle.table} is {word}"
    count = f"{obstacle.partitions} partition" + ("s" if obstacle.partitions != 1 else "")
    more = ", .." if obstacle.partitions > SHOWN else ""
    return f"{obstacle.table} has {count} {word}: {', '.join(obstacle.first[:SHOWN])}{more}"
