"""Splits a script into pieces: statements, the queries of loops and cursors, and expressions.

The grammar is `compoundStatement` in SqlBaseParser.g4 of Spark 4.3. In Spark most keywords may be
names. Here the first THEN, DO, WHEN or UNTIL outside of brackets ends an expression or a query. If
that splits a script in the wrong place, the analysis of a piece fails, because every token is in a
piece or in the control flow around the pieces.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum

from sqlglot.tokenizer_core import Token

from dialect.errors import NotUnderstood
from dialect.grammar.scripts.local_variables import LocalVariables
from dialect.grammar.session.session_variables import next_expression
from dialect.lexing.token_cursor import TokenCursor
from dialect.work import spend

MAX_PIECES = 1_000
MAX_DEPTH = 30  # nested blocks, loops and branches
_QUERIES = ("SELECT", "WITH", "VALUES", "TABLE", "(")
# Names of a loop's row that may also begin its query.
_NO_ROWS = ("SELECT", "WITH", "VALUES", "TABLE", "FROM", "MAP", "REDUCE")
_OPENING, _CLOSING = ("(", "[", "{", "CASE"), (")", "]", "}", "END")


class PieceKind(Enum):
    """The kinds of pieces."""

    STATEMENT = "a statement"
    QUERY = "the query of a loop or a cursor"
    EXPRESSIONS = "expressions, with commas between them"


@dataclass(frozen=True, slots=True)
class ScriptPiece:
    """A part of the script that may name tables. `variables` are the local variables in its
    scope."""

    kind: PieceKind
    text: str
    variables: frozenset[str] = frozenset()


@dataclass(slots=True)
class Script:
    """The pieces of a script in the order of the text, and the local variables that it assigns."""

    pieces: list[ScriptPiece] = field(default_factory=list)
    assigned: set[str] = field(default_factory=set)


def parse_script(tokens: Sequence[Token], sql: str) -> Script:
    """Splits the script with these tokens. Raises NotUnderstood."""
    reader = _ScriptReader(TokenCursor(tokens, sql))
    reader.block("")
    reader.cursor.end()
    return reader.script


class _ScriptReader:
    """Reads the tokens of one script by recursive descent, and appends to `script`."""

    def __init__(self, cursor: TokenCursor) -> None:
        self.cursor = cursor
        self.script = Script()
        self._variables = LocalVariables()
        self._depth = 0

    def block(self, label: str) -> None:
        """`BEGIN [NOT ATOMIC] .. END`, up to the label at its end."""
        self.cursor.expect("BEGIN")
        self.cursor.take("NOT", "ATOMIC")
        with self._variables.in_scope(label):
            self._body("END")
        self.cursor.expect("END")

    def _body(self, *ends: str) -> None:
        """Reads statements, each with a semicolon after it, up to one of the words."""
        with self._deeper():
            while self.cursor.word() not in ends:
                self._statement()
                self.cursor.expect(";")

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotUnderstood(f"a script nested deeper than {MAX_DEPTH} levels")
        yield
        self._depth -= 1

    def _statement(self) -> None:
        cursor = self.cursor
        label = ""
        if cursor.is_name() and cursor.word(1) == ":":
            label = cursor.name()
            cursor.at += 1
        match cursor.word():
            case "BEGIN":
                self.block(label)
            case "WHILE":
                self._while()
            case "REPEAT":
                self._repeat()
            case "LOOP":
                self._loop()
            case "FOR":
                self._for(label)
            case _ if label:
                raise NotUnderstood(f"a label before {cursor.near()}")
            case "IF":
                self._if()
                return
            case "CASE":
                self._case()
                return
            case _:
                self._plain()
                return
        if cursor.is_name():  # the label again
            cursor.name()

    def _plain(self) -> None:
        """A statement that is neither a block nor a loop nor a branch."""
        cursor = self.cursor
        match cursor.word():
            case "DECLARE":
                self._declare()
            case "SET":
                self._set()
            case "LEAVE" | "ITERATE":
                cursor.at += 1
                cursor.name()
            case "OPEN":
                self._open()
            case "FETCH":
                self._fetch()
            case "CLOSE":
                cursor.at += 1
                cursor.names()
            case _:
                self._piece(PieceKind.STATEMENT, self._rest())

    # Blocks, loops and branches

    def _while(self) -> None:
        self.cursor.expect("WHILE")
        self._expression("DO")
        self._body("END")
        self.cursor.expect("END", "WHILE")

    def _repeat(self) -> None:
        self.cursor.expect("REPEAT")
        self._body("UNTIL")
        self.cursor.expect("UNTIL")
        self._piece(PieceKind.EXPRESSIONS, self._until("END"))
        self.cursor.expect("END", "REPEAT")

    def _loop(self) -> None:
        self.cursor.expect("LOOP")
        self._body("END")
        self.cursor.expect("END", "LOOP")

    def _for(self, label: str) -> None:
        cursor = self.cursor
        cursor.expect("FOR")
        if cursor.is_name() and cursor.word(1) == "AS":
            if cursor.word() in _NO_ROWS:
                raise NotUnderstood(f"a loop whose row has the name {cursor.word().lower()}")
            cursor.name()
            cursor.expect("AS")
        if cursor.word() not in _QUERIES:
            raise NotUnderstood(f"the query of a loop expected near {cursor.near()}")
        self._piece(PieceKind.QUERY, self._until("DO"))
        cursor.expect("DO")
        with self._variables.in_scope(label):
            self._body("END")
        cursor.expect("END", "FOR")

    def _if(self) -> None:
        cursor = self.cursor
        cursor.expect("IF")
        self._expression("THEN")
        self._body("ELSEIF", "ELSE", "END")
        while cursor.take("ELSEIF"):
            self._expression("THEN")
            self._body("ELSEIF", "ELSE", "END")
        if cursor.take("ELSE"):
            self._body("END")
        cursor.expect("END", "IF")

    def _case(self) -> None:
        cursor = self.cursor
        cursor.expect("CASE")
        if cursor.word() != "WHEN":
            self._piece(PieceKind.EXPRESSIONS, self._until("WHEN"))
        while cursor.take("WHEN"):
            self._expression("THEN")
            self._body("WHEN", "ELSE", "END")
        if cursor.take("ELSE"):
            self._body("END")
        cursor.expect("END", "CASE")

    # Declarations, variables and cursors

    def _declare(self) -> None:
        cursor = self.cursor
        cursor.expect("DECLARE")
        if cursor.word() in ("CONTINUE", "EXIT") and cursor.word(1) == "HANDLER":
            self._handler()
        elif cursor.word(1) == "CONDITION" and cursor.word(2) in (";", "FOR"):
            self._rest()
        elif cursor.word(1) == "CURSOR" or cursor.word(2) == "CURSOR":
            self._cursor()
        else:
            self._variable()

    def _handler(self) -> None:
        """`{CONTINUE | EXIT} HANDLER FOR conditions`, and its block or statement."""
        cursor = self.cursor
        cursor.at += 2
        cursor.expect("FOR")
        self._condition()
        while cursor.take(","):
            self._condition()
        with self._deeper(), self._variables.in_scope(""):
            if cursor.word() == "BEGIN":
                self.block("")
            elif cursor.word() == "SET":
                self._set()
            else:
                self._piece(PieceKind.STATEMENT, self._rest())

    def _condition(self) -> None:
        cursor = self.cursor
        if cursor.take("NOT", "FOUND") or cursor.take("SQLEXCEPTION"):
            return
        if cursor.take("SQLSTATE"):
            cursor.take("VALUE")
            cursor.text()
            return
        cursor.names()

    def _cursor(self) -> None:
        """`name [ASENSITIVE | INSENSITIVE] CURSOR FOR query [FOR READ ONLY]`."""
        cursor = self.cursor
        cursor.name()
        cursor.take_any("ASENSITIVE", "INSENSITIVE")
        cursor.expect("CURSOR", "FOR")
        if cursor.word() not in _QUERIES:
            raise NotUnderstood(f"the query of a cursor expected near {cursor.near()}")
        query = self._rest()
        end = TokenCursor(query, cursor.sql, len(query) - 3)
        if len(query) > 3 and end.next_is("FOR", "READ", "ONLY"):
            query = query[:-3]
        self._piece(PieceKind.QUERY, query)

    def _variable(self) -> None:
        """`[VARIABLE] name, .. [type] [DEFAULT expression]`."""
        rest = TokenCursor(self._rest(), self.cursor.sql)
        if rest.next_is("OR", "REPLACE"):
            raise NotUnderstood("DECLARE OR REPLACE in a script")
        if rest.word() in ("VAR", "VARIABLE") and rest.is_name(1):
            rest.at += 1
        names = [rest.names()]
        while rest.take(","):
            names.append(rest.names())
        while not rest.done and rest.word() not in ("DEFAULT", "=", "=="):
            rest.at += 1
        value = rest.rest()[1:]
        if value:  # before the variables are declared: the value cannot refer to them
            self._piece(PieceKind.EXPRESSIONS, value)
        for parts in names:
            self._variables.declare(parts)

    def _set(self) -> None:
        """`SET [VAR | VARIABLE] x = 1, y = 2`, and `SET (x, y) = (SELECT ..)`."""
        cursor = self.cursor
        cursor.expect("SET")
        if cursor.word() in ("VAR", "VARIABLE") and (cursor.is_name(1) or cursor.word(1) == "("):
            cursor.at += 1
        rest = TokenCursor(self._rest(), cursor.sql)
        if rest.word() == "(":
            self._assign_targets(rest.group())
            rest.expect("=")
            query = rest.group()
            rest.end()
            self._piece(PieceKind.QUERY, query.rest())
            return
        while True:
            self._assign(rest.names())
            if not rest.take("=") and not rest.take("=="):
                raise NotUnderstood(f"SET in a script, near {rest.near()}")
            self._piece(PieceKind.EXPRESSIONS, next_expression(rest))
            if not rest.take(","):
                break
        rest.end()

    def _open(self) -> None:
        rest = TokenCursor(self._rest(), self.cursor.sql, 1)
        rest.names()
        if rest.take("USING"):
            self._piece(PieceKind.EXPRESSIONS, rest.rest())
        rest.end()

    def _fetch(self) -> None:
        rest = TokenCursor(self._rest(), self.cursor.sql, 1)
        if not rest.skip_to("INTO"):
            raise NotUnderstood("FETCH without INTO")
        rest.at += 1
        self._assign_targets(rest)

    def _assign_targets(self, names: TokenCursor) -> None:
        self._assign(names.names())
        while names.take(","):
            self._assign(names.names())
        names.end()

    def _assign(self, parts: Sequence[str]) -> None:
        self.script.assigned.add(self._variables.assigned(parts))

    # Pieces

    def _rest(self) -> Sequence[Token]:
        """The tokens up to the semicolon, to which the cursor moves."""
        cursor, start = self.cursor, self.cursor.at
        while not cursor.done and cursor.word() != ";":
            cursor.at += 1
        return cursor.tokens[start : cursor.at]

    def _expression(self, end: str) -> None:
        self._piece(PieceKind.EXPRESSIONS, self._until(end))
        self.cursor.expect(end)

    def _until(self, end: str) -> Sequence[Token]:
        """The tokens up to the word outside of brackets and CASE expressions. Raises NotUnderstood
        if the statement ends before."""
        cursor, start, depth = self.cursor, self.cursor.at, 0
        while depth or cursor.word() != end:
            word = cursor.word()
            depth += (word in _OPENING) - (word in _CLOSING)
            if cursor.done or word == ";" or depth < 0:
                raise NotUnderstood(f"{end} expected near {cursor.near()}")
            cursor.at += 1
        return cursor.tokens[start : cursor.at]

    def _piece(self, kind: PieceKind, tokens: Sequence[Token]) -> None:
        spend(len(tokens))
        if not tokens:
            raise NotUnderstood(f"{kind.value} expected near {self.cursor.near()}")
        if len(self.script.pieces) == MAX_PIECES:
            raise NotUnderstood(f"a script of more than {MAX_PIECES} statements and expressions")
        text = self.cursor.sql[tokens[0].start : tokens[-1].end + 1]
        self.script.pieces.append(ScriptPiece(kind, text, self._variables.visible()))
