"""Estimates of a statement's time in each cluster, and the choice by them."""

from collections.abc import Mapping

import pytest

from conf.names import ClusterName
from router.costs import AGE, OTHERS, PROBED, CostModel, Costs, Expected, Load

EAST, WEST, NORTH = map(ClusterName, ("east", "west", "north"))
IDLE = {EAST: Load(0, 0.0), WEST: Load(0, 0.0)}
T, U = 1, 2


def ran(model: CostModel, cluster: ClusterName, *seconds: float, template: int = T) -> None:
    """Records statements that ran alone in the cluster, one after the other."""
    for each in seconds:
        costs = model.costs(template, {cluster: Load(0, 0.0)})
        model.began(costs, cluster)
        model.ended(template, cluster, costs.expected[cluster], each, well=True)


def totals(model: CostModel, loads: Mapping[ClusterName, Load], template: int = T) -> list[float]:
    return [round(each.total, 2) for each in model.costs(template, loads).expected.values()]


def test_a_template_is_expected_to_take_its_mean_in_the_cluster() -> None:
    model = CostModel()
    ran(model, EAST, 4.0)
    ran(model, WEST, 1.0)
    ran(model, WEST, 7.0, template=U)
    east, west = totals(model, IDLE)
    assert east == 4.0
    assert west < east
    assert model.costs(T, IDLE).choose([EAST, WEST]) == WEST


def test_recent_statements_count_more() -> None:
    model = CostModel()
    ran(model, EAST, *[1.0] * 50, *[3.0] * 20)
    (seconds,) = totals(model, {EAST: Load(0, 0.0)})
    assert 2.5 < seconds < 3.0


def test_a_cluster_that_becomes_slow_is_slow_for_templates_that_did_not_run_since() -> None:
    model = CostModel()
    for template in range(1, 11):
        ran(model, EAST, *[1.0] * 20, template=template)
    for number in range(200):
        ran(model, EAST, 3.0, template=1 + number % 9)
    assert totals(model, {EAST: Load(0, 0.0)}, template=10)[0] > 2


def test_a_long_statement_does_not_make_its_cluster_slow() -> None:
    model = CostModel()
    ran(model, EAST, *[1.0] * 20)
    ran(model, EAST, 1.0, 1000.0, template=U)
    assert totals(model, {EAST: Load(0, 0.0)}, template=T)[0] < 1.1


def test_a_template_without_runs_in_a_cluster_has_its_mean_of_other_clusters() -> None:
    model = CostModel()
    ran(model, EAST, 4.0)
    ran(model, WEST, 9.0, template=U)
    assert totals(model, IDLE) == [4.0, 4.0]


def test_a_new_template_has_the_mean_of_the_clusters_statements() -> None:
    model = CostModel()
    ran(model, EAST, 4.0, template=OTHERS)
    ran(model, WEST, 2.0, template=U)
    assert totals(model, {**IDLE, NORTH: Load(0, 0.0)}) == [4.0, 2.0, 3.0]


def test_without_estimates_the_first_candidate_is_chosen() -> None:
    costs = CostModel().costs(T, IDLE)
    assert costs.choose([EAST, WEST]) == EAST
    assert costs.choose([WEST, EAST]) == WEST


def test_running_statements_raise_the_cost_of_a_cluster() -> None:
    model = CostModel()
    ran(model, EAST, 1.0)
    ran(model, WEST, 2.0)
    assert model.costs(T, IDLE).choose([EAST, WEST]) == EAST
    busy = {**IDLE, EAST: Load(5, 5.0)}
    assert model.costs(T, busy).choose([EAST, WEST]) == WEST


def test_there_is_no_wait_with_fewer_statements_than_slots() -> None:
    model = CostModel()
    ran(model, EAST, 1.0)
    for number in range(400):  # up to four at once, none slower than alone
        there = number // 20 % 4
        costs = model.costs(T, {EAST: Load(there, float(there))})
        model.ended(T, EAST, costs.expected[EAST], 1.0, well=True)
    wait = {n: model.costs(T, {EAST: Load(n, float(n))}).expected[EAST].wait for n in (3, 4, 8, 9)}
    assert wait[3] == 0
    assert 0 < wait[4] < wait[8] < wait[9]


def test_a_wait_does_not_make_a_template_look_slow() -> None:
    model = CostModel()
    ran(model, EAST, *[1.0] * 20)
    costs = model.costs(T, {EAST: Load(4, 4.0)})
    model.ended(T, EAST, costs.expected[EAST], costs.expected[EAST].total, well=True)
    assert totals(model, {EAST: Load(0, 0.0)}) == [1.0]


def test_a_failure_counts_only_if_it_took_longer_than_expected() -> None:
    model = CostModel()
    ran(model, EAST, *[4.0] * 5)
    expected = model.costs(T, IDLE).expected[EAST]
    model.ended(T, EAST, expected, 0.1, well=False)
    assert totals(model, IDLE)[0] == 4.0
    model.ended(T, EAST, expected, 100.0, well=False)
    assert totals(model, IDLE)[0] > 10


def choices(
    model: CostModel, count: int, seconds: Mapping[ClusterName, float]
) -> list[ClusterName]:
    """The clusters that run statements of T one after the other, each taking these seconds."""
    found = []
    for _ in range(count):
        costs = model.costs(T, IDLE)
        cluster = costs.choose([EAST, WEST])
        model.began(costs, cluster, [EAST, WEST])
        model.ended(T, cluster, costs.expected[cluster], seconds[cluster], well=True)
        found.append(cluster)
    return found


def test_an_old_estimate_is_tried_again_and_corrected() -> None:
    model = CostModel()
    ran(model, EAST, 1.0)
    ran(model, WEST, *[3.0] * 10)  # slow once
    found = choices(model, 20_000, {EAST: 1.0, WEST: 0.5})
    assert found[-1] == WEST
    assert found[:AGE] == [EAST] * AGE


def test_trying_costs_a_bounded_part_of_the_time() -> None:
    model = CostModel()
    ran(model, EAST, 1.0)
    ran(model, WEST, *[5.0] * 100)
    found = choices(model, 20_000, {EAST: 1.0, WEST: 5.0})
    assert 5 <= found.count(WEST) <= PROBED * 20_000 / 4 + 1


def test_least_recently_used_templates_are_dropped() -> None:
    model = CostModel(templates=2)
    ran(model, EAST, 5.0, template=1)
    ran(model, EAST, 6.0, template=2)
    ran(model, EAST, 5.0, template=1)
    ran(model, EAST, 7.0, template=3)
    assert totals(model, IDLE, template=1)[0] == 5.0
    assert totals(model, IDLE, template=2)[0] not in (6.0, 7.0)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0123, "12 ms"), (1.04, "1.0 s"), (9.5, "9.5 s"), (1234.0, "1,234 s")],
)
def test_the_reason_has_the_times(seconds: float, words: str) -> None:
    costs = Costs(T, {EAST: Expected(seconds, 0.0, 0), WEST: Expected(4000.0, 1000.0, 9)})
    assert costs.reason(EAST, [EAST, WEST]) == (
        f"east has all inputs, and is expected to take {words} (west: 5,000 s)"
    )
    assert costs.reason(WEST, [EAST, WEST]) == (
        f"west has all inputs, and is expected to take 5,000 s (east: {words});"
        " it is tried because no such statement ran there lately"
    )
