"""The search and the solver find cheap copies, compared with all choices of small problems."""

import os
from itertools import chain, combinations

import pytest

from advice.copies import candidates
from advice.solvers.exact import cheapest, solve
from advice.solvers.problem import Limit, SelectionProblem
from advice.solvers.search import search
from tests.advice.samples import demands, random_problem, shop

SEED = int(os.environ.get("CAUSEWAY_SEED", "7"))


def best_of_all(problem: SelectionProblem, target: float) -> float:
    copies = range(len(problem.prices))
    subsets = chain.from_iterable(combinations(copies, size) for size in range(len(copies) + 1))
    return min(
        problem.price(made)
        for made in subsets
        if problem.met(made) >= target - 1e-9 and problem.within_limits(made)
    )


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_search_and_solver_find_the_optimum_of_small_problems(share: float) -> None:
    over = 0.0
    for seed in range(SEED, SEED + 12):
        problem = random_problem(seed)
        target, best = share * problem.total, best_of_all(problem, share * problem.total)
        found, solved = search(problem, target), solve(problem, target, seconds=30)
        assert solved is not None
        assert problem.met(found) >= target - 1e-6, seed
        assert problem.price(solved) <= best * 1.001, seed
        over += problem.price(found) / best / 12
    assert over <= 1.02, SEED


def test_limits_hold_and_the_target_is_met_as_far_as_they_allow() -> None:
    free = random_problem(SEED)
    loads = dict(enumerate(free.prices))
    problem = SelectionProblem(
        free.prices, free.weights, free.options, (Limit("bytes", 120, loads),)
    )
    made = cheapest(problem, problem.total)
    assert problem.price(made) <= 120
    assert problem.met(made) > 0
    more = SelectionProblem(free.prices, free.weights, free.options, (Limit("bytes", 1e9, loads),))
    assert more.met(cheapest(more, more.total)) == pytest.approx(more.total)


def test_nothing_is_selected_if_all_runs_or_nothing_helps() -> None:
    problem = SelectionProblem([5.0], [1.0, 2.0], [((),), ()])
    assert search(problem, 3.0) == frozenset()
    assert problem.reachable() == 1.0


def test_results_are_the_same_each_time() -> None:
    problem = random_problem(SEED, 14, 40)
    assert search(problem, 0.9 * problem.total) == search(problem, 0.9 * problem.total)


@pytest.mark.slow
def test_search_is_near_the_solver_for_a_shop_in_three_clusters() -> None:
    for seed in range(SEED, SEED + 5):
        problem = candidates(stock := shop(seed), demands(stock)).problem
        target = 0.9 * problem.total
        solved = solve(problem, target, seconds=30)
        assert solved is not None
        assert problem.price(search(problem, target)) <= 1.05 * problem.price(solved), seed


def test_existing_copies_that_are_not_needed_are_removed() -> None:
    problem = SelectionProblem([5.0, 1.0], [1.0], [((1,),)])
    assert search(problem, 1.0, start=(0, 1)) == {1}
