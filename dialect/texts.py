"""Queries parsed once: what depends on the text alone."""

from threading import Lock

from cachetools import LRUCache, cached
from sqlglot import exp

from dialect.hive_forms import standard
from dialect.language import parse, tokenize


@cached(LRUCache(maxsize=512), lock=Lock())
def query_of(sql: str) -> exp.Expr:
    """The tree of a stored view's text. Raises NotUnderstood. Trees are never changed."""
    tokens = tokenize(sql)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    return parse(standard(tokens), sql)
