"""How much work a statement may be: counted in steps, in the parser too."""

import pytest

from dialect.analyze import _answer, analyze, attempt, remembered
from dialect.statement import Known, Namespace, Needs, Unknown
from dialect.work import TooMuchWork, bounded, spend, steps_left
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


def steps(sql: str) -> int:
    """What the analysis took, without what is remembered."""
    assert remembered(sql, NAMESPACE, CATALOG) is None
    with bounded(1 << 40):
        assert not isinstance(_answer(sql, NAMESPACE, CATALOG), Needs)
        return (1 << 40) - steps_left()


@pytest.mark.parametrize("word", DOUBLING)
def test_work_grows_with_at_most_the_cube_of_the_nesting(word: str) -> None:
    few, many = steps(nested(word, 10)), steps(nested(word, 20))
    assert many <= 9 * few, (few, many)


def test_the_parser_is_interrupted_in_the_midst_of_its_work() -> None:
    with pytest.raises(TooMuchWork):
        attempt(BACK_TRACKING, NAMESPACE, CATALOG, 20)
    assert isinstance(analyze(BACK_TRACKING, NAMESPACE, CATALOG), Known)


def test_more_work_than_any_statement_may_be_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dialect.analyze.MOST_STEPS", 5)
    monkeypatch.setattr("dialect.analyze.STEPS_A_CHARACTER", 0)
    answer = analyze("SELECT x, y FROM a WHERE x = 'too much' AND y = 5", NAMESPACE, CATALOG)
    assert isinstance(answer, Unknown)
    assert "too much work" in answer.why


def test_long_variables_are_work() -> None:
    variables = {f"v{number}": "x," * 100_000 for number in range(10)}
    sql = "SELECT " + " ".join(f"${{{name}}}" for name in variables)
    with pytest.raises(TooMuchWork):
        attempt(sql, Namespace("d", variables), CATALOG, 500)


def test_an_answer_is_cached_while_its_tables_are_the_same() -> None:
    sql = "SELECT x FROM d.a WHERE x = 'remembered'"
    assert remembered(sql, NAMESPACE, CATALOG) is None
    answer = analyze(sql, NAMESPACE, CATALOG)
    assert remembered(sql, NAMESPACE, CATALOG) is answer
    assert remembered(sql, Namespace("e"), CATALOG) is None
    quoted = "SELECT '\\\\' FROM d.a"
    analyze(quoted, NAMESPACE, CATALOG)
    other = Namespace("d", {"spark.sql.parser.escapedStringLiterals": "true"})
    assert isinstance(remembered(quoted, other, CATALOG), Unknown)


def test_bounds_within_bounds_do_not_add_up() -> None:
    with bounded(10):
        with bounded(1_000):
            spend(500)
        assert steps_left() == 10
        with pytest.raises(TooMuchWork):
            spend(11)
    spend(1_000_000)
