"""The simulated fleet has the traces' shapes, and no decision in it lets a stale copy be read."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from bench.fleet.day import NOON, Course, Day, Options, StaleRead
from bench.fleet.figures import Durations
from bench.fleet.fleet import Fleet, day_of
from bench.fleet.metadata import Cache
from bench.fleet.report import as_text, figures, page
from bench.fleet.shapes import DISTINCT, PERIODS, READ_AGAIN, REPEATED, TOP_SHARE
from bench.fleet.statements import Statements
from bench.fleet.templates import Analyses

pytestmark = pytest.mark.slow

SMALL = Options(scale=0.002, seed=3, replayed=2_000)


@cache
def day(options: Options = SMALL) -> Course:
    return asyncio.run(Day(options).run())


def test_statements_have_the_shapes_of_the_traces() -> None:
    statements = Statements(Fleet(0.02, 1), 1)
    for period in range(PERIODS):
        for _ in range(statements.count(period)):
            statements.draw()
    found = statements.document()
    assert found["paths_a_job"] == pytest.approx(DISTINCT, abs=0.01)
    assert found["jobs_of_top_paths"] == pytest.approx(TOP_SHARE, abs=0.01)
    assert found["bytes_read_again"] == pytest.approx(READ_AGAIN, abs=0.04)
    assert found["texts_repeated"] >= REPEATED


def test_a_fleet_has_a_hundred_partitions_a_table() -> None:
    fleet = Fleet(0.1, 1)
    assert fleet.partitions / fleet.tables == pytest.approx(100, rel=0.03)


@pytest.mark.long
def test_the_day_is_the_same_for_equal_seeds() -> None:
    smaller = replace(SMALL, scale=0.0004, replayed=400, routed=0.2)
    first, second = (figures(asyncio.run(Day(smaller).run())) for _ in range(2))
    assert first == second
    assert first["after_advice"]["ran"]


@pytest.mark.long
def test_totals_add_up() -> None:
    found = figures(day())
    parts = (found["before_advice"], found["after_advice"])
    assert all(part["routed"] == part["ran"] + part["refused"] for part in parts)
    assert sum(part["routed"] for part in parts) == found["statements"]
    assert sum(period["routed"] for period in found["periods"]) == found["statements"]
    assert all(sum(part["codes"].values()) == part["refused"] for part in parts)
    sent = sum(link["bytes"] for link in found["links"].values())
    assert sent == pytest.approx(sum(part["bytes_sent"] for part in parts), abs=100)


@pytest.mark.long
def test_advice_at_noon_lets_more_statements_run() -> None:
    found = figures(day())
    assert found["after_advice"]["refused_share"] < found["before_advice"]["refused_share"] / 2
    assert found["after_advice"]["elsewhere"] > found["before_advice"]["elsewhere"]


@pytest.mark.long
def test_copies_are_stale_while_their_table_is_written_and_fresh_after_a_lag() -> None:
    morning = day().periods[:NOON]
    assert any(period.stale for period in morning)
    assert all(lag > 0 for period in morning for lag in period.lags)
    assert sum(len(period.lags) for period in morning) > 50


@pytest.mark.long
def test_a_read_of_a_stale_copy_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that is not told of changes lets statements read stale copies."""
    monkeypatch.setattr(Cache, "changed", lambda self, table: None)
    with pytest.raises(StaleRead):
        asyncio.run(Day(SMALL).run())


def test_a_statement_of_a_template_is_what_the_analysis_says_of_its_text() -> None:
    fleet = Fleet(0.002, 1)
    templates = Statements(fleet, 1).templates
    analyses = Analyses(fleet)
    every = [*templates.jobs[::9], *templates.dashboards[::4], *templates.pipelines[::8]]
    assert len(every) > 40
    for template in every:
        text = template.text(fleet, day_of(5))
        assert analyses.statement(template, 5) == analyses.analysed(text)


@pytest.mark.long
def test_only_a_share_of_the_reads_is_decided_if_asked_for() -> None:
    course = day(replace(SMALL, routed=0.2, advised=False))
    found = figures(course)
    assert found["statements"] == figures(day())["statements"]
    assert found["share_routed"] == pytest.approx(0.28, abs=0.02)  # all of the tenth that writes
    assert found["advice"] is None
    assert f"{found['share_routed']:.0%} of them decided" in next(as_text(course))


@pytest.mark.long
def test_the_report_has_a_line_for_each_hour_and_the_page_a_curve_for_each_figure() -> None:
    lines = list(hours(as_text(day())))
    assert [int(line[:4]) for line in lines] == list(range(24))
    assert page(day()).count("<svg") == 8


def hours(lines: Iterator[str]) -> Iterator[str]:
    return (line for line in lines if line[:4].strip().isdigit())


def test_quantiles_are_at_most_an_eighth_too_long() -> None:
    durations = Durations()
    for number in range(1, 1001):
        durations.add(number * 1e-5)
    for share in (0.5, 0.9, 0.99):
        exact = share * 1000 * 1e-5
        assert exact <= durations.quantile(share) <= exact * 1.126
