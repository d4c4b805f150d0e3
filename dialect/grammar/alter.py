"""ALTER in all its forms."""

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from conf.names import TableRef
from dialect.errors import NotUnderstood
from dialect.grammar.context import Context
from dialect.grammar.temporary import GLOBAL_TEMP, is_global, name_parts, replacing, temporary_name
from dialect.grammar.token_cursor import (
    QUERY_WORDS,
    Words,
    database_name,
    partition_spec,
    table_ref,
)
from dialect.lineage.plan import Block, Entry, Scan, Scope
from dialect.lineage.reads import reads_of
from dialect.parsing.language import parse
from dialect.pruning.predicate import any_of
from dialect.statement import (
    ALL,
    NONE,
    Action,
    CreateTempView,
    Known,
    PartitionPredicate,
    Read,
    RenameTemp,
)

DATABASE = ("DATABASE", "SCHEMA", "NAMESPACE")
# Objects of other kinds: no table's data is touched by making or dropping them.
OTHER_OBJECTS = ("ROLE", "INDEX", "MACRO", "RESOURCE", "SCHEDULED", "WORKLOAD", "DATACONNECTOR")

_SELECT_FROM = (
    Token(TokenType.SELECT, "SELECT"),
    Token(TokenType.STAR, "*"),
    Token(TokenType.FROM, "FROM"),
)


def alter(context: Context) -> Known:
    words = context.words
    words.expect("ALTER")
    if words.take("MATERIALIZED", "VIEW"):
        ref = context.table_name()
        if words.take("REBUILD"):
            raise NotUnderstood("REBUILD, which reads what the view was made of")
        return context.known("alter", writes=[context.write(ref, Action.ALTER)])
    if words.take("VIEW"):
        return _alter_view(context)
    if words.take("TABLE"):
        return _alter_table(context)
    if words.take_any(*DATABASE):
        return context.known("ddl_other", database_written=database_name(words))
    if words.word() in OTHER_OBJECTS:
        return context.known("ddl_other")
    raise NotUnderstood(f"ALTER {words.word()}")


def _alter_view(context: Context) -> Known:
    words = context.words
    parts = words.names()
    temporary = context.temporary(parts)
    if temporary is not None:
        return _alter_temporary(context, temporary)
    ref = table_ref(parts, context.database)
    writes = [context.write(ref, Action.VIEW)]
    if words.take("AS") or words.word() in QUERY_WORDS or words.sees("("):
        context.rest_is_query()
        return context.known("create_view", writes=writes, defines=True)
    if words.take("RENAME", "TO"):
        target = table_ref(words.names(), ref.db)
        writes.append(context.write(target, Action.VIEW))
    return context.known("alter", writes=writes)


def _alter_temporary(context: Context, name: str) -> Known:
    """ALTER VIEW or TABLE of the session's own: RENAME and AS; the engine refuses all else."""
    words = context.words
    if words.take("RENAME", "TO"):
        new = _new_name(words.names(), is_global(name))
        words.end()
        if new is None:
            return context.known("refused")
        if context.found.session_object(new) is not None:  # which the engine refuses
            context.temporary(name_parts(new))
        return context.known("alter", effect=RenameTemp(name, new))
    if words.take("AS") or words.word() in QUERY_WORDS or words.sees("("):
        view = context.rest_is_temporary_view()
        effect = CreateTempView(name, view, replacing(name, view.sql))
        return context.known("create_view", effect=effect, defines=True)
    return context.known("refused")


def _new_name(parts: list[str], of_global: bool) -> str | None:
    """What RENAME TO names; None where the engine refuses it."""
    if of_global:
        return f"{GLOBAL_TEMP}.{parts[-1]}" if parts[:-1] in ([], [GLOBAL_TEMP]) else None
    return temporary_name(parts) if len(parts) == 1 else None


def _alter_table(context: Context) -> Known:
    words = context.words
    parts = words.names()
    temporary = context.temporary(parts)
    if temporary is not None:
        return _alter_temporary(context, temporary)
    ref = table_ref(parts, context.database)
    spec = None
    if words.sees("PARTITION", "("):
        words.at += 1
        spec = partition_spec(words)
    elif words.word() in ("TOUCH", "ARCHIVE", "UNARCHIVE") and words.word(1) == "PARTITION":
        words.at += 2
        spec = partition_spec(words)
    if spec is None and words.take("RENAME", "TO"):
        target = table_ref(words.names(), ref.db)
        writes = [context.write(ref, Action.ALTER), context.write(target, Action.CREATE)]
        return context.known("alter", writes=writes)
    if words.sees("ADD", "PARTITION") or words.sees("ADD", "IF", "NOT", "EXISTS"):
        return _add_partitions(context, ref)
    if words.sees("EXCHANGE", "PARTITION"):
        return _exchange(context, ref)
    if words.sees("DROP", "PARTITION") or words.sees("DROP", "IF", "EXISTS", "PARTITION"):
        return _drop_partitions(context, ref)
    words_partition = words.sees("PARTITION")
    action = Action.INSERT if words.word() in ("CONCATENATE", "COMPACT") else Action.ALTER
    write = context.write(ref, action, spec)
    if context.is_view(ref):
        write = context.write(ref, Action.VIEW)
    paths = _locations(words)
    if spec is None and not words_partition:
        return context.known("alter", writes=[write], paths_written=paths)
    read = Read(ref, NONE)
    return context.known("alter_partition", writes=[write], reads=[read], paths_written=paths)


def _drop_partitions(context: Context, ref: TableRef) -> Known:
    """`DROP PARTITION (ds < '2020-01-01', hr = 1), PARTITION (..)`: conditions, not values."""
    words = context.words
    words.expect("DROP")
    words.take("IF", "EXISTS")
    choices: list[PartitionPredicate] = []
    while words.take("PARTITION"):
        choices.append(_partition_condition(context, ref, words.group()))
        words.take(",")
    write = context.write(ref, Action.ALTER, partitions=any_of(choices))
    return context.known("alter_partition", writes=[write], reads=[Read(ref, NONE)])


def _partition_condition(context: Context, ref: TableRef, group: Words) -> PartitionPredicate:
    """`(c < 4, d = 'x')`: the partitions that satisfy all of it."""
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
    block = Block(2, tree, Scope([Entry(ref.name, scan)]), scan)
    return reads_of([block])[0].partitions


def _add_partitions(context: Context, ref: TableRef) -> Known:
    words = context.words
    words.expect("ADD")
    words.take("IF", "NOT", "EXISTS")
    named, paths = [], []
    while words.take("PARTITION"):
        spec = partition_spec(words)
        named.append(tuple((key, value or "") for key, value in spec))
        if words.take("LOCATION"):
            paths.append(words.text())
        words.take(",")
    write = context.write(ref, Action.ALTER, tuple(named[0]) if len(named) == 1 else None)
    write = type(write)(
        write.table, write.action, write.exists, write.partitions, tuple(named), dynamic=False
    )
    return context.known("alter_partition", writes=[write], paths_written=paths)


def _exchange(context: Context, ref: TableRef) -> Known:
    words = context.words
    words.expect("EXCHANGE", "PARTITION")
    spec = partition_spec(words)
    words.expect("WITH", "TABLE")
    other = context.table_name()
    writes = [context.write(each, Action.INSERT, spec, can_add=True) for each in (ref, other)]
    return context.known("alter_partition", writes=writes, reads=[Read(other, NONE)])


def _locations(words: Words) -> list[str]:
    paths = []
    while not words.done:
        if words.take("LOCATION") and words.is_text():
            paths.append(words.text())
        else:
            words.at += 1
    return paths
