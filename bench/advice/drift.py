"""Bytes that copies move while the statements of a company change from week to week.

Each week some templates are replaced, and the popularity of all changes. Plans are made from the
past weeks and judged by the next week. Three ways are compared: the policy of `advise --every`, a
plan from scratch each week, and copying the most popular tables to all clusters until as many of
the known statements run as with the policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from advice.copies import Candidates, candidates
from advice.demand import Demand
from advice.policy import CopyPolicy
from advice.replay import Option
from advice.solvers.exact import cheapest
from advice.stock import WHOLE, Part, Stock, TableStock
from conf.catalog.tables import TableInfo, TableKind
from conf.names import ClusterName, TableRef
from conf.partitions import Replicas, TableFacts

CLUSTERS = tuple(map(ClusterName, ("east", "west", "north")))
HALF_LIFE = 2.0  # weeks


@dataclass(frozen=True, slots=True)
class Company:
    """Tables with sizes and primaries, and the sizes of a simulation."""

    tables: int = 300
    templates: int = 500
    weeks: int = 27
    replaced: float = 0.05  # of the templates, each week
    seed: int = 1


@dataclass(slots=True)
class Course:
    """The results of one way of planning: the bytes moved each week after the first, the bytes
    kept, and the share of the next week's statements that ran."""

    moved: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    @property
    def total(self) -> float:
        return sum(self.moved[1:])

    def line(self, name: str) -> str:
        weeks = len(self.shares)
        return (
            f"{name:28} first {self.moved[0]:12,.0f}  then {self.total:12,.0f} moved"
            f"  {sum(self.kept) / weeks:12,.0f} kept  {sum(self.shares) / weeks:6.1%} run"
        )


Made = frozenset[tuple[TableRef, ClusterName]]


def simulate(company: Company, policy: CopyPolicy = CopyPolicy()) -> dict[str, Course]:  # noqa: B008
    """The course of each way, by its name."""
    weeks = _weeks(company)
    courses = {"standing policy": Course(), "planned anew": Course(), "popular first": Course()}
    made: dict[str, Made] = dict.fromkeys(courses, frozenset())
    known: dict[tuple[TableRef, ...], float] = {}
    primaries = _primaries(company)
    sizes = _sizes(company)
    for week, following in pairwise(weeks):
        known = {key: rate * 0.5 ** (1 / HALF_LIFE) for key, rate in known.items()}
        for tables, rate in week.items():
            known[tables] = known.get(tables, 0.0) + rate
        demands = [Demand(_options(tables, primaries), rate) for tables, rate in known.items()]
        share = policy.share
        for name, course in courses.items():
            stock = _stock(primaries, sizes, made[name])
            found = candidates(stock, demands)
            if name == "standing policy":
                new = _named(found, policy.copies(found))
                share = _share(demands, new)
            elif name == "planned anew":
                new = _named(found, cheapest(found.problem, share * found.problem.total))
            else:
                new = _popular(known, demands, primaries, share)
            course.moved.append(sum(sizes[table] for table, _ in new - made[name]))
            course.kept.append(sum(sizes[table] for table, _ in new))
            later = [Demand(_options(tables, primaries), n) for tables, n in following.items()]
            course.shares.append(_share(later, new))
            made[name] = new
    return courses


def _weeks(company: Company) -> list[dict[tuple[TableRef, ...], float]]:
    """The number of statements of each week, by the tables that they join."""
    random = Random(company.seed)
    templates = [_template(company, random) for _ in range(company.templates)]
    rates = [1000 / (rank + 1) for rank in range(company.templates)]
    random.shuffle(rates)
    weeks = []
    for _ in range(company.weeks):
        week: dict[tuple[TableRef, ...], float] = {}
        for tables, rate in zip(templates, rates, strict=True):
            week[tables] = week.get(tables, 0.0) + rate
        weeks.append(week)
        for number in range(company.templates):
            rates[number] *= random.lognormvariate(0, 0.2)
            if random.random() < company.replaced:
                templates[number] = _template(company, random)
    return weeks


def _table(number: int) -> TableRef:
    return TableRef("company", f"t{number:04}")


def _template(company: Company, random: Random) -> tuple[TableRef, ...]:
    """The tables of a template, from one part of all tables; popular ones are chosen more often."""
    area = random.randrange(10) * company.tables // 10
    numbers = {
        (area + int(random.paretovariate(0.8)) - 1) % company.tables
        for _ in range(random.randint(1, 5))
    }
    return tuple(_table(number) for number in sorted(numbers))


def _primaries(company: Company) -> dict[TableRef, ClusterName]:
    random = Random(company.seed + 1)
    return {_table(number): random.choice(CLUSTERS) for number in range(company.tables)}


def _sizes(company: Company) -> dict[TableRef, float]:
    random = Random(company.seed + 2)
    return {_table(n): random.lognormvariate(3, 2) for n in range(company.tables)}


def _options(
    tables: Sequence[TableRef], primaries: dict[TableRef, ClusterName]
) -> tuple[Option, ...]:
    clusters = dict.fromkeys(primaries[table] for table in tables)
    return tuple(
        (cluster, frozenset(Part(t, WHOLE) for t in tables if primaries[t] != cluster))
        for cluster in clusters
    )


def _stock(
    primaries: dict[TableRef, ClusterName], sizes: dict[TableRef, float], made: Made
) -> Stock:
    tables = {}
    for ref, primary in primaries.items():
        fresh = frozenset(cluster for cluster in CLUSTERS if (ref, cluster) in made)
        info = TableInfo(ref, TableKind.TABLE)
        tables[ref] = TableStock(info, TableFacts(Replicas(primary, fresh)), sizes[ref])
    return Stock(CLUSTERS, CLUSTERS[0], tables)


def _named(found: Candidates, made: frozenset[int]) -> Made:
    return frozenset((found.copies[n].part.table, found.copies[n].cluster) for n in made)


def _share(demands: Sequence[Demand], made: Made) -> float:
    """The share of statements that run."""
    ran = sum(
        demand.rate
        for demand in demands
        if any(
            all((part.table, cluster) in made for part in parts)
            for cluster, parts in demand.options
        )
    )
    return ran / sum(demand.rate for demand in demands)


def _popular(
    known: dict[tuple[TableRef, ...], float],
    demands: Sequence[Demand],
    primaries: dict[TableRef, ClusterName],
    share: float,
) -> Made:
    """Copies of the most popular tables in every cluster, as few as let the share run."""
    popularity: dict[TableRef, float] = {}
    for tables, rate in known.items():
        for table in tables:
            popularity[table] = popularity.get(table, 0.0) + rate
    order = sorted(popularity, key=lambda table: (-popularity[table], table))

    def everywhere(count: int) -> Made:
        return frozenset(
            (table, cluster)
            for table in order[:count]
            for cluster in CLUSTERS
            if cluster != primaries[table]
        )

    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if _share(demands, everywhere(middle)) >= share - 1e-9:
            high = middle
        else:
            low = middle + 1
    return everywhere(low)


def main() -> None:
    ratios = []
    for seed in range(1, 4):
        courses = simulate(Company(seed=seed))
        print(f"seed {seed}: {Company().tables} tables, {Company().weeks - 1} weeks")
        for name, course in courses.items():
            print("  " + course.line(name))
        ratios.append(courses["standing policy"].total / courses["popular first"].total)
    print("moved after the first week, against popular first: ", end="")
    print(", ".join(f"{ratio:.1%}" for ratio in ratios), "(target: at most 10 %)")
