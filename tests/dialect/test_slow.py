"""The worst statements that `bench.statements.slowest` found, and some that stopped a server."""

from pathlib import Path

import pytest

from dialect.analyze import _answer, analyze, attempt
from dialect.statement import Known, Namespace, Unknown
from dialect.work import TooMuchWork, bounded
from proxy.statement.analysis.analyzer_pool import STEPS
from tests.dialect.catalogs import TestCatalog

SLOW = (Path(__file__).parent / "slow.sql").read_text().splitlines()
NAMESPACE, CATALOG = Namespace("d"), TestCatalog()
# Steps for each character, of what is nested and joined as often as these are.
MOST_A_CHARACTER = 60


@pytest.mark.parametrize("sql", SLOW, ids=range(len(SLOW)))
def test_the_worst_statements_take_work_in_proportion_to_their_length(sql: str) -> None:
    with bounded(MOST_A_CHARACTER * len(sql)):
        answer = _answer(sql, NAMESPACE, CATALOG)
    assert isinstance(answer, Known | Unknown)


def test_most_slow_statements_exceed_the_event_loops_steps() -> None:
    given_up = 0
    for sql in SLOW:
        try:
            attempt(f"{sql} ", NAMESPACE, CATALOG, STEPS)
        except TooMuchWork:
            given_up += 1
    assert given_up > len(SLOW) // 2


def test_each_slow_statement_ends_with_a_result_outside_the_event_loop() -> None:
    assert all(isinstance(analyze(sql, NAMESPACE, CATALOG), Known | Unknown) for sql in SLOW)
