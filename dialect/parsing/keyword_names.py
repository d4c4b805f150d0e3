"""Words that are keywords to the parser and names to Spark.

Spark tries a table's name before VALUES, so `FROM values v` reads a table called values, and
`SELECT FROM t` selects a column called from. The parser reads both otherwise.
"""

from collections.abc import Mapping, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.parsing.tokens import closing, closings, is_name, like, looked_at, word_of
from dialect.work import spend

_TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING})
_BEFORE_ROWS = frozenset(
    {TokenType.L_PAREN, TokenType.NUMBER, TokenType.DASH, TokenType.PLUS, *_TEXTS}
)
_NUMBERS = frozenset({TokenType.NUMBER, TokenType.DASH, TokenType.PLUS})
# Functions with a type's name.
_CASTS = frozenset(
    {
        *("BIGINT", "BINARY", "BOOLEAN", "DATE", "DECIMAL", "DOUBLE", "FLOAT", "INT", "SMALLINT"),
        *("STRING", "TIMESTAMP", "TINYINT"),
    }
)
_TYPES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "INTERVAL"})
_CONSTRUCTORS = frozenset({"ARRAY", "MAP", "STRUCT", "NAMED_STRUCT", "CAST"})
_BEFORE_NAMES = frozenset({TokenType.FROM, TokenType.JOIN, TokenType.USING})
# What ends the rows of VALUES in FROM, where no bracket does.
_AFTER_ROWS = frozenset(
    {TokenType.JOIN, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY}
    | {TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.SELECT}
)
# What an expression may begin with, beside an operand.
_EXPRESSION_BEGINS = frozenset(
    {"CASE", "EXISTS", "FROM", "INTERVAL", "MAP", "REDUCE", "SELECT", "TABLE", "VALUES", "WITH"}
)
# What may follow an operand or a call in an expression.
_OPERATORS = frozenset(
    {"AND", "BETWEEN", "COLLATE", "DIV", "FILTER", "IGNORE", "ILIKE", "IN", "IS", "LIKE", "NOT"}
    | {"OR", "OVER", "REGEXP", "RESPECT", "RLIKE", "WITHIN"}
)
# What may follow a table's name in FROM, and a query's SELECT hardly ever.
_AFTER_TABLE = frozenset(
    {
        *(
            "FOR",
            "TABLESAMPLE",
            "SYSTEM_VERSION",
            "SYSTEM_TIME",
            "JOIN",
            "INNER",
            "CROSS",
            "NATURAL",
        ),
        *("FULL", "SEMI", "ANTI", "WHERE", "ON", "USING", "PIVOT", "UNPIVOT", "AS"),
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
        *("LIKE", "RLIKE", "ILIKE"),
    }
)
_BEFORE_COLUMNS = (_BEFORE_OPERANDS - {"BETWEEN"}) | {"(", "SELECT", "DISTINCT", "BY", "AS"}
_FACTORS = frozenset(
    {TokenType.NUMBER, TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.R_PAREN}
)
_JOINS = frozenset({TokenType.JOIN, TokenType.PIVOT, TokenType.UNPIVOT})
_CLAUSES = frozenset(
    {
        *(TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY),
        *(TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY, TokenType.LIMIT),
        *(TokenType.OFFSET, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT),
    }
)
_ENDS_BODY = _CLAUSES | {TokenType.FROM, TokenType.INSERT}
_TRANSFORMS = frozenset({"MAP", "REDUCE"})
_BEFORE_TABLES = frozenset({TokenType.FROM, TokenType.JOIN, TokenType.COMMA})
# The tokens that each check looks at: most of a statement's are none of them.
_OPERATED = frozenset({TokenType.FROM, TokenType.SELECT, TokenType.JOIN})
_TAKEN = frozenset({TokenType.SELECT, TokenType.VALUES, TokenType.IN})
_NO_EXPRESSION = frozenset({TokenType.R_PAREN, TokenType.COMMA})
_BRACKETS = frozenset({TokenType.L_PAREN, TokenType.R_PAREN})
_MARKS = _BRACKETS | {TokenType.SELECT, TokenType.FROM} | _JOINS | _CLAUSES
# What may follow the table in `(TABLE t)`, or a query in brackets.
_AFTER_QUERY = frozenset(
    {
        *(")", "UNION", "INTERSECT", "EXCEPT", "MINUS", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"),
        *("LIMIT", "OFFSET", "WINDOW"),
    }
)


def begins_rows(tokens: Sequence[Token], at: int) -> bool:
    """Whether a row of VALUES begins there for certain: a bracket, a literal or a constructor."""
    if at >= len(tokens):
        return False
    if tokens[at].token_type in _BEFORE_ROWS:
        return True
    word = tokens[at].text.upper()
    following = tokens[at + 1].token_type if at + 1 < len(tokens) else None
    if following in _TEXTS:
        return word in _TYPES
    if following != TokenType.L_PAREN:
        return False
    # `now()`, `float(-1)`: a list of columns after an alias is neither empty nor of numbers.
    inner = tokens[at + 2].token_type if at + 2 < len(tokens) else None
    if inner == TokenType.R_PAREN or word in _CONSTRUCTORS:
        return True
    return word in _CASTS and inner in _NUMBERS


def named_tables(tokens: list[Token]) -> list[Token]:
    """The tokens with a table called values as a name, where FROM, JOIN or USING is before it."""
    at = [
        at
        for at, token in enumerate(tokens)
        if token.token_type == TokenType.VALUES
        and at
        and tokens[at - 1].token_type in _BEFORE_NAMES
        and not begins_rows(tokens, at + 1)
    ]
    if not at:
        return tokens
    result = list(tokens)
    for each in at:
        result[each] = like(tokens[each], TokenType.IDENTIFIER, tokens[each].text)
    return result


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
    """Refuse tables called select or by a clause's name: `(select a JOIN t)`, `FROM t, where x`."""
    inside: list[TokenType | None] = [None]  # SELECT or FROM, for each open bracket
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
        elif kind in _CLAUSES:
            if inside[-1] == TokenType.FROM and before in _BEFORE_TABLES:
                raise NotUnderstood(f"what may be a name, {token.text.lower()}")
            inside[-1] = None
        before = kind


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
    """Whether a star there has a factor before it: `SELECT 1 * FROM t` has no table to Spark."""
    if at < 1 or tokens[at].token_type != TokenType.STAR:
        return False
    return tokens[at - 1].token_type in _FACTORS


def check_table(tokens: Sequence[Token]) -> None:
    """Refuse what may be a table called table: `(table a JOIN t)`."""
    for at in range(1, len(tokens) - 1):
        if tokens[at - 1].token_type != TokenType.L_PAREN or word_of(tokens[at]) != "TABLE":
            continue
        here = at + 1
        if tokens[here].token_type == TokenType.L_PAREN:
            continue  # an argument
        while here + 2 < len(tokens) and tokens[here + 1].token_type == TokenType.DOT:
            here += 2
        ends = here + 1 >= len(tokens) or follows_query(tokens[here + 1])
        if not ends or not is_name(tokens[here]):
            raise NotUnderstood("what may be a name, table")


def _ends(tokens: Sequence[Token], at: int) -> bool:
    """Whether a bracket closes there, or a comma or nothing follows: SELECT needs an expression."""
    return at >= len(tokens) or tokens[at].token_type in _NO_EXPRESSION


def check_rows(tokens: Sequence[Token]) -> None:
    """Refuse what may be a table after the rows of VALUES.

    `(d.t b)` in `VALUES (1), (d.t b)` has an alias, `(t)` before TABLESAMPLE is sampled, and the
    rows of `VALUES 1 v, (t)` have an alias: Spark reads the table t in each.
    """
    values = [at for at, token in enumerate(tokens) if word_of(token) == "VALUES"]
    if not values:
        return
    if any(_may_have_alias(tokens, at + 1) for at in values):
        raise NotUnderstood("rows of VALUES that may have an alias")
    ends = closings(tokens)
    for at, end in ends.items():
        if not at or tokens[at - 1].token_type != TokenType.COMMA:
            continue
        sampled = end + 1 < len(tokens) and word_of(tokens[end + 1]) == "TABLESAMPLE"
        if sampled or _holds_table(tokens, ends, at):
            raise NotUnderstood("a row of VALUES that may be a table")


def _holds_table(tokens: Sequence[Token], ends: Mapping[int, int], at: int) -> bool:
    """Whether the bracket there holds a name, a call or a bracket, and after it an alias or what
    else follows a table: `(t VERSION AS OF 1)`."""
    end = ends[at]
    while ends.get(at + 1) == end - 1:  # more brackets around the same
        at, end = at + 1, end - 1
    here = at + 1
    first = word_of(tokens[here])
    if here not in ends:
        if not is_name(tokens[here]) or first == "NOT":
            return False
        here += 1
        while here < end and tokens[here].token_type == TokenType.DOT:
            here = min(here + 2, end)
    if here in ends:
        here = ends[here] + 1
    if word_of(tokens[here]) == "AS":
        return is_name(tokens[here + 1])
    if not is_name(tokens[here]) or tokens[here + 1].token_type == TokenType.COMMA:
        return False
    follows = word_of(tokens[here])
    return here + 1 == end or (first not in _EXPRESSION_BEGINS and follows not in _OPERATORS)


def _may_have_alias(tokens: Sequence[Token], at: int) -> bool:
    """Whether a name stands after a row that begins there, before a comma and a bracket.

    The parser knows an alias after rows in brackets, and takes one after `1` for the row's own.
    """
    depth, start = 0, at
    for here in range(at, len(tokens) - 1):
        kind = tokens[here].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth < 0 or (not depth and kind in _AFTER_ROWS):
            looked_at(here - at)
            return False
        if depth or kind != TokenType.COMMA:
            continue
        row = tokens[start:here]
        named = len(row) > 1 and is_name(row[-1]) and row[-2].token_type != TokenType.DOT
        if named and tokens[here + 1].token_type == TokenType.L_PAREN and not _in_brackets(row):
            return True
        start = here + 1
    looked_at(len(tokens) - at)
    return False


def _in_brackets(row: Sequence[Token]) -> bool:
    """Whether it is `(..) name` or `(..) AS name`."""
    end = -2 if row[-2].token_type == TokenType.ALIAS else -1
    brackets = list(row[:end])
    opens = bool(brackets) and brackets[0].token_type == TokenType.L_PAREN
    return opens and closing(brackets, 0) == len(brackets) - 1


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
            if _rows_end_early(tokens, at + 1):
                raise ValueError("VALUES before another table")
        elif token.token_type == TokenType.IN and at:
            called = at + 1 < len(tokens) and tokens[at + 1].token_type == TokenType.L_PAREN
            if called and tokens[at - 1].token_type in _BEFORE_TABLES:
                raise ValueError("a table function called in")


def _rows_end_early(tokens: Sequence[Token], at: int) -> bool:
    """Whether a comma after VALUES may be one of FROM: `VALUES (1), a, t`."""
    depth = 0
    for here in range(at, len(tokens) - 1):
        kind = tokens[here].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth < 0:
            return False
        if not depth and kind == TokenType.COMMA:
            spend()
            if not begins_rows(tokens, here + 1):
                return True
    return False


def check_complete(tokens: Sequence[Token], tree: exp.Expr) -> None:
    """Raises ValueError for a tree with fewer queries, joins or WITH than the words have.

    The parser leaves out what it does not know of, as the second argument of `first`, and makes
    one clause of a WITH in brackets that follows another.
    """
    kinds = [token.token_type for token in tokens]
    queries, joins = kinds.count(TokenType.SELECT), kinds.count(TokenType.JOIN)
    if not joins and (not queries or (queries == 1 and kinds[0] == TokenType.SELECT)):
        return
    # The parser makes a SELECT of its own for VALUES that stands in the place of a query.
    of_values = clauses = 0
    if TokenType.VALUES in kinds:
        of_values = sum(
            kind == TokenType.VALUES and kinds[at - 1] == TokenType.FROM
            for at, kind in enumerate(kinds)
            if at
        )
    if TokenType.WITH in kinds:
        clauses = sum(
            kind == TokenType.WITH and (not at or kinds[at - 1] == TokenType.L_PAREN)
            for at, kind in enumerate(kinds)
        )
    waiting: list[exp.Expr] = [tree]  # level by level: most are near the top
    for node in waiting:
        if queries <= 0 and joins <= 0 and clauses <= 0:
            return
        clauses -= isinstance(node, exp.With)
        if isinstance(node, exp.Select):
            if not _selects_values(node):
                queries -= 1
            elif of_values:
                of_values -= 1
                queries -= 1
        elif isinstance(node, exp.Join):
            joins -= 1
        for value in node.args.values():
            for child in value if type(value) is list else (value,):
                if isinstance(child, exp.Expr):
                    waiting.append(child)
    if queries > 0 or joins > 0 or clauses > 0:
        raise ValueError("a part of it was left out by the parser")


def _selects_values(select: exp.Select) -> bool:
    """Whether it is `SELECT * FROM VALUES ..`."""
    clause = select.args.get("from_")
    return (
        clause is not None
        and isinstance(clause.this, exp.Values)
        and [type(each) for each in select.expressions] == [exp.Star]
    )
