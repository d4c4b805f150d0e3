"""The policy changes few copies, and only if too few statements run."""

import pytest

from advice.copies import Budgets, Candidates, candidates
from advice.policy import CopyPolicy
from advice.solvers.exact import cheapest
from bench.advice.drift import Company, simulate
from tests.advice.samples import JOINS, demands, shop


def found(copies: dict[str, list[str]] | None = None, budgets: Budgets | None = None) -> Candidates:
    stock = shop(3, copies)
    return candidates(stock, demands(stock), None, budgets)


def planned() -> dict[str, list[str]]:
    """The copies of a first plan."""
    first = found()
    copies: dict[str, list[str]] = {}
    for number in CopyPolicy().copies(first):
        copies.setdefault(first.copies[number].part.table.name, []).append(
            first.copies[number].cluster
        )
    return copies


def test_a_plan_stays_while_it_is_good_enough() -> None:
    again = found(planned())
    assert again.present
    assert CopyPolicy().copies(again) == again.present
    assert CopyPolicy(share=0.92, hysteresis=0.05).copies(again) == again.present


def test_unread_copies_are_dropped_if_asked_for_while_enough_runs() -> None:
    stock = shop(3, planned() | {"stores": ["east", "west", "north"]})
    without = [
        each for each, join in zip(demands(stock), JOINS, strict=True) if "stores" not in join
    ]
    again = candidates(stock, without)
    unread = again.present - again.read
    assert {again.copies[each].part.table.name for each in unread} == {"stores"}
    assert CopyPolicy().copies(again) == again.present
    assert CopyPolicy(drops_unread=True).copies(again) == again.present - unread


def test_copies_are_added_if_too_few_statements_run() -> None:
    again = found(planned())
    more = CopyPolicy(share=1.0, hysteresis=0.0).copies(again)
    assert again.problem.met(more) == again.problem.total


def test_copies_beside_the_plan_stay_while_they_are_a_small_part() -> None:
    again = found({"items": ["east", "west", "north"], "store_sales": ["east", "west", "north"]})
    plan = cheapest(again.problem, again.problem.total, again.present)
    assert CopyPolicy(share=1.0, spare=0.0).copies(again) == plan
    more = CopyPolicy(share=1.0, spare=0.25).copies(again)
    assert plan <= more <= plan | again.present
    assert again.problem.price(more) <= 1.25 * again.problem.price(plan)


def test_a_new_plan_is_made_if_a_budget_is_exceeded() -> None:
    budgets = Budgets(kept=dict.fromkeys(shop(3).clusters, 20.0))
    over = found({"store_sales": ["east", "west", "north"]}, budgets)
    assert not over.problem.within_limits(over.present)
    assert over.problem.within_limits(CopyPolicy().copies(over))


@pytest.mark.slow
def test_weekly_drift_moves_a_tenth_of_what_popularity_does() -> None:
    """A short run of `python -m bench.advice drift`."""
    courses = simulate(Company(tables=60, templates=60, weeks=7, seed=2))
    ours, popular = courses["standing policy"], courses["popular first"]
    assert sum(ours.moved) <= 0.2 * sum(popular.moved)
    assert sum(ours.shares) / len(ours.shares) > 0.75
