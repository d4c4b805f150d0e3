"""Words that are keywords to the parser and names to Spark.

Spark tries a table's name before VALUES, so `FROM values v` reads a table called values, and
`SELECT FROM t` selects a column called from. The parser reads both otherwise.
"""

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.tokens import like

_TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING})
_BEFORE_ROWS = frozenset(
    {TokenType.L_PAREN, TokenType.NUMBER, TokenType.DASH, TokenType.PLUS, *_TEXTS}
)
_BEFORE_NAMES = frozenset({TokenType.FROM, TokenType.JOIN})
_NO_WORDS = frozenset({TokenType.IDENTIFIER, *_TEXTS})
# What may follow a table's name in FROM, and a query's SELECT hardly ever.
_AFTER_TABLE = frozenset({"FOR", "TABLESAMPLE", "SYSTEM_VERSION", "SYSTEM_TIME"})
_AFTER_SELECT = frozenset({TokenType.DISTINCT, TokenType.ALL})


def begins_rows(tokens: Sequence[Token], at: int) -> bool:
    """Whether a row of VALUES begins there for certain: a bracket, a literal or a call."""
    if at >= len(tokens):
        return False
    if tokens[at].token_type in _BEFORE_ROWS:
        return True
    following = tokens[at + 1].token_type if at + 1 < len(tokens) else None
    return following in _TEXTS or following == TokenType.L_PAREN


def named_tables(tokens: list[Token]) -> list[Token]:
    """The tokens with a table called values as a name, where FROM or JOIN stands before it."""
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
    """Refuse what may be a table called select: `(select FOR VERSION AS OF 1)`."""
    for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
        if before.token_type != TokenType.SELECT or token.token_type in _NO_WORDS:
            continue
        word = token.text.upper()
        versioned = word in ("VERSION", "TIMESTAMP")
        if word in _AFTER_TABLE or (versioned and after and after.text.upper() == "AS"):
            raise NotUnderstood("what may be a table called select")


def check_words(tokens: Sequence[Token]) -> None:
    """Raises ValueError for words that the parser may take for keywords and Spark for names."""
    for at, token in enumerate(tokens):
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


def check_complete(tokens: Sequence[Token], tree: exp.Expr) -> None:
    """Raises ValueError for a tree with fewer queries or joins than the words have.

    The parser leaves out what it does not know of, as the second argument of `first`.
    """
    kinds = [token.token_type for token in tokens]
    queries, joins = kinds.count(TokenType.SELECT), kinds.count(TokenType.JOIN)
    if queries < 2 and not joins:
        return
    waiting: list[exp.Expr] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Select):
            queries -= 1
        elif isinstance(node, exp.Join):
            joins -= 1
        for value in node.args.values():
            for child in value if type(value) is list else (value,):
                if isinstance(child, exp.Expr):
                    waiting.append(child)
    if queries > 0 or joins > 0:
        raise ValueError("a part of it was left out by the parser")
