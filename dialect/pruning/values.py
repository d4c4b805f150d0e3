"""Reads, compares and converts values of partition keys and constants as Hive and Spark do.

The result is MAYBE, any value, if the engines may differ or a conversion is not certain.
"""

import re
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Final

from dialect.pruning.terms import Value

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
INTEGERS = frozenset({"tinyint", "smallint", "int", "integer", "bigint", "long", "short", "byte"})
_RANGES = {
    "tinyint": 1 << 7,
    "byte": 1 << 7,
    "smallint": 1 << 15,
    "short": 1 << 15,
    "int": 1 << 31,
    "integer": 1 << 31,
    "bigint": 1 << 63,
    "long": 1 << 63,
}
_INTEGER = re.compile(r"[+-]?\d{1,18}\Z", re.ASCII)
_DECIMAL = re.compile(r"[+-]?\d{1,18}\.\d{1,18}\Z", re.ASCII)
# Blanks and control characters, which the engines trim before they convert a text.
_BLANK = r"[\x00-\x20\x7f]*"
# Texts that some engine may read as a number.
_NUMBER_LIKE = re.compile(
    rf"{_BLANK}[+-]?((\d+\.?\d*|\.\d*)(e[+-]?\d+)?(bd|[dfl])?|nan|inf|infinity){_BLANK}\Z",
    re.ASCII | re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(\.\d{1,6})?\Z", re.ASCII)
# Texts that some engine may read as a date; Spark has names for some, which a zone may follow.
_DATE_LIKE = re.compile(
    rf"{_BLANK}([+-]?\d{{1,7}}(-\d{{1,2}}(-\d{{1,2}}([T ].*)?)?)?{_BLANK}\Z"
    r"|epoch|now|today|tomorrow|yesterday)",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_SAFE_INT = 1 << 31


class Maybe(Enum):
    """The type of MAYBE, which stands for any value."""

    MAYBE = "maybe"


MAYBE: Final = Maybe.MAYBE
Guess = Value | Maybe


def family(type_name: str) -> str:
    """The family of a type: text, integer, or the type itself without its parameters."""
    base = type_name.partition("(")[0].strip().lower()
    if base in ("string", "varchar", "char"):
        return "text"
    return "integer" if base in INTEGERS else base


def stored(text: str, type_name: str) -> Guess:
    """The value of a partition key, from its text in the metastore."""
    if text == DEFAULT_PARTITION:
        return None
    kind = family(type_name)
    if kind == "text":
        return text.rstrip(" ") if type_name.startswith("char") else text
    if kind in ("float", "double", "timestamp") or not kind:
        return _number(text) if kind in ("float", "double") else MAYBE
    return convert(text, type_name)


def _number(text: str) -> Guess:
    """The value of a FLOAT or DOUBLE key. Only integers are exact."""
    try:
        number = float(text)
    except ValueError:
        return MAYBE
    return number if number.is_integer() and abs(number) < 1 << 53 else MAYBE


def canonical(text: str, type_name: str) -> str:
    """A partition value as the metastore stores it: `03` of an INT key becomes `3`."""
    kind = family(type_name)
    if kind == "integer" and _INTEGER.match(text):
        return str(int(text))
    if kind == "boolean":
        return _BOOLEANS.get(text.lower(), text)
    return text


_BOOLEANS = {
    **dict.fromkeys(("true", "t", "yes", "y", "on", "1"), "true"),
    **dict.fromkeys(("false", "f", "no", "n", "off", "0"), "false"),
}


def convert(value: Value, type_name: str) -> Guess:
    """The result of CAST, or MAYBE if it is not certain."""
    if value is None:
        return None
    kind = family(type_name)
    if kind == "text":
        return _to_text(value, type_name)
    if kind == "integer":
        return _to_integer(value, type_name)
    if kind in ("double", "decimal"):
        return _to_decimal(value, type_name) if kind == "decimal" else _to_double(value)
    if kind == "date":
        return _to_date(value)
    if kind in ("timestamp", "timestamp_ntz", "timestamp_ltz"):
        return _to_timestamp(value)
    if kind == "boolean":
        return _to_boolean(value)
    return MAYBE


def _to_text(value: Value, type_name: str) -> Guess:
    if isinstance(value, bool):
        return MAYBE
    if isinstance(value, datetime | float | Decimal | tuple):
        return MAYBE
    text = value if isinstance(value, str) else str(value)
    length = re.search(r"\((\d+)\)", type_name)
    if length and len(text) > int(length.group(1)):
        return MAYBE  # Hive truncates the text, Spark does not
    return MAYBE if type_name.startswith("char") and text.endswith(" ") else text


def _to_integer(value: Value, type_name: str) -> Guess:
    if isinstance(value, str):
        if not _INTEGER.match(value):
            return MAYBE if _NUMBER_LIKE.match(value) else None
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return MAYBE
    limit = _RANGES.get(type_name.partition("(")[0].strip().lower(), 1 << 31)
    return value if -limit <= value < limit else MAYBE


def _to_double(value: Value) -> Guess:
    if isinstance(value, str):
        if _INTEGER.match(value) or _DECIMAL.match(value):
            return float(value)
        return MAYBE if _NUMBER_LIKE.match(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return MAYBE
    return float(value)


def _to_decimal(value: Value, type_name: str) -> Guess:
    if isinstance(value, str):
        if not (_INTEGER.match(value) or _DECIMAL.match(value)):
            return MAYBE if _NUMBER_LIKE.match(value) else None
        value = Decimal(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return MAYBE
    found = re.search(r"\((\d+)(?:\s*,\s*(-?\d+))?\)", type_name)
    precision, scale = (int(found.group(1)), int(found.group(2) or 0)) if found else (10, 0)
    try:
        number = Decimal(value)
        fits = number == round(number, scale) and abs(number) < Decimal(10) ** (precision - scale)
    except InvalidOperation:
        return MAYBE
    return number if fits else MAYBE


def _to_date(value: Value) -> Guess:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if not isinstance(value, str):
        return MAYBE
    if _DATE.match(value):
        try:
            return date.fromisoformat(value)
        except ValueError:
            return MAYBE
    return MAYBE if _DATE_LIKE.match(value) else None


def _to_timestamp(value: Value) -> Guess:
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime.combine(value, time())
    if isinstance(value, str) and (_TIMESTAMP.match(value) or _DATE.match(value)):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            return MAYBE
    return MAYBE


def _to_boolean(value: Value) -> Guess:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return MAYBE


def compare(left: Value, right: Value) -> int | Maybe | None:
    """-1, 0 or 1; None for NULL; MAYBE if the engines' result is not certain."""
    if left is None or right is None:
        return None
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    if isinstance(left, tuple) or isinstance(right, tuple):
        return MAYBE
    if isinstance(left, str):
        return _compare_text(left, right)
    if isinstance(right, str):
        converted = _compare_text(right, left)
        return -converted if isinstance(converted, int) else converted
    return _compare_alike(left, right)


def _compare_alike(left: Value, right: Value) -> int | Maybe:
    if isinstance(left, bool) or isinstance(right, bool):
        if isinstance(left, bool) and isinstance(right, bool):
            return (left > right) - (left < right)
        return MAYBE
    numbers = (int, float, Decimal)
    if isinstance(left, numbers) and isinstance(right, numbers):
        return _compare_numbers(left, right)
    if isinstance(left, datetime) or isinstance(right, datetime):
        first, second = _to_timestamp(left), _to_timestamp(right)
        if isinstance(first, datetime) and isinstance(second, datetime):
            return (first > second) - (first < second)
        return MAYBE
    if isinstance(left, date) and isinstance(right, date):
        return (left > right) - (left < right)
    return MAYBE


def _compare_numbers(left: int | float | Decimal, right: int | float | Decimal) -> int | Maybe:
    # A decimal and a double are compared as doubles.
    if isinstance(left, float) != isinstance(right, float):
        left, right = float(left), float(right)
    return (left > right) - (left < right)


def _compare_text(text: str, other: Value) -> int | Maybe | None:
    """Compares a string, converted, with a value of another kind."""
    if isinstance(other, bool):
        converted = _to_boolean(text)
        return MAYBE if isinstance(converted, Maybe) else _compare_alike(converted, other)
    if isinstance(other, int | float | Decimal):
        return _compare_number_text(text, other)
    guess = _to_timestamp(text) if isinstance(other, datetime) else _to_date(text)
    if isinstance(guess, Maybe) or guess is None:
        return guess
    return _compare_alike(guess, other)


def _compare_number_text(text: str, other: int | float | Decimal) -> int | Maybe | None:
    if _INTEGER.match(text):
        number = int(text)
        # Spark narrows to the other side's type, Hive widens to double.
        return MAYBE if abs(number) >= _SAFE_INT else _compare_numbers(number, other)
    if _DECIMAL.match(text) and isinstance(other, float):
        return _compare_numbers(float(text), other)
    return MAYBE if _NUMBER_LIKE.match(text) else None


def is_number_like(text: str) -> bool:
    """Whether some engine may read the text as a number."""
    return _NUMBER_LIKE.match(text) is not None
