"""All forms of ALTER."""

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from conf.names import TableRef
from dialect.errors import NotUnderstood
from dialect.grammar.statement_context import StatementContext
from dialect.lexing.token_cursor import (
    QUERY_WORDS,
    TokenCursor,
    database_name,
    partition_spec,
    table_ref,
)
from dialect.lexing.tokens import begins_query, word_of
from dialect.lineage.plan import Block, FromItem, Scan, Scope
from dialect.lineage.reads import reads_of
from dialect.lineage.temporary import GLOBAL_TEMP, is_global, name_parts, replacing, temporary_name
from dialect.parsing.language import parse
from dialect.pruning.predicate import any_of
from dialect.statement import (
    ALL,
    NONE,
    CreateTempView,
    Known,
    PartitionPredicate,
    Read,
    RenameTemp,
    WriteAction,
)

DATABASE = ("DATABASE", "SCHEMA", "NAMESPACE")
# Objects without data of a table.
OTHER_OBJECTS = ("ROLE", "INDEX", "MACRO", "RESOURCE", "SCHEDULED", "WORKLOAD", "DATACONNECTOR")

_SELECT_FROM = (
    Token(TokenType.SELECT, "SELECT"),
    Token(TokenType.STAR, "*"),
    Token(TokenType.FROM, "FROM"),
)


def alter(context: StatementContext) -> Known:
    cursor = context.cursor
    cursor.expect("ALTER")
    if cursor.take("MATERIALIZED", "VIEW"):
        ref = context.table_name()
        if cursor.take("REBUILD"):
            raise NotUnderstood("REBUILD, which reads the tables of the view")
        return context.known("alter", writes=[context.write(ref, WriteAction.ALTER)])
    if cursor.take("VIEW"):
        return _alter_view(context)
    if cursor.take("TABLE"):
        return _alter_table(context)
    if cursor.take_any(*DATABASE):
        return context.known("ddl_other", database_written=database_name(cursor))
    if cursor.word() in OTHER_OBJECTS:
        return context.known("ddl_other")
    raise NotUnderstood(f"ALTER {cursor.word()}")


def _alter_view(context: StatementContext) -> Known:
    cursor = context.cursor
    parts = cursor.names()
    temporary = context.temporary(parts)
    if temporary is not None:
        return _alter_temporary(context, temporary)
    ref = table_ref(parts, context.database)
    writes = [context.write(ref, WriteAction.VIEW)]
    if cursor.take("AS") or cursor.word() in QUERY_WORDS or cursor.next_is("("):
        context.read_rest_as_query()
        return context.known("create_view", writes=writes, defines=True)
    if cursor.take("RENAME", "TO"):
        target = table_ref(cursor.names(), ref.db)
        writes.append(context.write(target, WriteAction.VIEW))
    return context.known("alter", writes=writes)


def _alter_temporary(context: StatementContext, name: str) -> Known:
    """Reads RENAME and AS after ALTER VIEW or TABLE of a temporary view. Spark refuses the rest."""
    cursor = context.cursor
    if cursor.take("RENAME", "TO"):
        new = _new_name(cursor.names(), is_global(name))
        cursor.end()
        if new is None:
            return context.known("refused")
        if context.analysis.session_object(new) is not None:  # Spark refuses it, so it is used
            context.temporary(name_parts(new))
        return context.known("alter", effect=RenameTemp(name, new))
    if cursor.take("AS") or cursor.word() in QUERY_WORDS or cursor.next_is("("):
        view = context.read_rest_as_view()
        effect = CreateTempView(name, view, replacing(name, view.sql))
        return context.known("create_view", effect=effect, defines=True)
    return context.known("refused")


def _new_name(parts: list[str], of_global: bool) -> str | None:
    """The new name in RENAME TO; None if Spark refuses it."""
    if of_global:
        return f"{GLOBAL_TEMP}.{parts[-1]}" if parts[:-1] in ([], [GLOBAL_TEMP]) else None
    return temporary_name(parts) if len(parts) == 1 else None


def _alter_table(context: StatementContext) -> Known:
    cursor = context.cursor
    parts = cursor.names()
    temporary = context.temporary(parts)
    if temporary is not None:
        return _alter_temporary(context, temporary)
    ref = table_ref(parts, context.database)
    spec = None
    if cursor.next_is("PARTITION", "("):
        cursor.at += 1
        spec = partition_spec(cursor)
    elif cursor.word() in ("TOUCH", "ARCHIVE", "UNARCHIVE") and cursor.word(1) == "PARTITION":
        cursor.at += 2
        spec = partition_spec(cursor)
    if spec is None and cursor.take("RENAME", "TO"):
        target = table_ref(cursor.names(), ref.db)
        writes = [context.write(ref, WriteAction.ALTER), context.write(target, WriteAction.CREATE)]
        return context.known("alter", writes=writes)
    is_field = cursor.word(1) == "PARTITION" and cursor.word(2) == "FIELD"  # of Iceberg
    if is_field:
        return context.known("alter", writes=[context.write(ref, WriteAction.ALTER)])
    if cursor.next_is("ADD", "PARTITION") or cursor.next_is("ADD", "IF", "NOT", "EXISTS"):
        return _add_partitions(context, ref)
    if cursor.next_is("EXCHANGE", "PARTITION"):
        return _exchange(context, ref)
    if cursor.next_is("DROP", "PARTITION") or cursor.next_is("DROP", "IF", "EXISTS", "PARTITION"):
        return _drop_partitions(context, ref)
    check_no_query(cursor)
    words_partition = cursor.next_is("PARTITION")
    action = (
        WriteAction.INSERT if cursor.word() in ("CONCATENATE", "COMPACT") else WriteAction.ALTER
    )
    write = context.write(ref, action, spec)
    if context.is_view(ref):
        write = context.write(ref, WriteAction.VIEW)
    paths = _locations(cursor)
    if spec is None and not words_partition:
        return context.known("alter", writes=[write], paths_written=paths)
    read = Read(ref, NONE)
    return context.known("alter_partition", writes=[write], reads=[read], paths_written=paths)


def check_no_query(cursor: TokenCursor) -> None:
    """Raises NotUnderstood for a query in a column's DEFAULT or CHECK, which reads tables."""
    tokens = cursor.tokens
    for at in range(cursor.at + 1, len(tokens) - 1):
        listed = word_of(tokens[at - 1]) in ("COLUMN", "COLUMNS")  # `(table INT)`
        if tokens[at].token_type == TokenType.L_PAREN and begins_query(tokens, at) and not listed:
            raise NotUnderstood("a query among a table's columns")


def _drop_partitions(context: StatementContext, ref: TableRef) -> Known:
    """Reads `DROP PARTITION (ds < '2020-01-01', hr = 1), PARTITION (..)`, which has conditions."""
    cursor = context.cursor
    cursor.expect("DROP")
    cursor.take("IF", "EXISTS")
    choices: list[PartitionPredicate] = []
    while cursor.take("PARTITION"):
        choices.append(_partition_condition(context, ref, cursor.group()))
        cursor.take(",")
    write = context.write(ref, WriteAction.ALTER, partitions=any_of(choices))
    return context.known("alter_partition", writes=[write], reads=[Read(ref, NONE)])


def _partition_condition(
    context: StatementContext, ref: TableRef, group: TokenCursor
) -> PartitionPredicate:
    """The partitions that satisfy all conditions of `(c < 4, d = 'x')`."""
    info = context.look_up(ref)
    if info is None:
        return ALL
    tokens = [
        Token(TokenType.AND, "AND", start=each.start, end=each.end) if each.text == "," else each
        for each in group.tokens
    ]
    name = Token(TokenType.IDENTIFIER, ref.name)
    tree = parse([*_SELECT_FROM, name, Token(TokenType.WHERE, "WHERE"), *tokens], group.sql)
    if not isinstance(tree, exp.Select):
        return ALL
    scan = Scan(1, ref, info)
    block = Block(2, tree, Scope([FromItem(ref.name, scan)]), scan)
    return reads_of([block])[0].partitions


def _add_partitions(context: StatementContext, ref: TableRef) -> Known:
    cursor = context.cursor
    cursor.expect("ADD")
    cursor.take("IF", "NOT", "EXISTS")
    named, paths = [], []
    while cursor.take("PARTITION"):
        spec = partition_spec(cursor)
        named.append(tuple((key, value or "") for key, value in spec))
        if cursor.take("LOCATION"):
            paths.append(cursor.text())
        cursor.take(",")
    write = context.write(ref, WriteAction.ALTER, tuple(named[0]) if len(named) == 1 else None)
    write = type(write)(
        write.table, write.action, write.exists, write.partitions, tuple(named), dynamic=False
    )
    return context.known("alter_partition", writes=[write], paths_written=paths)


def _exchange(context: StatementContext, ref: TableRef) -> Known:
    cursor = context.cursor
    cursor.expect("EXCHANGE", "PARTITION")
    spec = partition_spec(cursor)
    cursor.expect("WITH", "TABLE")
    other = context.table_name()
    writes = [context.write(each, WriteAction.INSERT, spec, can_add=True) for each in (ref, other)]
    return context.known("alter_partition", writes=writes, reads=[Read(other, NONE)])


def _locations(cursor: TokenCursor) -> list[str]:
    paths = []
    while not cursor.done:
        if cursor.take("LOCATION") and cursor.is_text():
            paths.append(cursor.text())
        else:
            cursor.at += 1
    return paths
