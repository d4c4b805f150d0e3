"""The work of an analysis is counted in steps, also in the parser."""

from bisect import bisect_left
from itertools import count

import pytest

from dialect.analyze import analyze, attempt, cached_answer
from dialect.statement import Known, Namespace, Needs, Unknown
from dialect.work import TooMuchWork, bounded, spend
from tests.dialect.catalogs import TestCatalog

NAMESPACE, CATALOG = Namespace("d"), TestCatalog()
# What the parser would try in two ways at each level, and how deep it is nested here.
DOUBLING = [
    *(f"{name}(" for name in ("date", "timestamp", "decimal", "struct", "time", "int", "float")),
    *("array[", "map[", "if(a, ", "(a, ", "f(x -> ", "cast(array(", "{fn f(", "(select "),
]
CLOSING = {"(": ")", "[": "]", "{": "}"}
BACK_TRACKING = "SELECT * FROM " + "(d.a x LEFT JOIN " * 6 + "d.b" + ")" * 6


def nested(word: str, levels: int) -> str:
    ends = "".join(CLOSING[each] for each in reversed(word) if each in CLOSING)
    return "SELECT " + word * levels + "1" + ends * levels


_spaces = count(1)


def is_enough(steps: int, sql: str) -> bool:
    """Whether the analysis, without the cache, takes at most so many steps."""
    other = sql + " " * next(_spaces)  # a text that has no cached answer
    assert cached_answer(other, NAMESPACE, CATALOG) is None
    try:
        assert not isinstance(attempt(other, NAMESPACE, CATALOG, steps), Needs)
    except TooMuchWork:
        return False
    return True


def steps_of(sql: str) -> int:
    """The number of steps that the analysis takes, less than a million."""
    return bisect_left(range(1_000_000), True, key=lambda steps: is_enough(steps, sql))


@pytest.mark.parametrize("word", DOUBLING)
def test_work_grows_with_at_most_the_cube_of_the_nesting(word: str) -> None:
    assert is_enough(9 * steps_of(nested(word, 10)), nested(word, 20))


def test_the_parser_is_interrupted_while_it_parses() -> None:
    with pytest.raises(TooMuchWork):
        attempt(BACK_TRACKING, NAMESPACE, CATALOG, 20)
    assert isinstance(analyze(BACK_TRACKING, NAMESPACE, CATALOG), Known)


def test_a_statement_that_takes_too_much_work_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialect.analyze.MOST_STEPS", 5)
    monkeypatch.setattr("dialect.analyze.STEPS_A_CHARACTER", 0)
    answer = analyze("SELECT x, y FROM a WHERE x = 'too much' AND y = 5", NAMESPACE, CATALOG)
    assert isinstance(answer, Unknown)
    assert "too much work" in answer.why


def test_substitution_of_long_variables_counts_as_work() -> None:
    variables = {f"v{number}": "x," * 100_000 for number in range(10)}
    sql = "SELECT " + " ".join(f"${{{name}}}" for name in variables)
    with pytest.raises(TooMuchWork):
        attempt(sql, Namespace("d", variables), CATALOG, 500)


def test_an_answer_is_cached_while_its_tables_are_the_same() -> None:
    sql = "SELECT x FROM d.a WHERE x = 'remembered'"
    assert cached_answer(sql, NAMESPACE, CATALOG) is None
    answer = analyze(sql, NAMESPACE, CATALOG)
    assert cached_answer(sql, NAMESPACE, CATALOG) is answer
    assert cached_answer(sql, Namespace("e"), CATALOG) is None
    quoted = "SELECT '\\\\' FROM d.a"
    analyze(quoted, NAMESPACE, CATALOG)
    other = Namespace("d", {"spark.sql.parser.escapedStringLiterals": "true"})
    assert isinstance(cached_answer(quoted, other, CATALOG), Unknown)


def test_steps_in_an_inner_bound_do_not_count_in_the_outer_one() -> None:
    with bounded(10):
        with bounded(1_000):
            spend(500)
        spend(10)
        with pytest.raises(TooMuchWork):
            spend(1)
    spend(1_000_000)
