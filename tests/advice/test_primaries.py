"""Plans of primaries: the statements gained and lost by moves, within budgets."""

import json

import pytest

from advice.copies import Budgets
from advice.demand import DistinctText, TableUse, summarize
from advice.primaries import Move, Primaries, primaries
from advice.stock import Stock
from advice.stock_document import read_stock
from conf.names import ClusterName, TableRef
from tests.advice.samples import outcome

EAST, WEST = map(ClusterName, ("east", "west"))
ORDERS = TableRef("shop", "orders")
JOIN = "SELECT * FROM orders JOIN users"


def stock(**tables: object) -> Stock:
    """Tables of the shop by name, each with its primary or with a part of its description."""
    described = [
        {"ddl": f"CREATE TABLE shop.{name} (id INT)", "bytes": 100}
        | (about if isinstance(about, dict) else {"primary": about})
        for name, about in tables.items()
    ]
    document = {"clusters": ["east", "west", "north"], "tables": described}
    return read_stock(json.dumps(document))


def uses(known: Stock, log: dict[str, float]) -> list[TableUse]:
    """The tables that statements use, from texts with their number a day."""
    each = (
        (DistinctText(text, 0, None), 1, rate, outcome(text, known)) for text, rate in log.items()
    )
    return list(summarize(each).uses)


def plan(known: Stock, log: dict[str, float], budgets: Budgets | None = None) -> Primaries:
    return primaries(known, uses(known, log), Budgets() if budgets is None else budgets)


PLACED = stock(orders="east", users="west", items="west", days="east", fees="east")


def test_a_table_moves_to_the_cluster_of_most_of_its_statements() -> None:
    log = {JOIN: 40, "SELECT * FROM orders JOIN days": 2, "SELECT * FROM users JOIN items": 9}
    log |= {"SELECT * FROM days JOIN fees": 5}
    found = plan(PLACED, log)
    assert found.moves == [Move(ORDERS, EAST, WEST, 40.0, 2.0, 100.0)]
    assert (found.total, found.before, found.after) == (56, 16, 54)


def test_writes_decide_as_reads_do() -> None:
    log = {"INSERT INTO orders SELECT id FROM items": 5, "SELECT * FROM items JOIN users": 1}
    found = plan(PLACED, log)
    assert [(move.table, move.target) for move in found.moves] == [(ORDERS, WEST)]
    two = {"FROM items INSERT INTO orders SELECT id INSERT INTO users SELECT id": 5.0}
    assert [move.gained for move in plan(PLACED, two).moves] == [5]


@pytest.mark.parametrize(
    "log",
    [
        {JOIN: 3, "SELECT * FROM orders JOIN days": 2, "SELECT * FROM users JOIN items": 2},
        {JOIN: 1, "SELECT * FROM days": 2_000},  # too few of all statements
        {"SELECT * FROM orders": 5, "SELECT 1": 5},
    ],
)
def test_no_table_is_moved_for_a_small_gain(log: dict[str, float]) -> None:
    assert plan(PLACED, log).moves == []


def test_a_copy_that_lets_statements_run_is_lost_by_a_move() -> None:
    copied = {"primary": "east", "copies": ["north"]}
    known = stock(orders=copied, users="west", shops="north")
    log = {JOIN: 3, "SELECT * FROM orders JOIN shops": 2, "SELECT * FROM users JOIN shops": 0}
    assert [move.table.name for move in plan(known, log).moves] == ["users"]
    assert plan(known, log).moves[0].target == EAST


def test_each_move_counts_what_those_before_it_changed() -> None:
    known = stock(a="east", b="east", c="west")
    log = {
        "SELECT * FROM a JOIN c": 10.0,
        "SELECT * FROM b JOIN c": 9.0,
        "SELECT * FROM a JOIN b": 1.0,
    }
    found = plan(known, log)
    assert [(move.table.name, move.target, move.gained) for move in found.moves] == [
        ("c", EAST, 19.0)
    ]
    assert found.after == 20


@pytest.mark.parametrize(
    ("budgets", "moved"),
    [
        (Budgets(kept={WEST: 99.0}), "users"),  # the other way around
        (Budgets(kept={WEST: 99.0, EAST: 99.0}), None),
        (Budgets(kept={WEST: 100.0}), "orders"),
        (Budgets(sent={(EAST, WEST): 99.0, (WEST, EAST): 99.0}), None),
    ],
)
def test_moves_stay_within_the_budgets(budgets: Budgets, moved: str | None) -> None:
    found = plan(PLACED, {JOIN: 4}, budgets)
    assert [move.table.name for move in found.moves] == ([] if moved is None else [moved])


def test_tables_that_cannot_be_moved_as_one_stay() -> None:
    mixed = {
        "ddl": "CREATE TABLE shop.orders (id INT) PARTITIONED BY (k STRING)",
        "primary": "east",
        "partitions": ["k=1", {"name": "k=2", "primary": "north"}],
    }
    known = stock(orders=mixed, users="west")
    moves = plan(known, {"SELECT * FROM orders JOIN users WHERE k = '1'": 4}).moves
    assert [(move.table.name, move.target) for move in moves] == [("users", EAST)]


def test_a_plan_has_a_bounded_number_of_tables() -> None:
    tables = {f"t{number}": "west" for number in range(30)}
    known = stock(**tables, **{f"u{number}": "east" for number in range(30)})
    log = {f"SELECT * FROM t{number} JOIN u{number}": 1.0 for number in range(30)}
    assert len(plan(known, log).moves) == 20
