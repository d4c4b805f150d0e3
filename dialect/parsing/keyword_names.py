"""Words that are keywords to the parser and names to Spark.

To Spark `SELECT FROM t` selects a column called from, and `FROM a limit, t` has an alias called
limit. The parser reads both otherwise. `values_rows` knows of VALUES.
"""

from collections.abc import Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.lexing.tokens import WITH_FROM, begins_query, closing, is_name, word_of
from dialect.parsing.values_rows import begins_rows, rows_end_early

# What may follow a table's name in FROM, and a query's SELECT hardly ever.
_AFTER_TABLE = frozenset(
    {
        *("FOR", "TABLESAMPLE", "SYSTEM_VERSION", "SYSTEM_TIME", "JOIN", "INNER", "CROSS"),
        *("NATURAL", "FULL", "SEMI", "ANTI", "WHERE", "ON", "USING", "PIVOT", "UNPIVOT", "AS"),
    }
)
# .. of these only where one of the others follows.
_TWO_WORDS = {
    "VERSION": ("AS",),
    "TIMESTAMP": ("AS",),
    "LEFT": ("JOIN", "OUTER", "SEMI", "ANTI"),
    "RIGHT": ("JOIN", "OUTER"),
}
_AFTER_SELECT = frozenset({TokenType.DISTINCT, TokenType.ALL})
# What an operand follows: FROM or JOIN is a column's name there.
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
# What stands before the star of all columns.
_BEFORE_STARS = frozenset({"SELECT", "DISTINCT", "ALL", ",", ".", "("})
_JOINS = frozenset({TokenType.JOIN, TokenType.PIVOT, TokenType.UNPIVOT})
_CLAUSES = frozenset(
    {
        *(TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY),
        *(TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.LIMIT),
        *(TokenType.OFFSET, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT),
    }
)
# Clauses of one expression: a comma in one is FROM's, and the word an alias.
_SINGLE = frozenset({TokenType.WHERE, TokenType.HAVING, TokenType.LIMIT, TokenType.OFFSET})
_BEFORE_JOIN = frozenset(
    {"ANTI", "CROSS", "FULL", "INNER", "JOIN", "LEFT", "NATURAL", "OUTER", "RIGHT", "SEMI"}
)
_NEXT_PARTS = frozenset({TokenType.WINDOW, TokenType.INSERT, TokenType.WHEN, TokenType.MAP})
_ENDS_BODY = _CLAUSES | {TokenType.FROM, TokenType.INSERT}
_TRANSFORMS = frozenset({"MAP", "REDUCE"})
_BEFORE_TABLES = frozenset({TokenType.FROM, TokenType.JOIN, TokenType.COMMA})
# The tokens that each check looks at: most of a statement's are none of them.
_OPERATED = frozenset({TokenType.FROM, TokenType.SELECT, TokenType.JOIN})
_TAKEN = frozenset({TokenType.SELECT, TokenType.VALUES, TokenType.IN})
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
# What may follow the table in `(TABLE t)`, or a query in brackets.
_AFTER_QUERY = frozenset(
    {
        *(")", "UNION", "INTERSECT", "EXCEPT", "MINUS", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"),
        *("LIMIT", "OFFSET", "WINDOW"),
    }
)


def check_select(tokens: Sequence[Token]) -> None:
    """Refuse what may be a table or an alias called select: `(select FOR VERSION AS OF 1)`."""
    listed = False
    for at, token in enumerate(tokens):
        if token.token_type != TokenType.SELECT:
            continue
        after = [word_of(each) for each in tokens[at + 1 : at + 3]]
        word, following = [*after, "", ""][:2]
        named = at and tokens[at - 1].token_type == TokenType.ALIAS
        named = named or _ends(tokens, at + 1)
        if named or word in _AFTER_TABLE or following in _TWO_WORDS.get(word, ()):
            raise NotUnderstood("what may be a name, select")
        listed = listed or _is_column_list(tokens, at + 1)
    if listed:
        _check_bodies(tokens)


def _check_bodies(tokens: Sequence[Token]) -> None:
    """Refuse `FROM a select (x), b SELECT y`, where Spark reads an alias with its columns. Another
    query follows the first at the same depth, with no clause in between."""
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
                raise NotUnderstood("what may be a name, select")
            listed[-1] = _is_column_list(tokens, at + 1)
        elif listed[-1] and _begins_transform(tokens, at):
            raise NotUnderstood("what may be a name, select")


def _begins_transform(tokens: Sequence[Token], at: int) -> bool:
    """Whether MAP or REDUCE there is a query: after a comma or an operator it is a column."""
    return word_of(tokens[at]) in _TRANSFORMS and word_of(tokens[at - 1]) not in _BEFORE_COLUMNS


def _is_column_list(tokens: Sequence[Token], at: int) -> bool:
    """Whether `(x, y)` stands there: names alone, as after an alias."""
    if at >= len(tokens) or tokens[at].token_type != TokenType.L_PAREN:
        return False
    for each in range(at + 1, len(tokens) - 1, 2):
        if not is_name(tokens[each]):
            return False
        if tokens[each + 1].token_type != TokenType.COMMA:
            return tokens[each + 1].token_type == TokenType.R_PAREN
    return False


def check_operands(tokens: Sequence[Token]) -> None:
    """Refuse columns called from, select or join: `SELECT x, from, t`, `ON select, t`."""
    for at, token in enumerate(tokens):
        kind = token.token_type
        if kind not in _OPERATED or not at:
            continue
        if kind == TokenType.FROM:
            named = word_of(tokens[at - 1]) in _BEFORE_OPERANDS or _multiplies(tokens, at - 1)
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
            raise NotUnderstood(f"what may be a name, {token.text.lower()}")


def check_clauses(tokens: Sequence[Token]) -> None:
    """Refuse tables and aliases called select or by a clause's name: `(select a JOIN t)`,
    `FROM t, where x`, `FROM a limit, t`."""
    # SELECT, FROM or a clause of one expression, for each open bracket.
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
        elif kind in _JOINS and inside[-1] == TokenType.SELECT and _joins(tokens, at):
            raise NotUnderstood("what may be a name, select")
        elif kind in _CLAUSES and before != TokenType.SELECT:
            if inside[-1] == TokenType.FROM and before in _BEFORE_TABLES:
                raise NotUnderstood(f"what may be a name, {token.text.lower()}")
            in_from = inside[-1] == TokenType.FROM or inside[-1] in _SINGLE
            inside[-1] = kind if in_from and kind in _SINGLE else None
        elif kind == TokenType.COMMA:
            # `FROM a limit, t`; Hive has `LIMIT 5, 10`
            if inside[-1] in _SINGLE and tokens[at - 2].token_type != TokenType.LIMIT:
                raise NotUnderstood("a comma in a clause of one expression")
            after = word_of(tokens[at + 1]) if at + 1 < len(tokens) else ""
            if inside[-1] == TokenType.FROM and after in _BEFORE_JOIN:
                raise NotUnderstood(f"what may be a name, {after.lower()}")
        elif kind == TokenType.LATERAL:
            if before in _BEFORE_TABLES and not _is_lateral(tokens, at + 1):
                raise NotUnderstood("what may be a name, lateral")
        elif kind in _JOIN_TYPES:
            # No alias of a table: in `SELECT DISTINCT * FROM a, b left` b is a column.
            in_from = inside[-1] == TokenType.FROM and before in _ENDS_NAMES
            if in_from and _ends(tokens, at + 1):
                raise NotUnderstood(f"what may be a name, {token.text.lower()}")
        elif inside[-1] in _SINGLE:
            inside[-1] = None
        before = kind


def _is_lateral(tokens: Sequence[Token], at: int) -> bool:
    """Whether a query in brackets or a call begins there, as LATERAL wants, for certain."""
    if at + 1 >= len(tokens) or tokens[at].token_type in _AFTER_RELATION:
        return False
    if tokens[at].token_type == TokenType.L_PAREN:
        return begins_query(tokens, at)
    return tokens[at + 1].token_type in (TokenType.L_PAREN, TokenType.DOT)


def _joins(tokens: Sequence[Token], at: int) -> bool:
    """Whether JOIN or PIVOT there may have its table or columns: else it is a column's name."""
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    if after is None or after.token_type == TokenType.FROM:
        return False
    return after.token_type == TokenType.L_PAREN or is_name(after)


def follows_query(token: Token) -> bool:
    """Whether a bracket closes there, or a clause of a query or a set operation begins."""
    return word_of(token).partition(" ")[0] in _AFTER_QUERY


def _multiplies(tokens: Sequence[Token], at: int) -> bool:
    """Whether a star there has a factor before it: `SELECT int * FROM t` has no table to Spark."""
    if at < 1 or tokens[at].token_type != TokenType.STAR:
        return False
    return word_of(tokens[at - 1]) not in _BEFORE_STARS


def check_table(tokens: Sequence[Token]) -> None:
    """Refuse what may be a table called table: `(table a JOIN t)`."""
    for at in range(1, len(tokens) - 1):
        if tokens[at - 1].token_type != TokenType.L_PAREN or word_of(tokens[at]) != "TABLE":
            continue
        here = at + 1
        if tokens[here].token_type == TokenType.L_PAREN:
            continue  # an argument
        if at > 1 and word_of(tokens[at - 2]) == "TABLESAMPLE":
            raise NotUnderstood("a sample of what may be a name, table")
        while here + 2 < len(tokens) and tokens[here + 1].token_type == TokenType.DOT:
            here += 2
        ends = here + 1 >= len(tokens) or follows_query(tokens[here + 1])
        if not ends or not is_name(tokens[here]):
            raise NotUnderstood("what may be a name, table")


def _ends(tokens: Sequence[Token], at: int) -> bool:
    """Whether a bracket closes there, or a comma or nothing follows: SELECT needs an expression."""
    return at >= len(tokens) or tokens[at].token_type in _NO_EXPRESSION


def check_words(tokens: Sequence[Token]) -> None:
    """Raises ValueError for words that the parser may take for keywords and Spark for names."""
    for at, token in enumerate(tokens):
        if token.token_type not in _TAKEN:
            continue
        if token.token_type == TokenType.SELECT:
            here = at + 1
            while here < len(tokens) and tokens[here].token_type in _AFTER_SELECT:
                here += 1
            if here < len(tokens) and tokens[here].token_type == TokenType.FROM:
                raise ValueError("SELECT of a column called from")
        elif token.token_type == TokenType.VALUES and at:
            inside = tokens[at - 1].token_type == TokenType.COMMA
            if inside and not begins_rows(tokens, at + 1):
                raise ValueError("VALUES that may be a name")
            if rows_end_early(tokens, at + 1):
                raise ValueError("VALUES before another table")
        elif token.token_type == TokenType.IN and at:
            called = at + 1 < len(tokens) and tokens[at + 1].token_type == TokenType.L_PAREN
            if called and tokens[at - 1].token_type in _BEFORE_TABLES:
                raise ValueError("a table function called in")


def has_table_argument(tokens: Sequence[Token]) -> bool:
    """Whether `TABLE(` occurs: an argument that is read, which the parser takes for a function."""
    return any(
        token.token_type == TokenType.L_PAREN and word_of(before) == "TABLE"
        for before, token in pairwise(tokens)
    )


def check_bare_from(tokens: list[Token]) -> None:
    """Refuse `(FROM t)`: to Spark a table called from, to the parser a query of t. So it is with
    `DESCRIBE FROM x`."""
    for at in range(len(tokens)):
        if word_of(tokens[at]) != "FROM" or (at and tokens[at - 1].token_type != TokenType.L_PAREN):
            continue
        if at > 1 and word_of(tokens[at - 2]) in WITH_FROM:
            continue
        if not _has_select(tokens, at):
            raise NotUnderstood("FROM without SELECT")


def _has_select(tokens: list[Token], at: int) -> bool:
    """Whether SELECT or its like follows FROM before the bracket around it closes."""
    while at < len(tokens) and tokens[at].token_type != TokenType.R_PAREN:
        if word_of(tokens[at]) in ("SELECT", "INSERT", "MAP", "REDUCE"):
            return True
        at = closing(tokens, at) if tokens[at].token_type == TokenType.L_PAREN else at
        at += 1
    return False
