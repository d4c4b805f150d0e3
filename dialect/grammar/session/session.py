"""Statements that change the session: USE, SET, ADD, CACHE, and temporary functions."""

from collections.abc import Callable

from conf.settings.names import TIME_ZONE
from conf.settings.security.restrictions import Code
from dialect.errors import NotUnderstood
from dialect.grammar.session.raw_text import parse_paths, parse_setting
from dialect.grammar.session.session_variables import declare, set_variables
from dialect.grammar.session.time_zone import offset
from dialect.grammar.statement_context import StatementContext
from dialect.lexing.token_cursor import table_ref
from dialect.statement import (
    AddResource,
    CacheTable,
    CreateTempTable,
    Known,
    ResetVariables,
    SetVariable,
    UncacheTable,
    UseDatabase,
)


def _use(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("USE")
    if cursor.word() in ("DATABASE", "SCHEMA", "NAMESPACE") and cursor.is_name(1):
        cursor.at += 1
    names = cursor.names()
    cursor.end()
    if len(names) == 2 and names[0] == "spark_catalog":
        names = names[1:]
    if len(names) != 1:
        raise NotUnderstood("USE of another catalog")
    if names[0] == "spark_catalog":
        return context.known("use")  # the current catalog: the database does not change
    return context.known("use", effect=UseDatabase(names[0]))


def _set(context: StatementContext) -> Known:
    cursor = context.cursor
    if cursor.word(1) == "ROLE":
        raise NotUnderstood("SET ROLE")
    if cursor.word(1) == "PATH" and cursor.word(2) == "=":
        raise NotUnderstood("SET PATH, after which names mean other objects")
    if cursor.word(1) in ("VAR", "VARIABLE") and (cursor.is_name(2) or cursor.word(2) == "("):
        return set_variables(context)
    if cursor.word(1) == "CATALOG":
        return _catalog(context)
    if cursor.word(1) == "TIME" and cursor.word(2) == "ZONE":
        return _time_zone(context)
    found = parse_setting(cursor.sql, cursor.rest())
    if found is None or found.key is None or found.value is None:
        return context.known("set")
    return context.known("set", effect=SetVariable(found.key, found.value))


def _catalog(context: StatementContext) -> Known:
    """Reads SET CATALOG of the current catalog, which changes nothing."""
    cursor = context.cursor
    cursor.expect("SET", "CATALOG")
    if [token.text for token in cursor.rest()] != ["spark_catalog"]:
        raise NotUnderstood("SET CATALOG of another catalog")
    return context.known("use")


def _time_zone(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("SET", "TIME", "ZONE")
    if cursor.is_text():
        effect = SetVariable(TIME_ZONE, cursor.text())
    elif cursor.take("LOCAL"):
        effect = SetVariable(TIME_ZONE, "", by_server=True)
    elif cursor.done:
        return context.known("set")  # Spark refuses it
    elif cursor.take("INTERVAL"):
        zone = offset(cursor.rest())
        return context.known("set", effect=SetVariable(TIME_ZONE, zone) if zone else None)
    else:
        raise NotUnderstood("this form of SET TIME ZONE")
    cursor.end()
    return context.known("set", effect=effect)


def _reset(context: StatementContext) -> Known:
    found = parse_setting(context.cursor.sql, context.cursor.rest())
    if found is None or found.value is not None:
        return context.known("set")
    return context.known("set", effect=ResetVariables(found.key))


def _add(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("ADD")
    context.analysis.code.add(Code.RESOURCE)
    if not cursor.take_any("JAR", "JARS", "FILE", "FILES", "ARCHIVE", "ARCHIVES"):
        raise NotUnderstood("ADD of something other than JAR, FILE or ARCHIVE")
    if cursor.done:
        raise NotUnderstood("ADD without a path")
    start = cursor.tokens[cursor.at - 1].end + 1
    cursor.rest()
    return context.known("add", effect=AddResource(parse_paths(cursor.sql[start:])))


def delete_resource(context: StatementContext) -> Known:
    """Raises NotUnderstood: Hive's DELETE JAR, FILE and ARCHIVE cannot be repeated in another
    session."""
    raise NotUnderstood("DELETE of a resource")


def _list(context: StatementContext) -> Known:
    return context.known("metadata_read")


def _cache(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("CACHE")
    cursor.take("LAZY")
    cursor.expect("TABLE")
    parts = cursor.names()
    if cursor.take("OPTIONS"):
        cursor.skip_group()
    if cursor.done:
        context.read_table(parts)
        return context.known("cache", effect=CacheTable(_cached(context, parts)))
    cursor.take("AS")
    if len(parts) == 1:
        context.temporary(parts)
    effect = CreateTempTable(parts[-1], cached=context.read_rest_as_view())
    return context.known("cache", effect=effect)


def _cached(context: StatementContext, parts: list[str]) -> str:
    """The name of the cached object."""
    return context.temporary(parts) or str(table_ref(parts, context.database))


def _uncache(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("UNCACHE", "TABLE")
    cursor.take("IF", "EXISTS")
    parts = cursor.names()
    cursor.end()
    return context.known("cache", effect=UncacheTable(_cached(context, parts)))


def _clear(context: StatementContext) -> Known:
    context.cursor.expect("CLEAR", "CACHE")
    context.cursor.end()
    return context.known("cache", effect=UncacheTable(None))


def _refresh(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("REFRESH")
    if cursor.take("FUNCTION"):
        return context.known("refresh")
    if cursor.take("TABLE"):
        parts = cursor.names()
        if cursor.done:
            context.read_table(parts)
        return context.known("refresh")
    path = cursor.text() if cursor.is_text() else cursor.sql[cursor.tokens[cursor.at - 1].end + 1 :]
    return context.known("refresh", paths_read=[path.strip()])


VERBS: dict[str, Callable[[StatementContext], Known]] = {
    "USE": _use,
    "SET": _set,
    "DECLARE": declare,
    "RESET": _reset,
    "ADD": _add,
    "LIST": _list,
    "CACHE": _cache,
    "UNCACHE": _uncache,
    "CLEAR": _clear,
    "REFRESH": _refresh,
}
