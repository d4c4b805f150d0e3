"""With costs, the cheapest of the clusters that DC-R7 and D4 try runs a query."""

from dataclasses import replace

import pytest

from conf.names import ClusterName
from dialect.statement import CreateTempView, Known
from router.costs import Costs, Expected
from router.decision import Decision, RunIn, chosen_from
from router.obstacles import Obstacle, ObstacleKind
from router.request import Bound
from tests.router.cases import (
    C1,
    C2,
    C3,
    CROSSED,
    VIEW,
    decide,
    insert,
    outcome,
    ref,
    select,
    table,
)

BOTH = select("a", "b")  # C1 and C2 have all inputs


def costs(*seconds: float, old: frozenset[ClusterName] = frozenset(), budget: float = 0) -> Costs:
    """Costs with the expected seconds in C1, C2 and C3."""
    expected = {
        cluster: Expected(each, 0.0, 0)
        for cluster, each in zip((C1, C2, C3), seconds, strict=False)
    }
    return Costs(1, expected, old, budget)


def ran(decision: Decision) -> RunIn:
    assert isinstance(decision, RunIn)
    return decision


def test_the_cheapest_of_the_valid_clusters_runs_it() -> None:
    decision = ran(decide(BOTH, CROSSED, costs=costs(5, 2, 1)))
    assert (decision.cluster, decision.rule) == (C2, "cost")
    assert decision.because == "C2 has all inputs, and is expected to take 2.0 s (C1: 5.0 s)"
    assert [(each.cluster, each.chosen, each.obstacles) for each in decision.considered] == [
        (C1, False, (Obstacle(C1, ObstacleKind.COST, other=C2),)),
        (C2, True, ()),
    ]
    assert chosen_from(decision) == (C1, C2)


def test_with_equal_costs_the_order_of_the_specification_decides() -> None:
    assert outcome(decide(BOTH, CROSSED, costs=costs(1, 1, 1))) == "C1"
    assert outcome(decide(select("b", "a"), CROSSED, costs=costs(1, 1, 1))) == "C2"


def test_without_costs_the_specification_decides() -> None:
    decision = ran(decide(BOTH, CROSSED))
    assert (decision.cluster, decision.rule) == (C1, "DC-R7")
    assert chosen_from(decision) == ()


def test_the_default_cluster_is_a_candidate_if_use_default_is_set() -> None:
    everywhere = {"a": table(C2, C1, C3), "b": table(C3, C1, C2)}
    cheap = costs(1, 2, 3)
    assert outcome(decide(BOTH, everywhere, costs=cheap)) == "C2"
    assert outcome(decide(BOTH, everywhere, costs=cheap, use_default=True)) == "C1"


def test_a_cluster_that_lacks_an_input_or_is_down_is_never_chosen() -> None:
    facts = CROSSED | {"c": table(C3, C1, C2)}
    query, cheap = select("a", "b", "c"), costs(3, 2, 1)
    decision = ran(decide(query, facts, costs=cheap))
    assert decision.cluster == C2
    assert decision.considered[2].obstacles == (
        Obstacle(C3, ObstacleKind.ABSENT, ref("a")),
        Obstacle(C3, ObstacleKind.ABSENT, ref("b")),
    )
    down = ran(decide(query, facts, costs=cheap, down=frozenset({C2})))
    assert (down.cluster, down.rule) == (C1, "DC-R7")


def test_only_primaries_of_inputs_are_chosen_by_cost() -> None:
    decision = ran(decide(select("a"), CROSSED, costs=costs(5, 1, 1)))
    assert (decision.cluster, decision.rule) == (C1, "DC-R7")


@pytest.mark.parametrize(
    ("statement", "request_", "where"),
    [
        (BOTH, {"pinned": C1}, "C1"),
        (BOTH, {"bounds": (Bound(C1, "a view is there"),)}, "C1"),
        (BOTH, {"lost": C2, "clusters": (C1, C2)}, "C1"),
        (insert("new", "a", "b", exists=False), {}, "C1"),
        (insert("a", "b"), {}, "C1"),
        (replace(BOTH, effect=CreateTempView("v", VIEW)), {}, "C1"),
        (Known("insert", BOTH.reads, paths_written=("/x",)), {}, "C1"),
        (replace(BOTH, paths_read=("/x",)), {}, "C1"),
    ],
)
def test_only_a_query_that_is_free_to_move_is_chosen_by_cost(
    statement: Known, request_: dict[str, object], where: str
) -> None:
    decision = ran(decide(statement, CROSSED, costs=costs(5, 1, 1), **request_))
    assert decision.cluster == where
    assert decision.rule != "cost"


def test_a_cluster_whose_estimate_is_old_is_tried_within_the_budget() -> None:
    old = frozenset({C2, C3})
    within = ran(decide(BOTH, CROSSED, costs=costs(1, 3, 1, old=old, budget=2.0)))
    assert (within.cluster, within.rule) == (C2, "cost-probe")
    assert "it is tried because" in within.because
    beyond = ran(decide(BOTH, CROSSED, costs=costs(1, 3, 1, old=old, budget=1.9)))
    assert (beyond.cluster, beyond.rule) == (C1, "cost")
