"""Statements with keywords in the places of names: of tables, aliases, columns, queries of WITH.

To Spark nearly every keyword may be a name. `positions.sql` has a statement for each place of each
command, with {} where the name stands.
"""

import random
import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

_POSITIONS = Path(__file__).with_name("positions.sql").read_text().splitlines()
# Keywords that have other spellings in Spark's grammar, or none, and those of the parser alone.
OTHERS = (
    *("not", "regexp", "rlike", "temporary", "temp", "apply", "asof", "begin", "call", "copy"),
    *("count", "current_schema", "execute", "fetch", "final", "glob", "isnull", "kill", "match"),
    *("next", "notnull", "object", "only", "operator", "ordinality", "procedure", "qualify"),
    *("returning", "sample", "sequence", "settings", "straight_join", "text", "unnest", "uuid"),
    *("value", "variable", "xor", "x"),
)
# Keywords that begin or end parts of a query.
_STRUCTURE = (
    *("all", "and", "anti", "as", "between", "by", "case", "cluster", "cross", "desc", "distinct"),
    *("distribute", "div", "else", "end", "except", "exists", "extract", "filter", "for", "from"),
    *("full", "group", "having", "identifier", "if", "in", "inner", "insert", "intersect"),
    *("interval", "into", "is", "join", "lateral", "left", "like", "limit", "map", "minus"),
    *("natural", "not", "null", "offset", "on", "or", "order", "outer", "over", "overwrite"),
    *("partition", "pivot", "query", "reduce", "rlike", "rows", "select", "semi", "set", "sort"),
    *("table", "tablesample", "then", "to", "transform", "trim", "union", "unpivot", "update"),
    *("using", "values", "version", "view", "when", "where", "window", "with", "cast", "date"),
)
_NAME = re.compile(r"\b(?:t[123]|d1|ds|[abcfwxyz])\b")


def with_keyword(seed: int, words: Sequence[str]) -> Iterator[str]:
    """Each statement with each of the words once, in random order."""
    pairs = list(product(_POSITIONS, words))
    random.Random(seed).shuffle(pairs)
    for position, word in pairs:
        yield position.replace("{}", word)


def with_keywords(seed: int) -> Iterator[str]:
    """An endless sequence of statements with keywords in the places of some names."""
    chance = random.Random(seed)
    while True:
        text = chance.choice(_POSITIONS).replace("{}", chance.choice(_STRUCTURE))
        yield _with_more(text, chance.choice((0.15, 0.3, 0.5)), chance)


def _with_more(text: str, share: float, chance: random.Random) -> str:
    def replaced(name: re.Match[str]) -> str:
        return chance.choice(_STRUCTURE) if chance.random() < share else name[0]

    return _NAME.sub(replaced, text)
