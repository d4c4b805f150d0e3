"""Copies for the 99 queries of TPC-DS over three clusters with random primaries, ten seeds.

Queries are read by the real analysis. A stream of them by a skewed popularity is cut in two: advice
is made from the first half and judged on the second. Bytes are shares of copying everything.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from advice.copies import Candidates, candidates
from advice.demand import Demand
from advice.replay import replay
from advice.solvers.exact import solve
from advice.solvers.problem import Problem
from advice.solvers.search import search
from advice.stock import Stock, TableStock
from conf.catalog.tables import Column, TableInfo, TableKind
from conf.names import ClusterName, TableRef
from conf.partitions import Replicas, TableFacts
from dialect.statement import Namespace, Needs
from tests.e2e.support import tpcds

CLUSTERS = tuple(map(ClusterName, ("east", "west", "north")))
SHARE = 0.9
SEEDS = 10
STREAM = 200_000  # statements
_SURE = 60.0  # seconds for the solver to prove an optimum


def main() -> None:
    infos = _infos()
    sizes = {ref: float(_size(ref)) for ref in infos}
    texts = [text for _, text in tpcds.queries()]
    print(f"{len(texts)} queries, {len(infos)} tables, {len(CLUSTERS)} clusters, {SHARE:.0%} run")
    rows = []
    for seed in range(SEEDS):
        stock = _stock(infos, sizes, seed)
        options = [_options(text, stock) for text in texts]
        rows.append(_even(stock, options))
        print(f"  seed {seed}: " + _line(rows[-1]))
    mean = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
    print("  mean:   " + _line(mean))
    print("  (published for the same task: popular first 98 %, greedy 25.0 %, optimum 22.4 %)")
    halves = [_halves(_stock(infos, sizes, s), texts, s) for s in range(SEEDS)]
    print(
        "from the first half of a stream, judged on the second, against the optimum of the second:"
    )
    for seed, (reached, ratio) in enumerate(halves):
        print(f"  seed {seed}: {reached:.2%} run, {ratio:.4f} x its bytes for the same share")
    print(f"  mean: {sum(ratio for _, ratio in halves) / SEEDS:.4f} x")


def _line(row: Mapping[str, float]) -> str:
    return (
        f"popular first {row['popular']:.1%}, bundles {row['bundles']:.1%},"
        f" on demand/optimum for all {row['on demand']:.3f},"
        f" search {row['search']:.2%}, optimum {row['optimum']:.2%},"
        f" search/optimum {row['search'] / row['optimum']:.4f}, {row['seconds']:.2f} s of processor"
    )


def _even(stock: Stock, options: Sequence[Demand]) -> dict[str, float]:
    """Each query once a day."""
    found = candidates(stock, options)
    problem, target = found.problem, SHARE * len(options)
    everything = 2 * sum(table.size or 0 for table in stock.tables.values() if table)
    began = time.process_time()
    made = search(problem, target)
    seconds = time.process_time() - began
    best = solve(problem, target, made, _SURE)
    assert best is not None
    return {
        "popular": problem.price(_popular(found, target)) / everything,
        "bundles": problem.price(_bundles(problem, target)) / everything,
        "search": problem.price(made) / everything,
        "optimum": problem.price(best) / everything,
        "on demand": _on_demand(problem) / _price_of_all(problem),
        "seconds": seconds,
    }


def _halves(stock: Stock, texts: Sequence[str], seed: int) -> tuple[float, float]:
    """The share of the second half that runs by the advice of the first, and its bytes against
    those of the second half's own optimum for that share."""
    random = Random(seed + 100)
    popularity = [1 / (rank + 1) ** 0.5 for rank in range(len(texts))]
    random.shuffle(popularity)
    options = [_options(text, stock).options for text in texts]
    stream = random.choices(range(len(texts)), popularity, k=STREAM)
    first, second = Counter(stream[: STREAM // 2]), Counter(stream[STREAM // 2 :])
    found, judge = (
        candidates(stock, [Demand(options[n], float(half[n])) for n in range(len(texts))])
        for half in (first, second)
    )
    made = search(found.problem, SHARE * found.problem.total)
    reached = judge.problem.met(made)
    best = solve(judge.problem, reached, made, _SURE)
    assert best is not None
    return reached / judge.problem.total, found.problem.price(made) / judge.problem.price(best)


def _popular(found: Candidates, target: float) -> frozenset[int]:
    """The most read tables everywhere, one after the other."""
    reads: Counter[TableRef] = Counter()
    for demand in found.demands:
        parts = {part.table for _, needed in demand.options for part in needed}
        reads.update(parts)
    made: set[int] = set()
    for table, _ in reads.most_common():
        made |= {n for n, copy in enumerate(found.copies) if copy.part.table == table}
        if found.problem.met(made) >= target:
            break
    return frozenset(made)


def _bundles(problem: Problem, target: float) -> frozenset[int]:
    """The plain greedy: always the option with the fewest bytes for the statements it frees."""
    made: set[int] = set()
    while problem.met(made) < target:
        ways = [
            (problem.price(missing) / (problem.met(made | missing) - problem.met(made)), missing)
            for options in problem.options
            if not any(made.issuperset(option) for option in options)
            for option in options
            if (missing := frozenset(option) - made)
        ]
        made |= min(ways, key=lambda way: (way[0], sorted(way[1])))[1]
    return frozenset(made)


def _on_demand(problem: Problem) -> float:
    """The price of what is copied when each query in turn has the cheapest copies made that it
    still lacks."""
    made: frozenset[int] = frozenset()
    for options in problem.options:
        missing = [frozenset(option) - made for option in options]
        if missing and not any(not each for each in missing):
            made |= min(missing, key=problem.price)
    return problem.price(made)


def _price_of_all(problem: Problem) -> float:
    """The lowest price of copies with which all queries run."""
    best = solve(problem, problem.total, search(problem, problem.total), _SURE)
    assert best is not None
    return problem.price(best)


def _infos() -> dict[TableRef, TableInfo]:
    infos = {}
    for name in tpcds.table_names():
        ref = TableRef("tpcds", name)
        columns = (
            Column(column, kind.lower()) for column, kind in tpcds.column_types(name).items()
        )
        infos[ref] = TableInfo(ref, TableKind.TABLE, tuple(columns), provider="parquet")
    return infos


def _size(ref: TableRef) -> int:
    return (tpcds.SHARED / f"{ref.name}.csv.gz").stat().st_size


def _stock(
    infos: Mapping[TableRef, TableInfo], sizes: Mapping[TableRef, float], seed: int
) -> Stock:
    random = Random(seed)
    tables = {
        ref: TableStock(
            info, TableFacts(Replicas(random.choice(CLUSTERS), frozenset())), sizes[ref]
        )
        for ref, info in infos.items()
    }
    return Stock(CLUSTERS, CLUSTERS[0], tables)


def _options(text: str, stock: Stock) -> Demand:
    outcome = replay(text, Namespace("tpcds"), stock)
    assert not isinstance(outcome, Needs)
    return Demand(outcome.options, 1.0)
