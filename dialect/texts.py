"""Stored views' queries, parsed once."""

from dataclasses import dataclass
from threading import Lock

from cachetools import LRUCache, cached
from sqlglot import exp

from dialect.hive_forms import standard
from dialect.language import parse, tokenize

# Characters of text kept parsed; a tree takes some dozens of bytes for each.
_KEPT = 2_000_000


@dataclass(frozen=True, slots=True)
class _Parsed:
    tree: exp.Expr
    length: int


def query_of(sql: str) -> exp.Expr:
    """The tree of a stored view's text. Raises NotUnderstood. Trees are never changed."""
    return _parsed(sql).tree


@cached(LRUCache(maxsize=_KEPT, getsizeof=lambda parsed: parsed.length), lock=Lock())
def _parsed(sql: str) -> _Parsed:
    return _Parsed(parse(standard(tokenize(sql)), sql), len(sql))
