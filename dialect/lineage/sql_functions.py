"""Which functions written in SQL may read tables (Spark 4: `CREATE FUNCTION .. RETURN ..`)."""

from collections.abc import Mapping

from conf.catalog.tables import ViewText
from dialect.errors import NotUnderstood
from dialect.lexing.tokenize import tokenize
from dialect.parsing.function_calls import COMPUTED, calls_of
from dialect.work import TooMuchWork, bounded

_READING = frozenset({"FROM", "TABLE"})  # a text that reads a table has one of these words
MOST_STEPS = 20_000  # of work for all texts together; a text beyond them counts as reading


def reading_functions(texts: Mapping[str, ViewText | None]) -> frozenset[str]:
    """The functions, `db.name`, that may read a table, themselves or through others.

    In a text a name without a database may mean one of any. COMPUTED is among the results if there
    is any: a name that is computed may be one of them.
    """
    calls: dict[str, frozenset[str]] = {}
    found: set[str] = set()
    with bounded(MOST_STEPS):
        for name, text in texts.items():
            called = _calls(None if text is None else text.sql)
            if called is None:
                found |= {name, COMPUTED}
            else:
                calls[name] = called
    while (
        more := {name for name, called in calls.items() if called & set(map(_bare, found))} - found
    ):
        found |= more
    return frozenset(found)


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
