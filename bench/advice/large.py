"""Measures the search for copies of many tables: its time, and its price against a lower bound."""

import time
from random import Random

from advice.solvers.exact import Model, is_installed, run
from advice.solvers.problem import SelectionProblem
from advice.solvers.search import search

CLUSTERS = 3
SHARE = 0.9
SIZES = (100, 1_000, 10_000, 100_000)  # tables
_BOUND = 10_000  # tables up to which the solver's bound is computed
_SECONDS = 60.0  # for the solver


def problem_of(tables: int, seed: int = 1) -> SelectionProblem:
    """As many templates as tables; each joins tables of its area, popular ones more often."""
    random = Random(seed)
    primaries = [random.randrange(CLUSTERS) for _ in range(tables)]
    sizes = [random.lognormvariate(3, 2) for _ in range(tables)]
    prices = [size for size in sizes for _ in range(CLUSTERS)]
    weights, options = [], []
    for rank in range(tables):
        area = random.randrange(max(tables // 30, 1)) * 30
        joined = {
            (area + int(random.paretovariate(0.8)) - 1) % tables
            for _ in range(random.randint(1, 5))
        }
        weights.append(1000 / (rank + 1) ** 0.8)
        options.append(
            tuple(
                tuple(sorted(t * CLUSTERS + c for t in joined if primaries[t] != c))
                for c in dict.fromkeys(primaries[t] for t in sorted(joined))
            )
        )
    return SelectionProblem(prices, weights, options)


def lower_bound(problem: SelectionProblem, target: float) -> float:
    """A lower bound for the price of copies that meet the target, if nothing limits them."""
    model = Model(problem, target)
    return float(run(model, _SECONDS, None).getInfo().mip_dual_bound) * model.scale


def main() -> None:
    for tables in SIZES:
        problem = problem_of(tables)
        target = SHARE * problem.total
        began, wall = time.process_time(), time.monotonic()
        made = search(problem, target)
        seconds, waited = time.process_time() - began, time.monotonic() - wall
        line = (
            f"{tables:>7,} tables and templates: {seconds:6.2f} s of processor ({waited:.1f} s),"
            f" {problem.met(made) / problem.total:.1%} run"
        )
        if tables <= _BOUND and is_installed():
            bound = lower_bound(problem, target)
            line += f", at most {problem.price(made) / bound:.4f} x the optimum"
        print(line, flush=True)
