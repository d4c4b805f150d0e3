"""Functions of known values, as far as Hive and Spark return the same result.

Each takes the values of its arguments and returns a value, or MAYBE. An exception means MAYBE.
"""

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache

from dialect.pruning.terms import Value
from dialect.pruning.values import MAYBE, Guess, convert

Arguments = Sequence[Value]
_SAFE_RANGE = 1 << 31
# Longer texts and replacements give MAYBE: nested functions could make texts of any size.
_MAX_TEXT = 20_000
_MAX_REPLACEMENT = 100
# Patterns that mean the same in Java and in Python.
_PLAIN_PATTERN = re.compile(
    r"(?:[\w .*+?^$|/:,-]|\((?!\?)|\)|\\[dws.\-/]|\[\^?[\w.:/-]+\]|\{\d{1,2}\})*\Z", re.ASCII
)
_REPEATS = re.compile(r"[*+?{]")
_MAX_MATCHED = 200
_MAX_PATTERN = 1_000


def _strict(function: Callable[..., Guess]) -> Callable[[Arguments], Guess]:
    """The function with the result NULL if an argument is NULL."""

    def guarded(args: Arguments) -> Guess:
        if any(arg is None for arg in args):
            return None
        return function(*args)

    return guarded


def _text(value: Value) -> str:
    guess = convert(value, "string")
    if not isinstance(guess, str) or len(guess) > _MAX_TEXT:
        raise ValueError("not plainly a string, or too long a one")
    return guess


def _number(value: Value) -> int | float | Decimal:
    if isinstance(value, str):
        guess = convert(value, "int")
        if not isinstance(guess, int):
            raise ValueError("not plainly a number")
        return guess
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("not a number")
    return value


def _day(value: Value) -> date:
    guess = convert(value, "date")
    if not isinstance(guess, date):
        raise ValueError("not plainly a date")
    return guess


def _concat(*parts: Value) -> Guess:
    return "".join(_text(part) for part in parts)


def _concat_ws(args: Arguments) -> Guess:
    if args[0] is None:
        return None
    return _text(args[0]).join(_text(arg) for arg in args[1:] if arg is not None)


def _substring(text: Value, start: Value, length: Value = None) -> Guess:
    source, at = _text(text), _number(start)
    if not isinstance(at, int):
        return MAYBE
    if at < 0 and -at > len(source):
        return MAYBE  # Hive returns an empty string, Spark the part that begins at the text's start
    begin = at - 1 if at > 0 else (len(source) + at if at < 0 else 0)
    if length is None:
        return source[begin:]
    count = _number(length)
    return source[begin : begin + max(int(count), 0)] if isinstance(count, int) else MAYBE


def _arithmetic(operation: Callable[[int, int], int]) -> Callable[[Value, Value], Guess]:
    def result(left: Value, right: Value) -> Guess:
        one, other = _number(left), _number(right)
        if not (isinstance(one, int) and isinstance(other, int)):
            return MAYBE
        number = operation(one, other)
        return number if abs(number) < _SAFE_RANGE else MAYBE

    return result


def _modulo(left: Value, right: Value) -> Guess:
    one, other = _number(left), _number(right)
    if not (isinstance(one, int) and isinstance(other, int)):
        return MAYBE
    if other == 0:
        return None
    remainder = abs(one) % abs(other)
    return -remainder if one < 0 else remainder


def _divide(left: Value, right: Value) -> Guess:
    one, other = _number(left), _number(right)
    if other == 0:
        return None
    quotient = float(one) / float(other)
    # An integral quotient is exact in every type that an engine may choose.
    return quotient if quotient.is_integer() else MAYBE


# The least number of each integer type. Its negation overflows.
_LEAST = frozenset(-(1 << bits) for bits in (7, 15, 31, 63))


def _whole_quotient(left: Value, right: Value) -> Guess:
    one, other = _number(left), _number(right)
    if not (isinstance(one, int) and isinstance(other, int)):
        return MAYBE
    if other == 0:
        return None
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def _positive_modulo(left: Value, right: Value) -> Guess:
    one, other = _number(left), _number(right)
    if not (isinstance(one, int) and isinstance(other, int)) or other < 0:
        return MAYBE
    return None if other == 0 else one % other


def _negate(value: Value) -> Guess:
    number = _number(value)
    return MAYBE if number in _LEAST else -number


def _absolute(value: Value) -> Guess:
    number = _number(value)
    return _negate(number) if number < 0 else number


def _like(text: Value, pattern: Value) -> Guess:
    """The result of LIKE, without backtracking: the pieces between `%` have a fixed length, so the
    first match of each is the right one."""
    source, wanted = _text(text), _text(pattern)
    if len(wanted) > _MAX_PATTERN:
        return MAYBE
    pieces = _pieces(wanted)
    if pieces is None:
        return MAYBE
    first, *others = pieces  # `others` is a copy: `pieces` is in the cache
    if not others:
        return len(source) == len(first) and _stands_at(source, 0, first)
    if not _stands_at(source, 0, first):
        return False
    at, last = len(first), others.pop()
    for piece in others:
        while not _stands_at(source, at, piece):
            at += 1
            if at + len(piece) > len(source):
                return False
        at += len(piece)
    end = len(source) - len(last)
    return end >= at and _stands_at(source, end, last)


@lru_cache(maxsize=256)
def _pieces(pattern: str) -> list[list[str]] | None:
    """The characters between the `%` of a pattern, with an empty string for `_`. None if a
    character is escaped that need not be."""
    pieces: list[list[str]] = [[]]
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "%":
            pieces.append([])
        elif char == "\\":
            at += 1
            if pattern[at : at + 1] not in ("%", "_", "\\"):
                return None
            pieces[-1].append(pattern[at])
        else:
            pieces[-1].append("" if char == "_" else char)
        at += 1
    return pieces


def _stands_at(source: str, at: int, piece: list[str]) -> bool:
    if at + len(piece) > len(source):
        return False
    return all(char in ("", source[at + shift]) for shift, char in enumerate(piece))


def _rlike(text: Value, pattern: Value) -> Guess:
    source, wanted = _text(text), _text(pattern)
    if max(len(source), len(wanted)) > _MAX_MATCHED or not source.isprintable():
        return MAYBE
    # Patterns that may backtrack exponentially are not evaluated.
    if len(_REPEATS.findall(wanted)) > 3 or re.search(r"\)[*+?{]", wanted):
        return MAYBE
    if not _PLAIN_PATTERN.match(wanted):
        return MAYBE
    try:
        return re.search(wanted, source, re.ASCII) is not None
    except re.error:
        return MAYBE


def _date_add(day: Value, count: Value) -> Guess:
    number = _number(count)
    return _day(day) + timedelta(days=number) if isinstance(number, int) else MAYBE


def _date_sub(day: Value, count: Value) -> Guess:
    number = _number(count)
    return _day(day) - timedelta(days=number) if isinstance(number, int) else MAYBE


def _left(text: Value, count: Value) -> Guess:
    size = _number(count)
    return _text(text)[: max(size, 0)] if isinstance(size, int) else MAYBE


def _right(text: Value, count: Value) -> Guess:
    source, size = _text(text), _number(count)
    if not isinstance(size, int):
        return MAYBE
    return source[max(len(source) - size, 0) :] if size > 0 else ""


def _replace(text: Value, old: Value, new: Value) -> Guess:
    replacement = _text(new)
    if old == "" or len(replacement) > _MAX_REPLACEMENT:
        return MAYBE
    return _text(text).replace(_text(old), replacement)


# Patterns without special characters.
_LITERAL = re.compile(r"[\w :/,-]+\Z", re.ASCII)


def _regexp_replace(text: Value, pattern: Value, new: Value) -> Guess:
    if not _LITERAL.match(_text(pattern)) or set(_text(new)) & set("$\\"):
        return MAYBE
    return _replace(text, pattern, new)


def _split_part(text: Value, pattern: Value, at: Value) -> Guess:
    if not _LITERAL.match(_text(pattern)) or not isinstance(at, int) or at < 0:
        return MAYBE
    parts = _text(text).split(_text(pattern))
    return parts[at] if at < len(parts) else None


def _position(text: Value, part: Value) -> Guess:
    return _text(text).find(_text(part)) + 1 if part != "" else MAYBE


def _pad(left: bool) -> Callable[[Value, Value, Value], Guess]:
    def padded(text: Value, length: Value, fill: Value) -> Guess:
        source, size, filler = _text(text), _number(length), _text(fill)
        if not isinstance(size, int) or not 0 <= size < 1000 or not filler:
            return MAYBE
        if len(source) >= size:
            return source[:size]
        filling = (filler * size)[: size - len(source)]
        return filling + source if left else source + filling

    return padded


def _date_format(day: Value, pattern: Value) -> Guess:
    """The result of date_format for patterns of yyyy, MM and dd; MAYBE for others."""
    wanted = _text(pattern)
    if re.sub(r"yyyy|MM|dd|[-/_. ]", "", wanted):
        return MAYBE
    when = _day(day)
    text = wanted.replace("yyyy", f"{when.year:04}").replace("MM", f"{when.month:02}")
    return text.replace("dd", f"{when.day:02}")


FUNCTIONS: dict[str, Callable[[Arguments], Guess]] = {
    "upper": _strict(lambda text: _text(text).upper() if _text(text).isascii() else MAYBE),
    "lower": _strict(lambda text: _text(text).lower() if _text(text).isascii() else MAYBE),
    "length": _strict(lambda text: len(_text(text))),
    "trim": _strict(lambda text: _text(text).strip(" ")),
    "ltrim": _strict(lambda text: _text(text).lstrip(" ")),
    "rtrim": _strict(lambda text: _text(text).rstrip(" ")),
    "concat": _strict(_concat),
    "concat_ws": _concat_ws,
    "substring": _strict(_substring),
    "replace": _strict(_replace),
    "regexp_replace": _strict(_regexp_replace),
    "split_part": _strict(_split_part),
    "left": _strict(_left),
    "right": _strict(_right),
    "reverse": _strict(lambda text: _text(text)[::-1] if _text(text).isascii() else MAYBE),
    "instr": _strict(_position),
    "startswith": _strict(lambda text, part: _text(text).startswith(_text(part))),
    "endswith": _strict(lambda text, part: _text(text).endswith(_text(part))),
    "contains": _strict(lambda text, part: _text(part) in _text(text)),
    "lpad": _strict(_pad(left=True)),
    "rpad": _strict(_pad(left=False)),
    "+": _strict(_arithmetic(lambda one, other: one + other)),
    "-": _strict(_arithmetic(lambda one, other: one - other)),
    "*": _strict(_arithmetic(lambda one, other: one * other)),
    "/": _strict(_divide),
    "%": _strict(_modulo),
    "pmod": _strict(_positive_modulo),
    "div": _strict(_whole_quotient),
    "negate": _strict(_negate),
    "abs": _strict(_absolute),
    "like": _strict(_like),
    "rlike": _strict(_rlike),
    "year": _strict(lambda day: _day(day).year),
    "month": _strict(lambda day: _day(day).month),
    "day": _strict(lambda day: _day(day).day),
    "quarter": _strict(lambda day: (_day(day).month + 2) // 3),
    "dayofweek": _strict(lambda day: _day(day).isoweekday() % 7 + 1),
    "weekofyear": _strict(lambda day: _day(day).isocalendar().week),
    "to_date": _strict(_day),
    "date_add": _strict(_date_add),
    "date_sub": _strict(_date_sub),
    "datediff": _strict(lambda one, other: (_day(one) - _day(other)).days),
    "date_format": _strict(_date_format),
}
