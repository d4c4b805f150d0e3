"""A cursor over a query's tokens, for `outline`."""

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dialect.errors import NotUnderstood
from dialect.lexing.tokens import BEGINS_QUERY, begins_query, is_name, is_query_word, word_of

SETS = frozenset({"UNION", "INTERSECT", "EXCEPT", "MINUS"})
# Clauses of a single expression. Before a comma such a word is an alias in FROM.
SINGLE = frozenset({"WHERE", "HAVING", "LIMIT", "OFFSET"})
# Words that are no names of tables, aliases or CTEs, or for which the query is refused.
_STRUCTURE = frozenset(
    {"JOIN", "LATERAL", "ON", "USING", "CROSS", "INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"}
    | {"NATURAL", "INSERT", "GROUP", "ORDER", "AS"}
    # Before one of these, JOIN or FROM is a column's name.
    | {"AND", "OR", "NOT", "BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "IS", "DIV"}
).union(BEGINS_QUERY, SETS, SINGLE)
# Tokens with which an operand certainly ends.
_OPERANDS = frozenset(
    {TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.NUMBER, TokenType.NULL}
    | {TokenType.R_PAREN, TokenType.R_BRACKET}
)


class QueryCursor:
    """Tokens and the position of the next one. Words are those of `word_of`, in upper case."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.at = 0

    @property
    def done(self) -> bool:
        return self.at >= len(self.tokens)

    def refusal(self) -> NotUnderstood:
        near = "its end" if self.done else repr(self.tokens[self.at].text[:30])
        return NotUnderstood(f"not understood near {near}")

    def kind(self) -> TokenType | None:
        return None if self.done else self.tokens[self.at].token_type

    def peek(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return word_of(self.tokens[at]) if at < len(self.tokens) else ""

    def ends(self) -> bool:
        return self.done or self.kind() == TokenType.R_PAREN

    def take(self, word: str) -> bool:
        found = self.peek() == word
        self.at += found
        return found

    def take_kind(self, kind: TokenType) -> bool:
        found = self.kind() == kind
        self.at += found
        return found

    def close(self) -> None:
        if not self.take_kind(TokenType.R_PAREN):
            raise self.refusal()

    def name(self) -> exp.Identifier:
        """One part of a name."""
        token = None if self.done else self.tokens[self.at]
        if token is None or not is_name(token) or word_of(token) in _STRUCTURE:
            raise self.refusal()
        self.at += 1
        return exp.Identifier(this=token.text, quoted=token.token_type == TokenType.IDENTIFIER)

    def is_field(self) -> bool:
        """Whether the word is a field, as in `x.select`: it follows a name and a dot."""
        before = self.tokens[max(self.at - 2, 0) : self.at]
        return len(before) == 2 and before[1].token_type == TokenType.DOT and is_name(before[0])

    def after_distinct(self) -> bool:
        """Whether FROM is that of the comparison `x IS [NOT] DISTINCT FROM`. Without x, IS and
        DISTINCT may be names."""
        if self.peek(-1) != "DISTINCT" or self.at < 3:
            return False
        start = self.at - (3 if self.peek(-2) == "NOT" else 2)
        return (
            start > 0
            and word_of(self.tokens[start]) == "IS"
            and self.tokens[start - 1].token_type in _OPERANDS
        )

    def may_compare(self) -> bool:
        """Whether FROM may be that of a comparison of a column with a keyword's name: `drop IS
        DISTINCT FROM x`."""
        if self.peek(-1) != "DISTINCT" or self.at < 3:
            return False
        start = self.at - (3 if self.peek(-2) == "NOT" else 2)
        before = self.tokens[start - 1]
        is_column = is_name(before) and word_of(before) not in ("SELECT", "ALL", "DISTINCT")
        return word_of(self.tokens[start]) == "IS" and is_column

    def query_opens(self) -> bool:
        """Whether the bracket here holds a query."""
        return self.at + 1 < len(self.tokens) and is_query_word(self.tokens, self.at + 1)

    def opens_term(self) -> bool:
        ahead = 2 if self.peek(1) in ("ALL", "DISTINCT") else 1
        return begins_query(self.tokens, self.at + ahead)

    def take_set_operation(self) -> bool:
        if self.peek() not in SETS:
            return False
        self.at += 2 if self.peek(1) in ("ALL", "DISTINCT") else 1
        return True
