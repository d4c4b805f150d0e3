"""The words of tokens, and tokens made of others."""

from collections.abc import Iterable, Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.work import spend

_LOOKED_AT = 16  # tokens that are looked at in one step of work
_NO_WORDS = frozenset(
    {
        TokenType.IDENTIFIER,
        TokenType.STRING,
        TokenType.RAW_STRING,
        TokenType.HEX_STRING,
        TokenType.NUMBER,
        TokenType.BACKSLASH,
    }
)
# In a string's text, before a quote that is written twice: Spark 3 has two strings there and no
# quote, Spark 4 one string with a quote.
DOUBLED = "\ufdd0"
BEGINS_QUERY = frozenset({"SELECT", "WITH", "FROM", "TABLE", "VALUES"})  # a query begins with one
# `f(x FROM y)` is no query in these functions.
WITH_FROM = frozenset({"EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY"})


def word_of(token: Token) -> str:
    """The keyword or sign in upper case, `!` as NOT, which it is to Spark; empty for a quoted text
    or name, and for a number."""
    if token.token_type in _NO_WORDS:
        return ""
    return "NOT" if token.token_type == TokenType.NOT else token.text.upper()


def certain(text: str) -> str:
    """The text of a string, if every version of Spark reads the same. Raises NotUnderstood."""
    if DOUBLED in text:
        raise NotUnderstood("a doubled quote, which Spark 3 and Spark 4 read otherwise")
    return text


def is_name(token: Token) -> bool:
    """Whether it may be a part of a name."""
    if token.token_type == TokenType.IDENTIFIER:
        return True
    return token.token_type not in _NO_WORDS and token.text.replace("_", "a").isalnum()


def names_in(tokens: Iterable[Token]) -> Iterator[str]:
    """The words that may be names, in lower case."""
    for token in tokens:
        if token.token_type == TokenType.IDENTIFIER:
            yield token.text.lower()
        elif token.token_type not in _NO_WORDS:
            yield from token.text.lower().split()  # a phrase such as ORDER BY is one token


def closing(tokens: list[Token], at: int) -> int:
    """The position of the bracket that closes the one at `at`; the end when none does."""
    depth = 0
    for here in range(at, len(tokens)):
        kind = tokens[here].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if not depth:
            looked_at(here - at)
            return here
    looked_at(len(tokens) - at)
    return len(tokens)


def looked_at(count: int) -> None:
    """Counts the work of looking at `count` tokens again. Raises TooMuchWork."""
    spend(max(0, count) // _LOOKED_AT)


def closings(tokens: Sequence[Token]) -> dict[int, int]:
    """By the position of each round bracket that is closed, where that is."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for at, token in enumerate(tokens):
        if token.token_type == TokenType.L_PAREN:
            waiting.append(at)
        elif token.token_type == TokenType.R_PAREN and waiting:
            found[waiting.pop()] = at
    return found


def like(token: Token, kind: TokenType, text: str) -> Token:
    """A token of another kind in the place of one."""
    return Token(kind, text, token.line, token.col, token.start, token.end)


def begins_query(tokens: Sequence[Token], at: int = 0) -> bool:
    """Whether a query begins there, in brackets or not."""
    while at < len(tokens) and tokens[at].token_type == TokenType.L_PAREN:
        at += 1
    return at < len(tokens) and is_query_word(tokens, at)


def is_query_word(tokens: Sequence[Token], at: int) -> bool:
    """Whether the word begins a query; `TABLE (t)` is an argument."""
    word = word_of(tokens[at])
    following = tokens[at + 1].token_type if at + 1 < len(tokens) else None
    return word in BEGINS_QUERY and not (word == "TABLE" and following == TokenType.L_PAREN)
