"""Functions on sqlglot's tokens: their words, brackets and names."""

from collections.abc import Iterable, Iterator, Sequence

from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.work import spend

_TOKENS_A_STEP = 16  # tokens that one step of work reads again
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
# Marks a doubled quote in a string's text. Spark 3 reads two strings there and no quote, Spark 4
# one string with a quote.
DOUBLED = "\ufdd0"
BEGINS_QUERY = frozenset({"SELECT", "WITH", "FROM", "TABLE", "VALUES"})  # the first word of a query
# Functions of the form `f(x FROM y)`, in which FROM begins no query.
FUNCTIONS_WITH_FROM = frozenset({"EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "OVERLAY"})


def word_of(token: Token) -> str:
    """The keyword or sign in upper case; empty for a quoted text or name, and for a number. `!` is
    returned as NOT: Spark has one keyword for both."""
    if token.token_type in _NO_WORDS:
        return ""
    return "NOT" if token.token_type == TokenType.NOT else token.text.upper()


def unambiguous(text: str) -> str:
    """The text of a string. Raises NotUnderstood if Spark's versions read it differently."""
    if DOUBLED in text:
        raise NotUnderstood("a doubled quote, which Spark 3 and Spark 4 read differently")
    return text


def is_name(token: Token) -> bool:
    """Whether the token may be a part of a name."""
    if token.token_type == TokenType.IDENTIFIER:
        return True
    return token.token_type not in _NO_WORDS and token.text.replace("_", "a").isalnum()


def names_in(tokens: Iterable[Token]) -> Iterator[str]:
    """The words of the tokens that may be names, in lower case."""
    for token in tokens:
        if token.token_type == TokenType.IDENTIFIER:
            yield token.text.lower()
        elif token.token_type not in _NO_WORDS:
            yield from token.text.lower().split()  # a phrase such as ORDER BY is one token


def closing_bracket(tokens: list[Token], at: int) -> int:
    """The position of the bracket that closes the one at `at`; the end if none does."""
    depth = 0
    for position in range(at, len(tokens)):
        kind = tokens[position].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if not depth:
            spend_on_tokens(position - at)
            return position
    spend_on_tokens(len(tokens) - at)
    return len(tokens)


def spend_on_tokens(count: int) -> None:
    """Counts the work of reading `count` tokens again. Raises TooMuchWork."""
    spend(max(0, count) // _TOKENS_A_STEP)


def closing_brackets(tokens: Sequence[Token]) -> dict[int, int]:
    """The positions of closing round brackets, by those of the brackets that they close."""
    ends: dict[int, int] = {}
    waiting: list[int] = []
    for at, token in enumerate(tokens):
        if token.token_type == TokenType.L_PAREN:
            waiting.append(at)
        elif token.token_type == TokenType.R_PAREN and waiting:
            ends[waiting.pop()] = at
    return ends


def retyped(token: Token, kind: TokenType, text: str) -> Token:
    """A token of another kind and text with the position of `token`."""
    return Token(kind, text, token.line, token.col, token.start, token.end)


def begins_query(tokens: Sequence[Token], at: int = 0) -> bool:
    """Whether a query begins at `at`, in brackets or not."""
    while at < len(tokens) and tokens[at].token_type == TokenType.L_PAREN:
        at += 1
    return at < len(tokens) and is_query_word(tokens, at)


def is_query_word(tokens: Sequence[Token], at: int) -> bool:
    """Whether the word at `at` begins a query; `TABLE (t)` is an argument of a table function."""
    word = word_of(tokens[at])
    following = tokens[at + 1].token_type if at + 1 < len(tokens) else None
    return word in BEGINS_QUERY and not (word == "TABLE" and following == TokenType.L_PAREN)
