"""The reads and writes of CREATE, DROP, TRUNCATE, LOAD and other DDL."""

from collections.abc import Callable

from conf.names import TableRef
from conf.settings.security.restrictions import Code
from dialect.errors import NotUnderstood
from dialect.grammar.definitions.alter import DATABASE, OTHER_OBJECTS, alter, check_no_query
from dialect.grammar.definitions.create_function import create_sql_function
from dialect.grammar.definitions.indexes import index_statement
from dialect.grammar.delta import refuse_clone
from dialect.grammar.session.session_variables import drop_variable
from dialect.grammar.statement_context import StatementContext
from dialect.lexing.token_cursor import (
    QUERY_WORDS,
    TokenCursor,
    database_name,
    partition_spec,
    path_option,
    table_ref,
)
from dialect.lineage.temporary import GLOBAL_TEMP, temporary_name
from dialect.parsing.keyword_names import follows_query
from dialect.parsing.language import is_known_function
from dialect.statement import (
    NONE,
    ChangeFunction,
    CreateTempFunction,
    CreateTempTable,
    CreateTempView,
    DropTemp,
    DropTempFunction,
    Known,
    Read,
    WriteAction,
)


def _create(context: StatementContext) -> Known:
    cursor = context.cursor
    replace = bool(cursor.take("CREATE") and cursor.take("OR", "REPLACE"))
    replace = cursor.take("REPLACE") or replace
    modifiers = set()
    while modifier := cursor.take_any(*_MODIFIERS):
        modifiers.add(modifier)
    temporary = bool(modifiers & {"TEMPORARY", "TEMP"})
    kind = cursor.word()
    if kind == "TABLE":
        return _create_table(context, temporary, replace)
    if kind == "VIEW":
        return _create_view(context, temporary, replace, modifiers)
    if kind in DATABASE:
        cursor.at += 1
        cursor.take("IF", "NOT", "EXISTS")
        return context.known("ddl_other", database_written=database_name(cursor))
    if kind == "FUNCTION":
        return _create_function(context, temporary, replace)
    if cursor.take("INDEX"):
        cursor.take("IF", "NOT", "EXISTS")
        return index_statement(context)
    if kind in OTHER_OBJECTS:
        return context.known("ddl_other")
    raise NotUnderstood(f"CREATE {kind}")


def _create_function(context: StatementContext, temporary: bool, replace: bool) -> Known:
    cursor = context.cursor
    cursor.expect("FUNCTION")
    context.analysis.code.add(Code.FUNCTION)
    cursor.take("IF", "NOT", "EXISTS")
    names = cursor.names()
    written = cursor.word() in ("(", "RETURNS", "RETURN")
    if temporary and is_known_function(names[-1]):
        raise NotUnderstood("a temporary function with the name of a built-in one")
    if written:
        return create_sql_function(context, names, temporary, replace)
    if temporary:
        return context.known("ddl_other", effect=CreateTempFunction(names[-1]))
    ref = table_ref(names, context.database)
    effect = ChangeFunction(ref.db, ref.name) if replace else None
    return context.known("ddl_other", database_written=ref.db, effect=effect)


def _create_table(context: StatementContext, temporary: bool, replace: bool) -> Known:
    cursor = context.cursor
    cursor.expect("TABLE")
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    parts = cursor.names()
    ref = table_ref(parts, context.database)
    if temporary and cursor.next_is("USING"):
        return _create_using(context, parts, replace)
    if cursor.take("LIKE"):
        return _create_like(context, ref, temporary, if_not_exists)
    refuse_clone(cursor)
    location = _table_clauses(cursor)
    paths = [location] if location else []
    replaced = replace and context.look_up(ref) is not None
    action = WriteAction.INSERT if replaced else WriteAction.CREATE
    writes = [] if temporary else [context.write(ref, action)]
    effect = CreateTempTable(parts[-1]) if temporary else None
    if cursor.done:
        if if_not_exists and writes and writes[0].exists:
            writes = []
        return context.known("create_table", writes=writes, effect=effect, paths_written=paths)
    existing = context.look_up(ref)
    if existing is not None and if_not_exists:
        context.read_rest_as_query()
        return context.known("ctas", defines=True)  # Spark analyses the query but does not run it
    context.read_rest_as_query()
    return context.known("ctas", writes=writes, effect=effect, paths_written=paths)


def _create_like(
    context: StatementContext, ref: TableRef, temporary: bool, if_not_exists: bool
) -> Known:
    cursor = context.cursor
    source = cursor.names()
    reads = []
    if context.temporary(source) is None and source[0] != "file":
        described = table_ref(source, context.database)
        context.look_up(described)
        reads = [Read(described, NONE)]
    location = _table_clauses(cursor)
    effect = CreateTempTable(ref.name) if temporary else None
    write = context.write(ref, WriteAction.CREATE)
    writes = [] if temporary or (if_not_exists and write.exists) else [write]
    paths = [location] if location else []
    return context.known(
        "create_table", writes=writes, reads=reads, effect=effect, paths_written=paths
    )


def _table_clauses(cursor: TokenCursor) -> str | None:
    """Skips a table's clauses up to its query or the end. Returns its location, if any."""
    location = None
    while not cursor.done:
        if cursor.take("WITH", "SERDEPROPERTIES"):
            cursor.skip_group()
            continue
        if cursor.word() in QUERY_WORDS or (cursor.next_is("(") and _is_query_group(cursor)):
            return location
        if cursor.next_is("AS") and (cursor.word(1) in QUERY_WORDS or cursor.word(1) == "("):
            cursor.at += 1
            return location
        if cursor.take("USING") or cursor.take("STORED", "AS"):
            cursor.names()
        elif cursor.take("LOCATION"):
            location = cursor.text()
        elif cursor.take("OPTIONS"):
            location = path_option(cursor.group()) or location
        elif cursor.next_is("("):
            listed = cursor.word(-1).endswith(_BEFORE_LISTS)
            group = cursor.group()
            check_no_query(group)
            if _may_be_query(group, cursor) and not listed:
                raise NotUnderstood("brackets that may hold a query or a list of columns")
        else:
            cursor.at += 1
    return location


_MODIFIERS = (
    *("GLOBAL", "LOCAL", "TEMPORARY", "TEMP", "EXTERNAL", "MANAGED", "TRANSACTIONAL"),
    "MATERIALIZED",
)
# Words before a list in brackets that may begin with the word table.
_BEFORE_LISTS = ("BY", "TBLPROPERTIES", "SERDEPROPERTIES", "ON")
# Words and signs that follow a column's type.
_AFTER_TYPES = (",", "(", "<", "NOT", "COMMENT", "DEFAULT", "GENERATED")
_SIMPLE_TYPES = frozenset(
    {
        *("BOOLEAN", "TINYINT", "BYTE", "SMALLINT", "SHORT", "INT", "INTEGER", "BIGINT", "LONG"),
        *("FLOAT", "REAL", "DOUBLE", "DATE", "TIMESTAMP", "STRING", "BINARY", "DECIMAL", "DEC"),
    }
)


def _may_be_query(inner: TokenCursor, after: TokenCursor) -> bool:
    """Whether the brackets may hold `TABLE t` or `MAP x USING ..` and not a list of columns."""
    if inner.next_is("("):
        return True
    if inner.take_any("MAP", "REDUCE"):
        return any(token.text.upper() == "USING" for token in inner.rest())
    if not inner.take("TABLE"):
        return False
    kind = inner.word()
    inner.at += 1
    if inner.done:  # `(TABLE int) UNION ..` is a query
        return kind not in _SIMPLE_TYPES or (
            not after.done and follows_query(after.tokens[after.at])
        )
    return inner.word() not in _AFTER_TYPES


def _is_query_group(cursor: TokenCursor) -> bool:
    ahead = 1
    while cursor.word(ahead) == "(":
        ahead += 1
    if cursor.word(ahead) == "WITH":  # in `(with INT)` with is a column
        return cursor.word(ahead + 2) in ("AS", "(")
    return cursor.word(ahead) in ("SELECT", "FROM", "VALUES")


def _create_view(
    context: StatementContext, temporary: bool, replace: bool, modifiers: set[str]
) -> Known:
    cursor = context.cursor
    cursor.expect("VIEW")
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    parts = cursor.names()
    materialized = "MATERIALIZED" in modifiers
    columns: tuple[str, ...] = ()
    if cursor.next_is("("):
        columns = _view_columns(cursor.group())
    if temporary:
        parts = ([GLOBAL_TEMP] if "GLOBAL" in modifiers else []) + parts[-1:]
    if temporary and cursor.next_is("USING"):
        return _create_using(context, parts, replace)
    if not _to_query(cursor):
        raise NotUnderstood("CREATE VIEW without a query")
    if temporary:
        name = _new_temporary(context, parts, replace)
        effect = CreateTempView(name, context.read_rest_as_view(columns))
        return context.known("create_view", effect=effect, defines=True)
    ref = table_ref(parts, context.database)
    existing = context.look_up(ref)
    if existing is not None and if_not_exists:
        context.read_rest_as_query()
        write = context.write(ref, WriteAction.VIEW)
        return context.known("create_view", writes=[write], defines=True)
    context.read_rest_as_query()
    if materialized:
        return context.known("create_mview", writes=[context.write(ref, WriteAction.CREATE)])
    write = context.write(ref, WriteAction.VIEW)
    return context.known("create_view", writes=[write], defines=True)


def _new_temporary(context: StatementContext, parts: list[str], replace: bool) -> str:
    """The name of a temporary object to create. If it exists and is not replaced, it counts as
    used: the statement must run in the cluster that has it, where Spark refuses it."""
    name = temporary_name(parts)
    if name is None:
        raise NotUnderstood(f"a temporary view of the name {parts[-1]}")
    if not replace and context.analysis.session_object(name) is not None:
        context.temporary(parts)
    return name


def _create_using(context: StatementContext, parts: list[str], replace: bool) -> Known:
    cursor = context.cursor
    cursor.expect("USING")
    cursor.names()
    path = path_option(cursor.group()) if cursor.take("OPTIONS") else None
    paths = () if path is None else (path,)
    name = _new_temporary(context, parts, replace)
    return context.known("create_view", effect=CreateTempTable(name, paths), paths_read=paths)


def _view_columns(cursor: TokenCursor) -> tuple[str, ...]:
    names = []
    while not cursor.done:
        names.append(cursor.name())
        if not cursor.skip_to(","):
            break
        cursor.at += 1
    return tuple(names)


def _to_query(cursor: TokenCursor) -> bool:
    """Skips a view's clauses up to the query after AS; returns False if there is none."""
    while not cursor.done:
        if cursor.next_is("AS") and (cursor.word(1) in QUERY_WORDS or cursor.word(1) == "("):
            cursor.at += 1
            return True
        if cursor.next_is("("):
            cursor.skip_group()
        else:
            cursor.at += 1
    return False


def _drop(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("DROP")
    temporary = bool(cursor.take_any("TEMPORARY", "TEMP"))
    materialized = cursor.take("MATERIALIZED")
    kind = cursor.word()
    cursor.at += 1
    cursor.take("IF", "EXISTS")
    if kind == "TABLE" or (kind == "VIEW" and materialized):
        return _drop_table(context, WriteAction.DROP)
    if kind == "VIEW":
        return _drop_table(context, WriteAction.VIEW)
    if kind in DATABASE:
        database = database_name(cursor)
        return context.known("drop", database_written=database, cascade=cursor.take("CASCADE"))
    if kind == "FUNCTION":
        names = cursor.names()
        if temporary:
            return context.known("drop", effect=DropTempFunction(names[-1]))
        ref = table_ref(names, context.database)
        effect = ChangeFunction(ref.db, ref.name)
        return context.known("drop", database_written=ref.db, effect=effect)
    if kind == "VARIABLE" and temporary:
        return drop_variable(context)
    if kind == "INDEX":
        return index_statement(context)
    if kind in OTHER_OBJECTS or temporary:
        return context.known("drop")
    raise NotUnderstood(f"DROP {kind}")


def _drop_table(context: StatementContext, action: WriteAction) -> Known:
    parts = context.cursor.names()
    temporary = context.temporary(parts)
    if temporary is not None:
        return context.known("drop", effect=DropTemp(temporary))
    ref = table_ref(parts, context.database)
    info = context.look_up(ref)
    if info is None and not context.analysis.is_script:  # a script may create it first
        return context.known("drop")
    return context.known("drop", writes=[context.write(ref, action)])


def _truncate(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("TRUNCATE")
    cursor.take("TABLE")
    ref = context.table_name()
    spec = partition_spec(cursor) if cursor.take("PARTITION") else None
    write = context.write(ref, WriteAction.INSERT, spec)
    reads = [Read(ref, write.partitions)] if cursor.next_is("COLUMNS") else []
    return context.known("truncate", writes=[write], reads=reads)


def _load(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("LOAD", "DATA")
    local = cursor.take("LOCAL")
    cursor.expect("INPATH")
    path = cursor.text()
    cursor.take("OVERWRITE")
    cursor.expect("INTO", "TABLE")
    ref = context.table_name()
    spec = partition_spec(cursor) if cursor.take("PARTITION") else None
    write = context.write(ref, WriteAction.INSERT, spec, can_add=True)
    return context.known("load", writes=[write], paths_read=[] if local else [path])


def _export(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("EXPORT", "TABLE")
    ref = context.table_name()
    spec = partition_spec(cursor) if cursor.take("PARTITION") else None
    cursor.expect("TO")
    path = cursor.text()
    predicate = context.write(ref, WriteAction.INSERT, spec).partitions
    return context.known("export", reads=[Read(ref, predicate)], paths_written=[path])


def _import(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("IMPORT")
    cursor.take("EXTERNAL")
    if not cursor.take("TABLE"):
        raise NotUnderstood("IMPORT of a table named in a file")
    ref = context.table_name()
    spec = partition_spec(cursor) if cursor.take("PARTITION") else None
    cursor.expect("FROM")
    path = cursor.text()
    exists = context.look_up(ref) is not None
    action = WriteAction.INSERT if exists else WriteAction.CREATE
    write = context.write(ref, action, spec, can_add=True)
    return context.known("import", writes=[write], paths_read=[path])


def _msck(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.take("MSCK")
    cursor.take("REPAIR")
    cursor.expect("TABLE")
    ref = context.table_name()
    return context.known("msck", writes=[context.write(ref, WriteAction.ALTER)])


VERBS: dict[str, Callable[[StatementContext], Known]] = {
    "CREATE": _create,
    "REPLACE": _create,
    "DROP": _drop,
    "ALTER": alter,
    "TRUNCATE": _truncate,
    "LOAD": _load,
    "EXPORT": _export,
    "IMPORT": _import,
    "MSCK": _msck,
    "REPAIR": _msck,
}
