"""Refuses words that the parser reads as keywords and Spark as names.

In Spark `SELECT FROM t` selects a column with the name from, and `FROM a limit, t` has the alias
limit. `values_rows` has the rules for VALUES.
"""

from collections.abc import Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.lexing.tokens import (
    FUNCTIONS_WITH_FROM,
    begins_query,
    closing_bracket,
    is_name,
    word_of,
)
from dialect.parsing.values_rows import begins_rows, rows_end_early

# Words that may follow a table's name in FROM, and hardly ever the SELECT of a query.
_AFTER_TABLE = frozenset(
    {
        *("FOR", "TABLESAMPLE", "SYSTEM_VERSION", "SYSTEM_TIME", "JOIN", "INNER", "CROSS"),
        *("NATURAL", "FULL", "SEMI", "ANTI", "WHERE", "ON", "USING", "PIVOT", "UNPIVOT", "AS"),
    }
)
# Such words if one of the others follows.
_TWO_WORDS = {
    "VERSION": ("AS",),
    "TIMESTAMP": ("AS",),
    "LEFT": ("JOIN", "OUTER", "SEMI", "ANTI"),
    "RIGHT": ("JOIN", "OUTER"),
}
_AFTER_SELECT = frozenset({TokenType.DISTINCT, TokenType.ALL})
# Words that an operand follows. FROM or JOIN after one is a column's name.
_BEFORE_OPERANDS = frozenset(
    {
        *(",", "=", "==", "<=>", "<>", "!=", "<", ">", "<=", ">=", "!<", "!>"),
        *("+", "-", "/", "%", "||", "&", "|", "^", "~", "!"),
        *("AND", "OR", "NOT", "ON", "WHEN", "THEN", "ELSE", "CASE", "WHERE", "HAVING", "BETWEEN"),
        *("LIKE", "RLIKE", "ILIKE", "REGEXP", "DIV"),
    }
)
_BEFORE_COLUMNS = (_BEFORE_OPERANDS - {"BETWEEN"}) | {
    *("(", "SELECT", "DISTINCT", "AS", "GROUP BY", "ORDER BY", "SORT BY", "CLUSTER BY"),
    *("DISTRIBUTE BY", "PARTITION BY", "BY"),
}
# Words before the star that stands for all columns.
_BEFORE_STARS = frozenset({"SELECT", "DISTINCT", "ALL", ",", ".", "("})
_JOINS = frozenset({TokenType.JOIN, TokenType.PIVOT, TokenType.UNPIVOT})
_CLAUSES = frozenset(
    {
        *(TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY),
        *(TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.LIMIT),
        *(TokenType.OFFSET, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT),
    }
)
# Clauses of a single expression. Before a comma such a word is an alias in FROM.
_SINGLE = frozenset({TokenType.WHERE, TokenType.HAVING, TokenType.LIMIT, TokenType.OFFSET})
_BEFORE_JOIN = frozenset(
    {"ANTI", "CROSS", "FULL", "INNER", "JOIN", "LEFT", "NATURAL", "OUTER", "RIGHT", "SEMI"}
)
_NEXT_PARTS = frozenset({TokenType.WINDOW, TokenType.INSERT, TokenType.WHEN, TokenType.MAP})
_ENDS_BODY = _CLAUSES | {TokenType.FROM, TokenType.INSERT}
_TRANSFORMS = frozenset({"MAP", "REDUCE"})
_BEFORE_TABLES = frozenset({TokenType.FROM, TokenType.JOIN, TokenType.COMMA})
# The tokens that each check reads: most tokens of a statement are none of them.
_CHECKED_BY_OPERANDS = frozenset({TokenType.FROM, TokenType.SELECT, TokenType.JOIN})
_AMBIGUOUS = frozenset({TokenType.SELECT, TokenType.VALUES, TokenType.IN})
_NO_EXPRESSION = frozenset({TokenType.R_PAREN, TokenType.COMMA})
_BRACKETS = frozenset({TokenType.L_PAREN, TokenType.R_PAREN})
_MARKS = _BRACKETS | {TokenType.SELECT, TokenType.FROM, TokenType.COMMA} | _JOINS | _CLAUSES
_MARKS |= _NEXT_PARTS | {TokenType.LATERAL}
_JOIN_TYPES = frozenset(
    {
        *(TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.CROSS, TokenType.INNER),
        *(TokenType.SEMI, TokenType.ANTI, TokenType.NATURAL),
    }
)
_MARKS |= _JOIN_TYPES
_ENDS_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER, TokenType.R_PAREN})
_AFTER_RELATION = (
    _CLAUSES | _JOINS | {TokenType.TABLE_SAMPLE, TokenType.WINDOW, TokenType.ON, TokenType.USING}
)
# Words that may follow the table in `(TABLE t)`, or a query in brackets.
_AFTER_QUERY = frozenset(
    {
        *(")", "UNION", "INTERSECT", "EXCEPT", "MINUS", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"),
        *("LIMIT", "OFFSET", "WINDOW"),
    }
)


def check_select(tokens: Sequence[Token]) -> None:
    """Raises NotUnderstood if select may be a table or an alias: `(select FOR VERSION AS OF 1)`."""
    listed = False
    for at, token in enumerate(tokens):
        if token.token_type != TokenType.SELECT:
            continue
        after = [word_of(each) for each in tokens[at + 1 : at + 3]]
        word, following = [*after, "", ""][:2]
        named = at and tokens[at - 1].token_type == TokenType.ALIAS
        named = named or _ends_item(tokens, at + 1)
        if named or word in _AFTER_TABLE or following in _TWO_WORDS.get(word, ()):
            raise NotUnderstood("select may be a name here")
        listed = listed or _is_column_list(tokens, at + 1)
    if listed:
        _check_bodies(tokens)


def _check_bodies(tokens: Sequence[Token]) -> None:
    """Raises NotUnderstood for `FROM a select (x), b SELECT y`, in which the first select is an
    alias with columns to Spark: two SELECTs at the same depth without a clause between them."""
    listed = [False]  # for each open bracket: whether `select (x)` there may be an alias
    for at, token in enumerate(tokens):
        kind = token.token_type
        if kind == TokenType.L_PAREN:
            listed.append(False)
        elif kind == TokenType.R_PAREN:
            del listed[-1 if len(listed) > 1 else 1 :]
        elif kind in _ENDS_BODY:
            listed[-1] = False
        elif kind == TokenType.SELECT:
            if listed[-1]:
                raise NotUnderstood("select may be a name here")
            listed[-1] = _is_column_list(tokens, at + 1)
        elif listed[-1] and _begins_transform(tokens, at):
            raise NotUnderstood("select may be a name here")


def _begins_transform(tokens: Sequence[Token], at: int) -> bool:
    """Whether MAP or REDUCE at `at` begins a query. After a comma or an operator it is a column."""
    return word_of(tokens[at]) in _TRANSFORMS and word_of(tokens[at - 1]) not in _BEFORE_COLUMNS


def _is_column_list(tokens: Sequence[Token], at: int) -> bool:
    """Whether a list of names alone, `(x, y)`, stands at `at`, as after an alias."""
    if at >= len(tokens) or tokens[at].token_type != TokenType.L_PAREN:
        return False
    for each in range(at + 1, len(tokens) - 1, 2):
        if not is_name(tokens[each]):
            return False
        if tokens[each + 1].token_type != TokenType.COMMA:
            return tokens[each + 1].token_type == TokenType.R_PAREN
    return False


def check_operands(tokens: Sequence[Token]) -> None:
    """Raises NotUnderstood if from, select or join is a column: `SELECT x, from, t`, `ON select,
    t`."""
    for at, token in enumerate(tokens):
        kind = token.token_type
        if kind not in _CHECKED_BY_OPERANDS or not at:
            continue
        if kind == TokenType.FROM:
            named = word_of(tokens[at - 1]) in _BEFORE_OPERANDS or _is_product(tokens, at - 1)
        elif kind == TokenType.SELECT:
            named = word_of(tokens[at - 1]) in _BEFORE_OPERANDS
        elif kind == TokenType.JOIN and at + 1 < len(tokens):
            after = tokens[at + 1]
            relation = after.token_type == TokenType.L_PAREN or is_name(after)
            named = (
                relation
                and after.token_type != TokenType.FROM
                and word_of(tokens[at - 1]) in _BEFORE_COLUMNS
            )
        else:
            continue
        if named:
            raise NotUnderstood(f"{token.text.lower()} may be a name here")


def check_clauses(tokens: Sequence[Token]) -> None:
    """Raises NotUnderstood if select or a clause's keyword may be a table or an alias: `(select a
    JOIN t)`, `FROM t, where x`, `FROM a limit, t`."""
    # For each open bracket: SELECT, FROM or a clause of one expression, if inside one.
    inside: list[TokenType | None] = [None]
    before: TokenType | None = None
    for at, token in enumerate(tokens):
        kind = token.token_type
        if kind not in _MARKS:
            pass
        elif kind == TokenType.L_PAREN:
            inside.append(None)
        elif kind == TokenType.R_PAREN:
            del inside[-1 if len(inside) > 1 else 1 :]
        elif kind == TokenType.SELECT:
            inside[-1] = kind if before == TokenType.L_PAREN else None
        elif kind == TokenType.FROM:
            inside[-1] = kind
        elif kind in _JOINS and inside[-1] == TokenType.SELECT and _opens_join(tokens, at):
            raise NotUnderstood("select may be a name here")
        elif kind in _CLAUSES and before != TokenType.SELECT:
            if inside[-1] == TokenType.FROM and before in _BEFORE_TABLES:
                raise NotUnderstood(f"{token.text.lower()} may be a name here")
            in_from = inside[-1] == TokenType.FROM or inside[-1] in _SINGLE
            inside[-1] = kind if in_from and kind in _SINGLE else None
        elif kind == TokenType.COMMA:
            # `FROM a limit, t`; Hive has `LIMIT 5, 10`
            if inside[-1] in _SINGLE and tokens[at - 2].token_type != TokenType.LIMIT:
                raise NotUnderstood("a comma in a clause of one expression")
            after = word_of(tokens[at + 1]) if at + 1 < len(tokens) else ""
            if inside[-1] == TokenType.FROM and after in _BEFORE_JOIN:
                raise NotUnderstood(f"{after.lower()} may be a name here")
        elif kind == TokenType.LATERAL:
            if before in _BEFORE_TABLES and not _is_lateral(tokens, at + 1):
                raise NotUnderstood("lateral may be a name here")
        elif kind in _JOIN_TYPES:
            # In `SELECT DISTINCT * FROM a, b left` left is no alias of a table: b is a column.
            in_from = inside[-1] == TokenType.FROM and before in _ENDS_NAMES
            if in_from and _ends_item(tokens, at + 1):
                raise NotUnderstood(f"{token.text.lower()} may be a name here")
        elif inside[-1] in _SINGLE:
            inside[-1] = None
        before = kind


def _is_lateral(tokens: Sequence[Token], at: int) -> bool:
    """Whether LATERAL before `at` is certainly the keyword: a query in brackets or a call
    begins."""
    if at + 1 >= len(tokens) or tokens[at].token_type in _AFTER_RELATION:
        return False
    if tokens[at].token_type == TokenType.L_PAREN:
        return begins_query(tokens, at)
    return tokens[at + 1].token_type in (TokenType.L_PAREN, TokenType.DOT)


def _opens_join(tokens: Sequence[Token], at: int) -> bool:
    """Whether the word at `at` may be the keyword JOIN or PIVOT: a table or columns may follow."""
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if after is None or after.token_type == TokenType.FROM:
        return False
    return after.token_type == TokenType.L_PAREN or is_name(after)


def follows_query(token: Token) -> bool:
    """Whether the token may follow a query: it closes a bracket, or begins a clause or a set
    operation."""
    return word_of(token).partition(" ")[0] in _AFTER_QUERY


def _is_product(tokens: Sequence[Token], at: int) -> bool:
    """Whether a star at `at` has a factor before it: Spark reads no table in `SELECT int * FROM
    t`."""
    if at < 1 or tokens[at].token_type != TokenType.STAR:
        return False
    return word_of(tokens[at - 1]) not in _BEFORE_STARS


def check_table(tokens: Sequence[Token]) -> None:
    """Raises NotUnderstood if table may be a table's name: `(table a JOIN t)`."""
    for at in range(1, len(tokens) - 1):
        if tokens[at - 1].token_type != TokenType.L_PAREN or word_of(tokens[at]) != "TABLE":
            continue
        position = at + 1
        if tokens[position].token_type == TokenType.L_PAREN:
            continue  # an argument
        if at > 1 and word_of(tokens[at - 2]) == "TABLESAMPLE":
            raise NotUnderstood("table may be a name here, of a sampled table")
        while position + 2 < len(tokens) and tokens[position + 1].token_type == TokenType.DOT:
            position += 2
        ends = position + 1 >= len(tokens) or follows_query(tokens[position + 1])
        if not ends or not is_name(tokens[position]):
            raise NotUnderstood("table may be a name here")


def _ends_item(tokens: Sequence[Token], at: int) -> bool:
    """Whether a list's item ends at `at`: with a closing bracket, a comma or the text."""
    return at >= len(tokens) or tokens[at].token_type in _NO_EXPRESSION


def check_words(tokens: Sequence[Token]) -> None:
    """Raises ValueError for words that may be keywords to the parser and names to Spark."""
    for at, token in enumerate(tokens):
        if token.token_type not in _AMBIGUOUS:
            continue
        if token.token_type == TokenType.SELECT:
            position = at + 1
            while position < len(tokens) and tokens[position].token_type in _AFTER_SELECT:
                position += 1
            if position < len(tokens) and tokens[position].token_type == TokenType.FROM:
                raise ValueError("from may be a column's name")
        elif token.token_type == TokenType.VALUES and at:
            inside = tokens[at - 1].token_type == TokenType.COMMA
            if inside and not begins_rows(tokens, at + 1):
                raise ValueError("VALUES that may be a name")
            if rows_end_early(tokens, at + 1):
                raise ValueError("VALUES before another table")
        elif token.token_type == TokenType.IN and at:
            called = at + 1 < len(tokens) and tokens[at + 1].token_type == TokenType.L_PAREN
            if called and tokens[at - 1].token_type in _BEFORE_TABLES:
                raise ValueError("in may be a table function's name")


def has_table_argument(tokens: Sequence[Token]) -> bool:
    """Whether `TABLE(` occurs: a table as an argument, which the parser reads as a function."""
    return any(
        token.token_type == TokenType.L_PAREN and word_of(before) == "TABLE"
        for before, token in pairwise(tokens)
    )


def check_bare_from(tokens: list[Token]) -> None:
    """Raises NotUnderstood for `(FROM t)` and `DESCRIBE FROM x`: the parser reads a query of t,
    Spark a table with the name from."""
    for at in range(len(tokens)):
        if word_of(tokens[at]) != "FROM" or (at and tokens[at - 1].token_type != TokenType.L_PAREN):
            continue
        if at > 1 and word_of(tokens[at - 2]) in FUNCTIONS_WITH_FROM:
            continue
        if not _has_select(tokens, at):
            raise NotUnderstood("FROM without SELECT")


def _has_select(tokens: list[Token], at: int) -> bool:
    """Whether SELECT, INSERT, MAP or REDUCE follows FROM in the same brackets."""
    while at < len(tokens) and tokens[at].token_type != TokenType.R_PAREN:
        if word_of(tokens[at]) in ("SELECT", "INSERT", "MAP", "REDUCE"):
            return True
        at = closing_bracket(tokens, at) if tokens[at].token_type == TokenType.L_PAREN else at
        at += 1
    return False
