"""Random statements of Spark's SQL: every command and clause, then words written in odd ways.

Most of them parse. What they mean does not matter: Spark's parser resolves no column.
"""

import random
from collections.abc import Callable, Sequence
from typing import ClassVar

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
_TABLES = ("t1", "t2", "t3", "t4", "T5", "d1.t1", "d1.t2", "D2.t6", "`t1`", "`d1`.`t2`", "`a``b`")
_ODD_TABLES = (
    *("`d 1`.`t.1`", "spark_catalog.d1.t7", "`spark_catalog`.d1.t8", "t_1x", "1t", "d1.2t", "12e"),
    *("values", "table", "from", "select", "identifier", "order", "date", "map", "replace", "set"),
    *("partition", "with", "d1.select", "d1.table", "`select`", "first", "if", "interval", "case"),
    *("`-- x`", "`/* x`", "`'x`", "view", "cte1", "d1.cte1", "`cte1`", "into", "reduce", "desc"),
)
_COLUMNS = ("x", "y", "t1.x", "`x y`", "k", "ds", "date", "a.b.c", "order", "1x", "value", "X")
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


class Writer:
    """Writes one statement after another from a seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._ctes: list[str] = []

    def statement(self) -> str:
        self._ctes = []
        text = self._joined(self._statement())
        return self._disturbed(text) if self._may(0.12) else text

    # Text

    def _joined(self, words: Words) -> str:
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

    def _of(self, *makers: Callable[[], Words]) -> Words:
        return self._chance.choice(makers)()

    # Names

    def _table(self) -> Words:
        if self._may(0.06):
            return self._identifier()
        if self._ctes and self._may(0.3):
            return [self._pick(self._ctes)]
        if self._may(0.04):
            return [
                self._pick(("${v_table}", "${v_nested}", "${hiveconf:v_table}", "d2.${v_name}"))
            ]
        if self._may(0.12):
            return [self._pick(_ODD_TABLES)]
        name = self._pick(_TABLES)
        if "." in name and "`" not in name and self._may(0.1):
            return list(name.partition("."))
        return [name]

    def _identifier(self) -> Words:
        name = self._pick(
            (
                *("'t1'", "'d1.t2'", "'d1' '.t3'", '"D1.t4"', "'`a b`.`c``d`'", "r'd1.t1'"),
                *("'d1.' || 't5'", "concat('d1', '.', 't6')", "'${v_table}'", "lower('T1')", "x"),
                *(
                    "'d1.' || lower('T')",
                    "CONCAT('t', '7')",
                    "'t' || 8",
                    "('t9')",
                    "'spark_catalog.d1.t'",
                ),
            )
        )
        return ["IDENTIFIER", "(", name, ")"]

    def _alias(self) -> Words:
        columns = ["(", "x", ",", "y", ")"] if self._may(0.15) else []
        return [
            *self._maybe(0.5, "AS"),
            self._pick(("a", "b", "`c d`", "t1", "data", "s")),
            *columns,
        ]

    def _column(self) -> Words:
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
        operator = self._pick(
            (
                "=",
                "==",
                "<=>",
                "<>",
                "!=",
                "<",
                ">=",
                "!>",
                "!<",
                "+",
                "-",
                "*",
                "/",
                "%",
                "||",
                "AND",
            )
        )
        return self._of(
            lambda: [*inner(), operator, *inner()],
            lambda: ["(", *inner(), ")"],
            lambda: [
                self._pick(("coalesce", "f", "if", "`g h`", "d1.f", "left", "first")),
                "(",
                *inner(),
                ",",
                *inner(),
                ")",
            ],
            lambda: ["count", "(", self._pick(("*", "1", "DISTINCT x")), ")"],
            lambda: [
                "CASE",
                "WHEN",
                *inner(),
                "THEN",
                *inner(),
                *self._maybe(0.5, "ELSE", "1"),
                "END",
            ],
            lambda: [
                "CAST",
                "(",
                *inner(),
                "AS",
                self._pick(("INT", "decimal(10,2)", "array<int>", "struct<a:int>")),
                ")",
            ],
            lambda: ["(", *query(), ")"],
            lambda: ["(", *query(), ")"],
            lambda: ["EXISTS", "(", *query(), ")"],
            lambda: [*inner(), *self._maybe(0.3, "NOT"), "IN", "(", *query(), ")"],
            lambda: [*inner(), "IN", "(", *inner(), ",", *inner(), ")"],
            lambda: [*inner(), *self._maybe(0.3, "NOT"), "BETWEEN", *inner(), "AND", *inner()],
            lambda: [*inner(), self._pick(("LIKE", "RLIKE", "ILIKE")), *self._string()],
            lambda: [*inner(), "IS", *self._maybe(0.5, "NOT"), "NULL"],
            lambda: [self._pick(("NOT", "-", "~", "!", "~ ~", "- -")), *inner()],
            lambda: [
                "sum",
                "(",
                "x",
                ")",
                "OVER",
                "(",
                *self._maybe(0.7, "PARTITION", "BY", "y"),
                *self._maybe(0.7, "ORDER", "BY", "k"),
                ")",
            ],
            lambda: ["transform", "(", "x", ",", "z", "->", *inner(), ")"],
            lambda: [self._pick(("DATE", "TIMESTAMP", "INTERVAL")), "'2020-01-01'"],
            lambda: ["X", "'1F'"],
            lambda: ["INTERVAL", "1", "DAY"],
            lambda: ["(", *inner(), ",", *inner(), ")", "IN", "(", *query(), ")"],
            lambda: ["x", "[", *inner(), "]"],
            lambda: ["named_struct", "(", "'a'", ",", *inner(), ")", ".", "a"],
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

    # Statements

    def _statement(self) -> Words:
        if self._may(0.35):
            return self._query(3)
        if self._may(0.05):
            mode = self._pick(("", "EXTENDED", "FORMATTED", "CODEGEN", "COST"))
            return ["EXPLAIN", *mode.split(), *self._statement()]
        return getattr(self, self._pick(self._COMMANDS))()  # type: ignore[no-any-return]

    _COMMANDS: ClassVar[tuple[str, ...]] = (
        *("_insert", "_insert", "_insert", "_multi_insert", "_create_table", "_create_table"),
        *("_create_view", "_create_view", "_drop", "_alter", "_alter", "_about", "_about"),
        *("_change", "_merge", "_cache", "_session", "_session", "_database", "_describe_query"),
    )

    def _spec(self) -> Words:
        value = self._pick(("'a'", "1", "'2020-01-01'", "DATE'2020-01-01'", "null"))
        return [
            "PARTITION",
            "(",
            "ds",
            *self._maybe(0.8, "=", value),
            *self._maybe(0.3, ", hr = 1"),
            ")",
        ]

    def _target(self) -> Words:
        into = self._pick(("INTO", "INTO", "INTO TABLE", "OVERWRITE", "OVERWRITE TABLE")).split()
        words = ["INSERT", *into, *self._table()]
        if into[-1] != "x" and into[0] == "INTO" and self._may(0.06):
            return [*words, "REPLACE", "WHERE", *self._expression(1)]
        words += self._spec() if self._may(0.2) else []
        words += self._maybe(0.05, "IF", "NOT", "EXISTS")
        words += self._maybe(0.1, "(", "x", ",", "y", ")")
        return words + self._maybe(0.04, "BY", "NAME")

    def _insert(self) -> Words:
        if self._may(0.05):
            path = ["DIRECTORY", "'/tmp/x'", *self._maybe(0.6, "USING", "parquet")]
            return ["INSERT", "OVERWRITE", *self._maybe(0.3, "LOCAL"), *path, *self._query()]
        if self._may(0.1):
            name = self._pick(("cte1", "t1"))
            self._ctes = [name]
            inner = self._query(1)
            return ["WITH", name, "AS", "(", *inner, ")", *self._target(), *self._query()]
        return [*self._target(), *self._query()]

    def _multi_insert(self) -> Words:
        words = ["FROM", *self._relations(2)]
        for _ in range(self._chance.randint(1, 3)):
            words += [*self._target(), *self._select_clause(1)]
            words += ["WHERE", *self._expression(2)] if self._may(0.5) else []
        return words

    def _create_table(self) -> Words:
        words = [
            *self._pick(("CREATE", "CREATE", "CREATE", "REPLACE", "CREATE OR REPLACE")).split()
        ]
        words += [*self._maybe(0.05, "EXTERNAL"), "TABLE", *self._maybe(0.2, "IF", "NOT", "EXISTS")]
        words += self._table()
        if self._may(0.1):
            return [*words, "LIKE", *self._table(), *self._maybe(0.3, "LOCATION", "'/x'")]
        columns = ["(", "x", "INT", *self._maybe(0.3, "COMMENT", "'AS SELECT * FROM t9'"), ")"]
        query = self._may(0.5)
        words += columns if not query or self._may(0.1) else []
        clauses = [
            ["USING", self._pick(("parquet", "`parquet`", "org.x.y", "hive"))],
            ["COMMENT", "'a'"],
            ["LOCATION", "'/x'"],
            ["OPTIONS", "(", "path", "'/y'", ",", "a.b", "=", "1", ")"],
            ["PARTITIONED", "BY", "(", "ds", ")"],
            ["TBLPROPERTIES", "(", "'a'", "=", "'b'", ",", "select", "=", "'from'", ")"],
            ["STORED", "AS", "orc"],
            ["CLUSTERED", "BY", "(", "x", ")", "INTO", "4", "BUCKETS"],
            ["ROW", "FORMAT", "DELIMITED", "FIELDS", "TERMINATED", "BY", "','"],
        ]
        chosen = self._chance.sample(clauses, self._chance.choice((0, 0, 1, 1, 2, 3)))
        if self._may(0.8):
            chosen.sort(key=lambda clause: clause[0] != "USING")
        words += [word for clause in chosen for word in clause]
        return [*words, *self._maybe(0.8, "AS"), *self._query()] if query else words

    def _create_view(self) -> Words:
        if self._may(0.12):
            return ["ALTER", "VIEW", *self._table(), *self._maybe(0.9, "AS"), *self._query()]
        kind = self._pick(("", "", "TEMPORARY", "TEMP", "GLOBAL TEMPORARY")).split()
        words = ["CREATE", *self._maybe(0.3, "OR", "REPLACE"), *kind, "VIEW"]
        words += [*self._maybe(0.1, "IF", "NOT", "EXISTS"), *self._table()]
        if kind and self._may(0.1):
            return [*words, "USING", "parquet", "OPTIONS", "(", "path", "'/x'", ")"]
        words += self._maybe(0.2, "(", "x", "COMMENT", "'AS SELECT'", ",", "as", ")")
        words += self._maybe(0.1, "COMMENT", "'as select * from t9'")
        words += self._maybe(
            0.1, "TBLPROPERTIES", "(", "'a'", "=", "'b'", ",", "as", "=", "'c'", ")"
        )
        return [*words, "AS", *self._query()]

    def _drop(self) -> Words:
        kind = self._pick(("TABLE", "TABLE", "VIEW"))
        words = ["DROP", kind, *self._maybe(0.4, "IF", "EXISTS"), *self._table()]
        return words + (self._maybe(0.2, "PURGE") if kind == "TABLE" else [])

    def _alter(self) -> Words:
        table = ["ALTER", "TABLE", *self._table()]
        return self._of(
            lambda: [*table, "RENAME", "TO", *self._table()],
            lambda: ["ALTER", "VIEW", *self._table(), "RENAME", "TO", *self._table()],
            lambda: [
                *table,
                "ADD",
                *self._maybe(0.5, "IF", "NOT", "EXISTS"),
                *self._spec(),
                *self._maybe(0.3, "LOCATION", "'/x'"),
            ],
            lambda: [
                *table,
                "DROP",
                *self._maybe(0.5, "IF", "EXISTS"),
                *self._spec(),
                *self._maybe(0.2, "PURGE"),
            ],
            lambda: [*table, *self._spec(), "RENAME", "TO", *self._spec()],
            lambda: [*table, *(self._spec() if self._may(0.3) else []), "SET", "LOCATION", "'/x'"],
            lambda: [*table, "SET", "TBLPROPERTIES", "(", "'a'", "=", "'b'", ")"],
            lambda: [
                "ALTER",
                "VIEW",
                *self._table(),
                "SET",
                "TBLPROPERTIES",
                "(",
                "'a'",
                "=",
                "'b'",
                ")",
            ],
            lambda: [
                *table,
                "UNSET",
                "TBLPROPERTIES",
                *self._maybe(0.5, "IF", "EXISTS"),
                "(",
                "'a'",
                ")",
            ],
            lambda: [
                *table,
                "ADD",
                self._pick(("COLUMN", "COLUMNS")),
                "(",
                "z",
                "INT",
                "COMMENT",
                "'c'",
                ")",
            ],
            lambda: [*table, "RENAME", "COLUMN", "x", "TO", "z"],
            lambda: [*table, "DROP", "COLUMN", *self._maybe(0.3, "IF", "EXISTS"), "x"],
            lambda: [
                *table,
                self._pick(("ALTER", "CHANGE")),
                "COLUMN",
                "x",
                self._pick(("TYPE BIGINT", "COMMENT 'c'", "DROP NOT NULL")),
            ],
            lambda: [*table, "REPLACE", "COLUMNS", "(", "z", "INT", ")"],
            lambda: [*table, "RECOVER", "PARTITIONS"],
            lambda: [*table, "SET", "SERDE", "'a.b'"],
        )

    def _about(self) -> Words:
        described = self._pick(("DESCRIBE", "DESC"))
        return self._of(
            lambda: [
                "ANALYZE",
                "TABLE",
                *self._table(),
                *(self._spec() if self._may(0.2) else []),
                "COMPUTE",
                "STATISTICS",
                *self._maybe(0.3, self._pick(("NOSCAN", "FOR ALL COLUMNS", "FOR COLUMNS x, y"))),
            ],
            lambda: [
                *self._maybe(0.5, "MSCK"),
                "REPAIR",
                "TABLE",
                *self._table(),
                *self._maybe(0.3, self._pick(("ADD", "DROP", "SYNC")), "PARTITIONS"),
            ],
            lambda: [
                "TRUNCATE",
                "TABLE",
                *self._table(),
                *(self._spec() if self._may(0.2) else []),
            ],
            lambda: ["COMMENT", "ON", "TABLE", *self._table(), "IS", self._pick(("'c'", "NULL"))],
            lambda: [
                described,
                *self._maybe(0.3, "TABLE"),
                *self._maybe(0.3, self._pick(("EXTENDED", "FORMATTED"))),
                *self._table(),
                *(self._spec() if self._may(0.1) else self._maybe(0.1, "x")),
            ],
            lambda: ["SHOW", "CREATE", "TABLE", *self._table(), *self._maybe(0.2, "AS", "SERDE")],
            lambda: ["SHOW", "PARTITIONS", *self._table()],
            lambda: ["SHOW", "COLUMNS", self._pick(("FROM", "IN")), *self._table()],
            lambda: ["SHOW", "TBLPROPERTIES", *self._table(), *self._maybe(0.3, "(", "'a'", ")")],
            lambda: [
                "SHOW",
                self._pick(("TABLES", "VIEWS", "DATABASES", "FUNCTIONS", "SCHEMAS")),
                *self._maybe(0.3, "LIKE", "'t*'"),
            ],
            lambda: [
                "LOAD",
                "DATA",
                *self._maybe(0.3, "LOCAL"),
                "INPATH",
                "'/x'",
                *self._maybe(0.3, "OVERWRITE"),
                "INTO",
                "TABLE",
                *self._table(),
                *(self._spec() if self._may(0.3) else []),
            ],
            lambda: ["REFRESH", *self._maybe(0.8, "TABLE"), *self._table()],
        )

    def _describe_query(self) -> Words:
        return [self._pick(("DESCRIBE", "DESC")), *self._maybe(0.5, "QUERY"), *self._query()]

    def _change(self) -> Words:
        where = ["WHERE", *self._expression()] if self._may(0.7) else []
        alias = self._alias() if self._may(0.3) else []
        if self._may(0.5):
            return ["DELETE", "FROM", *self._table(), *alias, *where]
        values = ["x", "=", *self._expression()]
        values += [",", "a.y", "=", *self._expression()] if self._may(0.3) else []
        return ["UPDATE", *self._table(), *alias, "SET", *values, *where]

    def _merge(self) -> Words:
        words = [
            "MERGE",
            "INTO",
            *self._table(),
            *(self._alias() if self._may(0.4) else []),
            "USING",
        ]
        query = ["(", *self._query(1), ")"]
        words += [*(query if self._may(0.5) else self._table()), *self._maybe(0.6, "AS", "s")]
        words += ["ON", *self._expression()]
        if self._may(0.7):
            words += [
                "WHEN",
                "MATCHED",
                *(["AND", *self._expression()] if self._may(0.3) else []),
                "THEN",
            ]
            words += self._of(
                lambda: ["DELETE"],
                lambda: ["UPDATE", "SET", "*"],
                lambda: ["UPDATE", "SET", "x", "=", *self._expression()],
            )
        if self._may(0.7):
            words += ["WHEN", "NOT", "MATCHED", *self._maybe(0.3, "BY", "TARGET"), "THEN", "INSERT"]
            words += self._of(
                lambda: ["*"], lambda: ["(", "x", ")", "VALUES", "(", *self._expression(), ")"]
            )
        return words

    def _cache(self) -> Words:
        if self._may(0.3):
            return ["UNCACHE", "TABLE", *self._maybe(0.5, "IF", "EXISTS"), *self._table()]
        words = ["CACHE", *self._maybe(0.3, "LAZY"), "TABLE", *self._table()]
        words += self._maybe(0.2, "OPTIONS", "(", "'storageLevel'", "'DISK_ONLY'", ")")
        return [*words, *self._maybe(0.8, "AS"), *self._query()] if self._may(0.5) else words

    def _session(self) -> Words:
        key = self._pick(
            ("x", "spark.sql.x", "hivevar:y", "`a b`", "`z`", "a:b", "k1.k2", "x y", "TIME")
        )
        value = self._pick(
            ("1", "'a'", "b2 --c", "`q`", "`q` x", "/a/*", "a=b", "a;b", "", "${v_name}", "é")
        )
        return self._of(
            lambda: ["SET", key, "=", value],
            lambda: [f"SET {key}={value}"],
            lambda: [f"SET {key}  =  {value} "],
            lambda: ["SET", key, "==", value],
            lambda: ["SET", *self._maybe(0.7, key)],
            lambda: ["SET", "-v"],
            lambda: ["RESET", *self._maybe(0.7, key)],
            lambda: [
                "USE",
                *self._maybe(0.2, "DATABASE"),
                self._pick(("d1", "`d1`", "D2", "select", "spark_catalog.d1")),
            ],
            lambda: ["USE", *self._identifier()],
            lambda: [
                "ADD",
                "JAR",
                self._pick(("/a.jar", "'/a b.jar'", "/a.jar /b.jar", '"/c.jar" --x')),
            ],
            lambda: ["SET", "TIME", "ZONE", self._pick(("'UTC'", "LOCAL", "INTERVAL 1 HOUR"))],
        )

    def _database(self) -> Words:
        kind = self._pick(("DATABASE", "SCHEMA", "NAMESPACE"))
        name = self._pick(("d1", "`d 2`", "spark_catalog.d3", "IDENTIFIER('d4')", "select"))
        return self._of(
            lambda: [
                "CREATE",
                kind,
                *self._maybe(0.5, "IF", "NOT", "EXISTS"),
                name,
                *self._maybe(0.3, "COMMENT", "'c'"),
            ],
            lambda: [
                "DROP",
                kind,
                *self._maybe(0.5, "IF", "EXISTS"),
                name,
                *self._maybe(0.5, "CASCADE"),
            ],
            lambda: ["ALTER", kind, name, "SET", "DBPROPERTIES", "(", "'a'", "=", "'b'", ")"],
            lambda: ["COMMENT", "ON", kind, name, "IS", "'c'"],
            lambda: ["DESCRIBE", kind, name],
            lambda: ["CREATE", "FUNCTION", *self._table(), "AS", "'a.B'"],
            lambda: ["DROP", "FUNCTION", *self._table()],
        )
