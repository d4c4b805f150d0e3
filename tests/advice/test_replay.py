"""Outcomes agree with the router: their options name exactly the copies that a cluster lacks."""

import os
from dataclasses import replace
from itertools import combinations
from random import Random

import pytest

from advice.replay import ReplayVerdict, replay
from advice.stock import Part, Stock
from conf.names import ClusterName, TableRef
from dialect.statement import Needs
from tests.advice.samples import DATED, JOINS, SHOP, SIZES, outcome, query, shop

SEED = int(os.environ.get("CAUSEWAY_SEED", "7"))
APRIL_10 = 1_775_800_000.0  # Unix time


def test_with_the_copies_of_an_option_the_router_runs_the_statement_there() -> None:
    for seed in range(SEED, SEED + 10):
        for names in JOINS:
            found = outcome(query(names), shop(seed))
            assert found.options
            for cluster, parts in found.options:
                copies = {part.table.name: [cluster] for part in parts}
                after = outcome(query(names), shop(seed, copies))
                assert after.verdict is ReplayVerdict.RUNS, (seed, names, cluster)
                for fewer in combinations(copies, len(copies) - 1) if len(copies) > 1 else ():
                    less = {name: [cluster] for name in fewer}
                    without = outcome(query(names), shop(seed, less))
                    assert without.verdict is not ReplayVerdict.RUNS or _other(without, cluster)


def _other(found: object, cluster: ClusterName) -> bool:
    """Whether another cluster has all tables that the statement reads, without copies."""
    options = getattr(found, "options", ())
    return any(not parts for each, parts in options if each != cluster)


def test_a_statement_runs_today_exactly_if_the_copies_of_an_option_exist() -> None:
    random = Random(SEED)
    for _ in range(100):
        copies = {name: random.sample(["east", "west", "north"], 1) for name in SIZES}
        stock = shop(SEED, copies)
        for names in JOINS:
            found = outcome(query(names), stock)
            there = any(
                all(_readable(stock, part, cluster) for part in parts)
                for cluster, parts in found.options
            )
            assert (found.verdict is ReplayVerdict.RUNS) == there


def _readable(stock: Stock, part: Part, cluster: ClusterName) -> bool:
    table = stock.stock_of(part.table)
    assert table is not None
    return all(each.readable_in(cluster) for each in table.replicas(part))


@pytest.mark.parametrize(
    ("sql", "verdict", "because"),
    [
        ("SELECT 1", ReplayVerdict.RUNS, ""),
        ("USE CLUSTER west", ReplayVerdict.RUNS, ""),
        ("SELECT * FROM users", ReplayVerdict.RUNS, ""),
        ("SELECT FROM WHERE", ReplayVerdict.NOT_UNDERSTOOD, None),
        ("DROP DATABASE shop CASCADE", ReplayVerdict.NOT_UNDERSTOOD, None),
        ("SELECT * FROM nowhere", ReplayVerdict.NO_TABLE, "shop.nowhere"),
        (
            "SELECT * FROM users JOIN orders WHERE ds = '2026-04-10'",
            ReplayVerdict.REFUSED,
            "west lacks shop.orders; east lacks shop.users",
        ),
    ],
)
def test_verdicts(sql: str, verdict: ReplayVerdict, because: str | None) -> None:
    found = outcome(sql, DATED)
    assert found.verdict is verdict
    assert because is None or found.because == because


@pytest.mark.parametrize(
    ("condition", "bands"),
    [
        ("ds = '2026-04-10'", 1),
        ("ds >= '2026-04-09'", 2),
        ("ds >= '2026-04-04'", 4),  # seven days: the bands of 1, 2, 3 and 7 days
        ("ds > '2025'", 9),
        ("ds = '2027-01-01'", 0),
    ],
)
def test_partitions_by_age(condition: str, bands: int) -> None:
    found = outcome(f"SELECT * FROM orders JOIN users WHERE {condition}", DATED)
    needed = dict(found.options)[ClusterName("west")]
    assert {part.number for part in needed} == set(range(bands))


def test_ages_are_counted_from_the_time_of_the_statement() -> None:
    old = "SELECT * FROM orders JOIN users WHERE ds = '2026-02-01'"
    february_2 = APRIL_10 - 67 * 86_400
    needed = dict(outcome(old, DATED, february_2).options)[ClusterName("west")]
    assert {part.number for part in needed} == {0, 1}


def test_views_are_opened_and_writes_run_in_the_primary() -> None:
    found = outcome("INSERT INTO users SELECT id FROM recent", DATED)
    assert [cluster for cluster, _ in found.options] == ["west"]
    assert {part.table.name for _, parts in found.options for part in parts} == {"orders"}
    assert found.writes == {TableRef("shop", "users")}


def test_replay_with_an_incomplete_stock_returns_needed_tables() -> None:
    stock = Stock(DATED.clusters, DATED.default, {}, complete=False)
    found = replay("SELECT * FROM users", SHOP, stock)
    assert isinstance(found, Needs)
    assert found.tables == {TableRef("shop", "users")}


def test_no_option_needs_a_copy_of_an_uncopyable_table() -> None:
    stock = shop(SEED)
    tables = {
        ref: replace(table, facts=replace(table.facts, copyable=False))
        for ref in stock.tables
        if (table := stock.stock_of(ref)) is not None
    }
    stock = replace(stock, tables=tables)
    found = [outcome(query(names), stock) for names in JOINS]
    refused = [each for each in found if each.verdict is ReplayVerdict.REFUSED]
    assert refused
    assert all(each.options == () for each in refused)
    alone = outcome(query(next(iter(SIZES))), stock)
    assert alone.verdict is ReplayVerdict.RUNS
    assert [parts for _, parts in alone.options] == [frozenset()]
