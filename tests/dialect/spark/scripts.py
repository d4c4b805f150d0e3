"""Random scripts of Spark 4: blocks, branches, loops, handlers and cursors around statements."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dialect.lexing.lexer import lexemes
from tests.dialect.spark.client import SparkText
from tests.dialect.spark.queries import QueryWriter, Words
from tests.dialect.spark.statements import Writer

_DEEPEST = 3  # of blocks in each other
_DRAWN = 150  # statements, queries and expressions each, of which Spark accepts most
_CONDITIONS = ("SQLEXCEPTION", "NOT FOUND", "SQLSTATE '22012'", "DIVIDE_BY_ZERO", "my_condition")
CURSORS = "spark.sql.scripting.cursorEnabled"
CONTINUE_HANDLERS = "spark.sql.scripting.continueHandlerEnabled"


def scripts(spark: SparkText, seed: int, count: int) -> Iterator[str]:
    """Scripts of statements that Spark accepts alone; it refuses some of the scripts."""
    spark.set(CURSORS, "true")
    spark.set(CONTINUE_HANDLERS, "true")
    writer = _PieceWriter(seed)
    pieces = Pieces(
        _accepted(spark, "", [writer.statement() for _ in range(_DRAWN)]),
        _accepted(spark, "", [writer.changing() for _ in range(_DRAWN)]),
        _accepted(spark, "", [writer.query() for _ in range(_DRAWN)]),
        _accepted(spark, "SELECT ", [writer.expression() for _ in range(_DRAWN)]),
    )
    scripts = ScriptWriter(seed, pieces)
    return (scripts.script() for _ in range(count))


def _accepted(spark: SparkText, before: str, texts: list[str]) -> list[str]:
    answers = spark.tables(before + text for text in texts)
    accepted = zip(texts, answers, strict=True)
    return [text for text, answer in accepted if answer[0] != "error" and not _ends(text)]


def _ends(text: str) -> bool:
    """Whether a semicolon ends the statement."""
    return any(text[start:end] == ";" for _, start, end in lexemes(text))


@dataclass(frozen=True, slots=True)
class Pieces:
    """What scripts are made of. `changing` are statements of kinds that scripts may have."""

    statements: Sequence[str]
    changing: Sequence[str]
    queries: Sequence[str]
    expressions: Sequence[str]


class _PieceWriter(Writer):
    def changing(self) -> str:
        self._ctes = []
        kinds = (self._insert, self._multi_insert, self._create_table, self._change, self._merge)
        return self.text(self._of(*kinds))

    def query(self) -> str:
        self._ctes = []
        return self.text(self._query(1))

    def expression(self) -> str:
        """Half of them have a query."""
        self._ctes = []
        if self._may(0.5):
            return self.text(self._expression())
        return self.text(["EXISTS", "(", *self._query(1), ")"])


class ScriptWriter(QueryWriter):
    """Writes one script after another from a seed."""

    def __init__(self, seed: int, pieces: Pieces) -> None:
        super().__init__(seed)
        self._pieces = pieces

    def script(self) -> str:
        words = ["BEGIN", *self._maybe(0.2, "NOT", "ATOMIC"), *self._declared(2)]
        text = self.text([*words, *self._statements(_DEEPEST), "END"])
        return self._disturbed(text) if self._may(0.12) else text

    def _declared(self, least: int = 0) -> Words:
        words = []
        for name in ("x", "y", "`x y`")[: self._chance.randint(least, 3)]:
            words += ["DECLARE", *self._maybe(0.3, "VARIABLE"), name, self._pick(("INT", "STRING"))]
            if self._may(0.5):
                words += [self._pick(("DEFAULT", "=")), *self._value()]
            words.append(";")
        words += self._maybe(0.2, "DECLARE", "my_condition", "CONDITION", ";")
        if self._may(0.2):
            words += ["DECLARE", "c", *self._maybe(0.3, "ASENSITIVE"), "CURSOR", "FOR"]
            words += [*self._query_piece(), *self._maybe(0.3, "FOR", "READ", "ONLY"), ";"]
        if self._may(0.2):
            words += ["DECLARE", self._pick(("EXIT", "CONTINUE")), "HANDLER", "FOR"]
            words += self._pick(_CONDITIONS).split(" ")
            words += self._block(0) if self._may(0.5) else self._single()
            words.append(";")
        return words

    def _statements(self, depth: int) -> Words:
        words = []
        for _ in range(self._chance.randint(1, 2)):
            words += [*(self._compound(depth - 1) if depth else self._single()), ";"]
        return words

    def _compound(self, depth: int) -> Words:
        return self._of(
            self._single,
            self._single,
            self._set_variable,
            lambda: self._block(depth),
            lambda: self._if(depth),
            lambda: self._case(depth),
            lambda: self._labelled(["WHILE", *self._value(), "DO"], depth, ["END", "WHILE"]),
            lambda: self._labelled(["LOOP"], depth, ["END", "LOOP"]),
            lambda: self._labelled(["REPEAT"], depth, ["UNTIL", *self._value(), "END", "REPEAT"]),
            lambda: self._for(depth),
        )

    # A piece may end with a comment: the line ends behind it.

    def _single(self) -> Words:
        pieces = self._pieces
        kind = (pieces.queries, pieces.changing, pieces.statements)[self._kind()]
        return [self._pick(kind) + "\n"]

    def _kind(self) -> int:
        return self._chance.choices((0, 1, 2), (30, 68, 2))[0]

    def _query_piece(self) -> Words:
        return [self._pick(self._pieces.queries) + "\n"]

    def _value(self) -> Words:
        return [self._pick(self._pieces.expressions) + "\n"]

    def _set_variable(self) -> Words:
        if self._may(0.3):
            return ["SET", "(", "x", ",", "y", ")", "=", "(", *self._query_piece(), ")"]
        words = ["SET", *self._maybe(0.3, "VAR"), "x", "=", *self._value()]
        return [*words, ",", "y", "=", *self._value()] if self._may(0.3) else words

    def _block(self, depth: int) -> Words:
        body = self._declared() if depth else []
        return ["BEGIN", *body, *self._statements(depth), "END"]

    def _if(self, depth: int) -> Words:
        words = ["IF", *self._value(), "THEN", *self._statements(depth)]
        if self._may(0.4):
            words += ["ELSEIF", *self._value(), "THEN", *self._statements(depth)]
        if self._may(0.4):
            words += ["ELSE", *self._statements(depth)]
        return [*words, "END", "IF"]

    def _case(self, depth: int) -> Words:
        words = ["CASE", *(self._value() if self._may(0.5) else [])]
        for _ in range(self._chance.randint(1, 2)):
            words += ["WHEN", *self._value(), "THEN", *self._statements(depth)]
        if self._may(0.4):
            words += ["ELSE", *self._statements(depth)]
        return [*words, "END", "CASE"]

    def _labelled(self, head: Words, depth: int, end: Words) -> Words:
        body = self._statements(depth)
        if self._may(0.5):
            return [*head, *body, *end]
        label = f"l{self._chance.randint(0, 999)}"
        jump = [self._pick(("LEAVE", "ITERATE")), label, ";"] if self._may(0.5) else []
        return [label, ":", *head, *body, *jump, *end, *self._maybe(0.5, label)]

    def _for(self, depth: int) -> Words:
        row = self._maybe(0.7, self._pick(("r", "`r 1`", "do", "then")), "AS")
        return self._labelled(["FOR", *row, *self._query_piece(), "DO"], depth, ["END", "FOR"])
