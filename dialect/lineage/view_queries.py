"""Parses the queries of stored views, each text once."""

from dataclasses import dataclass, replace
from threading import Lock

from cachetools import LRUCache, cached
from sqlglot import exp

from conf.catalog.tables import TableInfo, ViewText
from dialect.lexing.tokenize import tokenize
from dialect.parsing.function_calls import Calls, calls_of
from dialect.parsing.identifier_clause import replace_identifier_clauses
from dialect.parsing.language import parse
from dialect.rewrites.hive_rewrites import normalize

# Characters of text in the cache. A tree takes some dozens of bytes for each.
_KEPT = 2_000_000


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """A stored view's query: its tree, which is never changed, and the functions that it calls."""

    tree: exp.Expr
    calls: Calls
    length: int


@cached(LRUCache(maxsize=_KEPT, getsizeof=lambda stored: stored.length), lock=Lock())
def query_of(sql: str, double_quoted_names: bool = False) -> StoredQuery:
    """The query of a stored view's text. Raises NotUnderstood."""
    tokens = tokenize(sql, double_quoted_names)
    tree = parse(normalize(replace_identifier_clauses(tokens, sql)), sql)
    return StoredQuery(tree, calls_of(tokens), len(sql))


def with_keys(view: ViewText, info: TableInfo) -> ViewText:
    """The view with its partition columns among `columns`: they are the last of its query."""
    keys = [key.name for key in info.partition_keys if key.name not in view.columns]
    return replace(view, columns=(*view.columns, *keys)) if view.columns and keys else view
