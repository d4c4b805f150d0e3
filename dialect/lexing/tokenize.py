"""Turns a statement's text into tokens for sqlglot's parser, by the rules of Spark's lexer.

sqlglot's own tokenizer is not used. Where it splits a text differently from Spark's lexer, its
parser would read another statement than Spark runs.
"""

import re
from collections.abc import Iterator, Sequence

from sqlglot.dialects.spark import Spark
from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.lexing.lexer import Lexeme, LexemeKind, lexemes, unescaped
from dialect.lexing.spark_versions import check_versions
from dialect.lexing.tokens import DOUBLED, retyped
from dialect.work import spend

MAX_LENGTH = 4_000_000

# Keywords of queries in other SQL dialects. Spark reads them as names.
_KEYWORDS_OF_OTHER_DIALECTS = frozenset(
    {
        *("APPLY", "ASOF", "COPY", "FETCH", "GLOB", "KEEP", "KILL", "OPERATOR", "ORDINALITY"),
        *("PROCEDURE", "QUALIFY", "RETURNING", "SETTINGS", "STRAIGHT_JOIN", "TRIGGER", "XOR"),
        "WINDOW",  # a keyword only in `WINDOW w AS`
    }
)
# Without the keywords of commands, as SHOW: sqlglot would read the rest of the statement as a
# string.
_KEYWORDS = {
    word: kind
    for word, kind in Spark.Tokenizer.KEYWORDS.items()
    if kind != TokenType.COMMAND
    and word not in _KEYWORDS_OF_OTHER_DIALECTS
    and word.replace(" ", "").replace("_", "").isalnum()
}
_SIGNS = {
    **{sign: kind for sign, kind in Spark.Tokenizer.SINGLE_TOKENS.items() if sign not in "'\"`"},
    **{sign: Spark.Tokenizer.KEYWORDS[sign] for sign in ("<=>", "==", "<>", "!=", "<=", ">=")},
    **{sign: Spark.Tokenizer.KEYWORDS[sign] for sign in ("||", "->", "=>", "::")},
    **{"!>": TokenType.LTE, "!<": TokenType.GTE},
}
_SUFFIXES = {
    suffix: Spark.Tokenizer.KEYWORDS[kind]
    for suffix, kind in Spark.Tokenizer.NUMERIC_LITERALS.items()
}
# Keywords of two words. Spark's lexer has none: blanks and comments may stand between them.
_PHRASES = {tuple(word.split(" ")): (word, kind) for word, kind in _KEYWORDS.items() if " " in word}
_DOLLARS = re.compile(r"\$\w*\$")  # Spark 4's other quotes: `$$ it's $$`, `$a$ it's $a$`
_HEX = re.compile(r"[0-9a-fA-F]+")
_SECOND_WORDS = frozenset(second for _, second in _PHRASES)
_NO_WORDS = frozenset({TokenType.IDENTIFIER, TokenType.STRING, TokenType.RAW_STRING})
# Words that may begin a query or name a table in a hint.
_QUERIES = frozenset({"SELECT", "FROM", "TABLE", "VALUES", "WITH"})


def check_length(sql: str) -> None:
    """Raises NotUnderstood for a text of more than MAX_LENGTH characters."""
    if len(sql) > MAX_LENGTH:
        raise NotUnderstood(f"the statement is longer than {MAX_LENGTH} characters")


def tokenize(sql: str, double_quoted_names: bool = False) -> list[Token]:
    """The tokens of one statement or script, without comments, hints and final semicolons.

    With `double_quoted_names` "a" is a name and no string. Positions are those of `sql`; a token's
    `end` is that of its last character. Raises NotUnderstood.
    """
    check_length(sql)
    tokens: list[Token] = []
    words = lexemes(sql)
    for lexeme in words:
        spend()
        if lexeme.kind is LexemeKind.HINT and tokens and tokens[-1].token_type == TokenType.SELECT:
            _skip_hint(sql, words)
        elif double_quoted_names and lexeme.kind is LexemeKind.STRING and sql[lexeme.start] == '"':
            if sql[lexeme.start - 1 : lexeme.start] == '"':
                raise NotUnderstood("a doubled quote in a name")
            name = sql[lexeme.start + 1 : lexeme.end - 1]
            tokens.append(_token(TokenType.IDENTIFIER, name, lexeme.start, lexeme.end - 1))
        else:
            _add(tokens, sql, lexeme)
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    several = ";" in sql and any(token.token_type == TokenType.SEMICOLON for token in tokens)
    if several and not is_script(tokens) and not is_script(tokens[_explained(tokens) :]):
        raise NotUnderstood("it is more than one statement")
    check_versions(tokens, sql)
    return tokens


def _explained(tokens: Sequence[Token]) -> int:
    """The number of tokens of EXPLAIN CLUSTER [EXTENDED] before a statement."""
    words = [token.text.upper() for token in tokens[:3]]
    return (3 if words[2:] == ["EXTENDED"] else 2) if words[:2] == ["EXPLAIN", "CLUSTER"] else 0


def is_script(tokens: Sequence[Token]) -> bool:
    """Whether the tokens are those of a script, `BEGIN .. END` (Spark 4)."""
    return bool(tokens) and tokens[0].token_type == TokenType.BEGIN


def _add(tokens: list[Token], sql: str, lexeme: Lexeme) -> None:
    kind, start, end = lexeme
    text = sql[start:end]
    match kind:
        case LexemeKind.WORD:
            _add_word(tokens, text, start, end - 1)
        case LexemeKind.SIGN:
            tokens.append(_token(_SIGNS[text], text, start, end - 1))
        case LexemeKind.STRING:
            doubled = bool(tokens) and tokens[-1].end + 1 == start and sql[start - 1] == text[0]
            _add_string(tokens, unescaped(text[1:-1]), start, end - 1, text[0] if doubled else "")
        case LexemeKind.RAW_STRING:
            tokens.append(_token(TokenType.RAW_STRING, text[2:-1], start, end - 1))
        case LexemeKind.QUOTED_NAME:
            name = text[1:-1].replace("``", "`")
            tokens.append(_token(TokenType.IDENTIFIER, name, start, end - 1))
        case LexemeKind.NUMBER:
            _add_number(tokens, text, start, end - 1)
        case LexemeKind.UNCLOSED:
            _check_unclosed(tokens)
        case _:
            if text == "$" and _DOLLARS.match(sql, start):
                raise NotUnderstood("a text in $$, which only Spark 4 reads")
            tokens.append(_token(TokenType.BACKSLASH, text, start, end - 1))


def _token(kind: TokenType, text: str, start: int, end: int) -> Token:
    return Token(kind, text, 1, start + 1, start, end)


def _add_word(tokens: list[Token], text: str, start: int, end: int) -> None:
    word = text.upper()
    if word in _SECOND_WORDS and tokens and tokens[-1].token_type not in _NO_WORDS:
        phrase = _PHRASES.get((tokens[-1].text.upper(), word))
        if phrase is not None:
            tokens[-1] = _token(phrase[1], phrase[0], tokens[-1].start, end)
            return
    if word == "AS" and len(tokens) > 1 and _opens_windows(*tokens[-2:]):
        tokens[-2] = retyped(tokens[-2], TokenType.WINDOW, tokens[-2].text)
    tokens.append(_token(_KEYWORDS.get(word, TokenType.VAR), text, start, end))


def _opens_windows(word: Token, name: Token) -> bool:
    """Whether these are WINDOW and the name of a window, not an alias and the sign after it."""
    return _is_plain(word, "WINDOW") and name.text not in _SIGNS


def _is_plain(token: Token, word: str) -> bool:
    return token.token_type == TokenType.VAR and token.text.upper() == word


def _add_string(tokens: list[Token], value: str, start: int, end: int, doubled: str) -> None:
    """Adds a string; after the word X it is a binary literal. `doubled` is the quote between this
    string and the one directly before it, which becomes one token with it."""
    before = tokens[-1] if tokens else None
    if before is not None and doubled and before.token_type == TokenType.STRING:
        text = f"{before.text}{DOUBLED}{doubled}{value}"
        tokens[-1] = _token(TokenType.STRING, text, before.start, end)
        return
    marked = before is not None and before.token_type == TokenType.VAR and before.text in ("x", "X")
    if before is not None and marked and _HEX.fullmatch(value):
        tokens[-1] = _token(TokenType.HEX_STRING, value, before.start, end)
        return
    tokens.append(_token(TokenType.STRING, value, start, end))


def _add_number(tokens: list[Token], text: str, start: int, end: int) -> None:
    """Adds a number; one with a suffix becomes a cast, `10L` the tokens of `10::L`."""
    size = 2 if text[-2:].upper() == "BD" else 1
    kind = _SUFFIXES.get(text[-size:].upper())
    if kind is None:
        tokens.append(_token(TokenType.NUMBER, text, start, end))
        return
    tokens.append(_token(TokenType.NUMBER, text[:-size], start, end))
    tokens.append(_token(TokenType.DCOLON, "::", start, end))
    tokens.append(_token(kind, text[-size:], start, end))


def _skip_hint(sql: str, words: Iterator[Lexeme]) -> None:
    """Reads past a hint after SELECT. Raises NotUnderstood for a hint that may contain a query."""
    for kind, start, end in words:
        if kind is LexemeKind.HINT_END:
            return
        if kind is LexemeKind.WORD and sql[start:end].upper() in _QUERIES:
            raise NotUnderstood("a query inside a hint")
        if kind in (LexemeKind.UNCLOSED, LexemeKind.UNRECOGNIZED, LexemeKind.HINT):
            break
    raise NotUnderstood("a hint without an end")


def _check_unclosed(tokens: list[Token]) -> None:
    """Raises NotUnderstood for an unclosed comment, which Spark refuses except after SET."""
    if not tokens or tokens[0].token_type != TokenType.SET:
        raise NotUnderstood("a comment is never closed")
