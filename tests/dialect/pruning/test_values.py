"""Conversions and comparisons: exact if Hive and Spark agree, MAYBE if not."""

from datetime import date
from decimal import Decimal

import pytest

from dialect.pruning.values import DEFAULT_PARTITION, MAYBE, canonical, compare, convert, stored


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("x", "string", "x"),
        ("007", "int", 7),
        ("x", "int", None),
        ("1.5", "int", MAYBE),
        ("300", "tinyint", MAYBE),
        ("2020-01-31", "date", date(2020, 1, 31)),
        ("2020-1-3", "date", MAYBE),
        ("x", "date", None),
        ("2.0", "double", 2.0),
        ("0.1", "double", MAYBE),
        ("true", "boolean", True),
        ("t", "boolean", MAYBE),
        ("2020-01-31 00:00:00", "timestamp", MAYBE),
        ("x ", "char(2)", "x"),
        ("x", "", MAYBE),
        (DEFAULT_PARTITION, "string", None),
    ],
)
def test_partition_values_are_stored_as_their_type(text: str, kind: str, value: object) -> None:
    assert stored(text, kind) == value


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("a", "b", -1),
        ("10", "9", -1),
        ("10", 9, 1),
        (9, "10", -1),
        ("x", 1, None),
        ("1.5", 1, MAYBE),
        (" 1", 1, MAYBE),
        ("99999999999", 1, MAYBE),
        (None, 1, None),
        (1, Decimal("1.0"), 0),
        (Decimal("0.1"), 0.1, 0),
        ("2020-01-01", date(2020, 1, 2), -1),
        ("2020", date(2020, 1, 2), MAYBE),
        ("x", date(2020, 1, 2), None),
        (True, 1, MAYBE),
        (True, "true", 0),
        (True, "yes", MAYBE),
        (date(2020, 1, 1), 1, MAYBE),
    ],
)
def test_values_are_compared(left: object, right: object, order: object) -> None:
    assert compare(left, right) == order  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "kind", "result"),
    [
        ("12", "int", 12),
        (12, "string", "12"),
        (1.5, "string", MAYBE),
        ("abcd", "varchar(2)", MAYBE),
        ("1.50", "decimal(5,2)", Decimal("1.50")),
        ("1.555", "decimal(5,2)", MAYBE),
        (None, "int", None),
        ("2020-02-30", "date", MAYBE),
    ],
)
def test_values_are_converted_to_a_type(value: object, kind: str, result: object) -> None:
    assert convert(value, kind) == result  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "kind", "kept"),
    [
        ("03", "int", "3"),
        ("TRUE", "boolean", "true"),
        ("off", "boolean", "false"),
        ("03", "string", "03"),
    ],
)
def test_partition_values_have_one_spelling(text: str, kind: str, kept: str) -> None:
    assert canonical(text, kind) == kept
