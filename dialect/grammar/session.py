"""Statements that change the session: USE, SET, ADD, CACHE, and temporary functions."""

from collections.abc import Callable

from conf.settings.names import TIME_ZONE
from conf.settings.restrictions import Code
from dialect.errors import NotUnderstood
from dialect.grammar.context import Context
from dialect.grammar.raw_text import paths, setting
from dialect.grammar.time_zone import offset
from dialect.grammar.token_cursor import table_ref
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


def _use(context: Context) -> Known:
    words = context.words
    words.expect("USE")
    if words.word() in ("DATABASE", "SCHEMA", "NAMESPACE") and words.is_name(1):
        words.at += 1
    names = words.names()
    words.end()
    if len(names) == 2 and names[0] == "spark_catalog":
        names = names[1:]
    if len(names) != 1:
        raise NotUnderstood("USE of another catalog")
    if names[0] == "spark_catalog":
        return context.known("use")  # the catalog that it is in: the database stays
    return context.known("use", effect=UseDatabase(names[0]))


def _set(context: Context) -> Known:
    words = context.words
    if words.word(1) == "ROLE":
        raise NotUnderstood("SET ROLE")
    if words.word(1) == "CATALOG":
        return _catalog(context)
    if words.word(1) == "TIME" and words.word(2) == "ZONE":
        return _time_zone(context)
    found = setting(words.sql, words.rest())
    if found is None or found.key is None or found.value is None:
        return context.known("set")
    return context.known("set", effect=SetVariable(found.key, found.value))


def _catalog(context: Context) -> Known:
    """SET CATALOG: to Spark the catalog that it is in already changes nothing."""
    words = context.words
    words.expect("SET", "CATALOG")
    if [token.text for token in words.rest()] != ["spark_catalog"]:
        raise NotUnderstood("SET CATALOG of another catalog")
    return context.known("use")


def _time_zone(context: Context) -> Known:
    words = context.words
    words.expect("SET", "TIME", "ZONE")
    if words.is_text():
        effect = SetVariable(TIME_ZONE, words.text())
    elif words.take("LOCAL"):
        effect = SetVariable(TIME_ZONE, "", by_server=True)
    elif words.done:
        return context.known("set")  # Spark refuses it
    elif words.take("INTERVAL"):
        zone = offset(words.rest())
        return context.known("set", effect=SetVariable(TIME_ZONE, zone) if zone else None)
    else:
        raise NotUnderstood("this form of SET TIME ZONE")
    words.end()
    return context.known("set", effect=effect)


def _reset(context: Context) -> Known:
    found = setting(context.words.sql, context.words.rest())
    if found is None or found.value is not None:
        return context.known("set")
    return context.known("set", effect=ResetVariables(found.key))


def _add(context: Context) -> Known:
    words = context.words
    words.expect("ADD")
    context.found.code.add(Code.RESOURCE)
    if not words.take_any("JAR", "JARS", "FILE", "FILES", "ARCHIVE", "ARCHIVES"):
        raise NotUnderstood("ADD of something that is no JAR, FILE or ARCHIVE")
    if words.done:
        raise NotUnderstood("ADD without a path")
    start = words.tokens[words.at - 1].end + 1
    words.rest()
    return context.known("add", effect=AddResource(paths(words.sql[start:])))


def delete_resource(context: Context) -> Known:
    """Hive's DELETE JAR and its kin: a change to the session that cannot be carried."""
    raise NotUnderstood("DELETE of a resource")


def _list(context: Context) -> Known:
    return context.known("metadata_read")


def _cache(context: Context) -> Known:
    words = context.words
    words.expect("CACHE")
    words.take("LAZY")
    words.expect("TABLE")
    parts = words.names()
    if words.take("OPTIONS"):
        words.skip_group()
    if words.done:
        context.mention(parts)
        return context.known("cache", effect=CacheTable(_cached(context, parts)))
    words.take("AS")
    if len(parts) == 1:
        context.temporary(parts)
    effect = CreateTempTable(parts[-1], cached=context.rest_is_temporary_view())
    return context.known("cache", effect=effect)


def _cached(context: Context, parts: list[str]) -> str:
    """The one name of what is cached."""
    return context.temporary(parts) or str(table_ref(parts, context.database))


def _uncache(context: Context) -> Known:
    words = context.words
    words.expect("UNCACHE", "TABLE")
    words.take("IF", "EXISTS")
    parts = words.names()
    words.end()
    return context.known("cache", effect=UncacheTable(_cached(context, parts)))


def _clear(context: Context) -> Known:
    context.words.expect("CLEAR", "CACHE")
    context.words.end()
    return context.known("cache", effect=UncacheTable(None))


def _refresh(context: Context) -> Known:
    words = context.words
    words.expect("REFRESH")
    if words.take("FUNCTION"):
        return context.known("refresh")
    if words.take("TABLE"):
        parts = words.names()
        if words.done:
            context.mention(parts)
        return context.known("refresh")
    path = words.text() if words.is_text() else words.sql[words.tokens[words.at - 1].end + 1 :]
    return context.known("refresh", paths_read=[path.strip()])


VERBS: dict[str, Callable[[Context], Known]] = {
    "USE": _use,
    "SET": _set,
    "RESET": _reset,
    "ADD": _add,
    "LIST": _list,
    "CACHE": _cache,
    "UNCACHE": _uncache,
    "CLEAR": _clear,
    "REFRESH": _refresh,
}
