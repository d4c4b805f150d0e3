"""Random queries of Spark's SQL, with their words, blanks and comments written in odd ways."""

import random
from collections.abc import Callable, Sequence

from tests.dialect.spark.names import Names, Texts

# What the texts put in place of ${..}; some are half a comment or half a string.
VARIABLES = {
    "v_table": "d1.t2",
    "v_nested": "${v_name}",
    "v_name": "t3",
    "v_select": "SELECT * FROM t4",
    "v_comment": "/* ${v_name} */",
    "v_open": "/*",
    "v_dashes": "-- ",
    "v_quote": "'",
    "v_number": "1",
    "v_empty": "",
}
_COLUMNS = ("x", "y", "t1.x", "`x y`", "k", "ds", "date", "a.b.c", "order", "1x", "value", "X")
_ODD_NAMES = (
    *("values", "table", "select", "from", "first", "end", "with", "as", "on", "join", "lateral"),
    *("left", "union", "window", "where", "map", "insert", "by", "using", "tablesample", "for"),
    *("identifier", "interval", "exists", "version", "pivot", "is", "distinct", "all", "into"),
)
_STRINGS = (
    *(
        "'a'",
        "'it\\'s'",
        '"b"',
        "'-- no'",
        "'/* no */'",
        '"\'"',
        "'a' 'b'",
        "''",
        "r'\\'",
        "'\\\\'",
    ),
    *("'FROM t9'", '"FROM t9"', 'R"it\'s"', "'a\nb'", "'\\u0041'", "'''", "'ä'", "'${v_name}'"),
)
_NUMBERS = ("1", "0", "1.5", ".5", "1e3", "10L", "1.5BD", "2Y", "3S", "1.0D", "2F", "-1", "- 1")
_COMMENTS = (
    *("/* c */", "/**/", "/* FROM t9 */", "-- FROM t9\n", "--\n", "-- a \\\n FROM t9\n", "/*'*/"),
    *("/* /* c */ FROM t9 */", "/* /*+ */", "/*/**/*/", "/***/", "-- '\n", '/*"*/', "/*`*/"),
    *("/* -- */", "-- */\n", "-- /*\n", "/*\n*/", "--\r", "-- x\r\n", "/*;*/", "-- ;\n", "/*/ */"),
    *("/* ${v_name} */", "${v_comment}", "${v_empty}", "/* /*+ x */", "/* */ /* */", "/*//*+*/"),
)
_BLANKS = (" ", " ", " ", "  ", "\n", "\t", "\r\n", " \n ")
_HINTS = (
    *("/*+ BROADCAST(t1) */", "/*+ COALESCE(3) */", "/*+ REPARTITION(3, x), MERGE(a, `b c`) */"),
    *("/*+ MAPJOIN(t1) /* c */ */", "/*+ foo('*/', 1) */", "/*+ a */ /*+ b */", "/*+ x(d1.t1) */"),
)
_NOISE = ("/*", "*/", "/*+", "--", "\\", "\n", "'", '"', "`", ";", "(", ")", ",", ".", "\u00a0")

Words = list[str]
Maker = Callable[[], Words]
Makers = tuple[Maker, ...]
_OPERATORS = (
    *("=", "==", "<=>", "<>", "!=", "<", ">=", "!>", "!<"),
    *("+", "-", "*", "/", "%", "||", "AND"),
)


class QueryWriter:
    """Writes queries from a seed, as lists of words, and their text."""

    def __init__(self, seed: int, names: Names | None = None) -> None:
        self._chance = random.Random(seed)
        self._names = names or Names()
        self._ctes: list[str] = []

    # Text

    def text(self, words: Words) -> str:
        """The words with blanks and comments between them, some in other letters."""
        noisy = self._may(0.5)
        result = [self._gap(noisy) if self._may(0.2) else ""]
        for at, word in enumerate(words):
            if at:
                result.append(self._gap(noisy))
            result.append(self._spelt(word))
        if self._may(0.1):
            result.append(self._pick((";", " ;", " ; -- c", ";/* c */", " -- c", "/* c */", "\n")))
        return "".join(result)

    def _gap(self, noisy: bool) -> str:
        blank = self._pick(_BLANKS)
        if not noisy or self._may(0.75):
            return blank
        comment = self._pick(_COMMENTS)
        return comment if self._may(0.3) else f"{blank}{comment}{self._pick(_BLANKS)}"

    def _spelt(self, word: str) -> str:
        if not word.isalpha() or self._may(0.8):
            return word
        return "".join(self._pick((char.upper(), char.lower())) for char in word)

    def _disturbed(self, text: str) -> str:
        for _ in range(self._chance.randint(1, 3)):
            at = self._chance.randint(0, len(text))
            match self._chance.randint(0, 3):
                case 0:
                    text = text[:at] + text[at + self._chance.randint(1, 4) :]
                case 1:
                    text = (
                        text[:at]
                        + self._pick(("${v_open}", "${v_dashes}", "${v_quote}"))
                        + text[at:]
                    )
                case _:
                    text = text[:at] + self._pick(_NOISE) + text[at:]
        return text

    def _pick(self, choices: Sequence[str]) -> str:
        return self._chance.choice(choices)

    def _may(self, probability: float) -> bool:
        return self._chance.random() < probability

    def _maybe(self, probability: float, *words: str) -> Words:
        return list(words) if self._may(probability) else []

    def _of(self, *makers: Maker) -> Words:
        return self._chance.choice(makers)()

    # Names

    def _table(self) -> Words:
        if self._may(0.06):
            return self._identifier()
        if self._ctes and self._may(0.3):
            return [self._pick(self._ctes)]
        if self._may(0.04):
            return [self._pick(self._names.by_variable)]
        if self._may(0.12):
            return [self._pick(self._names.odd_tables)]
        name = self._pick(self._names.tables)
        if "." in name and "`" not in name and self._may(0.1):
            return list(name.partition("."))
        return [name]

    def _identifier(self) -> Words:
        return ["IDENTIFIER", "(", self._pick(self._names.identifiers), ")"]

    def _written(self) -> Words:
        """A table that a statement writes."""
        return self._one_of(self._names.written)

    def _made(self) -> Words:
        """A table or view that a statement creates."""
        return self._one_of(self._names.made)

    def _one_of(self, names: Texts) -> Words:
        return [self._pick(names)] if names else self._table()

    def _path(self, name: str) -> str:
        return f"'{self._names.folder}/{name}'"

    def _alias(self) -> Words:
        columns = ["(", "x", ",", "y", ")"] if self._may(0.15) else []
        if self._may(0.05):
            return [*self._maybe(0.7, "AS"), self._pick(_ODD_NAMES), *columns]
        return [
            *self._maybe(0.5, "AS"),
            self._pick(("a", "b", "`c d`", "t1", "data", "s")),
            *columns,
        ]

    def _column(self) -> Words:
        if self._may(0.03):
            return [self._pick(_ODD_NAMES)]
        return [self._pick(_COLUMNS)]

    def _string(self) -> Words:
        return [self._pick(_STRINGS)]

    # Expressions

    def _expression(self, depth: int = 2) -> Words:
        if depth <= 0 or self._may(0.4):
            return self._of(
                self._column, self._column, self._string, lambda: [self._pick(_NUMBERS)]
            )
        inner = lambda: self._expression(depth - 1)  # noqa: E731
        query = lambda: self._query(depth - 1)  # noqa: E731
        operator = self._pick(_OPERATORS)
        return self._of(
            lambda: [*inner(), operator, *inner()],
            lambda: ["(", *inner(), ")"],
            *self._calls(inner),
            *self._of_queries(inner, query),
            *self._predicates(inner),
            lambda: [
                *("sum", "(", "x", ")", "OVER", "("),
                *self._maybe(0.7, "PARTITION", "BY", "y"),
                *(*self._maybe(0.7, "ORDER", "BY", "k"), ")"),
            ],
            lambda: ["transform", "(", "x", ",", "z", "->", *inner(), ")"],
            lambda: [self._pick(("DATE", "TIMESTAMP", "INTERVAL")), "'2020-01-01'"],
            lambda: ["X", "'1F'"],
            lambda: ["INTERVAL", "1", "DAY"],
            lambda: ["(", *inner(), ",", *inner(), ")", "IN", "(", *query(), ")"],
            lambda: ["x", "[", *inner(), "]"],
            lambda: ["named_struct", "(", "'a'", ",", *inner(), ")", ".", "a"],
        )

    def _calls(self, inner: Maker) -> Makers:
        return (
            lambda: [
                self._pick(("coalesce", "f", "if", "`g h`", "d1.f", "left", "first")),
                *("(", *inner(), ",", *inner(), ")"),
            ],
            lambda: ["count", "(", self._pick(("*", "1", "DISTINCT x")), ")"],
            lambda: [
                *("CASE", "WHEN", *inner(), "THEN", *inner()),
                *(*self._maybe(0.5, "ELSE", "1"), "END"),
            ],
            lambda: [
                *("CAST", "(", *inner(), "AS"),
                *(self._pick(("INT", "decimal(10,2)", "array<int>", "struct<a:int>")), ")"),
            ],
        )

    def _of_queries(self, inner: Maker, query: Maker) -> Makers:
        return (
            lambda: ["(", *query(), ")"],
            lambda: ["(", *query(), ")"],
            lambda: ["EXISTS", "(", *query(), ")"],
            lambda: [*inner(), *self._maybe(0.3, "NOT"), "IN", "(", *query(), ")"],
        )

    def _predicates(self, inner: Maker) -> Makers:
        return (
            lambda: [*inner(), "IN", "(", *inner(), ",", *inner(), ")"],
            lambda: [*inner(), *self._maybe(0.3, "NOT"), "BETWEEN", *inner(), "AND", *inner()],
            lambda: [*inner(), self._pick(("LIKE", "RLIKE", "ILIKE")), *self._string()],
            lambda: [*inner(), "IS", *self._maybe(0.5, "NOT"), "NULL"],
            lambda: [self._pick(("NOT", "-", "~", "!", "~ ~", "- -")), *inner()],
        )

    # Queries

    def _query(self, depth: int = 2) -> Words:
        if depth > 0 and self._may(0.18):
            return self._with(depth)
        body = self._body(depth)
        body += self._maybe(0.1, "ORDER", "BY", "x") + self._maybe(0.1, "LIMIT", "3")
        return body

    def _with(self, depth: int) -> Words:
        outer = list(self._ctes)
        words, names = ["WITH"], []
        for at in range(self._chance.randint(1, 3)):
            name = self._pick(("cte1", "cte2", "CTE1", "t1", "`cte 3`", "t2"))
            columns = ["(", "x", ",", "y", ")"] if self._may(0.15) else []
            words += [","] * bool(at) + [name, *columns, *self._maybe(0.9, "AS")]
            words += ["(", *self._query(depth - 1), ")"]
            names.append(name)
            self._ctes = [*outer, *names]
        words += self._body(depth)
        self._ctes = outer
        return words

    def _body(self, depth: int) -> Words:
        if depth <= 0:
            return self._select(depth)
        return self._of(
            lambda: self._select(depth),
            lambda: self._select(depth),
            lambda: self._select(depth),
            lambda: self._select(depth),
            lambda: [*self._select(depth - 1), *self._operation(), *self._select(depth - 1)],
            lambda: [
                "(",
                *self._query(depth - 1),
                ")",
                *self._operation(),
                *self._select(depth - 1),
            ],
            lambda: ["(", *self._query(depth - 1), ")"],
            lambda: ["TABLE", *self._table()],
            lambda: ["VALUES", "(", "1", ",", *self._expression(depth - 1), ")"],
            lambda: ["FROM", *self._relations(depth - 1), *self._select_clause(depth)],
        )

    def _operation(self) -> Words:
        kind = self._pick(("UNION", "UNION", "INTERSECT", "EXCEPT", "MINUS"))
        return [kind, *self._maybe(0.5, self._pick(("ALL", "DISTINCT")))]

    def _select_clause(self, depth: int) -> Words:
        hint = [self._pick(_HINTS)] if self._may(0.08) else []
        items = [*self._expression(depth)] if self._may(0.6) else [self._pick(("*", "t1.*", "x"))]
        while self._may(0.25):
            items += [",", *self._expression(depth - 1)]
            items += self._maybe(
                0.4, *self._maybe(0.5, "AS"), self._pick(("c", "`d e`", "end_", "f"))
            )
        return ["SELECT", *hint, *self._maybe(0.1, "DISTINCT"), *items]

    def _select(self, depth: int) -> Words:
        words = self._select_clause(depth)
        if self._may(0.9):
            words += ["FROM", *self._relations(depth)]
            words += self._maybe(0.06, "LATERAL", "VIEW", "explode(x)", "l", "AS", "e")
        if self._may(0.35):
            words += ["WHERE", *self._expression(depth)]
        if self._may(0.12):
            words += ["GROUP", "BY", *self._expression(0)]
            words += ["HAVING", *self._expression(depth - 1)] if self._may(0.4) else []
        if self._may(0.05):
            words += [self._pick(("CLUSTER", "DISTRIBUTE", "SORT", "ORDER")), "BY", "x"]
        return words

    def _relations(self, depth: int) -> Words:
        words = self._relation(depth)
        while self._may(0.25):
            words += [",", *self._maybe(0.1, "LATERAL"), *self._relation(depth - 1)]
        return words

    def _relation(self, depth: int) -> Words:
        words = self._primary(depth)
        while self._may(0.25):
            kind = self._pick(
                ("", "INNER", "LEFT", "LEFT OUTER", "FULL", "CROSS", "LEFT SEMI", "ANTI")
            )
            words += [*kind.split(), "JOIN", *self._primary(depth - 1)]
            if kind != "CROSS" and self._may(0.9):
                using = ["USING", "(", "x", ")"]
                words += using if self._may(0.3) else ["ON", *self._expression(depth - 1)]
        return words

    def _primary(self, depth: int) -> Words:
        alias = self._alias() if self._may(0.3) else []
        if depth <= 0 or self._may(0.7):
            sample = self._maybe(0.04, "TABLESAMPLE", "(", "10", "PERCENT", ")")
            return [*self._table(), *sample, *alias]
        return self._of(
            lambda: ["(", *self._query(depth - 1), ")", *alias],
            lambda: ["(", *self._query(depth - 1), ")", *alias],
            lambda: ["(", *self._relation(depth - 1), ")", *alias],
            lambda: ["VALUES", "(", *self._expression(depth - 1), ")", *alias],
            lambda: ["range", "(", "10", ")", *alias],
            lambda: ["stack", "(", "1", ",", "TABLE", "(", *self._table(), ")", ")", *alias],
            lambda: ["explode", "(", "TABLE", *self._table(), ")", *alias],
            lambda: ["f", "(", "TABLE", "(", *self._query(depth - 1), ")", ")", *alias],
            lambda: ["explode", "(", *self._expression(depth - 1), ")", *alias],
            lambda: ["LATERAL", "(", *self._query(depth - 1), ")", *alias],
            lambda: [
                *self._table(),
                "PIVOT",
                "(",
                "sum(x)",
                "FOR",
                "y",
                "IN",
                "(",
                "1",
                ",",
                "2",
                ")",
                ")",
            ],
            lambda: [
                *self._table(),
                "UNPIVOT",
                "(",
                "v",
                "FOR",
                "n",
                "IN",
                "(",
                "x",
                ",",
                "y",
                ")",
                ")",
            ],
            lambda: [*self._table(), *self._maybe(0.7, "FOR"), "VERSION", "AS", "OF", "1"],
        )
