"""The three outcomes of routing.

A decision keeps what it knew: the clusters that it considered, in order, with the rule that chose
or passed each and the obstacles.
"""

from dataclasses import dataclass

from conf.names import ClusterName
from router.cures import CopyNeeded
from router.obstacles import Considered, Kind


@dataclass(frozen=True, slots=True)
class RunIn:
    """Run in `cluster` because of `rule`, a requirement's id such as DC-R5."""

    cluster: ClusterName
    rule: str
    because: str
    considered: tuple[Considered, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """Causeway answers itself; no cluster is asked."""

    rule: str
    because: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """Not run anywhere. `code` and `sqlstate` are those of docs/reference/errors.md. `copies` are
    to be made, and then the statement can run; empty where none are asked for or none help."""

    code: str
    sqlstate: str
    rule: str
    because: str
    hint: str
    considered: tuple[Considered, ...] = ()
    copies: tuple[CopyNeeded, ...] = ()


Decision = RunIn | Answer | Refuse


def chosen_from(decision: Decision) -> tuple[ClusterName, ...]:
    """The clusters from which the decision chose one by cost; none if something else decided."""
    if not isinstance(decision, RunIn):
        return ()
    found = tuple(
        each.cluster
        for each in decision.considered
        if each.chosen or any(obstacle.kind is Kind.COST for obstacle in each.obstacles)
    )
    return found if len(found) > 1 else ()
