"""Refuses words that Spark 4 reads differently from Spark 3.5.

A statement may run in clusters of either version.
"""

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.lexing.tokens import is_name, word_of

_QUERIES = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE", "("})
# Spark does not parse the rest of these statements, except of SET VARIABLE, which has expressions.
_RAW = frozenset({"SET", "RESET", "ADD", "LIST"})
_VARIABLES = ("VAR", "VARIABLE")
_BEFORE_RELATIONS = frozenset({"FROM", "JOIN", "USING", "LATERAL"})
# A comma after one of these does not separate relations of FROM.
_OTHER_LISTS = frozenset(
    {"SELECT", "WHERE", "HAVING", "GROUP BY", "ORDER BY", "SORT BY", "CLUSTER BY"}
    | {"DISTRIBUTE BY", "PARTITION BY", "VALUES", "SET", "DISTINCT"}
)


def check_versions(tokens: Sequence[Token], sql: str) -> None:
    """Raises NotUnderstood if Spark 3.5 and Spark 4 may read different tables in the statement."""
    text = sql.upper()
    words = [word for word in _CHECKS if word in text]
    if (
        not words
        or not tokens
        or (word_of(tokens[0]) in _RAW and _word(tokens, 1) not in _VARIABLES)
    ):
        return
    for at, token in enumerate(tokens):
        word = word_of(token)
        if word in words and _CHECKS[word](tokens, at):
            raise NotUnderstood(f"{word}, which Spark 3 and Spark 4 read differently")


def _is_streamed(tokens: Sequence[Token], at: int) -> bool:
    """Whether Spark 4 may read the table whose name follows: `FROM stream t`, `FROM stream (t)`."""
    if at + 1 >= len(tokens) or not _is_relation(tokens, at):
        return False
    after = [_word(tokens, at + ahead) for ahead in range(1, 4)]
    if after[0] in ("WHERE", "HAVING") and is_name(tokens[at + 1]) and at + 3 < len(tokens):
        return is_name(tokens[at + 3]) or after[2] in ("(", ")", ",", ".")
    if after[0] == "JOIN" and after[2] in ("ON", "USING"):
        return False
    return after[0] == "(" or is_name(tokens[at + 1])


def _is_relation(tokens: Sequence[Token], at: int) -> bool:
    """Whether a relation of FROM, JOIN or MERGE begins there."""
    while at and _word(tokens, at - 1) == "(":
        at -= 1
    before = _word(tokens, at - 1) if at else ""
    if before != ",":
        return before in _BEFORE_RELATIONS
    depth = 0
    for position in range(at - 1, -1, -1):
        word = _word(tokens, position)
        depth += (word == ")") - (word == "(")
        if depth < 0 or (not depth and word in _OTHER_LISTS):
            return False
        if not depth and word == "FROM":
            return True
    return False


def _is_recursion(tokens: Sequence[Token], at: int) -> bool:
    """`WITH recursive AS (..)`: Spark 4 reads a recursive query with the name `as`."""
    return at > 0 and _word(tokens, at - 1) == "WITH" and _word(tokens, at + 1) == "AS"


def _is_procedure(tokens: Sequence[Token], at: int) -> bool:
    """`DESCRIBE procedure x`: Spark 3 describes the column x of a table."""
    return at == 1 and len(tokens) > 2 and _word(tokens, 0) in ("DESCRIBE", "DESC")


def _is_part(tokens: Sequence[Token], at: int) -> bool:
    """`DROP TABLE d.identifier('t')`: Spark 4 reads a part of a name. In a query it is a call."""
    if not at or _word(tokens, at - 1) != "." or _word(tokens, 0) in _QUERIES:
        return False
    depth = sum((_word(tokens, each) == "(") - (_word(tokens, each) == ")") for each in range(at))
    quoted = at + 2 < len(tokens) and tokens[at + 2].token_type in (
        TokenType.STRING,
        TokenType.RAW_STRING,
    )
    return not depth and _word(tokens, at + 1) == "(" and quoted


def _is_collation(tokens: Sequence[Token], at: int) -> bool:
    """`SELECT x collate FROM t`: Spark 3 reads an alias, Spark 4 the collation `from` and no
    table."""
    named = at > 0 and _word(tokens, at - 1) not in ("SELECT", "ALL", "DISTINCT", "AS", ",", ".")
    return named and _word(tokens, at + 1) == "FROM"


_CHECKS = {
    "COLLATE": _is_collation,
    "STREAM": _is_streamed,
    "RECURSIVE": _is_recursion,
    "PROCEDURE": _is_procedure,
    "IDENTIFIER": _is_part,
}


def _word(tokens: Sequence[Token], at: int) -> str:
    return word_of(tokens[at]) if at < len(tokens) else ""
