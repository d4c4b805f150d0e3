"""The copies that demands need, as a `SelectionProblem`, and the plan from its solution."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from advice.demand import Demand
from advice.solvers.problem import Limit, SelectionProblem
from advice.stock import Part, Stock, TableStock
from conf.names import ClusterName, TableRef
from conf.partitions import Replicas

REFRESH_DAYS = 7.0
Link = tuple[ClusterName, ClusterName]


@dataclass(frozen=True, slots=True)
class Budgets:
    """Limits and prices of copies.

    `kept` limits the bytes of copies by cluster, `sent` the bytes a day by link; there is no limit
    for others. A byte sent each day costs as much as `days` bytes of copies, times the `cost` of
    its link. An existing copy costs `loyalty` of its price, so that a slightly better one does not
    replace it.
    """

    kept: Mapping[ClusterName, float] = field(default_factory=dict)
    sent: Mapping[Link, float] = field(default_factory=dict)
    cost: Mapping[Link, float] = field(default_factory=dict)
    days: float = REFRESH_DAYS
    loyalty: float = 0.7


@dataclass(frozen=True, slots=True)
class CandidateCopy:
    """A copy of a part in a cluster, existing or possible. `source` is the part's primary cluster,
    `kept` are the copy's bytes, and `sent` the bytes a day that keep it fresh. `present`: the
    cluster has a copy, fresh or stale."""

    part: Part
    cluster: ClusterName
    source: ClusterName
    kept: float
    sent: float
    present: bool


@dataclass(frozen=True)
class Candidates:
    """All copies that a demand needs or that exist, with the problem of selecting some of them."""

    stock: Stock
    copies: tuple[CandidateCopy, ...]
    demands: Sequence[Demand]
    problem: SelectionProblem

    @cached_property
    def present(self) -> frozenset[int]:
        return frozenset(number for number, copy in enumerate(self.copies) if copy.present)

    @cached_property
    def read(self) -> frozenset[int]:
        """The copies that some statement could read."""
        options = self.problem.options
        return frozenset(copy for each in options for option in each for copy in option)

    @cached_property
    def read_parts(self) -> frozenset[tuple[Part, ClusterName]]:
        """The parts and clusters of `read`."""
        return frozenset((self.copies[n].part, self.copies[n].cluster) for n in self.read)

    def kept(self, selected: Iterable[int]) -> float:
        return sum(self.copies[each].kept for each in selected)

    def sent(self, selected: Iterable[int]) -> float:
        return sum(self.copies[each].sent for each in selected)


def candidates(
    stock: Stock,
    demands: Sequence[Demand],
    writes: Mapping[TableRef, float] | None = None,
    budgets: Budgets | None = None,
) -> Candidates:
    """The candidates for these demands. `writes` are writes a day by table, for tables of which the
    stock does not have the bytes that are written."""
    limits = Budgets() if budgets is None else budgets
    numbers: dict[tuple[Part, ClusterName], int] = {}
    for demand in demands:
        for cluster, parts in demand.options:
            for part in sorted(parts):
                numbers.setdefault((part, cluster), len(numbers))
    for part, cluster in _present(stock):
        numbers.setdefault((part, cluster), len(numbers))
    copies = tuple(_copy(stock, *each, writes or {}) for each in numbers)
    prices = [_price(copy, limits) for copy in copies]
    options = [
        tuple(
            tuple(sorted(numbers[part, cluster] for part in parts))
            for cluster, parts in demand.options
        )
        for demand in demands
    ]
    weights = [demand.rate for demand in demands]
    problem = SelectionProblem(prices, weights, options, tuple(_limits(copies, limits)))
    return Candidates(stock, copies, demands, problem)


def _present(stock: Stock) -> Iterable[tuple[Part, ClusterName]]:
    """The parts of which a cluster has a copy, and the cluster."""
    for table in stock.tables.values():
        if table is not None and any(each.fresh or each.stale for each in _replicas(table)):
            for part in _parts(table):
                replicas = table.replicas(part)
                clusters = {name for each in replicas for name in each.fresh | each.stale}
                for cluster in sorted(clusters):
                    if all(_has(each, cluster) for each in replicas):
                        yield part, cluster


def _has(replicas: Replicas, cluster: ClusterName) -> bool:
    return cluster == replicas.primary or cluster in replicas.fresh | replicas.stale


def _replicas(table: TableStock) -> Iterable[Replicas]:
    return [table.facts.replicas] if table.placed is None else table.placed.replicas


def _parts(table: TableStock) -> Iterable[Part]:
    placed = table.placed
    if placed is None:
        return table.parts(None)
    return sorted(table.parts(range(len(placed.partitions))))


def _copy(
    stock: Stock, part: Part, cluster: ClusterName, writes: Mapping[TableRef, float]
) -> CandidateCopy:
    table = stock.stock_of(part.table)
    assert table is not None  # parts are of existing tables
    replicas = sorted(table.replicas(part), key=lambda each: each.primary)
    source = next((r.primary for r in replicas if r.primary != cluster), cluster)
    usual = stock.usual_size
    return CandidateCopy(
        part,
        cluster,
        source,
        table.bytes_outside(part, cluster, usual),
        table.written_a_day(part, usual, writes.get(part.table, 0.0)),
        bool(replicas) and all(_has(each, cluster) for each in replicas),
    )


def _price(copy: CandidateCopy, budgets: Budgets) -> float:
    link = budgets.cost.get((copy.source, copy.cluster), 1.0)
    price = copy.kept + budgets.days * copy.sent * link
    return price * budgets.loyalty if copy.present else price


def _limits(copies: Sequence[CandidateCopy], budgets: Budgets) -> Iterable[Limit]:
    for cluster, most in budgets.kept.items():
        loads = {n: copy.kept for n, copy in enumerate(copies) if copy.cluster == cluster}
        yield Limit(f"bytes in {cluster}", most, loads)
    for (source, target), most in budgets.sent.items():
        loads = {
            number: copy.sent
            for number, copy in enumerate(copies)
            if (copy.source, copy.cluster) == (source, target)
        }
        yield Limit(f"bytes a day from {source} to {target}", most, loads)


@dataclass(frozen=True, slots=True)
class Advice:
    """An action for the copies of a table in a cluster: `make`, `keep` or `drop` these parts.

    `statements` is the number a day that run with the plan and would not without these copies.
    """

    action: str
    table: TableRef
    cluster: ClusterName
    source: ClusterName
    parts: tuple[Part, ...]
    kept: float
    sent: float
    statements: float


def advice(candidate_set: Candidates, selected: frozenset[int]) -> list[Advice]:
    """The plan as advice by table and cluster, the one that most statements need first."""
    chosen: defaultdict[tuple[str, TableRef, ClusterName], list[int]] = defaultdict(list)
    for number, copy in enumerate(candidate_set.copies):
        if number in selected:
            action = "keep" if copy.present else "make"
        elif copy.present:
            action = "drop"
        else:
            continue
        chosen[action, copy.part.table, copy.cluster].append(number)
    statements = _statements_by_copy(candidate_set, selected)
    result = []
    for (action, table, cluster), numbers in chosen.items():
        copies = sorted(
            (candidate_set.copies[each] for each in numbers), key=lambda each: each.part
        )
        result.append(
            Advice(
                action,
                table,
                cluster,
                copies[0].source,
                tuple(copy.part for copy in copies),
                sum(copy.kept for copy in copies),
                sum(copy.sent for copy in copies),
                0.0 if action == "drop" else statements.get((table, cluster), 0.0),
            )
        )
    return sorted(result, key=lambda each: (each.action, -each.statements, str(each.table)))


def _statements_by_copy(
    candidate_set: Candidates, selected: frozenset[int]
) -> Mapping[tuple[TableRef, ClusterName], float]:
    """The statements a day that would not run without the copies of a table in a cluster, by
    these."""
    statements: defaultdict[tuple[TableRef, ClusterName], float] = defaultdict(float)
    for weight, options in zip(
        candidate_set.problem.weights, candidate_set.problem.options, strict=True
    ):
        ready = [option for option in options if selected.issuperset(option)]
        if len(ready) == 1:
            copies = (candidate_set.copies[each] for each in ready[0])
            for table, cluster in {(copy.part.table, copy.cluster) for copy in copies}:
                statements[table, cluster] += weight
    return statements
