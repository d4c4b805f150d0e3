"""Tables of a shop in three clusters, and queries over them in the manner of TPC-DS."""

from collections.abc import Mapping, Sequence
from random import Random

from advice.demand import Demand
from advice.replay import ReplayOutcome, replay
from advice.solvers.problem import SelectionProblem
from advice.stock import Stock, TableStock
from advice.stock_document import read_stock
from conf.catalog.tables import Column, TableInfo, TableKind
from conf.names import ClusterName, TableRef
from conf.partitions import Replicas, TableFacts
from dialect.statement import Namespace, Needs

CLUSTERS = tuple(map(ClusterName, ("east", "west", "north")))
SHOP = Namespace("shop")

# Facts and dimensions with their sizes, and which tables queries join.
SIZES = {
    "store_sales": 400,
    "web_sales": 150,
    "store_returns": 40,
    "web_returns": 15,
    "stock_counts": 80,
    "customers": 12,
    "addresses": 5,
    "items": 3,
    "days": 1,
    "stores": 1,
    "promotions": 1,
}
JOINS = (
    "store_sales days items",
    "store_sales days items promotions",
    "store_sales days stores items",
    "store_sales customers addresses",
    "store_sales store_returns days items",
    "store_sales web_sales days",
    "web_sales days items",
    "web_sales customers addresses days",
    "web_sales web_returns items",
    "web_returns customers",
    "store_returns customers stores",
    "stock_counts items days",
    "stock_counts items web_sales",
    "customers addresses",
    "items",
    "days stores",
)


def query(names: str, day: int = 1) -> str:
    """A query that joins these tables."""
    return (
        f"SELECT count(*) FROM {' JOIN '.join(names.split())} WHERE {names.split()[0]}.id > {day}"
    )


def shop(seed: int, copies: Mapping[str, Sequence[str]] | None = None) -> Stock:
    """The tables, each with a random primary."""
    random = Random(seed)
    tables = {}
    for name, size in SIZES.items():
        primary = random.choice(CLUSTERS)
        fresh = frozenset(map(ClusterName, (copies or {}).get(name, ()))) - {primary}
        info = TableInfo(TableRef("shop", name), TableKind.TABLE, (Column("id", "int"),))
        facts = TableFacts(Replicas(primary, fresh))
        tables[info.ref] = TableStock(info, facts, float(size))
    return Stock(CLUSTERS, CLUSTERS[0], tables)


def outcome(sql: str, stock: Stock, at: float | None = None) -> ReplayOutcome:
    """The outcome of a statement in the database of the shop."""
    found = replay(sql, SHOP, stock, at)
    assert not isinstance(found, Needs)
    return found


def demands(stock: Stock) -> list[Demand]:
    """One statement a day for each of JOINS."""
    return [Demand(outcome(query(each), stock).options, 1.0) for each in JOINS]


def random_problem(seed: int, copies: int = 8, wanted: int = 12) -> SelectionProblem:
    """A small problem, in which the options of a demand share no copy."""
    random = Random(seed)
    prices = [float(random.randint(1, 100)) for _ in range(copies)]
    options = []
    for _ in range(wanted):
        numbers = random.sample(range(copies), random.randint(2, 5))
        cut = random.randint(1, len(numbers))
        both = (tuple(sorted(numbers[:cut])), tuple(sorted(numbers[cut:])))
        options.append(tuple(each for each in both if each))
    return SelectionProblem(prices, [float(random.randint(1, 5)) for _ in range(wanted)], options)


DATED = read_stock(
    """{"clusters": ["east", "west"], "tables": [
    {"ddl": "CREATE TABLE shop.orders (id INT) PARTITIONED BY (ds STRING)",
     "primary": "east", "bytes": 1000, "days": {"first": "2026-01-01", "last": "2026-04-10"}},
    {"ddl": "CREATE TABLE shop.users (id INT)", "primary": "west", "bytes": 50},
    {"ddl": "CREATE VIEW shop.recent AS SELECT * FROM orders WHERE ds >= '2026-04-08'"}]}"""
)
