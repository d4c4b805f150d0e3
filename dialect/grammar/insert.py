"""All forms of INSERT, with Hive's multi-insert. Only the queries go to sqlglot's parser."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.lexing.token_cursor import QUERY_WORDS, Spec, TokenCursor, is_path, path_option
from dialect.lexing.tokens import DOUBLED, word_of

# A condition of REPLACE WHERE with one of these words may have ended before: nothing marks its end.
_QUERIES = frozenset({*QUERY_WORDS, "UNION", "INTERSECT", "EXCEPT", "MINUS"})
_OPERAND_ENDS = frozenset(
    {
        *(TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING),
        *(TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.NULL, TokenType.TRUE, TokenType.FALSE),
    }
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(slots=True)
class InsertTarget:
    """The target of an INSERT: a table with its partition as it is written, or a path."""

    parts: tuple[str, ...] = ()
    spec: Spec | None = None
    path: str | None = None


def insert_target(cursor: TokenCursor) -> InsertTarget:
    """Reads `INSERT INTO | OVERWRITE ..` up to its query. Raises NotUnderstood."""
    cursor.expect("INSERT")
    if not cursor.take_any("INTO", "OVERWRITE"):
        raise NotUnderstood(f"INTO or OVERWRITE expected near {cursor.near()}")
    if cursor.next_is("LOCAL", "DIRECTORY") or _is_directory(cursor):
        return _directory(cursor)
    if cursor.next_is("TABLE", "PARTITION", "("):
        raise NotUnderstood("table or partition may be the target's name")
    explicit = cursor.take("TABLE")
    target = InsertTarget()
    if explicit and cursor.next_is("("):
        raise NotUnderstood("a table function as the target")
    if explicit and cursor.word() in QUERY_WORDS and cursor.word(1) == "(":
        # The table select with columns, or the table with the name table before `SELECT (x) ..`.
        raise NotUnderstood("table may be the target's name")
    parts = cursor.names()
    if is_path(parts):
        target.path = cursor.tokens[cursor.at - 1].text
        return target
    target.parts = tuple(parts)
    if cursor.take("REPLACE", "WHERE"):
        start = cursor.at
        cursor.skip_to(*QUERY_WORDS)
        condition = cursor.tokens[start : cursor.at]
        if any(word_of(token) in _QUERIES for token in condition):
            raise NotUnderstood("a query inside REPLACE WHERE")
        if not condition or condition[-1].token_type not in _OPERAND_ENDS:
            # In `WHERE x = table TABLE t` the first table is a column.
            raise NotUnderstood(f"{cursor.word().lower()} may be a name here")
        return target
    if cursor.take("PARTITION"):
        target.spec = insert_spec(cursor)
    cursor.take("IF", "NOT", "EXISTS")
    if cursor.take("BY", "NAME"):
        return target
    if cursor.next_is("(") and not _opens_query(cursor):
        cursor.skip_group()
    cursor.take("BY", "NAME")
    return target


def insert_spec(cursor: TokenCursor) -> Spec:
    """A partition specification with expressions as values, which Hive evaluates."""
    inner = cursor.group()
    pairs: list[tuple[str, str | None]] = []
    while not inner.done:
        key = inner.name()
        value: str | None = None
        if inner.take("=") or inner.take("=="):
            start = inner.at
            inner.skip_to(",")
            value = literal_text(inner.tokens[start : inner.at])
        pairs.append((key, value))
        if not inner.take(","):
            break
    inner.end()
    return tuple(pairs)


def literal_text(tokens: Sequence[Token]) -> str | None:
    """The text of a literal; None for another expression, whose value may be any."""
    sign = ""
    if len(tokens) in (2, 4) and tokens[0].text == "-":
        sign, tokens = "-", tokens[1:]
    if len(tokens) == 3 and tokens[1].text == "::":  # a number's suffix
        tokens = tokens[:1]
    if len(tokens) == 2 and tokens[0].text.upper() in ("DATE", "TIMESTAMP"):
        tokens = tokens[1:]
    if tokens and all(token.token_type == TokenType.STRING for token in tokens):
        text = "".join(token.text for token in tokens)
        return None if DOUBLED in text else text
    if len(tokens) == 1 and tokens[0].token_type == TokenType.NUMBER:
        return sign + tokens[0].text
    if len(tokens) == 1 and tokens[0].token_type == TokenType.NULL:
        return "__HIVE_DEFAULT_PARTITION__"
    return sign + tokens[0].text if len(tokens) == 1 else None


def split_multi_insert(tokens: Sequence[Token]) -> tuple[list[Token], list[list[Token]]] | None:
    """The shared FROM and the INSERTs of `FROM .. INSERT .. INSERT ..`; None for another
    statement."""
    starts = _outer_inserts(tokens)
    if not starts or starts[0] == 0:
        return None
    ends = [*starts[1:], len(tokens)]
    branches = [list(tokens[start:end]) for start, end in zip(starts, ends, strict=True)]
    return list(tokens[: starts[0]]), branches


def _outer_inserts(tokens: Sequence[Token]) -> list[int]:
    """The positions of INSERT outside all brackets."""
    if TokenType.INSERT not in [token.token_type for token in tokens]:
        return []
    depth, starts = 0, []
    for at, token in enumerate(tokens):
        kind = token.token_type
        if kind == TokenType.L_PAREN:
            depth += 1
        elif kind == TokenType.R_PAREN:
            depth -= 1
        elif kind == TokenType.INSERT and depth == 0:
            starts.append(at)
    return starts


def _is_directory(cursor: TokenCursor) -> bool:
    if not cursor.next_is("DIRECTORY"):
        return False
    return cursor.word(1) in ("USING", "STORED", "ROW") or (
        cursor.at + 1 < len(cursor.tokens)
        and cursor.tokens[cursor.at + 1].token_type == TokenType.STRING
    )


def _directory(cursor: TokenCursor) -> InsertTarget:
    local = cursor.take("LOCAL")
    cursor.expect("DIRECTORY")
    path = cursor.text() if cursor.is_text() else None
    while not cursor.done and not (cursor.word() in QUERY_WORDS or cursor.next_is("(")):
        if cursor.take("USING") or cursor.take("STORED", "AS"):
            cursor.names()
        elif cursor.take("OPTIONS"):
            path = path_option(cursor.group()) or path
        else:
            cursor.at += 1
            if (
                cursor.next_is("(")
                and cursor.tokens[cursor.at - 1].text.upper() == "SERDEPROPERTIES"
            ):
                cursor.skip_group()
    if path is None:
        raise NotUnderstood("INSERT DIRECTORY without a path")
    return InsertTarget(path=f"file:{path}" if local and not _SCHEME.match(path) else path)


def _opens_query(cursor: TokenCursor) -> bool:
    ahead = 1
    while cursor.word(ahead) == "(":
        ahead += 1
    return cursor.word(ahead) in QUERY_WORDS


def with_shared_from(body: exp.Expr, source: exp.Select) -> exp.Expr:
    """The query of one INSERT of a multi-insert, with the shared FROM. Changes `body`."""
    if not isinstance(body, exp.Select):
        raise NotUnderstood("an INSERT of FROM .. INSERT that is no SELECT")
    if body.args.get("from_") is not None:
        return body
    for name in ("from_", "joins", "laterals"):
        shared = source.args.get(name)
        if shared:
            own = body.args.get(name)
            merged = shared if not own else [*shared, *own]
            body.args[name] = merged
    return body
