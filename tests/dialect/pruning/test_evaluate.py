"""Outcomes of conditions, exhaustively for the connectives."""

from itertools import product

import pytest

from dialect.pruning.evaluate import ANY, F, N, T, truth
from dialect.pruning.terms import ANYTHING, Column, Constant, Members, Term, Value, call
from dialect.pruning.values import MAYBE, Guess

ATOMS = {T: Constant(True), F: Constant(False), N: Constant(None)}
VALUES = {T: True, F: False, N: None}


def _nothing(_column: object) -> Guess:
    return MAYBE


def _outcomes(term: Term) -> int:
    return truth(term, _nothing)


def _pairs(needle: tuple[Value, Value], *members: tuple[Value, Value]) -> Term:
    """Whether a pair is among others."""
    pairs = [call("tuple", *map(Constant, each)) for each in (needle, *members)]
    return call("tuple_in", *pairs)


def _kleene(name: str, left: bool | None, right: bool | None) -> bool | None:
    found = {left, right}
    strong = name == "or"
    if strong in found:
        return strong
    return None if None in found else not strong


@pytest.mark.parametrize(("name", "left", "right"), list(product(("and", "or"), ATOMS, ATOMS)))
def test_and_or_follow_three_valued_logic(name: str, left: int, right: int) -> None:
    expected = _kleene(name, VALUES[left], VALUES[right])
    assert VALUES[_outcomes(call(name, ATOMS[left], ATOMS[right]))] is expected


@pytest.mark.parametrize(
    ("term", "outcomes"),
    [
        (call("and", ANYTHING, Constant(False)), F),
        (call("and", ANYTHING, Constant(True)), ANY),
        (call("and", ANYTHING, Constant(None)), F | N),
        (call("or", ANYTHING, Constant(True)), T),
        (call("or", ANYTHING, Constant(None)), T | N),
        (call("not", call("or", ANYTHING, Constant(None))), F | N),
        (call("is_null", ANYTHING), T | F),
        (call("<=>", Constant(None), Constant(None)), T),
        (call("<=>", Constant(None), Constant(1)), F),
        (call("=", Constant(None), ANYTHING), N),
        (call("in", Constant("a"), Members(frozenset({"a", "b"}))), T),
        (call("in", Constant("c"), Members(frozenset({"a", "b"}))), F),
        (call("in", Constant("01"), Members(frozenset({1, 2}))), T | F),  # Spark: as strings
        (call("in", Constant("1"), Members(frozenset({1, 2}))), T),
        (call("not", call("in", Constant("x"), Constant(1))), T | N),
        (call("<=>", Column(1, "k", "int"), Constant("x")), ANY & ~N),
        (call("negate", Constant(-(2**31))), ANY),
        (call("tuple_in", *[call("tuple", Constant(None))] * 2), T | N),
        (call("tuple_in", call("tuple", Constant(None)), call("tuple", Constant(1))), F | N),
        (call("in", Constant(3), Constant(1), Constant(None)), N),
        (call("in", Constant("11"), Constant(" 11"), Constant("12")), F),
        (call("in", Constant("11"), Constant(" 11"), Constant(1)), ANY),  # ANSI: as numbers
        (_pairs(("11", 1), (" 11", 1), ("12", 1)), F),
        (_pairs(("11", 1), (" 11", 1), (1, 1)), ANY),  # ANSI: as numbers
        (_pairs(("11", 1), (" 11", 2), (1, 1)), F),
        (call("like", Constant("a%c"), Constant("a\\%_")), T),
        (call("rlike", Constant("abc"), Constant("^a.c$")), T),
        (call("rlike", Constant("abc"), Constant("(?i)ABC\\b")), ANY),
        (call("=", call("substring", Constant("abc"), Constant(2)), Constant("bc")), T),
        (call("=", call("/", Constant(1), Constant(0)), Constant(1)), N),
        (call("=", call("unheard", Constant(1)), Constant(1)), ANY),
        (call("case", ANYTHING, Constant(True), Constant(False)), ANY),
        (call("case", Constant(None), Constant(True), Constant(False)), F),
    ],
)
def test_terms_have_these_outcomes(term: Term, outcomes: int) -> None:
    assert _outcomes(term) == outcomes
