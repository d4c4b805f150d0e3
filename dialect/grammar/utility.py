"""ANALYZE, SHOW, DESCRIBE, COMMENT, GRANT: statements about tables."""

from collections.abc import Callable

from dialect.errors import NotUnderstood
from dialect.grammar.context import Context
from dialect.grammar.token_cursor import database_name, partition_spec, table_ref
from dialect.statement import NONE, Action, Known, Read


def _analyze(context: Context) -> Known:
    words = context.words
    words.expect("ANALYZE")
    if words.take("TABLES"):
        return _analyze_tables(context)
    words.expect("TABLE")
    ref = context.table_name()
    spec = partition_spec(words) if words.take("PARTITION") else None
    write = context.write(ref, Action.ALTER, spec)
    return context.known("analyze", writes=[write], reads=[Read(ref, write.partitions)])


def _analyze_tables(context: Context) -> Known:
    """Every table of a database gets statistics: what these are is found where it is routed."""
    words = context.words
    named = words.take_any("IN", "FROM")
    database = database_name(words) if named else context.database.lower()
    words.expect("COMPUTE", "STATISTICS")
    words.take("NOSCAN")
    words.end()
    return context.known("analyze", database_written=database, cascade=True)


def _show(context: Context) -> Known:
    """SHOW: answered from the metastore, which every cluster shares."""
    words = context.words
    words.expect("SHOW")
    if words.take("CREATE", "TABLE") or words.take("TBLPROPERTIES") or words.take("PARTITIONS"):
        return _about_table(context)
    if words.take("COLUMNS"):
        return _columns(context)
    lists = words.word() in ("TABLES", "VIEWS") or words.sees("TABLE", "EXTENDED")
    return context.known("metadata_read", lists_temps=lists)


def _columns(context: Context) -> Known:
    """`SHOW COLUMNS IN t [IN db]`."""
    words = context.words
    words.take_any("FROM", "IN")
    parts = words.names()
    if words.take_any("FROM", "IN"):
        database = words.names()
        parts = parts if len(parts) > 1 else [*database, *parts]  # Spark refuses two that differ
    if context.temporary(parts) is not None:
        return context.known("metadata_read")
    return context.known("metadata_read", reads=[Read(table_ref(parts, context.database), NONE)])


def _about_table(context: Context) -> Known:
    parts = context.words.names()
    if context.temporary(parts) is not None:
        return context.known("metadata_read")
    ref = table_ref(parts[:3], context.database)
    return context.known("metadata_read", reads=[Read(ref, NONE)])


def _describe(context: Context) -> Known:
    words = context.words
    words.take_any("DESCRIBE", "DESC")
    if words.word() in ("DATABASE", "SCHEMA", "NAMESPACE", "FUNCTION"):
        return context.known("metadata_read")
    words.take_any("EXTENDED", "FORMATTED", "PRETTY")
    if words.word() in ("SELECT", "WITH", "(", "FROM", "VALUES") or words.take("QUERY"):
        context.rest_is_query()
        return context.known("metadata_read")
    words.take("TABLE")
    words.take_any("EXTENDED", "FORMATTED")
    return _about_table(context)


def _comment(context: Context) -> Known:
    words = context.words
    words.expect("COMMENT", "ON")
    if words.take("TABLE"):
        ref = context.table_name()
        return context.known("alter", writes=[context.write(ref, Action.ALTER)])
    if words.take_any("DATABASE", "SCHEMA", "NAMESPACE"):
        return context.known("ddl_other", database_written=words.names()[-1])
    raise NotUnderstood(f"COMMENT ON {words.word()}")


def _other(context: Context) -> Known:
    return context.known("ddl_other")


VERBS: dict[str, Callable[[Context], Known]] = {
    "ANALYZE": _analyze,
    "SHOW": _show,
    "DESCRIBE": _describe,
    "DESC": _describe,
    "COMMENT": _comment,
    "GRANT": _other,
    "REVOKE": _other,
    "LOCK": _other,
    "UNLOCK": _other,
}
