"""The zone offset that Spark's SparkSqlAstBuilder computes for `SET TIME ZONE INTERVAL ..`."""

import re
from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood

_SECOND = 1_000_000
_MICROSECONDS = {
    "HOUR": 3600 * _SECOND,
    "MINUTE": 60 * _SECOND,
    "SECOND": _SECOND,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
# Units of which Spark refuses a value other than zero.
_LONGER = frozenset({"YEAR", "MONTH", "WEEK", "DAY"})
_RANGES = {
    ("HOUR", "MINUTE"): re.compile(r"(\d{1,10}):([0-5]?\d)()"),
    ("HOUR", "SECOND"): re.compile(r"(\d{1,10}):([0-5]?\d):([0-5]?\d)"),
    ("MINUTE", "SECOND"): re.compile(r"()(\d{1,12}):([0-5]?\d)"),
}
_MAX_OFFSET = 18 * 3600 * _SECOND
_TEXTS = (TokenType.STRING, TokenType.NUMBER)


def offset(tokens: Sequence[Token]) -> str | None:
    """The zone, such as `+10:00`, of the interval with the tokens after INTERVAL.

    None if Spark refuses it. Raises NotUnderstood if that is not certain.
    """
    signed, unit, at = _quantity(tokens, 0)
    if at < len(tokens) and tokens[at].text.upper() == "TO":
        return _of_range(signed, unit, tokens[at + 1 :])
    total, longer = 0, False
    at = 0
    while at < len(tokens):
        if at and tokens[at].token_type not in (*_TEXTS, TokenType.DASH, TokenType.PLUS):
            return None
        if at and tokens[at].token_type == TokenType.STRING and at + 1 == len(tokens):
            return None  # a text after the interval
        signed, unit, at = _quantity(tokens, at)
        if not re.fullmatch(r"[+-]?\d{1,18}", signed):
            raise NotUnderstood("SET TIME ZONE by an interval that is no offset")
        longer = longer or (unit in _LONGER and int(signed) != 0)
        total += int(signed) * _MICROSECONDS.get(unit, 0)
    return None if longer else _zone(total)


def _quantity(tokens: Sequence[Token], at: int) -> tuple[str, str, int]:
    """A value with its sign, its unit in the singular, and the position after them."""
    minus = at < len(tokens) and tokens[at].token_type == TokenType.DASH
    if minus or (at < len(tokens) and tokens[at].token_type == TokenType.PLUS):
        at += 1
    if at + 1 >= len(tokens) or tokens[at].token_type not in _TEXTS:
        raise NotUnderstood("SET TIME ZONE by an interval that is no offset")
    value = tokens[at].text.strip(" ")
    if minus:
        turned = {"-": "", "+": "-"}.get(value[:1])
        value = f"-{value}" if turned is None else turned + value[1:]
    unit = tokens[at + 1].text.upper().removesuffix("S")
    if unit not in _MICROSECONDS and unit not in _LONGER:
        raise NotUnderstood("SET TIME ZONE by an interval that is no offset")
    return value, unit, at + 2


def _of_range(signed: str, unit: str, rest: Sequence[Token]) -> str | None:
    """The zone of a range such as `'10:30' HOUR TO MINUTE`."""
    pattern = _RANGES.get((unit, rest[0].text.upper())) if len(rest) == 1 else None
    found = pattern.fullmatch(signed.lstrip("+-")) if pattern and signed else None
    if found is None or signed[1:2] in ("+", "-"):
        raise NotUnderstood("SET TIME ZONE by an interval that is no offset")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    total = ((hours * 60 + minutes) * 60 + seconds) * _SECOND
    return _zone(-total if signed.startswith("-") else total)


def _zone(microseconds: int) -> str | None:
    """The offset as java.time.ZoneOffset writes it; None if Spark refuses it."""
    if abs(microseconds) > _MAX_OFFSET or microseconds % _SECOND:
        return None
    if not microseconds:
        return "Z"
    minutes, seconds = divmod(abs(microseconds) // _SECOND, 60)
    text = f"{'-' if microseconds < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text
