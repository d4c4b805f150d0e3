"""Rates, demands, points of the curve, advice, and the page."""

import re
from collections.abc import Sequence

import pytest

from advice.assessment import advice_document, assess, command_of, partition_filter
from advice.copies import Budgets, advice, candidates
from advice.demand import ReplaySummary, TextCounts, summarize
from advice.pages.assessment_page import page
from advice.replay import ReplayVerdict
from advice.solvers.exact import cheapest
from advice.statement_log import Logged
from advice.stock import DAY, Stock
from conf.names import ClusterName, TableRef
from dialect.statement import Namespace
from tests.advice.samples import DATED, JOINS, SHOP, outcome, query, shop

WEST = ClusterName("west")


def replayed(texts: Sequence[str], stock: Stock) -> ReplaySummary:
    tally = TextCounts()
    for text in texts:
        tally.add(Logged(text), SHOP)
    rates = tally.rates()
    return summarize(
        (work, count, rates[work], outcome(work.text, stock, work.at))
        for work, count in tally.counts.items()
    )


def test_verdicts_codes_and_reasons_are_counted() -> None:
    texts = [
        "SELECT 1",
        "SELECT 2",
        "SELECT * FROM users JOIN orders",
        "SELECT FROM WHERE",
        "SELECT 1",
    ]
    found = replayed([*texts, "SELECT * FROM nowhere"], DATED)
    assert (found.statements, found.texts, found.templates) == (6, 5, 4)
    assert found.verdicts == {
        ReplayVerdict.RUNS: 3,
        ReplayVerdict.REFUSED: 1,
        ReplayVerdict.NOT_UNDERSTOOD: 1,
        ReplayVerdict.NO_TABLE: 1,
    }
    assert found.codes == {"CW104": 1, "CW101": 1}
    assert found.rate == 6


def test_statements_of_other_days_are_one_reason() -> None:
    days = [f"SELECT * FROM users JOIN orders WHERE ds = '2026-03-{day:02}'" for day in range(1, 9)]
    (group,) = replayed(days, DATED).groups[ReplayVerdict.REFUSED]
    assert (group.statements, group.templates) == (8, 1)


def test_old_statements_count_less() -> None:
    tally, names = TextCounts(), Namespace("shop")
    for day in range(100):
        tally.add(Logged("SELECT 'each day'", day * DAY), names)
    for _ in range(10):
        tally.add(Logged("SELECT 'long ago'", 0.0), names)
        tally.add(Logged("SELECT 'today'", 99 * DAY), names)
    by_text: dict[str, float] = {}
    for work, rate in tally.rates(half_life=14).items():
        by_text[work.text] = by_text.get(work.text, 0) + rate
    assert by_text["SELECT 'each day'"] == pytest.approx(1, abs=0.01)
    assert by_text["SELECT 'today'"] > 0.4
    assert by_text["SELECT 'long ago'"] < 0.01


@pytest.mark.slow
def test_points_reach_their_shares_and_cost_more_and_more() -> None:
    stock = shop(3)
    found = replayed([query(each) for each in JOINS], stock)
    assessment = assess(found, candidates(stock, found.demands), {})
    assert {0.9, 0.95, 0.99} <= {point.share for point in assessment.points}
    assert all(point.reached >= point.share - 1e-9 for point in assessment.points)
    kept = [point.kept for point in assessment.points]
    assert kept == sorted(kept)
    assert assessment.everything == 2 * 708


def test_only_the_days_that_are_read_are_copied() -> None:
    sql = "INSERT INTO users SELECT id FROM orders WHERE ds >= '2026-04-04'"
    found = candidates(DATED, replayed([sql], DATED).demands)
    (only,) = advice(found, cheapest(found.problem, 1.0))
    assert (only.action, only.cluster, only.kept, only.sent) == ("make", WEST, 70, 10)
    assert partition_filter(only, DATED.tables[only.table]) == "ds >= '2026-04-04'"  # type: ignore
    assert command_of(only, DATED) == (
        "causeway copy shop.orders --to west --partition \"ds >= '2026-04-04'\""
    )
    assert advice_document(only, DATED)["partitions"] == "the newest 7 days"


def test_a_table_that_is_written_often_is_not_copied() -> None:
    stock = shop(2)
    sql = "SELECT * FROM items JOIN addresses"
    items, addresses = (stock.stock_of(TableRef("shop", n)) for n in ("items", "addresses"))
    assert items is not None
    assert addresses is not None
    assert items.facts.replicas.primary != addresses.facts.replicas.primary
    demands = replayed([sql], stock).demands
    for writes, copied in (({}, "items"), ({items.ref: 10.0}, "addresses")):
        found = candidates(stock, demands, writes)
        (only,) = advice(found, cheapest(found.problem, 1.0))
        assert only.table.name == copied


def test_needless_copies_are_dropped_and_needed_ones_kept() -> None:
    stock = shop(2, {"items": ["east", "west", "north"], "promotions": ["east", "west", "north"]})
    found = candidates(stock, replayed(["SELECT * FROM items JOIN addresses"], stock).demands)
    plan = advice(found, cheapest(found.problem, 1.0, found.present))
    assert {each.table.name for each in plan if each.action == "keep"} == {"items"}
    assert {each.table.name for each in plan if each.action == "drop"} == {"items", "promotions"}


def test_budgets_bound_what_is_kept_and_sent() -> None:
    stock = shop(3)
    demands = replayed([query(each) for each in JOINS], stock).demands
    budgets = Budgets(kept=dict.fromkeys(stock.clusters, 30.0))
    found = candidates(stock, demands, None, budgets)
    made = cheapest(found.problem, found.problem.total)
    for cluster in stock.clusters:
        copies = (found.copies[each] for each in made)
        assert sum(copy.kept for copy in copies if copy.cluster == cluster) <= 30
    assert found.problem.met(made) > found.problem.met(())


def test_the_page_is_one_file_without_scripts_and_escapes_texts() -> None:
    found = replayed(["SELECT '<script>' FROM `<b>`", query(JOINS[0])], shop(3))
    assessment = assess(found, candidates(shop(3), found.demands), {"<i>": 1})
    text = page(assessment)
    assert "<svg" in text
    assert "<script" not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert re.search(r"(src|href)=", text) is None
