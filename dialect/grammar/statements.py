"""Chooses the grammar of a statement by its first word; reads queries, INSERT, UPDATE and MERGE."""

from collections.abc import Callable
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from conf.catalog.tables import TableKind
from conf.names import TableRef
from dialect.errors import NamesTemporary, NotUnderstood
from dialect.grammar import delta, utility
from dialect.grammar.definitions import ddl
from dialect.grammar.insert import InsertTarget, insert_target, split_multi_insert, with_shared_from
from dialect.grammar.session import session
from dialect.grammar.session.execute_immediate import execute_immediate
from dialect.grammar.statement_context import StatementContext
from dialect.lexing.token_cursor import TokenCursor, table_ref
from dialect.parsing.language import parse
from dialect.rewrites.hive_rewrites import normalize
from dialect.statement import ALL, Known, Read, Write, WriteAction

_SELECT_ALL = (Token(TokenType.SELECT, "SELECT"), Token(TokenType.STAR, "*"))


def analyze_statement(context: StatementContext) -> Known:
    """Analyses one statement. Raises NotUnderstood."""
    cursor = context.cursor
    first = cursor.word()
    if not first:
        if cursor.done:
            return context.known("empty")
        raise NotUnderstood(f"a statement cannot begin with {cursor.near()}")
    handler = VERBS.get(first)
    if handler is None:
        raise NotUnderstood(f"statements that begin with {first[:40]}")
    try:
        return handler(context)
    except NamesTemporary:
        return context.known("refused")  # by Spark, whose message the client gets


def _query(context: StatementContext) -> Known:
    cursor = context.cursor
    multi = split_multi_insert(cursor.tokens[cursor.at :])
    if multi is not None:
        return _multi_insert(context, *multi)
    changes = _change_after_with(cursor)
    if changes is not None:
        return _CHANGES[cursor.tokens[changes].token_type](context, changes)
    kind = "from_select" if cursor.next_is("FROM") else "select"
    context.read_rest_as_query()
    return context.known(kind)


def _change_after_with(cursor: TokenCursor) -> int | None:
    """The position of UPDATE, DELETE or MERGE after the queries of WITH; None if there is none."""
    if not cursor.next_is("WITH"):
        return None
    depth = 0
    for at, (before, token) in enumerate(pairwise(cursor.tokens), 1):
        depth += (before.token_type == TokenType.L_PAREN) - (before.token_type == TokenType.R_PAREN)
        if not depth and before.token_type == TokenType.R_PAREN and token.token_type in _CHANGES:
            return at
    return None


def _multi_insert(
    context: StatementContext, prefix: list[Token], branches: list[list[Token]]
) -> Known:
    sql = context.cursor.sql
    at = _outer_from(prefix)
    shared_tokens = (
        [*prefix, *_SELECT_ALL] if at is None else [*prefix[:at], *_SELECT_ALL, *prefix[at:]]
    )
    shared = parse(normalize(shared_tokens), sql)
    beside = {"expressions", "from_", "joins", "laterals", "with_", "kind", "hint"}
    if not isinstance(shared, exp.Select) or any(
        value for name, value in shared.args.items() if name not in beside
    ):
        raise NotUnderstood("FROM .. INSERT with more than a list of tables in FROM")
    builder = context.builder
    writes: list[Write] = []
    paths: list[str] = []
    for branch in branches:
        cursor = type(context.cursor)(branch, sql)
        target = insert_target(cursor)
        body = parse(normalize(cursor.rest()), sql)
        if at is not None:
            body = with_shared_from(body, shared)
        if shared.args.get("with_") is not None:
            body = _under_with(body, shared.args["with_"])
        context.roots.append(builder.statement_plan(body))
        _note_target(context, target, writes, paths)
    kind = "insert" if at is None else ("from_insert" if len(branches) == 1 else "multi_insert")
    return context.known(kind, writes=writes, paths_written=paths)


def _under_with(body: exp.Expr, clause: exp.Expr) -> exp.Expr:
    own = body.args.get("with_")
    if own is None:
        body.args["with_"] = clause
    else:
        body.args["with_"] = exp.With(expressions=[*clause.expressions, *own.expressions])
    return body


def _outer_from(prefix: list[Token]) -> int | None:
    depth = 0
    for at, token in enumerate(prefix):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0 and token.token_type == TokenType.FROM:
            return at
    return None


def _insert(context: StatementContext) -> Known:
    target = insert_target(context.cursor)
    writes: list[Write] = []
    paths: list[str] = []
    context.read_rest_as_query()
    _note_target(context, target, writes, paths)
    return context.known("insert", writes=writes, paths_written=paths)


def _note_target(
    context: StatementContext, target: InsertTarget, writes: list[Write], paths: list[str]
) -> None:
    if target.path is not None:
        paths.append(target.path)
        return
    if not target.parts:
        raise NotUnderstood("INSERT without a target")
    temporary = context.temporary(target.parts)
    if temporary is not None:
        paths.extend(context.temporary_paths(temporary))
        return
    table = table_ref(target.parts, context.database)
    info = context.look_up(table)
    spec = target.spec
    keys = () if info is None else info.partition_keys
    if spec is None and keys:
        spec = tuple((key.name, None) for key in keys)
    writes.append(context.write(table, WriteAction.INSERT, spec, can_add=True))


def _update(context: StatementContext) -> Known:
    return _change_rows(context, context.cursor.at)


def _delete(context: StatementContext) -> Known:
    cursor = context.cursor
    if cursor.word(1) in ("JAR", "JARS", "FILE", "FILES", "ARCHIVE", "ARCHIVES"):
        return session.delete_resource(context)
    return _change_rows(context, cursor.at)


def _change_rows(context: StatementContext, at: int) -> Known:
    """Analyses UPDATE or DELETE at `at`, with a WITH before it or without. It reads its target."""
    cursor = context.cursor
    kind = "update" if cursor.tokens[at].token_type == TokenType.UPDATE else "delete"
    name_at = at + 1
    if kind == "delete":
        if cursor.word(name_at - cursor.at) != "FROM":
            raise NotUnderstood("DELETE without FROM")
        name_at += 1
    tokens = list(cursor.tokens[cursor.at :])
    tree = parse(normalize(tokens), cursor.sql)
    usual = isinstance(tree, exp.Update | exp.Delete) and isinstance(tree.this, exp.Table)
    if not usual or tree.args.get("from_") or tree.args.get("using") or tree.args.get("tables"):
        raise NotUnderstood(f"this form of {kind.upper()}")
    cursor.at = name_at
    ref = _changed_table(context, kind, tree)
    where = tree.args.get("where")
    values = tree.expressions if isinstance(tree, exp.Update) else []
    select = exp.Select(expressions=[exp.Star(), *values], from_=exp.From(this=tree.this))
    if where is not None:
        select.args["where"] = where
    select.args["with_"] = tree.args.get("with_")
    context.roots.append(context.builder.statement_plan(tree, select))
    return _changed(context, kind, ref)


def _changed_table(context: StatementContext, kind: str, tree: exp.Expr) -> TableRef:
    """The table that UPDATE, DELETE or MERGE changes. Raises NotUnderstood for a query of WITH, a
    view and a temporary object: some table formats allow changes through them."""
    try:
        parts = context.cursor.names()
        clause = tree.args.get("with_")
        queries = clause.expressions if clause is not None else ()
        if len(parts) == 1 and parts[0] in (each.alias.lower() for each in queries):
            raise NotUnderstood(f"{kind.upper()} of a query of WITH")
        ref = context.table_of(parts)
    except NamesTemporary as error:
        raise NotUnderstood(f"{kind.upper()}: {error}") from None
    info = context.look_up(ref)
    if info is not None and info.kind is TableKind.VIEW:
        raise NotUnderstood(f"{kind.upper()} of a view")
    return ref


def _changed(context: StatementContext, kind: str, ref: TableRef) -> Known:
    known = context.known(kind)
    read = next((read for read in known.reads if read.table == ref), None)
    touched = ALL if read is None else read.partitions
    if read is None:
        raise NotUnderstood(f"the target of {kind.upper()}")
    write = context.write(read.table, WriteAction.INSERT, partitions=touched)
    return context.known(kind, writes=[write])


def _merge(context: StatementContext) -> Known:
    return _merge_rows(context, context.cursor.at)


def _merge_rows(context: StatementContext, at: int) -> Known:
    """Analyses MERGE at `at`, with a WITH before it or without."""
    cursor = context.cursor
    texts = [token.text.upper() for token in cursor.tokens[cursor.at :]]
    if any(pair in (("AS", "USING"), ("USING", "USING")) for pair in pairwise(texts)):
        raise NotUnderstood("using may be a name here, in MERGE")
    tree = parse(normalize(list(cursor.tokens[cursor.at :])), cursor.sql)
    using, on = tree.args.get("using"), tree.args.get("on")
    if not (
        isinstance(tree, exp.Merge) and isinstance(using, exp.Expr) and isinstance(on, exp.Expr)
    ):
        raise NotUnderstood("this form of MERGE")
    cursor.at = at
    cursor.expect("MERGE", "INTO")
    ref = _changed_table(context, "merge", tree)
    if "/" in ref.name:
        raise NotUnderstood("the target of MERGE")
    select = exp.Select(
        expressions=[exp.Star(), *_when_queries(tree)],
        from_=exp.From(this=tree.this),
        joins=[exp.Join(this=using, on=on, side="FULL", kind="OUTER")],
        with_=tree.args.get("with_"),
    )
    context.roots.append(context.builder.statement_plan(tree, select))
    info = context.look_up(ref)
    inserts = "INSERT" in (token.text.upper() for token in cursor.rest())
    dynamic = inserts and info is not None and bool(info.partition_keys)
    return context.known(
        "merge",
        writes=[Write(ref, WriteAction.INSERT, info is not None, ALL, dynamic=dynamic)],
        reads=[Read(ref)],
    )


def _when_queries(tree: exp.Merge) -> list[exp.Expr]:
    whens = tree.args.get("whens")
    return [whens] if whens is not None else []


def _execute(context: StatementContext) -> Known:
    return execute_immediate(context, analyze_statement)


_CHANGES: dict[TokenType, Callable[[StatementContext, int], Known]] = {
    TokenType.UPDATE: _change_rows,
    TokenType.DELETE: _change_rows,
    TokenType.MERGE: _merge_rows,
}
_QUERY_WORDS = ("SELECT", "FROM", "WITH", "(", "VALUES", "MAP", "REDUCE", "TABLE")

VERBS: dict[str, Callable[[StatementContext], Known]] = {
    **dict.fromkeys(_QUERY_WORDS, _query),
    "INSERT": _insert,
    "UPDATE": _update,
    "DELETE": _delete,
    "MERGE": _merge,
    "EXECUTE": _execute,
    **ddl.VERBS,
    **utility.VERBS,
    **session.VERBS,
    **delta.VERBS,
}
