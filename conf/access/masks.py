"""Kinds of masks, as Spark expressions for the value that a user sees in place of a column's.

`{col}` stands for the column. The guard casts the value to the column's type, so a value that does
not fit the type is shown as NULL.
"""

from collections.abc import Mapping

from conf.names import quoted

COLUMN = "{col}"

_TEXT = f"CAST({COLUMN} AS STRING)"
_REST = f"length({_TEXT}) - 4"
_LETTERS = "'x', 'x', 'x'"  # replace capital letters, small letters and digits
_HIDDEN = f"mask({_TEXT}, {_LETTERS})"

MASKS: Mapping[str, str] = {
    "null": "NULL",
    "redact": f"mask({_TEXT})",
    "hash": f"sha2({_TEXT}, 256)",
    "show-first-4": (
        f"CASE WHEN length({_TEXT}) > 4 THEN"
        f" concat(substr({_TEXT}, 1, 4), mask(substr({_TEXT}, 5), {_LETTERS})) ELSE {_HIDDEN} END"
    ),
    "show-last-4": (
        f"CASE WHEN length({_TEXT}) > 4 THEN concat(mask(substr({_TEXT}, 1, {_REST}), {_LETTERS}),"
        f" substr({_TEXT}, -4)) ELSE {_HIDDEN} END"
    ),
    "year": f"date_trunc('YEAR', CAST({COLUMN} AS TIMESTAMP))",
}
RANGER: Mapping[str, str] = {
    "MASK": MASKS["redact"],
    "MASK_SHOW_FIRST_4": MASKS["show-first-4"],
    "MASK_SHOW_LAST_4": MASKS["show-last-4"],
    "MASK_HASH": MASKS["hash"],
    "MASK_NULL": MASKS["null"],
    "MASK_DATE_SHOW_YEAR": MASKS["year"],
}
"""Ranger's kinds of masks, except CUSTOM, which has its own expression, and MASK_NONE."""


def of_column(expression: str, column: str) -> str:
    """The expression with the column's name in place of `{col}`."""
    return expression.replace(COLUMN, quoted(column))
