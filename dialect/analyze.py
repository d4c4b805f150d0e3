"""The entry point: analyses a statement's text."""

import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock

from cachetools import LRUCache
from sqlglot.tokenizer_core import Token, TokenType

from conf.catalog.tables import Catalog, NotLoaded, TableInfo
from conf.names import TableRef
from dialect.errors import NotUnderstood, SparkRefuses
from dialect.grammar.scripts.script import analyze_script
from dialect.grammar.statement_context import StatementContext
from dialect.grammar.statements import analyze_statement
from dialect.lexing.token_cursor import PATH_SIGNS, TokenCursor
from dialect.lexing.tokenize import check_length, is_script, tokenize
from dialect.lexing.tokens import word_of
from dialect.lineage.analysis_context import AnalysisContext, TempObject, session_object
from dialect.lineage.build import Builder
from dialect.lineage.temporary import name_parts, variable_name
from dialect.parsing.function_calls import calls_of
from dialect.parsing.identifier_clause import replace_identifier_clauses
from dialect.parsing.language import drop_long_statement
from dialect.parsing.variables import (
    Pruning,
    case_sensitive,
    check_language,
    double_quoted_names,
    pruning,
    stores_plans,
    substitute,
)
from dialect.statement import (
    Analysis,
    AssignVariables,
    CreateTempTable,
    CreateTempView,
    DropTemp,
    Known,
    Namespace,
    Needs,
    RenameTemp,
    Unknown,
)
from dialect.work import TooMuchWork, bounded

_EXPLAIN_MODES = frozenset(
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
_WRITING_WORDS = frozenset(
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
        "RESTORE",
        "CONVERT",
        "GENERATE",
        "REORG",
        "EXECUTE",
        "IMMEDIATE",
        "DECLARE",
        "START",
        "COMMIT",
        "ROLLBACK",
        "REFLECT",
        "REFLECT2",
        "JAVA_METHOD",
        "TRY_REFLECT",
        "COMPILE",
        "TRANSFORM",
        "MAP",
        "REDUCE",
    ]
)


_Key = tuple[str, str, Pruning, bool, bool, bool, frozenset[tuple[str, object]]]
_CONSTANT_TOKENS = frozenset(
    [
        TokenType.NUMBER,
        TokenType.STRING,
        TokenType.TRUE,
        TokenType.FALSE,
        TokenType.NULL,
        TokenType.DASH,
        TokenType.CURRENT_DATE,
        TokenType.CURRENT_TIMESTAMP,
        TokenType.ALIAS,
        TokenType.VAR,
        TokenType.IDENTIFIER,
        TokenType.COMMA,
    ]
)
_MAX_CONSTANT_TOKENS = 100  # tokens
# Steps of work (`dialect.work`) that an analysis may take: so many, and some for each character.
# A large statement that is merely long takes two or three steps a character.
MOST_STEPS, STEPS_A_CHARACTER = 100_000, 4


def analyze(sql: str, namespace: Namespace, catalog: Catalog) -> Analysis:
    """Returns what `sql` reads and writes in that namespace. Never raises.

    There is no I/O: the catalog is in memory. The result is cached, and used again while the tables
    and session objects on which it depends are the same. A statement that takes too much work for
    its length is Unknown.
    """
    text = too_long(sql) or _text(sql, namespace)
    if isinstance(text, Unknown):
        return text
    try:
        with bounded(MOST_STEPS + STEPS_A_CHARACTER * len(text)):
            return _answer(text, namespace, catalog)
    except TooMuchWork:
        return Unknown("its analysis takes too much work")


def attempt(sql: str, namespace: Namespace, catalog: Catalog, steps: int) -> Analysis:
    """As `analyze`, within `steps` steps of work. Raises TooMuchWork."""
    with bounded(steps):
        text = _text(sql, namespace)
        return text if isinstance(text, Unknown) else _answer(text, namespace, catalog)


def too_long(sql: str) -> Unknown | None:
    """Unknown for a text of more than MAX_LENGTH characters; None for another."""
    try:
        check_length(sql)
    except NotUnderstood as error:
        return Unknown(error.why)
    return None


def cached_answer(sql: str, namespace: Namespace, catalog: Catalog) -> Known | Unknown | None:
    """The cached analysis of the statement, if it is still valid; else None."""
    if "${" in sql:
        return None
    cached = _cached(_key(sql, namespace))
    if cached is None or not _still_holds(cached, namespace, catalog):
        return None
    try:
        check_language(sql, namespace.variables)
    except NotUnderstood as error:
        return Unknown(error.why)
    return cached.answer


def _key(text: str, namespace: Namespace) -> _Key:
    """The cache key: text, database, variables, functions and settings that change the answer."""
    variables = namespace.variables
    switches = double_quoted_names(variables), case_sensitive(variables), stores_plans(variables)
    session: list[tuple[str, object]] = [*namespace.session_variables.items()]
    own = frozenset([*session, *namespace.functions.items()])
    return text, namespace.database.lower(), pruning(variables), *switches, own


def _cached(key: _Key) -> "_CachedAnalysis | None":
    with _LOCK:
        return _ANSWERS.get(key)


def _text(sql: str, namespace: Namespace) -> str | Unknown:
    try:
        check_language(sql, namespace.variables)
        return substitute(sql, namespace.variables, namespace.unclear)
    except NotUnderstood as error:
        return Unknown(error.why)


def _answer(text: str, namespace: Namespace, catalog: Catalog) -> Analysis:
    key = _key(text, namespace)
    cached = _cached(key)
    if cached is not None and _still_holds(cached, namespace, catalog):
        return cached.answer
    context = AnalysisContext(namespace, catalog)
    answer = _analyze(text, context)
    if context.missing:
        return Needs(frozenset(context.missing))
    looked_up, session = tuple(context.looked_up.items()), tuple(context.looked_up_session.items())
    with _LOCK, suppress(ValueError):  # raised for a text that is larger than the cache
        _ANSWERS[key] = _CachedAnalysis(
            answer, looked_up, session, len(text) + _key_length(namespace)
        )
    return answer


def _key_length(namespace: Namespace) -> int:
    """The characters of the variables and functions in the cache key."""
    texts = [each.text for each in namespace.session_variables.values()]
    texts += [None if each is None else each.sql for each in namespace.functions.values()]
    return sum(len(text or "") + 100 for text in texts)


FAILED = "the analysis failed on it"


@dataclass(frozen=True, slots=True)
class _CachedAnalysis:
    """An analysis with the tables and session objects on which it depends."""

    answer: Known | Unknown
    tables: tuple[tuple[TableRef, TableInfo | None], ...]
    session: tuple[tuple[str, TempObject | None], ...]
    length: int


# The most characters of all cached texts.
_CACHED_CHARACTERS = 8_000_000
_ANSWERS: LRUCache[_Key, _CachedAnalysis] = LRUCache(
    _CACHED_CHARACTERS, getsizeof=lambda cached: cached.length + 200
)
_LOCK = Lock()


def _still_holds(cached: _CachedAnalysis, namespace: Namespace, catalog: Catalog) -> bool:
    try:
        tables = all(catalog.table(ref) == info for ref, info in cached.tables)
    except NotLoaded:
        return False
    return tables and all(
        session_object(namespace, name) == temporary for name, temporary in cached.session
    )


def _analyze(text: str, context: AnalysisContext) -> Known | Unknown:
    tokens: list[Token] = []
    explain = False
    try:
        tokens = tokenize(text, context.double_quoted_names)
        context.note_variables(tokens)
        if is_script(tokens):
            known = analyze_script(tokens, text, context, analyze_statement)
        else:
            try:
                cursor = TokenCursor(replace_identifier_clauses(tokens, text, context.texts), text)
            except SparkRefuses:
                return Known("refused")
            explain = _take_explain(cursor)
            builder = Builder(context)
            builder.use_functions(calls_of(tokens), context.namespace.database.lower())
            known = analyze_statement(StatementContext(cursor, context, builder))
        if context.case_sensitive:
            _check_case(tokens, known, context.namespace)
    except NotUnderstood as error:
        sourceless = not is_script(tokens) and _is_sourceless(tokens)
        return Unknown(error.why, _may_write(tokens), sourceless)
    except RecursionError:
        return Unknown("it is nested too deep", _may_write(tokens))
    except TooMuchWork:
        raise
    except Exception:
        # An internal error must not end the session; it is logged.
        logging.getLogger(__name__).exception("the analysis failed")
        return Unknown(FAILED, _may_write(tokens))
    finally:
        drop_long_statement(text)
    return replace(
        known,
        explain=explain,
        functions=frozenset(context.functions),
        permanent=frozenset(context.permanent),
        code=frozenset(context.code),
        constant=_is_constant(tokens),
    )


def _take_explain(cursor: TokenCursor) -> bool:
    explain = False
    while cursor.take("EXPLAIN"):
        explain = True
        while cursor.word() in _EXPLAIN_MODES or (
            cursor.next_is("ANALYZE") and cursor.word(1) not in ("TABLE", "TABLES")
        ):
            cursor.at += 1
    return explain


def _check_case(tokens: list[Token], known: Known, namespace: Namespace) -> None:
    """Raises NotUnderstood for a temporary object's name with capital letters: the namespace has
    names in lower case."""
    names = {*namespace.temp_views, *namespace.temp_tables, *known.temps}
    names |= {variable_name(each) for each in namespace.session_variables}
    match known.effect:
        case CreateTempView(name=name) | CreateTempTable(name=name) | DropTemp(name=name):
            names.add(name)
        case RenameTemp(new=name):
            names.add(name)
        case AssignVariables():
            names.update(known.effect.names)
    parts = {part for name in names for part in name_parts(name)}
    for token in tokens:
        if token.text != token.text.lower() and token.text.lower() in parts:
            raise NotUnderstood(f"{token.text}, a name that differs by case")


def _is_sourceless(tokens: list[Token]) -> bool:
    """Whether no word can begin a query of tables or an EXECUTE IMMEDIATE, and no name or text can
    be a path. IDENTIFIER may turn a text into a name."""
    return bool(tokens) and not any(
        word_of(token) in ("SELECT", "FROM", "JOIN", "IMMEDIATE")
        or (token.token_type == TokenType.IDENTIFIER and not PATH_SIGNS.isdisjoint(token.text))
        or (token.token_type != TokenType.IDENTIFIER and "`" in token.text)
        for token in tokens
    )


def _is_constant(tokens: list[Token]) -> bool:
    """Whether the statement is a SELECT of literals, which reads and calls nothing."""
    return (
        1 < len(tokens) <= _MAX_CONSTANT_TOKENS
        and tokens[0].token_type == TokenType.SELECT
        and all(token.token_type in _CONSTANT_TOKENS for token in tokens[1:])
    )


def _may_write(tokens: list[Token]) -> bool:
    if not tokens or is_script(tokens):
        return True
    return any(token.text.upper() in _WRITING_WORDS for token in tokens)
