"""The three outcomes of routing.

`considered` has the clusters that the rules considered, in their order, each with the rule that
chose it or passed it by, and the obstacles.
"""

from dataclasses import dataclass

from conf.names import ClusterName
from router.needed_copies import CopyNeeded
from router.obstacles import Considered, ObstacleKind


@dataclass(frozen=True, slots=True)
class RunIn:
    """The statement runs in `cluster`. `rule` is a requirement's id such as DC-R5."""

    cluster: ClusterName
    rule: str
    because: str
    considered: tuple[Considered, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """Causeway answers the statement itself, without a cluster."""

    rule: str
    because: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """The statement is refused with the `code` and `sqlstate` of docs/reference/errors.md. It can
    run after `copies` are made; empty if the session does not want copies, or none help."""

    code: str
    sqlstate: str
    rule: str
    because: str
    hint: str
    considered: tuple[Considered, ...] = ()
    copies: tuple[CopyNeeded, ...] = ()


Decision = RunIn | Answer | Refuse


def chosen_from(decision: Decision) -> tuple[ClusterName, ...]:
    """The clusters from which the decision chose one by cost; none if another rule decided."""
    if not isinstance(decision, RunIn):
        return ()
    clusters = tuple(
        each.cluster
        for each in decision.considered
        if each.chosen or any(obstacle.kind is ObstacleKind.COST for obstacle in each.obstacles)
    )
    return clusters if len(clusters) > 1 else ()
