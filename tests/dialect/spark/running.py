"""Random statements most of which pass Spark's analysis and run.

All tables have the same columns. Each query knows the relations in its FROM, so that its
expressions name columns that are there, with fitting types. Commands, comments, hints, blanks and a
part of the queries are those of `Writer`, of which Spark may refuse any.
"""

from collections.abc import Callable, Sequence

from tests.dialect.spark.names import Names
from tests.dialect.spark.queries import Words
from tests.dialect.spark.statements import Writer

# The columns of every table, in order; tables with partitions have the last two as keys.
COLUMNS = {"x": "INT", "y": "STRING", "k": "INT", "ds": "STRING", "hr": "INT"}
KEYS = ("ds", "hr")
DAYS = ("a", "b", "c")
HOURS = (1, 2)

_ALL = tuple(COLUMNS)
_Relation = tuple[str, Sequence[str]]


class RunningWriter(Writer):
    """Writes statements about tables with COLUMNS."""

    def __init__(self, seed: int, names: Names) -> None:
        super().__init__(seed, names)
        self._scope: list[_Relation] = []
        self._lent: list[_Relation] = []  # what the next SELECT may name of the query around it
        self._wanted: Sequence[str] = _ALL
        self._aliases = 0

    def statement(self) -> str:
        """One statement, which Spark may still refuse."""
        self._start()
        text = self.text(self._statement())
        return self._disturbed(text) if self._may(0.02) else text

    def query(self) -> str:
        """One statement that only reads."""
        self._start()
        return self.text(self._query(3))

    def _start(self) -> None:
        self._scope, self._lent, self._wanted, self._aliases = [], [], _ALL, 0
        self._ctes = []

    def text(self, words: Words) -> str:
        # Half of the statements are plain, so that what Spark makes of them depends on their words.
        return " ".join(words) if self._may(0.5) else super().text(words)

    # Tables

    def _alias(self) -> Words:
        self._aliases += 1
        return [*self._maybe(0.5, "AS"), f"a{self._aliases}"]

    def _known(self, words: Words, columns: Sequence[str] = _ALL) -> Words:
        """The relation with an alias, or without; its columns are in scope then."""
        if self._may(0.75):
            alias = self._alias()
            self._scope.append((alias[-1], columns))
            return [*words, *alias]
        plain = len(words) == 1 and words[0].replace("_", "").replace(".", "").isalnum()
        self._scope.append((words[0].rpartition(".")[2] if plain else "", columns))
        return words

    def _primary(self, depth: int) -> Words:
        if depth <= 0 or self._may(0.7):
            sample = self._maybe(0.03, "TABLESAMPLE", "(", "50", "PERCENT", ")")
            return self._known([*self._table(), *sample])
        if self._may(0.06):
            return super()._primary(depth)
        if self._may(0.1):
            return self._known(["LATERAL", *self._sub_query(self._some(), depth, True)])
        if self._may(0.1):
            return self._known(["range", "(", "1", ",", "3", ")"], ("id",))
        if self._may(0.1):
            return self._known(["explode", "(", "array", "(", "1", ",", "2", ")", ")"], ("col",))
        if self._may(0.1):
            alias = self._alias()[-1]
            self._scope.append((alias, ("x", "ds")))
            return ["VALUES", "(", "1", ",", "'a'", ")", "AS", alias, "(", "x", ",", "ds", ")"]
        if self._may(0.15):
            return ["(", *self._relation(depth - 1), ")"]
        wanted = self._some()
        return self._known(self._sub_query(wanted, depth), wanted)

    def _some(self) -> Sequence[str]:
        return self._chance.choice((_ALL, _ALL, ("x", "ds", "hr"), ("ds", "hr"), ("y", "ds")))

    def _relation(self, depth: int) -> Words:
        before = len(self._scope)
        words = self._primary(depth)
        while self._may(0.25):
            kind = self._pick(
                ("", "INNER", "LEFT", "RIGHT OUTER", "FULL", "CROSS", "LEFT SEMI", "LEFT ANTI")
            )
            left = len(self._scope)
            words += [*kind.split(), "JOIN", *self._primary(depth - 1)]
            if kind != "CROSS" and self._may(0.95):
                words += self._join_condition(before, depth - 1)
            if kind.endswith(("SEMI", "ANTI")):
                del self._scope[left:]
        return words

    def _join_condition(self, start: int, depth: int) -> Words:
        common = set(_ALL).intersection(*(columns for _, columns in self._scope[start:]))
        if "ds" in common and self._may(0.2):
            return [
                "USING",
                "(",
                *self._pick(("ds", "ds , hr" if "hr" in common else "ds")).split(),
                ")",
            ]
        hidden, self._scope = self._scope, self._scope[start:]
        words = ["ON", *self._condition(depth)]
        self._scope = hidden
        return words

    # Queries

    def _sub_query(self, wanted: Sequence[str], depth: int, correlated: bool = False) -> Words:
        """A query in brackets with these columns."""
        return ["(", *self._with_columns(wanted, depth - 1, correlated), ")"]

    def _with_columns(self, wanted: Sequence[str], depth: int, correlated: bool = False) -> Words:
        kept = self._scope, self._wanted, self._lent
        self._lent = list(self._scope) if correlated else []
        self._scope, self._wanted = [], wanted
        words = self._query(depth)
        self._scope, self._wanted, self._lent = kept
        return words

    def _with(self, depth: int) -> Words:
        outer = list(self._ctes)
        words = ["WITH"]
        for at in range(self._chance.randint(1, 3)):
            name = self._pick(("cte1", "cte2", "CTE1", "t1", "`cte 3`", "t2", "v1"))
            columns = ["(", *" , ".join(_ALL).split(), ")"] if self._may(0.15) else []
            words += [","] * bool(at) + [name, *columns, "AS"]
            words += self._sub_query(_ALL, depth)
            self._ctes = [*self._ctes, name]
        words += self._body(depth)
        self._ctes = outer
        return words

    def _body(self, depth: int) -> Words:
        if depth <= 0 or self._may(0.6):
            return self._select(depth)
        bracketed = lambda: self._sub_query(self._wanted, depth)  # noqa: E731
        choices: list[Callable[[], Words]] = [
            lambda: [*self._select(depth - 1), *self._operation(), *self._select(depth - 1)],
            lambda: [*bracketed(), *self._operation(), *self._select(depth - 1)],
            bracketed,
            lambda: self._select(depth, from_first=True),
            self._values,
        ]
        if tuple(self._wanted) == _ALL:
            choices += [lambda: ["TABLE", *self._table()]] * 2
        return self._chance.choice(choices)()

    def _values(self) -> Words:
        row = [f"{self._literal(COLUMNS[name])} AS {name}" for name in self._wanted]
        if self._may(0.5):
            return ["SELECT", *" , ".join(row).split()]
        columns = ["AS", "v", "(", *" , ".join(self._wanted).split(), ")"]
        literals = " , ".join(self._literal(COLUMNS[name]) for name in self._wanted)
        return ["SELECT", "*", "FROM", "VALUES", "(", *literals.split(), ")", *columns]

    def _literal(self, kind: str) -> str:
        return self._pick(("1", "2", "11")) if kind == "INT" else self._pick(("'a'", "'b'", "'d'"))

    def _select(self, depth: int, from_first: bool = False) -> Words:
        if self._may(0.05):
            return super()._select(depth)
        kept, lent, self._lent = self._scope, self._lent, []
        self._scope = []
        source = ["FROM", *self._relations(depth)]
        if self._may(0.04):
            source += ["LATERAL", "VIEW", "explode(array(1, 2))", "l", "AS", "e"]
        hint = self._maybe(0.05, self._pick(("/*+ BROADCAST(t1) */", "/*+ COALESCE(1) */")))
        grouped = self._may(0.12)
        clause = ["SELECT", *hint, *self._maybe(0.1, "DISTINCT"), *self._items(depth, grouped)]
        words = [*source, *clause] if from_first else [*clause, *source]
        if lent and self._may(0.6):
            words += ["WHERE", *self._correlated(lent)]
        elif self._may(0.6):
            words += ["WHERE", *self._condition(depth)]
        if grouped:
            words += ["GROUP", "BY", *" , ".join(self._grouping()).split()]
            words += self._maybe(0.3, "HAVING", "count(*)", ">", "0")
        self._scope = kept
        return words

    def _grouping(self) -> list[str]:
        return self._named("ds") or self._named("x") or ["1"]

    def _items(self, depth: int, grouped: bool) -> Words:
        same = len(self._scope) == 1 and tuple(self._scope[0][1]) == tuple(self._wanted)
        if same and not grouped and self._may(0.4):
            return ["*"]
        key = self._grouping() if grouped else []
        items = []
        for name in self._wanted:
            if grouped and name == "ds" and key != ["1"]:
                words = key[:1]
            else:
                words = self._int(depth) if COLUMNS[name] == "INT" else self._text(depth)
                words = ["max", "(", *words, ")"] if grouped else words
            items.append([*words, "AS", name])
        result = items[0]
        for item in items[1:]:
            result = [*result, ",", *item]
        return result

    def _correlated(self, lent: Sequence[_Relation]) -> Words:
        inner = self._named("ds", "x")
        hidden, self._scope = self._scope, list(lent)
        outer = self._named("ds", "x")
        self._scope = hidden
        both = inner and outer
        return [self._pick(inner), "=", self._pick(outer)] if both else ["true"]

    # Expressions

    def _named(self, *names: str) -> list[str]:
        """Those columns of the relations in scope, as they can be written."""
        alone = len(self._scope) == 1
        return [
            f"{qualifier}.{name}" if qualifier and (not alone or self._may(0.5)) else name
            for qualifier, columns in self._scope
            for name in names
            if name in columns and (qualifier or alone)
        ]

    def _int(self, depth: int) -> Words:
        columns = self._named("x", "k", "hr", "id", "col")
        if columns and (depth <= 0 or self._may(0.6)):
            return [self._pick(columns)]
        if depth <= 0 or self._may(0.2):
            return [self._pick(("1", "2", "7", "- 1", "1L"))]
        one = lambda: self._int(depth - 1)  # noqa: E731
        text = lambda: self._text(depth - 1)  # noqa: E731
        condition = lambda: self._condition(depth - 1)  # noqa: E731
        return self._of(
            lambda: [*one(), self._pick(("+", "-", "*", "%")), *one()],
            lambda: ["(", *one(), ")"],
            lambda: [self._pick(("coalesce", *self._functions())), "(", *one(), ",", *one(), ")"],
            lambda: ["length", "(", *text(), ")"],
            lambda: ["if", "(", *condition(), ",", *one(), ",", *one(), ")"],
            lambda: ["CASE", "WHEN", *condition(), "THEN", *one(), "ELSE", *one(), "END"],
            lambda: ["CAST", "(", *text(), "AS", "INT", ")"],
            lambda: self._scalar("x", depth),
            lambda: ["aggregate(", "array(1, 2)", ",", "0", ",", "(p, q)", "->", "p + q", ")"],
        )

    def _functions(self) -> Sequence[str]:
        return self._names.functions

    def _text(self, depth: int) -> Words:
        columns = self._named("y", "ds")
        if columns and (depth <= 0 or self._may(0.6)):
            return [self._pick(columns)]
        if depth <= 0 or self._may(0.2):
            return [self._pick(("'a'", '"b"', "'-- no'", "'FROM t9'", "'it\\'s'", "r'\\'", "'ä'"))]
        one = lambda: self._text(depth - 1)  # noqa: E731
        return self._of(
            lambda: [*one(), "||", *one()],
            lambda: [self._pick(("upper", "trim", "lower")), "(", *one(), ")"],
            lambda: ["substr", "(", *one(), ",", "1", ",", "1", ")"],
            lambda: ["CAST", "(", *self._int(depth - 1), "AS", "STRING", ")"],
            lambda: ["coalesce", "(", *one(), ",", *one(), ")"],
            lambda: self._scalar("ds", depth),
            lambda: ["named_struct", "(", "'p'", ",", *one(), ")", ".", "p"],
        )

    def _scalar(self, name: str, depth: int) -> Words:
        query = self._sub_query((name,), depth, self._may(0.2))
        return ["(", "SELECT", f"max({name})", "FROM", *query, "m", ")"]

    def _condition(self, depth: int) -> Words:
        """Mostly about partitions, as it is these that Spark and the analysis both select."""
        if depth > 0 and self._may(0.35):
            return self._joined_condition(depth - 1)
        days, hours = self._named("ds"), self._named("hr")
        if days and hours and self._may(0.1):
            pair = ["(", self._pick(days), ",", self._pick(hours), ")", "IN"]
            if depth > 0 and self._may(0.4):
                return [*pair, *self._sub_query(KEYS, depth)]
            return [*pair, "(", "('a', 1)", ",", "('b', 2)", ")"]
        if days and self._may(0.5):
            return self._of_day([self._pick(days)], depth)
        if hours and self._may(0.7):
            return self._of_hour([self._pick(hours)], depth)
        return [*self._int(depth - 1), self._pick(("=", "<", ">=", "<>", "<=>")), *self._int(0)]

    def _joined_condition(self, depth: int) -> Words:
        one = lambda: self._condition(depth)  # noqa: E731
        return self._of(
            lambda: [*one(), "AND", *one()],
            lambda: [*one(), "AND", *one()],
            lambda: [*one(), "OR", *one()],
            lambda: ["(", *one(), "OR", *one(), ")"],
            lambda: [self._pick(("NOT", "!")), "(", *one(), ")"],
            lambda: ["(", *one(), ")", "IS", "NOT", "NULL"],
            lambda: [*self._maybe(0.4, "NOT"), "EXISTS", *self._sub_query(("x",), depth, True)],
            lambda: ["if", "(", *one(), ",", *one(), ",", "false", ")"],
        )

    def _of_day(self, day: Words, depth: int) -> Words:
        value = lambda: [self._pick(("'a'", "'b'", "'c'", "'d'", '"a"', "'A'"))]  # noqa: E731
        return self._of(
            lambda: [*day, "=", *value()],
            lambda: [*day, "=", *value()],
            lambda: [*value(), self._pick(("=", "<", "<=>")), *day],
            lambda: [*day, self._pick(("<>", "<", ">", ">=", "<=>", "!=", "==")), *value()],
            lambda: [*day, *self._maybe(0.3, "NOT"), "IN", "(", *value(), ",", *value(), ")"],
            lambda: [*day, *self._maybe(0.2, "NOT"), "BETWEEN", *value(), "AND", *value()],
            lambda: [
                *day,
                self._pick(("LIKE", "RLIKE", "ILIKE")),
                self._pick(("'a%'", "'a'", "'_'")),
            ],
            lambda: [*day, "IS", *self._maybe(0.5, "NOT"), "NULL"],
            lambda: ["upper", "(", *day, ")", "=", "'A'"],
            lambda: [*day, "=", "concat", "(", "'a'", ",", "''", ")"],
            lambda: [*day, "=", "lower", "(", *value(), ")"],
            lambda: [*day, "=", *self._text(min(depth, 1))],
            lambda: [*day, "=", *self._scalar("ds", min(depth, 1))],
            lambda: [
                *day,
                *self._maybe(0.3, "NOT"),
                "IN",
                *self._sub_query(("ds",), min(depth, 1)),
            ],
            lambda: ["CASE", "WHEN", *day, "=", *value(), "THEN", "true", "ELSE", "false", "END"],
            lambda: ["coalesce", "(", *day, ",", "'a'", ")", "=", "'a'"],
        )

    def _of_hour(self, hour: Words, depth: int) -> Words:
        value = lambda: [self._pick(("1", "2", "'1'", "'01'", "1.0", "3", "1L", "0 + 1"))]  # noqa: E731
        return self._of(
            lambda: [*hour, "=", *value()],
            lambda: [*hour, self._pick(("<>", "<", ">", ">=", "<=>")), *value()],
            lambda: [*hour, "IN", "(", *value(), ",", *value(), ")"],
            lambda: [*hour, "BETWEEN", *value(), "AND", *value()],
            lambda: [*hour, "%", "2", "=", "1"],
            lambda: [*hour, "+", "1", "=", "2"],
            lambda: ["CAST", "(", *hour, "AS", "STRING", ")", "=", self._pick(("'1'", "'01'"))],
            lambda: [*hour, "=", *self._int(min(depth, 1))],
            lambda: [*hour, "IN", *self._sub_query(("hr",), min(depth, 1))],
        )

    # Commands that need columns

    def _insert(self) -> Words:
        if self._may(0.2):
            return super()._insert()
        into = self._pick(("INTO", "INTO", "INTO TABLE", "OVERWRITE", "OVERWRITE TABLE")).split()
        words = ["INSERT", *into, *self._written()]
        wanted: Sequence[str] = _ALL
        if self._may(0.4):
            day, hour = self._pick(DAYS), self._chance.choice(HOURS)
            spec, wanted = self._chance.choice(
                (
                    (f"ds = '{day}' , hr = {hour}", _ALL[:3]),
                    (f"ds = '{day}' , hr", (*_ALL[:3], "hr")),
                    ("ds , hr", _ALL),
                    (f'hr = {hour} , ds = "{day}"', _ALL[:3]),
                )
            )
            words += ["PARTITION", "(", *spec.split(), ")"]
        elif self._may(0.2):
            words += ["BY", "NAME"] if self._may(0.5) else ["(", *" , ".join(_ALL).split(), ")"]
        return [*words, *self._with_columns(wanted, 2)]

    def _multi_insert(self) -> Words:
        words = ["FROM", *self._relations(2)]
        for _ in range(self._chance.randint(1, 3)):
            words += ["INSERT", self._pick(("INTO", "OVERWRITE TABLE")), *self._written()]
            words += ["SELECT", *self._items(1, grouped=False)]
            words += ["WHERE", *self._condition(1)] if self._may(0.5) else []
        return words

    def _change(self) -> Words:
        self._scope = [("", _ALL)]
        where = ["WHERE", *self._condition(2)] if self._may(0.7) else []
        if self._may(0.5):
            return ["DELETE", "FROM", *self._written(), *where]
        return ["UPDATE", *self._written(), "SET", "x", "=", *self._int(2), *where]

    def _cache(self) -> Words:
        if self._may(0.6) or not self._names.temporary:
            return super()._cache()
        name = self._one_of(self._names.temporary)
        return ["CACHE", *self._maybe(0.3, "LAZY"), "TABLE", *name, "AS", *self._query()]
