"""Reads a table or view from its CREATE statement, without a metastore."""

from conf.catalog.tables import Column, TableInfo, TableKind, ViewText
from conf.names import TableRef
from conf.partitions import PartitionKey
from dialect.errors import NotUnderstood
from dialect.lexing.token_cursor import QUERY_WORDS, TokenCursor, table_ref
from dialect.lexing.tokenize import check_length, tokenize

_AFTER_TYPE = frozenset(["COMMENT", "NOT", "DEFAULT", "GENERATED"])


def described_table(sql: str, database: str = "default") -> TableInfo:
    """The table that CREATE TABLE with columns describes, or the view of CREATE VIEW.

    Raises NotUnderstood for another statement.
    """
    check_length(sql)
    cursor = TokenCursor(tokenize(sql), sql)
    cursor.expect("CREATE")
    cursor.take("OR", "REPLACE")
    if cursor.take("VIEW"):
        return _view(cursor, database)
    kind = TableKind.EXTERNAL if cursor.take("EXTERNAL") else TableKind.TABLE
    cursor.expect("TABLE")
    ref = _name(cursor, database)
    columns = _columns(cursor.group()) if cursor.next_is("(") else []
    provider = _clause(cursor, "USING")
    keys = _clause(cursor, "PARTITIONED BY")  # these two words are one token
    types = dict(columns)
    named = [] if keys is None else _partition_keys(keys, types)
    data = tuple(Column(*each) for each in columns if each[0] not in dict(named))
    partition_keys = tuple(PartitionKey(*each) for each in named)
    source = "hive" if provider is None else provider.name()
    return TableInfo(ref, kind, data, partition_keys, provider=source)


def _name(cursor: TokenCursor, database: str) -> TableRef:
    cursor.take("IF", "NOT", "EXISTS")
    return table_ref(cursor.names(), database)


def _view(cursor: TokenCursor, database: str) -> TableInfo:
    ref = _name(cursor, database)
    names = tuple(name for name, _ in _columns(cursor.group())) if cursor.next_is("(") else ()
    while cursor.skip_to("AS"):
        cursor.at += 1
        if cursor.word() in (*QUERY_WORDS, "("):
            text = cursor.sql[cursor.tokens[cursor.at].start : cursor.tokens[-1].end + 1]
            return TableInfo(ref, TableKind.VIEW, view=ViewText(text, ref.db, names))
    raise NotUnderstood("CREATE VIEW without a query")


def _clause(cursor: TokenCursor, word: str) -> TokenCursor | None:
    """A cursor after the word, outside of brackets; None without the word. `cursor` does not
    move."""
    seeker = TokenCursor(cursor.tokens, cursor.sql, cursor.at)
    if not seeker.skip_to(word):
        return None
    seeker.at += 1
    return seeker


def _partition_keys(cursor: TokenCursor, types: dict[str, str]) -> list[tuple[str, str]]:
    """The keys' names and types. A name without a type is that of a column, as Spark writes it."""
    found = []
    for name, kind in _columns(cursor.group()):
        if not kind and name not in types:
            raise NotUnderstood(f"partition column {name} without a type")
        found.append((name, kind or types[name]))
    return found


def _columns(cursor: TokenCursor) -> list[tuple[str, str]]:
    """The names and types of a list of columns, in lower case."""
    found = []
    while not cursor.done:
        found.append((cursor.name(), _type(cursor)))
    return found


def _type(cursor: TokenCursor) -> str:
    """The type's text. Moves past the comma that ends the column."""
    start, end, open_angles, in_type = cursor.at, None, 0, True
    while not cursor.done:
        word = cursor.word()
        if not open_angles and word == ",":
            break
        if in_type and not open_angles and word in _AFTER_TYPE:
            end, in_type = cursor.at, False
        if in_type:
            open_angles += word.count("<") - word.count(">") if not word.isalnum() else 0
        if word == "(":
            cursor.skip_group()
        else:
            cursor.at += 1
    end = cursor.at if end is None else end
    cursor.at += 1
    tokens = cursor.tokens[start:end]
    text = cursor.sql[tokens[0].start : tokens[-1].end + 1] if tokens else ""
    return "".join(text.lower().split())
