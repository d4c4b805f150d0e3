"""A cursor over the tokens of a statement, for its parts that are no query."""

from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from conf.names import TableRef
from dialect.errors import NotUnderstood
from dialect.lexing.tokens import unambiguous

_TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_QUOTED = _TEXTS | {TokenType.HEX_STRING}
_OPEN = TokenType.L_PAREN
_CLOSE = TokenType.R_PAREN

# A query begins with one of these words, or with a bracket.
QUERY_WORDS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE")

Spec = tuple[tuple[str, str | None], ...]


class TokenCursor:
    """Tokens and the position of the next one. Methods without a condition raise NotUnderstood if
    the next tokens are others than expected."""

    __slots__ = ("at", "sql", "tokens")

    def __init__(self, tokens: Sequence[Token], sql: str, at: int = 0) -> None:
        self.tokens = tokens
        self.sql = sql
        self.at = at

    @property
    def done(self) -> bool:
        return self.at >= len(self.tokens)

    def word(self, ahead: int = 0) -> str:
        """The keyword or sign `ahead` tokens from here, in upper case; empty for quoted names and
        texts, and past the end.

        `!` is returned as NOT: Spark has one keyword for both, also in IF ! EXISTS.
        """
        at = self.at + ahead
        if at >= len(self.tokens):
            return ""
        token = self.tokens[at]
        if token.token_type == TokenType.IDENTIFIER or token.token_type in _QUOTED:
            return ""
        return "NOT" if token.token_type == TokenType.NOT else token.text.upper()

    def next_is(self, *words: str) -> bool:
        """Whether these words come next."""
        return self.word() == words[0] and all(
            self.word(ahead) == words[ahead] for ahead in range(1, len(words))
        )

    def take(self, *words: str) -> bool:
        """Moves past these words if they come next."""
        if self.next_is(*words):
            self.at += len(words)
            return True
        return False

    def take_any(self, *words: str) -> str:
        """Moves past one of the words and returns it; empty if none is next."""
        word = self.word()
        if word and word in words:
            self.at += 1
            return word
        return ""

    def expect(self, *words: str) -> None:
        if not self.take(*words):
            raise NotUnderstood(f"{' '.join(words)} expected near {self.near()}")

    def near(self) -> str:
        if self.done:
            return "its end"
        token = self.tokens[self.at]
        return repr(self.sql[token.start : token.start + 30])

    def end(self) -> None:
        """Raises NotUnderstood if a token follows."""
        if not self.done:
            raise NotUnderstood(f"not understood near {self.near()}")

    def is_text(self) -> bool:
        return not self.done and self.tokens[self.at].token_type in _TEXTS

    def text(self) -> str:
        """The value of a quoted string, or of adjacent ones. Raises NotUnderstood for a doubled
        quote."""
        if not self.is_text():
            raise NotUnderstood(f"a quoted string expected near {self.near()}")
        parts = []
        while self.is_text():
            parts.append(self.tokens[self.at].text)
            self.at += 1
        return unambiguous("".join(parts))

    def is_name(self, ahead: int = 0) -> bool:
        if self.at + ahead >= len(self.tokens):
            return False
        token = self.tokens[self.at + ahead]
        if token.token_type == TokenType.IDENTIFIER:
            return True
        if token.token_type in _QUOTED:
            return False
        return token.text.replace("_", "a").isalnum()

    def name(self) -> str:
        """One part of a name, in lower case. A name may begin with digits: `11_a`."""
        if not self.is_name():
            raise NotUnderstood(f"a name expected near {self.near()}")
        token = self.tokens[self.at]
        self.at += 1
        if token.token_type == TokenType.IDENTIFIER:
            return token.text.lower()
        text = token.text
        end = token.end
        while not self.done and self.tokens[self.at].start == end + 1 and self._continues():
            text += self.tokens[self.at].text
            end = self.tokens[self.at].end
            self.at += 1
        return text.lower()

    def _continues(self) -> bool:
        token = self.tokens[self.at]
        if token.token_type in _TEXTS or token.token_type == TokenType.IDENTIFIER:
            return False
        return token.text.replace("_", "a").isalnum()

    def names(self) -> list[str]:
        """A dotted name's parts, in lower case."""
        parts = [self.name()]
        while self.next_is(".") and self.at + 1 < len(self.tokens):
            self.at += 1
            parts.append(self.name())
        return parts

    def group(self) -> "TokenCursor":
        """The tokens inside the brackets that open here. Moves past them."""
        start = self.at + 1
        self.skip_group()
        return TokenCursor(self.tokens[start : self.at - 1], self.sql)

    def skip_group(self) -> None:
        if self.done or self.tokens[self.at].token_type != _OPEN:
            raise NotUnderstood(f"( expected near {self.near()}")
        depth = 0
        while not self.done:
            kind = self.tokens[self.at].token_type
            self.at += 1
            depth += (kind == _OPEN) - (kind == _CLOSE)
            if not depth:
                return
        raise NotUnderstood("a bracket is never closed")

    def skip_to(self, *words: str) -> bool:
        """Moves to the first of these words outside brackets; returns False if there is none."""
        while not self.done:
            if self.word() in words:
                return True
            if self.tokens[self.at].token_type == _OPEN:
                self.skip_group()
            else:
                self.at += 1
        return False

    def rest(self) -> list[Token]:
        tokens = list(self.tokens[self.at :])
        self.at = len(self.tokens)
        return tokens


# A table's name after a format, with one of these signs, is a path: parquet.`/data/x`.
PATH_SIGNS = frozenset("/:*.")
FILE_FORMATS = frozenset(
    {"parquet", "orc", "avro", "csv", "json", "text", "binaryfile", "hudi", "delta", "iceberg"}
)


def is_path(parts: Sequence[str]) -> bool:
    """Whether a name stands for files by their path: parquet.`/data/x`."""
    named = len(parts) == 2 and parts[0] in FILE_FORMATS
    return named and not PATH_SIGNS.isdisjoint(parts[1])


def table_ref(parts: Sequence[str], database: str) -> TableRef:
    """The table of `t`, `db.t` or `spark_catalog.db.t`. Raises NotUnderstood for another
    catalog."""
    if len(parts) == 3 and parts[0] == "spark_catalog":
        parts = parts[1:]
    if len(parts) == 2:
        return TableRef(parts[0], parts[1])
    if len(parts) == 1:
        return TableRef(database.lower(), parts[0])
    raise NotUnderstood(f"{'.'.join(parts)} is not a table of this metastore")


def database_name(cursor: TokenCursor) -> str:
    """The database of `db` or `spark_catalog.db`. Raises NotUnderstood for another catalog."""
    names = cursor.names()
    if len(names) == 2 and names[0] == "spark_catalog":
        names = names[1:]
    if len(names) != 1:
        raise NotUnderstood("a database of another catalog")
    return names[0]


def path_option(options: TokenCursor) -> str | None:
    """The path in the options `(path '/data/x', k = v)`; None without one."""
    while not options.done:
        named = options.tokens[options.at].text.lower() == "path"
        options.at += 1
        if named:
            options.take("=")
            return options.text()
    return None


def partition_spec(cursor: TokenCursor) -> Spec:
    """The columns and values of `(ds='x', hr)` in the order written; None for one without a
    value."""
    inner = cursor.group()
    pairs: list[tuple[str, str | None]] = []
    while not inner.done:
        key = inner.name()
        pairs.append((key, _value(inner) if inner.take("=") else None))
        if not inner.take(","):
            break
    inner.end()
    return tuple(pairs)


def _value(cursor: TokenCursor) -> str:
    cursor.take_any("DATE", "TIMESTAMP") if _typed(cursor) else None
    if cursor.is_text():
        return cursor.text()
    sign = cursor.take_any("-", "+")
    if cursor.done or cursor.word() in (",", ")", "("):
        raise NotUnderstood(f"a value expected near {cursor.near()}")
    token = cursor.tokens[cursor.at]
    cursor.at += 1
    if cursor.next_is("::"):  # the tokenizer turns the suffix of 10L or 1.5BD into a cast
        cursor.at += 2
    return sign.replace("+", "") + token.text


def _typed(cursor: TokenCursor) -> bool:
    following = cursor.tokens[cursor.at + 1 : cursor.at + 2]
    return cursor.word() in ("DATE", "TIMESTAMP") and bool(
        following and following[0].token_type in _TEXTS
    )
