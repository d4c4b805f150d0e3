"""Outcomes of conditions, exhaustively for the connectives."""

from itertools import product

import pytest

from dialect.pruning.evaluate import ANY, F, N, T, truth
from dialect.pruning.terms import ANYTHING, Constant, Members, ScanColumn, Term, Value, operation
from dialect.pruning.values import MAYBE, Guess

ATOMS = {T: Constant(True), F: Constant(False), N: Constant(None)}
VALUES = {T: True, F: False, N: None}


def _nothing(_column: object) -> Guess:
    return MAYBE


def _outcomes(term: Term) -> int:
    return truth(term, _nothing)


def _pairs(needle: tuple[Value, Value], *members: tuple[Value, Value]) -> Term:
    """The outcomes of membership of a pair in a list of pairs."""
    pairs = [operation("tuple", *map(Constant, each)) for each in (needle, *members)]
    return operation("tuple_in", *pairs)


def _kleene(name: str, left: bool | None, right: bool | None) -> bool | None:
    found = {left, right}
    strong = name == "or"
    if strong in found:
        return strong
    return None if None in found else not strong


@pytest.mark.parametrize(("name", "left", "right"), list(product(("and", "or"), ATOMS, ATOMS)))
def test_and_or_follow_three_valued_logic(name: str, left: int, right: int) -> None:
    expected = _kleene(name, VALUES[left], VALUES[right])
    assert VALUES[_outcomes(operation(name, ATOMS[left], ATOMS[right]))] is expected


@pytest.mark.parametrize(
    ("term", "outcomes"),
    [
        (operation("and", ANYTHING, Constant(False)), F),
        (operation("and", ANYTHING, Constant(True)), ANY),
        (operation("and", ANYTHING, Constant(None)), F | N),
        (operation("or", ANYTHING, Constant(True)), T),
        (operation("or", ANYTHING, Constant(None)), T | N),
        (operation("not", operation("or", ANYTHING, Constant(None))), F | N),
        (operation("is_null", ANYTHING), T | F),
        (operation("<=>", Constant(None), Constant(None)), T),
        (operation("<=>", Constant(None), Constant(1)), F),
        (operation("=", Constant(None), ANYTHING), N),
        (operation("in", Constant("a"), Members(frozenset({"a", "b"}))), T),
        (operation("in", Constant("c"), Members(frozenset({"a", "b"}))), F),
        (operation("in", Constant("01"), Members(frozenset({1, 2}))), T | F),  # Spark: as strings
        (operation("in", Constant("1"), Members(frozenset({1, 2}))), T),
        (operation("not", operation("in", Constant("x"), Constant(1))), T | N),
        (operation("<=>", ScanColumn(1, "k", "int"), Constant("x")), ANY & ~N),
        (operation("negate", Constant(-(2**31))), ANY),
        (operation("tuple_in", *[operation("tuple", Constant(None))] * 2), T | N),
        (
            operation(
                "tuple_in", operation("tuple", Constant(None)), operation("tuple", Constant(1))
            ),
            F | N,
        ),
        (operation("in", Constant(3), Constant(1), Constant(None)), N),
        (operation("in", Constant("11"), Constant(" 11"), Constant("12")), F),
        (operation("in", Constant("11"), Constant(" 11"), Constant(1)), ANY),  # ANSI: as numbers
        (_pairs(("11", 1), (" 11", 1), ("12", 1)), F),
        (_pairs(("11", 1), (" 11", 1), (1, 1)), ANY),  # ANSI: as numbers
        (_pairs(("11", 1), (" 11", 2), (1, 1)), F),
        (operation("like", Constant("a%c"), Constant("a\\%_")), T),
        (operation("rlike", Constant("abc"), Constant("^a.c$")), T),
        (operation("rlike", Constant("abc"), Constant("(?i)ABC\\b")), ANY),
        (operation("=", operation("substring", Constant("abc"), Constant(2)), Constant("bc")), T),
        (operation("=", operation("/", Constant(1), Constant(0)), Constant(1)), N),
        (operation("=", operation("unheard", Constant(1)), Constant(1)), ANY),
        (operation("case", ANYTHING, Constant(True), Constant(False)), ANY),
        (operation("case", Constant(None), Constant(True), Constant(False)), F),
    ],
)
def test_terms_have_these_outcomes(term: Term, outcomes: int) -> None:
    assert _outcomes(term) == outcomes
