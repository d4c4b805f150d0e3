"""Random queries over three tables, which the analysis, SQLite and Spark read alike."""

import random

from conf.catalog.tables import Column, TableInfo, TableKind
from conf.names import TableRef
from conf.partitions import PartitionKey, PartitionSet

DS, HR = PartitionKey("ds", "string"), PartitionKey("hr", "int")
NULL = "__HIVE_DEFAULT_PARTITION__"
DAYS = ["a", "b", "c", None]
HOURS = [1, 2, 3, None]
TABLES = {
    "p": (("k", "v"), (DS, HR), [(day, hour) for day in DAYS for hour in HOURS]),
    "q": (("k", "v"), (DS,), [(day,) for day in DAYS]),
    "r": (("k", "v"), (HR,), [(hour,) for hour in HOURS]),
}
COLUMNS = {"k": "int", "v": "string"}


class RandomTables:
    """The catalog of these tables, in any database."""

    def table(self, ref: TableRef) -> TableInfo | None:
        columns, keys, _ = TABLES[ref.name]
        shown = tuple(Column(name, COLUMNS[name]) for name in columns)
        return TableInfo(ref, TableKind.TABLE, shown, keys)


def partitions_of(name: str) -> PartitionSet:
    _, keys, specs = TABLES[name]
    rows = [tuple(NULL if value is None else str(value) for value in spec) for spec in specs]
    return PartitionSet(keys, rows)


SHAPES = [
    "filter",
    "join",
    "outer",
    "outer",
    "outer",
    "union",
    "group",
    "window",
    "limit",
    "semi",
    "semi",
    "except",
    "cte",
]


class RandomQueries:
    """Writes random queries that the analysis, SQLite and Spark read alike."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._names = 0

    def query(self, depth: int | None = None) -> str:
        """A query whose columns are k, ds and hr."""
        if depth is None:
            depth = self._chance.choice([1, 1, 2, 3])
        shape = self._chance.choice(SHAPES if depth else ["table", "table", "filter"])
        return str(getattr(self, f"_{shape}")(depth))

    def _alias(self) -> str:
        self._names += 1
        return f"s{self._names}"

    def _table(self, _depth: int) -> str:
        name = self._chance.choice(["p", "q", "r"])
        other = {"p": "ds, hr", "q": "ds, k % 4 AS hr", "r": "v AS ds, hr"}[name]
        return f"SELECT k, {other} FROM {name}"

    def _source(self, depth: int) -> tuple[str, str]:
        alias = self._alias()
        return f"({self.query(depth - 1) if depth else self._table(0)}) {alias}", alias

    def _filter(self, depth: int) -> str:
        source, alias = self._source(depth)
        return f"SELECT k, ds, hr FROM {source} WHERE {self._condition([alias])}"

    def _limit(self, depth: int) -> str:
        source, alias = self._source(depth)
        order = f"ORDER BY {alias}.k, ds, hr LIMIT 5"
        return f"SELECT * FROM (SELECT k, ds, hr FROM {source} {order}) {self._alias()}"

    def _join(self, depth: int, kind: str = "JOIN") -> str:
        left, one = self._source(depth)
        right, other = self._source(depth)
        key = self._chance.choice(["ds", "hr"])
        on = f"{one}.{key} = {other}.{key}"
        if self._chance.random() < 0.6:
            on += f" AND {self._condition([one, other])}"
        taken = self._chance.choice([one, other])
        where = f" WHERE {self._condition([one, other])}" if self._chance.random() < 0.6 else ""
        columns = f"{one}.k AS k, {other}.ds AS ds, {taken}.hr AS hr"
        return f"SELECT {columns} FROM {left} {kind} {right} ON {on}{where}"

    def _outer(self, depth: int) -> str:
        return self._join(depth, self._chance.choice(["LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]))

    def _union(self, depth: int) -> str:
        kind = self._chance.choice(["UNION ALL", "UNION", "INTERSECT"])
        return self._both(depth, kind)

    def _except(self, depth: int) -> str:
        return self._both(depth, "EXCEPT")

    def _both(self, depth: int, kind: str) -> str:
        one, other = self.query(depth - 1), self.query(depth - 1)
        wrapped = [f"SELECT k, ds, hr FROM ({each}) {self._alias()}" for each in (one, other)]
        where = f"WHERE {self._condition([''])}"
        return f"SELECT * FROM ({wrapped[0]} {kind} {wrapped[1]}) {self._alias()} {where}"

    def _group(self, depth: int) -> str:
        source, _ = self._source(depth)
        keys = self._chance.choice(["ds", "hr", "ds, hr"])
        shown = {"ds": "count(*) AS k, ds, max(hr) AS hr", "hr": "max(k) AS k, min(ds) AS ds, hr"}
        columns = shown.get(keys, "sum(k) AS k, ds, hr")
        inner = f"SELECT {columns} FROM {source} GROUP BY {keys}"
        return f"SELECT * FROM ({inner}) {self._alias()} WHERE {self._condition([''])}"

    def _window(self, depth: int) -> str:
        source, _ = self._source(depth)
        by = self._chance.choice(["ds", "hr", "ds, hr"])
        inner = f"SELECT count(*) OVER (PARTITION BY {by}) AS k, ds, hr FROM {source}"
        return f"SELECT * FROM ({inner}) {self._alias()} WHERE {self._condition([''])}"

    def _semi(self, depth: int) -> str:
        source, one = self._source(depth)
        inside, other = self._source(depth)
        key = self._chance.choice(["ds", "hr"])
        condition = self._chance.choice(
            [
                f"{one}.{key} IN (SELECT {key} FROM {inside} WHERE {self._condition([other])})",
                f"{one}.{key} NOT IN (SELECT {key} FROM {inside} WHERE {self._condition([other])})",
                f"EXISTS (SELECT 1 FROM {inside} WHERE {other}.{key} = {one}.{key}"
                f" AND {self._condition([other, one])})",
                f"NOT EXISTS (SELECT 1 FROM {inside} WHERE {other}.{key} = {one}.{key}"
                f" AND {self._condition([other, one])})",
            ]
        )
        return f"SELECT k, ds, hr FROM {source} WHERE {condition} AND {self._condition([one])}"

    def _cte(self, depth: int) -> str:
        name = self._alias()
        body, use = self.query(depth - 1), self._alias()
        where = f"WHERE {self._condition([use])}"
        inner = f"WITH {name} AS ({body}) SELECT {use}.k, {use}.ds, {name}.hr FROM {name}"
        return f"{inner} JOIN {name} {use} ON {name}.ds = {use}.ds {where}"

    def _condition(self, aliases: list[str], depth: int = 2) -> str:
        pick = self._chance.choice
        if depth and self._chance.random() < 0.5:
            parts = [self._condition(aliases, depth - 1) for _ in range(2)]
            return pick(["({} AND {})", "({} OR {})", "NOT ({} AND {})"]).format(*parts)
        alias = pick(aliases)
        dot = f"{alias}." if alias else ""
        day, hour, sign = pick(["a", "b", "c"]), pick([1, 2, 3]), pick(["=", "<>", "<", ">="])
        return pick(
            [
                f"{dot}ds {sign} '{day}'",
                f"{dot}hr {sign} {hour}",
                f"{dot}k {sign} {pick(range(12))}",
                f"{dot}ds IS NULL",
                f"{dot}hr IS NOT NULL",
                f"{dot}ds IN ('{day}', '{pick(['a', 'b'])}')",
                f"{dot}hr BETWEEN {hour} AND 3",
                f"coalesce({dot}ds, 'a') = '{day}'",
                f"CASE WHEN {dot}hr = {hour} THEN {dot}ds {sign} '{day}' ELSE {dot}k < 9 END",
                f"upper({dot}ds) = '{day.upper()}'",
                f"{dot}hr + 1 = {hour}",
                f"{dot}ds {pick(['LIKE', 'NOT LIKE'])} '{pick(['%', ''])}{day}%'",
                f"{dot}ds NOT IN ('{day}', '{pick(['a', 'b'])}')",
                f"{dot}hr NOT BETWEEN {hour} AND 3",
                f"({dot}hr > {hour}) IS NOT TRUE",
                f"nullif({dot}ds, '{day}') IS NULL",
            ]
        )
