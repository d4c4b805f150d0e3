"""Stored views: their queries, parsed once, and their columns."""

from dataclasses import dataclass, replace
from threading import Lock

from cachetools import LRUCache, cached
from sqlglot import exp

from conf.tables import TableInfo, ViewText
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


def with_keys(view: ViewText, info: TableInfo) -> ViewText:
    """The text with the names of the view's partition columns too: they are its query's last."""
    keys = [key.name for key in info.partition_keys if key.name not in view.columns]
    return replace(view, columns=(*view.columns, *keys)) if view.columns and keys else view
