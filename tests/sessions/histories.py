"""Random histories of a session: statements that change it, and statements that show what it is.

Names are few, so that they meet: views `w` and `t2` have names of tables. `t1` and `t2` are in one
cluster each, `w` and `both` in both. Variables are names of relations. Every query has one column,
`c`.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.spark.jar import SPARK_MAJOR

UPPER = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFUpper"
LOWER = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFLower"
PINS = ("USE CLUSTER c1", "USE CLUSTER c2", "USE CLUSTER")
_ZONES = ("UTC", "Asia/Tokyo", "America/New_York")


@dataclass(frozen=True, slots=True)
class Names:
    """The names in a history: two databases that have all tables, and folders of Parquet files."""

    databases: Sequence[str] = ("d1", "d2")
    folders: Sequence[str] = ("/p1", "/p2")
    tables: Sequence[str] = ("t1", "t2", "both", "w")
    views: Sequence[str] = ("v", "x", "w", "t2")
    shared: str = "g"  # a global temporary view
    functions: Sequence[str] = ("f",)
    variables: Sequence[str] = ("x", "y")
    permanent: str = "pv"  # a view in the metastore


class History:
    """Statements of one seed. `opening` is the client's map."""

    def __init__(self, seed: int, names: Names | None = None) -> None:
        self.names = names or Names()
        self._random = random.Random(seed)
        pairs = [
            ("set:hivevar:a", "t1"),
            ("set:hiveconf:a", "t2"),
            ("set:hiveconf:b", "both"),
            ("set:hiveconf:spark.sql.session.timeZone", self._random.choice(_ZONES)),
        ]
        self._random.shuffle(pairs)
        self.opening = dict(pairs[: self._random.randrange(len(pairs) + 1)])

    def statements(self, length: int) -> Iterator[str]:
        weights = self._weights()
        for _ in range(length):
            yield self._random.choices(list(weights), list(weights.values()))[0](self)

    _computed = "uuid()"

    def _weights(self) -> "Weights":
        return _KINDS

    def _one(self, choices: Sequence[str]) -> str:
        return self._random.choice(choices)

    def _maybe(self, text: str, share: float = 0.5) -> str:
        return text if self._random.random() < share else ""

    def _view(self) -> str:
        return self._one((*self.names.views, f"global_temp.{self.names.shared}"))

    def _names_table(self, name: str) -> bool:
        return name.strip("`").lower() in self.names.tables

    def _relation(self) -> str:
        table = self._one(self.names.tables)
        qualified = f"{self._one(self.names.databases)}.{table}"
        return self._one((self._view(), self._view(), table, qualified))

    def _query(self) -> str:
        kinds = (
            f"SELECT * FROM {self._relation()}",
            f"SELECT * FROM {self._relation()}",
            f"SELECT 'literal {self._random.randrange(9)}' AS c",
            f"SELECT {self._function()}('Ab') AS c",
            f"SELECT {self._function()}('Ab') AS c",
            f"SELECT a.c FROM {self._relation()} a CROSS JOIN {self._relation()} b",
            "SELECT current_database() AS c",
            "SELECT current_timezone() AS c",
            f"SELECT '{self._variable()}' AS c",
            f"SELECT * FROM {self._variable()}",
        )
        return self._one(kinds)

    def _function(self) -> str:
        function = self._one(self.names.functions)
        return self._one((function, f"{self._one(self.names.databases)}.{function}"))

    def _variable(self) -> str:
        return self._one(("${a}", "${b}", "${hivevar:a}", "${hiveconf:b}"))

    def query(self) -> str:
        return self._query()

    def pin(self) -> str:
        return self._one(PINS)

    def create(self) -> str:
        replace, name = self._maybe("OR REPLACE ", 0.6), self._view()
        kind = "GLOBAL TEMPORARY" if "." in name else "TEMPORARY"
        return f"CREATE {replace}{kind} VIEW {name.split('.')[-1]} AS {self._query()}"

    def create_using(self) -> str:
        replace, folder = self._maybe("OR REPLACE ", 0.6), self._one(self.names.folders)
        name = self._one(self.names.views)
        return f"CREATE {replace}TEMPORARY VIEW {name} USING parquet OPTIONS (path '{folder}')"

    def rename(self) -> str:
        name, new = self._view(), self._view()
        kind = "VIEW" if self._names_table(name) else self._one(("TABLE", "VIEW"))
        return f"ALTER {kind} {name} RENAME TO {new.split('.')[-1]}"

    def alter(self) -> str:
        return f"ALTER VIEW {self._view()} AS {self._query()}"

    def drop(self) -> str:
        name = self._view()
        kind = "VIEW" if self._names_table(name) else self._one(("VIEW", "TABLE"))
        return f"DROP {kind} {self._maybe('IF EXISTS ')}{name}"

    def insert(self) -> str:
        return f"INSERT INTO {self._one(('v', 'x'))} VALUES ('more')"

    def cache(self) -> str:
        name = self._one(self.names.views)
        return self._one((f"CACHE TABLE {name} AS {self._query()}", f"CACHE TABLE {name}"))

    def uncache(self) -> str:
        exists, name = self._maybe("IF EXISTS "), self._one(self.names.views)
        return self._one((f"UNCACHE TABLE {exists}{name}", "CLEAR CACHE"))

    def show(self) -> str:
        return self._one(
            ("SHOW VIEWS", f"SHOW COLUMNS IN {self._view()}", f"DESCRIBE {self._view()}")
        )

    def use(self) -> str:
        return f"USE {self._one((*self.names.databases, 'nosuch'))}"

    def set(self) -> str:
        key = self._one(("a", "b", "hivevar:a", "hivevar:b", "hiveconf:a", "`hivevar:b`"))
        value = self._one(("t1", "t2", "both", "v", "${hivevar:b}"))
        zone = self._one(_ZONES)
        return self._one(
            (
                f"SET {key}={value}",
                f"SET {key} = {value}",
                f"SET TIME ZONE '{zone}'",
                "SET TIME ZONE LOCAL",
                f"SET spark.sql.session.timeZone={zone}",
            )
        )

    def reset(self) -> str:
        zone = "RESET spark.sql.session.timeZone"
        return self._one(("RESET", "RESET a", "RESET b", "RESET hivevar:a", zone))

    def function(self) -> str:
        replace, exists = self._maybe("OR REPLACE "), self._maybe("IF EXISTS ")
        name, qualified = self._one(self.names.functions), self._function()
        body = f"AS '{self._one((UPPER, LOWER))}'"
        return self._one(
            (
                f"CREATE {replace}TEMPORARY FUNCTION {name} {body}",
                f"DROP TEMPORARY FUNCTION {exists}{name}",
                f"CREATE {replace}FUNCTION {qualified} {body}",
                f"CREATE OR REPLACE FUNCTION {qualified} {body}",
                f"DROP FUNCTION {exists}{qualified}",
            )
        )

    def declare(self) -> str:
        name = self._one(self.names.variables)
        replace = self._maybe("OR REPLACE ", 0.7)
        if self._random.random() < 0.2:
            return f"DROP TEMPORARY VARIABLE {self._maybe('IF EXISTS ')}{name}"
        return f"DECLARE {replace}VARIABLE {name} STRING DEFAULT '{self._text()}'"

    def assign(self) -> str:
        name, other = self._one(self.names.variables), self._one(self.names.variables)
        values = (f"'{self._text()}'", f"'{self._text()}'", other, "DEFAULT", self._computed)
        return self._one(
            (
                f"SET VAR {name} = {self._one(values)}",
                f"SET VAR {name} = (SELECT * FROM {self._relation()})",
                f"EXECUTE IMMEDIATE 'SELECT * FROM {self._relation()}' INTO {name}",
            )
        )

    def use_variable(self) -> str:
        name, create = self._one(self.names.variables), "CREATE OR REPLACE TEMPORARY VIEW"
        return self._one(
            (
                f"SELECT {name} AS c",
                f"SELECT {name} AS c",
                f"SELECT * FROM IDENTIFIER({name})",
                f"EXECUTE IMMEDIATE 'SELECT * FROM ' || {name}",
                f"EXECUTE IMMEDIATE '{create} v AS SELECT * FROM ' || {name}",
                f"{create} x AS SELECT {name} AS c",
                "EXECUTE IMMEDIATE 'SET a=t1'",
            )
        )

    def _text(self) -> str:
        return self._one((*self.names.tables, self._view()))


Weights = dict[Callable[..., str], int]
_KINDS: Weights = {
    History.query: 30,
    History.pin: 10,
    History.create: 14,
    History.create_using: 6,
    History.rename: 6,
    History.alter: 3,
    History.drop: 8,
    History.insert: 2,
    History.cache: 4,
    History.uncache: 2,
    History.show: 6,
    History.use: 4,
    History.set: 7,
    History.reset: 2,
    History.function: 10,
    History.declare: 8,
    History.assign: 8,
    History.use_variable: 12,
}
_OF_SPARK_4 = (History.declare, History.assign, History.use_variable)


class WiderHistory(History):
    """With statements that the model of Spark does not know, for Spark itself."""

    _computed = "current_database()"  # the same in two sessions

    def _weights(self) -> Weights:
        return _MORE_KINDS if SPARK_MAJOR < 4 else {**_KINDS, **_MORE_KINDS}

    def _view(self) -> str:
        name = super()._view()
        return self._one((name, name, name.upper(), f"`{name}`".replace(".", "`.`")))

    def _query(self) -> str:
        one, other = self._relation(), self._relation()
        wider = (
            f"WITH q AS ({super()._query()}) SELECT * FROM q",
            f"WITH {self._one(self.names.views)} AS (SELECT 'cte' AS c) SELECT * FROM {one}",
            f"SELECT c FROM {one} WHERE c NOT IN (SELECT c FROM {other})",
            f"SELECT * FROM {one} UNION ALL SELECT * FROM {other}",
            f"FROM {one} SELECT c",
            f"TABLE {one}",
            f"SELECT {self._function()}(c) AS c FROM {one}",
        )
        return self._one((super()._query(), super()._query(), self._one(wider)))

    def permanent_view(self) -> str:
        name, query = self.names.permanent, self._query()
        return self._one(
            (
                f"CREATE OR REPLACE VIEW {name} AS {query}",
                f"CREATE VIEW {name} AS {query}",
                f"ALTER VIEW {name} AS {query}",
                f"DROP VIEW {self._maybe('IF EXISTS ')}{name}",
                f"SELECT * FROM {name}",
                f"SELECT * FROM {name}",
                f"SELECT * FROM {self._one(self.names.databases)}.{name}",
            )
        )

    def create_otherwise(self) -> str:
        name, folder = self._one(self.names.views), self._one(self.names.folders)
        function = self._one(self.names.functions)
        return self._one(
            (
                f"CREATE OR REPLACE TEMPORARY VIEW {name} (c) AS {self._query()}",
                f"CREATE TEMPORARY VIEW IF NOT EXISTS {name} AS {self._query()}",
                f"CREATE TEMPORARY TABLE {name} USING parquet OPTIONS (path '{folder}')",
                f"CREATE TEMPORARY FUNCTION IF NOT EXISTS {function} AS '{UPPER}'",
                f"CREATE FUNCTION IF NOT EXISTS {self._function()} AS '{UPPER}'",
            )
        )

    def ask(self) -> str:
        name = self._view()
        return self._one(
            (
                "SHOW TABLES",
                f"SHOW TABLES IN {self._one(self.names.databases)}",
                "SHOW USER FUNCTIONS",
                f"DESCRIBE FUNCTION {self._function()}",
                f"DESCRIBE QUERY {self._query()}",
                f"SHOW CREATE TABLE {self._one(('v', 'x'))}",
                f"REFRESH TABLE {name}",
                f"REFRESH FUNCTION {self._function()}",
                f"SET {self._one(('a', 'b', 'hivevar:a', 'spark.sql.session.timeZone'))}",
                f"ANALYZE TABLE {self._one(('v', 'x'))} COMPUTE STATISTICS",
                f"TRUNCATE TABLE {self._one(('v', 'x'))}",
                f"ALTER VIEW {self._one(('v', 'x'))} SET TBLPROPERTIES ('a' = 'b')",
                f"INSERT OVERWRITE {self._one(('v', 'x'))} {self._query()}",
            )
        )


_MORE_KINDS: Weights = {
    **{kind: weight for kind, weight in _KINDS.items() if kind not in _OF_SPARK_4},
    WiderHistory.permanent_view: 10,
    WiderHistory.create_otherwise: 6,
    WiderHistory.ask: 12,
}
