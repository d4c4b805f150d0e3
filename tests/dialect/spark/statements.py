"""Random statements of Spark's SQL: every command and clause.

Most of them parse. What they mean does not matter: Spark's parser resolves no column.
"""

import random
from collections.abc import Iterator
from typing import ClassVar

from tests.dialect.spark.client import SparkText
from tests.dialect.spark.queries import Makers, QueryWriter, Words

_WALKS = 500  # that are asked for at once


def walks(spark: SparkText, seed: int) -> Iterator[str]:
    """Statements of the whole grammar of the Spark that runs, without end; it may refuse any."""
    chance, writer = random.Random(seed), QueryWriter(seed)
    while True:
        for words in spark.statements(chance.getrandbits(48) for _ in range(_WALKS)):
            yield writer.text(words)


def script_walks(spark: SparkText, seed: int) -> Iterator[str]:
    """Scripts of the whole grammar of Spark 4, without end; it may refuse any."""
    chance, writer = random.Random(seed), QueryWriter(seed)
    while True:
        for words in spark.scripts(chance.getrandbits(48) for _ in range(_WALKS)):
            yield writer.text(words)


class Writer(QueryWriter):
    """Writes one statement after another from a seed."""

    def statement(self) -> str:
        self._ctes = []
        text = self.text(self._statement())
        return self._disturbed(text) if self._may(0.12) else text

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

    def _maybe_spec(self, probability: float) -> Words:
        return self._spec() if self._may(probability) else []

    def _if_exists(self, probability: float) -> Words:
        return self._maybe(probability, "IF", "EXISTS")

    def _if_not_exists(self, probability: float) -> Words:
        return self._maybe(probability, "IF", "NOT", "EXISTS")

    def _target(self) -> Words:
        into = self._pick(("INTO", "INTO", "INTO TABLE", "OVERWRITE", "OVERWRITE TABLE")).split()
        words = ["INSERT", *into, *self._written()]
        if into[-1] != "x" and into[0] == "INTO" and self._may(0.06):
            return [*words, "REPLACE", "WHERE", *self._expression(1)]
        words += self._maybe_spec(0.2)
        words += self._if_not_exists(0.05)
        words += self._maybe(0.1, "(", "x", ",", "y", ")")
        return words + self._maybe(0.04, "BY", "NAME")

    def _insert(self) -> Words:
        if self._may(0.05):
            path = ["DIRECTORY", self._path("x"), *self._maybe(0.6, "USING", "parquet")]
            return ["INSERT", "OVERWRITE", *self._maybe(0.3, "LOCAL"), *path, *self._query()]
        if self._may(0.1):
            return [*self._with_query(), *self._target(), *self._query()]
        return [*self._target(), *self._query()]

    def _with_query(self) -> Words:
        """WITH and one query, which what follows may refer to."""
        name = self._pick(("cte1", "t1"))
        self._ctes = [name]
        return ["WITH", name, "AS", "(", *self._query(1), ")"]

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
        words += [*self._maybe(0.05, "EXTERNAL"), "TABLE", *self._if_not_exists(0.2)]
        words += self._made()
        if self._may(0.1):
            return [*words, "LIKE", *self._table(), *self._maybe(0.3, "LOCATION", self._path("x"))]
        columns = ["(", "x", "INT", *self._maybe(0.3, "COMMENT", "'AS SELECT * FROM t9'"), ")"]
        query = self._may(0.5)
        words += columns if not query or self._may(0.1) else []
        clauses = [
            ["USING", self._pick(("parquet", "`parquet`", "org.x.y", "hive"))],
            ["COMMENT", "'a'"],
            ["LOCATION", self._path("x")],
            ["OPTIONS", "(", "path", self._path("y"), ",", "a.b", "=", "1", ")"],
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
            return ["ALTER", "VIEW", *self._written(), *self._maybe(0.9, "AS"), *self._query()]
        kind = self._pick(("", "", "TEMPORARY", "TEMP", "GLOBAL TEMPORARY")).split()
        words = ["CREATE", *self._maybe(0.3, "OR", "REPLACE"), *kind, "VIEW"]
        words += self._if_not_exists(0.1)
        words += self._one_of(self._names.temporary) if kind else self._made()
        if kind and self._may(0.1):
            return [*words, "USING", "parquet", "OPTIONS", "(", "path", self._path("x"), ")"]
        words += self._maybe(0.2, "(", "x", "COMMENT", "'AS SELECT'", ",", "as", ")")
        words += self._maybe(0.1, "COMMENT", "'as select * from t9'")
        words += self._maybe(
            0.1, "TBLPROPERTIES", "(", "'a'", "=", "'b'", ",", "as", "=", "'c'", ")"
        )
        return [*words, "AS", *self._query()]

    def _drop(self) -> Words:
        kind = self._pick(("TABLE", "TABLE", "VIEW"))
        words = ["DROP", kind, *self._if_exists(0.4), *self._written()]
        return words + (self._maybe(0.2, "PURGE") if kind == "TABLE" else [])

    def _alter(self) -> Words:
        table = ["ALTER", "TABLE", *self._written()]
        return self._of(
            lambda: [*table, "RENAME", "TO", *self._made()],
            lambda: ["ALTER", "VIEW", *self._written(), "RENAME", "TO", *self._made()],
            *self._alter_partitions(table),
            *self._alter_properties(table),
            *self._alter_columns(table),
            lambda: [*table, "RECOVER", "PARTITIONS"],
            lambda: [*table, "SET", "SERDE", "'a.b'"],
        )

    def _alter_partitions(self, table: Words) -> Makers:
        return (
            lambda: [
                *(*table, "ADD", *self._if_not_exists(0.5), *self._spec()),
                *self._maybe(0.3, "LOCATION", self._path("x")),
            ],
            lambda: [
                *(*table, "DROP", *self._if_exists(0.5), *self._spec()),
                *self._maybe(0.2, "PURGE"),
            ],
            lambda: [*table, *self._spec(), "RENAME", "TO", *self._spec()],
            lambda: [*table, *self._maybe_spec(0.3), "SET", "LOCATION", self._path("x")],
        )

    def _alter_properties(self, table: Words) -> Makers:
        put = ["SET", "TBLPROPERTIES", "(", "'a'", "=", "'b'", ")"]
        return (
            lambda: [*table, *put],
            lambda: ["ALTER", "VIEW", *self._written(), *put],
            lambda: [*table, "UNSET", "TBLPROPERTIES", *self._if_exists(0.5), "(", "'a'", ")"],
        )

    def _alter_columns(self, table: Words) -> Makers:
        added = ["(", "z", "INT", "COMMENT", "'c'", ")"]
        return (
            lambda: [*table, "ADD", self._pick(("COLUMN", "COLUMNS")), *added],
            lambda: [*table, "RENAME", "COLUMN", "x", "TO", "z"],
            lambda: [*table, "DROP", "COLUMN", *self._if_exists(0.3), "x"],
            lambda: [
                *(*table, self._pick(("ALTER", "CHANGE")), "COLUMN", "x"),
                self._pick(("TYPE BIGINT", "COMMENT 'c'", "DROP NOT NULL")),
            ],
            lambda: [*table, "REPLACE", "COLUMNS", "(", "z", "INT", ")"],
        )

    def _about(self) -> Words:
        described = self._pick(("DESCRIBE", "DESC"))
        return self._of(
            lambda: [
                *("ANALYZE", "TABLE", *self._written(), *self._maybe_spec(0.2)),
                *("COMPUTE", "STATISTICS"),
                *self._maybe(0.3, self._pick(("NOSCAN", "FOR ALL COLUMNS", "FOR COLUMNS x, y"))),
            ],
            lambda: [
                *(*self._maybe(0.5, "MSCK"), "REPAIR", "TABLE", *self._written()),
                *self._maybe(0.3, self._pick(("ADD", "DROP", "SYNC")), "PARTITIONS"),
            ],
            lambda: ["TRUNCATE", "TABLE", *self._written(), *self._maybe_spec(0.2)],
            lambda: ["COMMENT", "ON", "TABLE", *self._written(), "IS", self._pick(("'c'", "NULL"))],
            lambda: [
                *(described, *self._maybe(0.3, "TABLE")),
                *self._maybe(0.3, self._pick(("EXTENDED", "FORMATTED"))),
                *(*self._table(), *(self._spec() if self._may(0.1) else self._maybe(0.1, "x"))),
            ],
            *self._show(),
            lambda: [
                *("LOAD", "DATA", *self._maybe(0.3, "LOCAL"), "INPATH", self._path("x")),
                *(*self._maybe(0.3, "OVERWRITE"), "INTO", "TABLE", *self._written()),
                *self._maybe_spec(0.3),
            ],
            lambda: ["REFRESH", *self._maybe(0.8, "TABLE"), *self._table()],
        )

    def _show(self) -> Makers:
        return (
            lambda: ["SHOW", "CREATE", "TABLE", *self._table(), *self._maybe(0.2, "AS", "SERDE")],
            lambda: ["SHOW", "PARTITIONS", *self._table()],
            lambda: ["SHOW", "COLUMNS", self._pick(("FROM", "IN")), *self._table()],
            lambda: ["SHOW", "TBLPROPERTIES", *self._table(), *self._maybe(0.3, "(", "'a'", ")")],
            lambda: [
                *("SHOW", self._pick(("TABLES", "VIEWS", "DATABASES", "FUNCTIONS", "SCHEMAS"))),
                *self._maybe(0.3, "LIKE", "'t*'"),
            ],
        )

    def _describe_query(self) -> Words:
        return [self._pick(("DESCRIBE", "DESC")), *self._maybe(0.5, "QUERY"), *self._query()]

    def _change(self) -> Words:
        first = self._with_query() if self._may(0.2) else []
        where = ["WHERE", *self._expression()] if self._may(0.7) else []
        alias = self._alias() if self._may(0.3) else []
        if self._may(0.5):
            return [*first, "DELETE", "FROM", *self._written(), *alias, *where]
        values = ["x", "=", *self._expression()]
        values += [",", "a.y", "=", *self._expression()] if self._may(0.3) else []
        return [*first, "UPDATE", *self._written(), *alias, "SET", *values, *where]

    def _merge(self) -> Words:
        words = [
            *(self._with_query() if self._may(0.2) else []),
            "MERGE",
            "INTO",
            *self._written(),
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
            return ["UNCACHE", "TABLE", *self._if_exists(0.5), *self._table()]
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
            lambda: ["USE", *self._maybe(0.2, "DATABASE"), self._pick(self._names.used)],
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
        name = self._pick(self._names.databases)
        return self._of(
            lambda: [
                "CREATE",
                kind,
                *self._if_not_exists(0.5),
                name,
                *self._maybe(0.3, "COMMENT", "'c'"),
            ],
            lambda: ["DROP", kind, *self._if_exists(0.5), name, *self._maybe(0.5, "CASCADE")],
            lambda: ["ALTER", kind, name, "SET", "DBPROPERTIES", "(", "'a'", "=", "'b'", ")"],
            lambda: ["COMMENT", "ON", kind, name, "IS", "'c'"],
            lambda: ["DESCRIBE", kind, name],
            lambda: ["CREATE", "FUNCTION", *self._made(), "AS", "'a.B'"],
            lambda: ["DROP", "FUNCTION", *self._made()],
        )
