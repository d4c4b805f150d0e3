"""Which functions written in SQL may read tables (Spark 4: `CREATE FUNCTION .. RETURN ..`)."""

from collections.abc import Mapping

from conf.catalog.tables import ViewText
from dialect.errors import NotUnderstood
from dialect.lexing.tokenize import tokenize
from dialect.parsing.function_calls import COMPUTED, calls_of
from dialect.work import TooMuchWork, bounded

_READING = frozenset({"FROM", "TABLE"})  # a text that reads a table has one of these words
# Steps of work for all texts together. A text that is not analysed within them counts as reading.
MOST_STEPS = 20_000


def reading_functions(texts: Mapping[str, ViewText | None]) -> frozenset[str]:
    """The functions, `db.name`, that may read a table themselves or through functions they call.

    In a text, a name without a database may mean a function of any database. If there is a result,
    COMPUTED is among the results: a function whose name is computed may be one of them.
    """
    calls: dict[str, frozenset[str]] = {}
    reading: set[str] = set()
    with bounded(MOST_STEPS):
        for name, text in texts.items():
            callees = _calls(None if text is None else text.sql)
            if callees is None:
                reading |= {name, COMPUTED}
            else:
                calls[name] = callees
    while (
        added := {name for name, callees in calls.items() if callees & set(map(_bare, reading))}
        - reading
    ):
        reading |= added
    return frozenset(reading)


def _bare(name: str) -> str:
    return name.rpartition(".")[2]


def _calls(text: str | None) -> frozenset[str] | None:
    """The functions that the text calls; None if it may read a table."""
    if text is None:
        return None
    try:
        tokens = tokenize(text, False)
    except (NotUnderstood, TooMuchWork):
        return None
    if any(not _READING.isdisjoint(token.text.upper().split()) for token in tokens):
        return None
    return calls_of(tokens).functions
