"""The way in: a statement's text to what it reads and writes."""

from dataclasses import replace
from threading import Lock

from cachetools import LRUCache, cached
from sqlglot.tokenizer_core import Token

from conf.tables import Catalog
from dialect.build import Builder
from dialect.context import Context
from dialect.errors import NotUnderstood
from dialect.language import tokenize
from dialect.statement import Analysis, Known, Namespace, Needs, Unknown
from dialect.statements import statement
from dialect.variables import substitute
from dialect.words import Words

_MODES = frozenset(
    [
        "EXTENDED",
        "CODEGEN",
        "COST",
        "FORMATTED",
        "LOGICAL",
        "AUTHORIZATION",
        "DEPENDENCY",
        "CBO",
        "JOINCOST",
        "AST",
        "REOPTIMIZATION",
        "LOCKS",
        "VECTORIZATION",
        "ONLY",
        "SUMMARY",
        "OPERATOR",
        "EXPRESSION",
        "DETAIL",
        "DEBUG",
        "DDL",
    ]
)
# A statement with none of these words certainly changes nothing.
_WRITING = frozenset(
    [
        "INSERT",
        "UPDATE",
        "DELETE",
        "MERGE",
        "CREATE",
        "REPLACE",
        "DROP",
        "ALTER",
        "TRUNCATE",
        "LOAD",
        "EXPORT",
        "IMPORT",
        "MSCK",
        "REPAIR",
        "ANALYZE",
        "REFRESH",
        "CACHE",
        "UNCACHE",
        "CLEAR",
        "COMMENT",
        "GRANT",
        "REVOKE",
        "SET",
        "RESET",
        "ADD",
        "USE",
        "CALL",
        "LOCK",
        "UNLOCK",
        "DFS",
        "RELOAD",
        "ABORT",
        "KILL",
        "INTO",
        "OVERWRITE",
        "OPTIMIZE",
        "VACUUM",
        "EXECUTE",
        "IMMEDIATE",
        "DECLARE",
        "START",
        "COMMIT",
        "ROLLBACK",
        "COMPILE",
        "TRANSFORM",
        "MAP",
        "REDUCE",
    ]
)


def analyze(sql: str, namespace: Namespace, catalog: Catalog) -> Analysis:
    """What `sql` reads and writes in that namespace. Never raises; unknown is an answer.

    Pure but for its bounded caches: the catalog answers from memory.
    """
    try:
        text = substitute(sql, namespace.variables)
        tokens = _tokens(text)
    except NotUnderstood as error:
        return Unknown(error.why)
    try:
        return _analyze(text, tokens, namespace, catalog)
    except NotUnderstood as error:
        return Unknown(error.why, _may_write(tokens))
    except RecursionError:
        return Unknown("it is nested too deep", _may_write(tokens))


def _analyze(
    text: str, tokens: tuple[Token, ...], namespace: Namespace, catalog: Catalog
) -> Known | Needs:
    words = Words(tokens, text)
    explain = _explained(words)
    builder = Builder(namespace, catalog)
    context = Context(words, namespace, catalog, builder)
    try:
        known = statement(context)
    except NotUnderstood:
        if builder.missing:
            return Needs(frozenset(builder.missing))
        raise
    if builder.missing:
        return Needs(frozenset(builder.missing))
    return replace(known, explain=True, effect=None) if explain else known


@cached(LRUCache(maxsize=2048), lock=Lock())
def _tokens(sql: str) -> tuple[Token, ...]:
    """The statement's tokens without what ends it. Raises NotUnderstood."""
    tokens = tokenize(sql)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    return tuple(tokens)


def _explained(words: Words) -> bool:
    if not words.take("EXPLAIN"):
        return False
    while not words.done:
        if (
            words.sees("ANALYZE") and words.word(1) not in ("TABLE", "TABLES")
        ) or words.word() in _MODES:
            words.at += 1
        else:
            break
    return True


def _may_write(tokens: tuple[Token, ...]) -> bool:
    return any(token.text.upper() in _WRITING for token in tokens)
