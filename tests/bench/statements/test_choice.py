"""The choice by cost is near to that of an oracle in simulation, the specification's is not."""

import pytest

from bench.statements.choice import CHOICES, geometric, ratios

SEEDS, STATEMENTS, LOAD = range(1, 5), 30_000, 0.5


@pytest.mark.slow
def test_the_choice_by_cost_is_near_to_the_oracles() -> None:
    """By seeds, so that nothing depends on the machine."""
    found = [ratios(seed, STATEMENTS, LOAD, bursts=True) for seed in SEEDS]
    assert geometric([each["cost"].p99 for each in found]) <= 1.1
    for each in found:
        assert each["cost"].p99 < each["first"].p99
        assert each["cost"].p50 < each["first"].p50


def test_a_simulation_is_the_same_each_time() -> None:
    once, again = (ratios(seed=9, count=2_000, load=LOAD, bursts=True) for _ in range(2))
    assert once == again
    assert set(once) == set(CHOICES)
