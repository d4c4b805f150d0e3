"""The copies that may be made for demands, as a `Problem`, and a plan made of its solution."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from advice.demand import Demand
from advice.solvers.problem import Limit, Problem
from advice.stock import Part, Stock, TableStock
from conf.names import ClusterName, TableRef
from conf.partitions import Replicas

REFRESH_DAYS = 7.0
Link = tuple[ClusterName, ClusterName]


@dataclass(frozen=True, slots=True)
class Budgets:
    """`kept` are bytes of copies by cluster, `sent` bytes a day by link; nothing: no limit. A byte
    that is sent each day costs as much as `days` that are kept, times the `cost` of its link. A
    copy that is there costs `loyalty` of its price, so that a slightly better one does not replace
    it.
    """

    kept: Mapping[ClusterName, float] = field(default_factory=dict)
    sent: Mapping[Link, float] = field(default_factory=dict)
    cost: Mapping[Link, float] = field(default_factory=dict)
    days: float = REFRESH_DAYS
    loyalty: float = 0.7


@dataclass(frozen=True, slots=True)
class Copy:
    """A part in a cluster. `kept` are its bytes, `sent` the bytes a day that keep it fresh;
    `source` is its primary cluster; `present`: the cluster has a copy, fresh or stale."""

    part: Part
    cluster: ClusterName
    source: ClusterName
    kept: float
    sent: float
    present: bool


@dataclass(frozen=True)
class Candidates:
    """All copies that any demand needs, or that are there, with the problem of choosing."""

    stock: Stock
    copies: tuple[Copy, ...]
    demands: Sequence[Demand]
    problem: Problem

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
        """The same by part and cluster."""
        return frozenset((self.copies[n].part, self.copies[n].cluster) for n in self.read)

    def kept(self, made: Iterable[int]) -> float:
        return sum(self.copies[each].kept for each in made)

    def sent(self, made: Iterable[int]) -> float:
        return sum(self.copies[each].sent for each in made)


def candidates(
    stock: Stock,
    demands: Sequence[Demand],
    writes: Mapping[TableRef, float] | None = None,
    budgets: Budgets | None = None,
) -> Candidates:
    """`writes` are writes a day by table, where the stock does not say what they change."""
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
    problem = Problem(prices, weights, options, tuple(_limits(copies, limits)))
    return Candidates(stock, copies, demands, problem)


def _present(stock: Stock) -> Iterable[tuple[Part, ClusterName]]:
    """The parts of which a cluster has a copy, of those tables that have any."""
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


def _copy(stock: Stock, part: Part, cluster: ClusterName, writes: Mapping[TableRef, float]) -> Copy:
    table = stock.stock_of(part.table)
    assert table is not None  # a part is of a table that is there
    replicas = sorted(table.replicas(part), key=lambda each: each.primary)
    source = next((r.primary for r in replicas if r.primary != cluster), cluster)
    usual = stock.usual_size
    return Copy(
        part,
        cluster,
        source,
        table.bytes_outside(part, cluster, usual),
        table.written_a_day(part, usual, writes.get(part.table, 0.0)),
        bool(replicas) and all(_has(each, cluster) for each in replicas),
    )


def _price(copy: Copy, budgets: Budgets) -> float:
    link = budgets.cost.get((copy.source, copy.cluster), 1.0)
    price = copy.kept + budgets.days * copy.sent * link
    return price * budgets.loyalty if copy.present else price


def _limits(copies: Sequence[Copy], budgets: Budgets) -> Iterable[Limit]:
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
    """What to do with the copies of a table in a cluster: `make`, `keep` or `drop` these parts.

    `statements` is how many a day need it: those that run by the plan and would not without it.
    """

    action: str
    table: TableRef
    cluster: ClusterName
    source: ClusterName
    parts: tuple[Part, ...]
    kept: float
    sent: float
    statements: float


def advice(found: Candidates, made: frozenset[int]) -> list[Advice]:
    """The plan as advice: by table and cluster, what most statements need first."""
    chosen: defaultdict[tuple[str, TableRef, ClusterName], list[int]] = defaultdict(list)
    for number, copy in enumerate(found.copies):
        if number in made:
            action = "keep" if copy.present else "make"
        elif copy.present:
            action = "drop"
        else:
            continue
        chosen[action, copy.part.table, copy.cluster].append(number)
    missed = _missed(found, made)
    result = []
    for (action, table, cluster), numbers in chosen.items():
        copies = sorted((found.copies[each] for each in numbers), key=lambda each: each.part)
        result.append(
            Advice(
                action,
                table,
                cluster,
                copies[0].source,
                tuple(copy.part for copy in copies),
                sum(copy.kept for copy in copies),
                sum(copy.sent for copy in copies),
                0.0 if action == "drop" else missed.get((table, cluster), 0.0),
            )
        )
    return sorted(result, key=lambda each: (each.action, -each.statements, str(each.table)))


def _missed(
    found: Candidates, made: frozenset[int]
) -> Mapping[tuple[TableRef, ClusterName], float]:
    """The statements a day that would not run without the copies of a table in a cluster."""
    missed: defaultdict[tuple[TableRef, ClusterName], float] = defaultdict(float)
    for weight, options in zip(found.problem.weights, found.problem.options, strict=True):
        ready = [option for option in options if made.issuperset(option)]
        if len(ready) == 1:
            copies = (found.copies[each] for each in ready[0])
            for table, cluster in {(copy.part.table, copy.cluster) for copy in copies}:
                missed[table, cluster] += weight
    return missed
