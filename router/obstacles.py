"""The clusters that a decision considered and what kept it from each, as data.

Messages are rendered from this data (`words`); so are EXPLAIN CLUSTER EXTENDED, the REST API and
the audit log.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from conf.names import ClusterName, TableRef
from router.rule_names import rule_name

NAMED = 8  # partitions in an obstacle, and in a statement that copies them
SHOWN = 3  # of these in a sentence


class Kind(StrEnum):
    """Why a cluster cannot run a statement, or is passed by."""

    ABSENT = "absent"  # it has no copy
    STALE = "stale"  # it has a copy that is not fresh
    PATH = "path"  # a path lies in another cluster
    PINNED = "pinned"  # the session is pinned to another cluster
    DOWN = "down"
    WRITTEN = "written"  # an output is written in another cluster
    SESSION = "session"  # an object of the session lives in another cluster
    COST = "cost"  # it can run the statement, but another cluster was chosen by cost


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason against `cluster`.

    `table` is the table that it lacks or may not write. Of a partitioned table that it lacks,
    `partitions` is the number of those read that are not there, `first` has the names of the first
    of them; the kind is STALE if the cluster has a stale copy of at least one. `other` is the
    cluster where the path, the pin, the output or the session's object is, or the one that was
    chosen by cost.
    """

    cluster: ClusterName
    kind: Kind
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
    """A cluster that `rule` chose, or passed by because of the obstacles.

    A cluster that is down is chosen if no other one can run the statement.
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


def words(obstacle: Obstacle) -> str:
    """What of its inputs a cluster lacks: obstacles of the kinds absent, stale and path."""
    if obstacle.kind is Kind.PATH:
        return f"a path lies in {obstacle.other}"
    word = "stale" if obstacle.kind is Kind.STALE else "missing"
    if obstacle.partitions is None:
        return f"{obstacle.table} is {word}"
    count = f"{obstacle.partitions} partition" + ("s" if obstacle.partitions != 1 else "")
    more = ", .." if obstacle.partitions > SHOWN else ""
    return f"{obstacle.table} has {count} {word}: {', '.join(obstacle.first[:SHOWN])}{more}"
