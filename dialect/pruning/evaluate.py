"""Evaluates terms if only some columns have a known value.

The result for a condition is a set of outcomes out of TRUE, FALSE and NULL, as the bits T, F and N.
A partition may be left out only if T is not among them. The result for another term is a value or
MAYBE.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import lru_cache

from dialect.pruning.functions import FUNCTIONS
from dialect.pruning.terms import (
    Anything,
    Constant,
    Members,
    Operation,
    ScanColumn,
    Term,
    Value,
    kind_of,
    rids_of,
)
from dialect.pruning.values import MAYBE, Guess, Maybe, compare, convert, is_number_like

T, F, N = 1, 2, 4
ANY = T | F | N

Bind = Callable[[ScanColumn], Guess]

_AND = [[0] * 8 for _ in range(8)]
_NOT = [0] * 8
for _a in range(8):
    _NOT[_a] = (F if _a & T else 0) | (T if _a & F else 0) | (_a & N)
    for _b in range(8):
        _AND[_a][_b] = (
            (T if _a & T and _b & T else 0)
            | (F if _a & F or _b & F else 0)
            | (N if (_a & N and _b & (T | N)) or (_b & N and _a & (T | N)) else 0)
        )


def truth(term: Term, bind: Bind) -> int:
    """The outcomes that the condition may have, as bits. `bind` has the values of columns."""
    if isinstance(term, Operation):
        handler = _CONDITIONS.get(term.name)
        if handler is not None:
            return handler(term.args, bind)
    return _outcome(value(term, bind))


def rejects_nulls(terms: Iterable[Term], rids: frozenset[int]) -> bool:
    """Whether a condition rejects each row in which all columns of these relations are NULL. Only
    conditions without other columns count, as in Spark."""

    def bind(column: ScanColumn) -> Guess:
        return None if column.rid in rids else MAYBE

    return any(
        (own := rids_of(term)) and own <= rids and not truth(term, bind) & T for term in terms
    )


def _outcome(guess: Guess) -> int:
    if guess is None:
        return N
    if isinstance(guess, bool):
        return T if guess else F
    return ANY


def value(term: Term, bind: Bind) -> Guess:
    """The term's value, or MAYBE."""
    if isinstance(term, ScanColumn):
        return bind(term)
    if isinstance(term, Constant):
        return term.value
    if isinstance(term, Anything | Members):
        return MAYBE
    if term.name in _CONDITIONS:
        outcome = truth(term, bind)
        return {T: True, F: False, N: None}.get(outcome, MAYBE)
    special = _SPECIAL.get(term.name)
    if special is not None:
        return special(term.args, bind)
    function = FUNCTIONS.get(term.name)
    if function is None:
        return MAYBE
    arguments: list[Value] = []
    for arg in term.args:
        guess = value(arg, bind)
        if isinstance(guess, Maybe):
            return MAYBE
        arguments.append(guess)
    try:
        return function(arguments)
    except (ValueError, TypeError, OverflowError, IndexError, ArithmeticError):
        return MAYBE


# Conditions


def _and(args: Sequence[Term], bind: Bind) -> int:
    result = T
    for arg in args:
        result = _AND[result][truth(arg, bind)]
        if result == F:
            return F
    return result


def _or(args: Sequence[Term], bind: Bind) -> int:
    result = T
    for arg in args:
        result = _AND[result][_NOT[truth(arg, bind)]]
        if result == F:
            return T
    return _NOT[result]


def _not(args: Sequence[Term], bind: Bind) -> int:
    return _NOT[truth(args[0], bind)]


def _comparison(accepts: Callable[[int], bool]) -> Callable[[Sequence[Term], Bind], int]:
    def outcomes(args: Sequence[Term], bind: Bind) -> int:
        left, right = value(args[0], bind), value(args[1], bind)
        if left is None or right is None:
            return N
        if isinstance(left, Maybe) or isinstance(right, Maybe):
            return ANY
        order = compare(left, right)
        if isinstance(order, Maybe):
            return ANY
        return N if order is None else (T if accepts(order) else F)

    return outcomes


def _null_safe(args: Sequence[Term], bind: Bind) -> int:
    left, right = value(args[0], bind), value(args[1], bind)
    if left is None and right is None:
        return T
    if isinstance(left, Maybe) or isinstance(right, Maybe):
        return T | F
    if left is None or right is None:
        # A string compared with a NULL of another type is converted, perhaps to NULL.
        other = args[0] if left is None else args[1]
        mixed = isinstance(left, str) or isinstance(right, str)
        return T | F if mixed and kind_of(other) not in ("string", "null") else F
    order = compare(left, right)
    if isinstance(order, Maybe):
        return T | F
    return T if order == 0 else F


def _is_null(args: Sequence[Term], bind: Bind) -> int:
    guess = value(args[0], bind)
    if isinstance(guess, Maybe):
        return T | F
    return T if guess is None else F


def _in(args: Sequence[Term], bind: Bind) -> int:
    needle = value(args[0], bind)
    if isinstance(needle, Maybe):
        return ANY
    if needle is None:
        return N
    if isinstance(args[1], Members):
        return _among(needle, args[1])
    result = F
    members = [value(arg, bind) for arg in args[1:]]
    mixed = _are_mixed(members)
    for member in members:
        outcome = _equal_in_list(needle, member, mixed)
        if outcome == T:
            return T
        result = _NOT[_AND[_NOT[result]][_NOT[outcome]]]
    return result


def _are_mixed(members: Sequence[Guess]) -> bool:
    """Whether a list has values that are no texts. In ANSI mode, the default of Spark 4, Spark then
    converts the list's texts: 11 is in (' 11', 1)."""
    return not all(each is None or isinstance(each, str) for each in members)


def _equal_in_list(needle: Guess, member: Guess, mixed: bool) -> int:
    outcome = _equal_values(needle, member)
    if mixed and outcome != T and isinstance(needle, str) and isinstance(member, str):
        return ANY
    return outcome


def _among(needle: Value, members: Members) -> int:
    """The outcomes of `needle IN` a long list, without a comparison with each member."""
    if needle in members.values:
        return T
    kind = type(next(iter(members.values)))
    if type(needle) is kind:
        return F
    if isinstance(needle, str) and kind is int:
        return _text_among(needle, members)
    if type(needle) is int and kind is str:
        odd, texts = _spellings(members)
        return ANY if odd else (T if str(needle) in members.values else F | (N if texts else 0))
    return ANY


def _text_among(needle: str, members: Members) -> int:
    """A string in a list of integers: compared as numbers or as strings (see `_equal_values`)."""
    number = convert(needle, "int")
    if isinstance(number, int):
        found = number in members.values
        return (T if str(number) == needle else T | F) if found else F
    return F | N if number is None else ANY


@lru_cache(maxsize=64)
def _spellings(members: Members) -> tuple[bool, bool]:
    """Whether some strings of the list are numbers written in an unusual way (`01`), and whether
    some are no numbers."""
    numbers = [text for text in members.values if is_number_like(str(text))]
    odd = any(str(convert(text, "bigint")) != text for text in numbers)
    return odd, len(numbers) < len(members.values)


def _equal_values(left: Guess, right: Guess) -> int:
    if left is None or right is None:
        return N
    if isinstance(left, Maybe) or isinstance(right, Maybe):
        return ANY
    if isinstance(left, tuple) or isinstance(right, tuple):
        return ANY
    order = compare(left, right)
    if isinstance(order, Maybe):
        return ANY
    outcome = N if order is None else (T if order == 0 else F)
    if isinstance(left, str) == isinstance(right, str):
        return outcome
    # In a list Spark compares a string and a value of another kind as strings.
    text, other = (left, right) if isinstance(left, str) else (right, left)
    if type(other) not in (int, date):
        return ANY
    return outcome | (T if text == str(other) else F)


def _tuple_in(args: Sequence[Term], bind: Bind) -> int:
    """The outcomes of `(a, b) IN ((1, 2), ..)`, of which only some columns may be known."""
    result = F
    needle = args[0].args if isinstance(args[0], Operation) else ()
    members: list[Sequence[Guess]] = []
    for arg in args[1:]:
        if not isinstance(arg, Operation) or len(arg.args) != len(needle):
            return ANY
        members.append([value(each, bind) for each in arg.args])
    mixed = [_are_mixed(each) for each in zip(*members, strict=True)]
    wanted = [value(each, bind) for each in needle]
    for member in members:
        outcome = T
        for each in zip(wanted, member, mixed, strict=True):
            outcome = _AND[outcome][_equal_members(*each)]
            if outcome == F:
                break
        if outcome == T:
            return T
        result = _NOT[_AND[_NOT[result]][_NOT[outcome]]]
    return result


def _equal_members(left: Guess, right: Guess, mixed: bool) -> int:
    """The outcomes of an equality inside a tuple. In Spark NULL equals NULL there and nothing else;
    in Hive the result is NULL."""
    if isinstance(left, Maybe) or isinstance(right, Maybe):
        return ANY
    if left is None or right is None:
        return N | (T if left is right else F)
    return _equal_in_list(left, right, mixed)


def _is_true(args: Sequence[Term], bind: Bind) -> int:
    outcome = truth(args[0], bind)
    return (T if outcome & T else 0) | (F if outcome & (F | N) else 0)


def _is_false(args: Sequence[Term], bind: Bind) -> int:
    outcome = truth(args[0], bind)
    return (T if outcome & F else 0) | (F if outcome & (T | N) else 0)


_CONDITIONS: dict[str, Callable[[Sequence[Term], Bind], int]] = {
    "and": _and,
    "or": _or,
    "not": _not,
    "=": _comparison(lambda order: order == 0),
    "<>": _comparison(lambda order: order != 0),
    "<": _comparison(lambda order: order < 0),
    "<=": _comparison(lambda order: order <= 0),
    ">": _comparison(lambda order: order > 0),
    ">=": _comparison(lambda order: order >= 0),
    "<=>": _null_safe,
    "is_null": _is_null,
    "in": _in,
    "tuple_in": _tuple_in,
    "is_true": _is_true,
    "is_false": _is_false,
}


# Operations that are no functions of their arguments' values


def _case(args: Sequence[Term], bind: Bind) -> Guess:
    for at in range(0, len(args) - 1, 2):
        outcome = truth(args[at], bind)
        if outcome == T:
            return value(args[at + 1], bind)
        if outcome & T:
            return MAYBE
    return value(args[-1], bind)


def _coalesce(args: Sequence[Term], bind: Bind) -> Guess:
    for arg in args:
        guess = value(arg, bind)
        if guess is not None:
            return guess
    return None


def _tuple(args: Sequence[Term], bind: Bind) -> Guess:
    members: list[Value] = []
    for arg in args:
        guess = value(arg, bind)
        if isinstance(guess, Maybe):
            return MAYBE
        members.append(guess)
    return tuple(members)


def _cast(args: Sequence[Term], bind: Bind) -> Guess:
    guess = value(args[0], bind)
    kind = args[1]
    if isinstance(guess, Maybe) or not isinstance(kind, Constant):
        return MAYBE
    return convert(guess, str(kind.value))


def _today(_args: Sequence[Term], bind: Bind) -> Guess:
    return bind(TODAY)


# The column by which `Bind` returns the value of `current_date`.
TODAY = ScanColumn(-1, "current_date", "date")

_SPECIAL: dict[str, Callable[[Sequence[Term], Bind], Guess]] = {
    "case": _case,
    "coalesce": _coalesce,
    "tuple": _tuple,
    "cast": _cast,
    "current_date": _today,
}
