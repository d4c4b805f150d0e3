"""Pruning against brute force: random conditions, every row evaluated by a small interpreter."""

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conf.catalog.tables import Column, TableInfo, TableKind
from conf.names import TableRef
from conf.partitions import PartitionKey, PartitionSet
from dialect.analyze import analyze
from dialect.pruning import predicate
from dialect.pruning.predicate import AnyOf, Matching
from dialect.statement import ALL, NONE, Known, Namespace, PartitionPredicate

DAYS = ["2020-01-01", "2020-01-02", "2020-02-01", None]
HOURS = [0, 1, 11, None]
DATA = [0, 1, None]
NULL = "__HIVE_DEFAULT_PARTITION__"
KEYS = [PartitionKey("ds", "string"), PartitionKey("hr", "int")]


def _text(value: object) -> str:
    return NULL if value is None else str(value)


SPECS = list(product(DAYS, HOURS))
PARTITIONS = PartitionSet(KEYS, [tuple(map(_text, spec)) for spec in SPECS])


class _Catalog:
    def table(self, ref: TableRef) -> TableInfo | None:
        return TableInfo(ref, TableKind.TABLE, (Column("k", "int"),), tuple(KEYS))


# A condition is its SQL and its three-valued meaning as a function of a row.
Row = dict[str, object]


def _compare(column: str, sign: str, value: object) -> tuple[str, object]:
    literal = "NULL" if value is None else (f"'{value}'" if isinstance(value, str) else str(value))

    def meaning(row: Row) -> bool | None:
        left = row[column]
        if left is None or value is None:
            return None
        order = (left > value) - (left < value)  # type: ignore[operator]
        return {
            "=": order == 0,
            "<>": order != 0,
            "<": order < 0,
            ">=": order >= 0,
        }[sign]

    return f"{column} {sign} {literal}", meaning


def _leaf() -> st.SearchStrategy[tuple[str, object]]:
    signs = st.sampled_from(["=", "<>", "<", ">="])
    columns = st.sampled_from([("ds", DAYS), ("hr", HOURS), ("k", DATA)])
    compared = columns.flatmap(
        lambda each: st.builds(_compare, st.just(each[0]), signs, st.sampled_from(each[1]))
    )
    null = st.sampled_from(["ds", "hr", "k"]).map(
        lambda name: (f"{name} IS NULL", lambda row: row[name] is None)
    )
    return st.one_of(compared, null)


def _and(parts: list[tuple[str, object]]) -> tuple[str, object]:
    def meaning(row: Row) -> bool | None:
        found = [part(row) for _, part in parts]  # type: ignore[operator]
        return False if False in found else (None if None in found else True)

    return "(" + " AND ".join(sql for sql, _ in parts) + ")", meaning


def _or(parts: list[tuple[str, object]]) -> tuple[str, object]:
    def meaning(row: Row) -> bool | None:
        found = [part(row) for _, part in parts]  # type: ignore[operator]
        return True if True in found else (None if None in found else False)

    return "(" + " OR ".join(sql for sql, _ in parts) + ")", meaning


def _not(part: tuple[str, object]) -> tuple[str, object]:
    def meaning(row: Row) -> bool | None:
        found = part[1](row)  # type: ignore[operator]
        return None if found is None else not found

    return f"NOT {part[0]}", meaning


CONDITIONS = st.recursive(
    _leaf(),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(_and),
        st.lists(inner, min_size=2, max_size=3).map(_or),
        inner.map(lambda part: (f"({part[0]})", part[1])).map(_not),
    ),
    max_leaves=8,
)


def _selected(sql: str) -> set[int]:
    answer = analyze(sql, Namespace("d"), _Catalog())
    assert isinstance(answer, Known), answer
    (read,) = answer.reads
    rows = set(read.partitions.select(PARTITIONS))
    for at, texts in enumerate(read.partitions.required(KEYS)):
        assert texts is None or {PARTITIONS.row(row)[at] for row in rows} <= texts
    return rows


def _needed(meaning: object) -> set[int]:
    """Partitions with a row, for some value of the data column, that satisfies the condition."""
    return {
        number
        for number, (ds, hr) in enumerate(SPECS)
        if any(meaning({"ds": ds, "hr": hr, "k": k}) is True for k in [*DATA, -1, 5])  # type: ignore[operator]
    }


SHAPES = [
    "SELECT * FROM t WHERE {}",
    "SELECT count(*) FROM t WHERE {}",
    "SELECT * FROM (SELECT ds, hr, k FROM t) s WHERE {}",
    "WITH c AS (SELECT hr, k, ds FROM t WHERE 1 = 1) SELECT * FROM c WHERE {}",
    "SELECT * FROM (SELECT ds a, hr b, k c FROM t) x JOIN (SELECT 1) y WHERE {}",
]


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(CONDITIONS, st.integers(0, 3))
def test_no_needed_partition_is_left_out(condition: tuple[str, object], shape: int) -> None:
    sql, meaning = condition
    assert _selected(SHAPES[shape].format(sql)) >= _needed(meaning)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(CONDITIONS)
def test_conditions_on_keys_alone_are_exact_except_for_the_default_partition(
    condition: tuple[str, object],
) -> None:
    sql, meaning = condition
    if "k " in sql:
        return
    named = {number for number, spec in enumerate(SPECS) if spec[0] is not None}
    assert _selected(SHAPES[0].format(sql)) & named == _needed(meaning) & named


def test_conditions_are_evaluated_once_for_each_distinct_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Evaluations are counted: one for each distinct value of each key, none for each partition."""
    days = [f"2020-{number:04}" for number in range(100)]
    partitions = PartitionSet(KEYS, ((day, str(hour)) for day in days for hour in range(100)))
    answer = analyze(
        "SELECT * FROM t WHERE ds IN ('2020-0003', '2020-0005') AND hr < 7 AND k = 1",
        Namespace("d"),
        _Catalog(),
    )
    assert isinstance(answer, Known)
    evaluated = 0

    def counted(text: str, kind: str) -> object:
        nonlocal evaluated
        evaluated += 1
        return original(text, kind)

    import dialect.pruning.predicate as module

    original = module.stored
    monkeypatch.setattr(module, "stored", counted)
    assert len(answer.reads[0].partitions.select(partitions)) == 14
    assert 0 < evaluated <= 200


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("ds = 'a'", {"a"}),
        ("'a' = ds AND k = 1", {"a"}),
        ("ds IN ('a', 'b') AND hr = 1", {"a", "b"}),
        ("ds = 'a' OR ds = 'b'", {"a", "b"}),
        ("ds = 'a' OR k = 1", None),
        ("ds = 1", None),
        ("hr = 1", None),
        ("ds > 'a'", None),
    ],
)
def test_conditions_require_values_of_a_text_key(condition: str, values: set[str] | None) -> None:
    answer = analyze(f"SELECT * FROM t WHERE {condition}", Namespace("d"), _Catalog())
    assert isinstance(answer, Known)
    required = answer.reads[0].partitions.required((PartitionKey("DS", "string"),))
    assert list(required) == [None if values is None else frozenset(values)]


@pytest.mark.parametrize(
    ("predicate", "texts"),
    [
        (ALL, [None, None]),
        (NONE, [set(), set()]),
        (Matching((("ds", "a"), ("hr", "1"))), [{"a"}, None]),
        (Matching((("ds", "a"), ("gone", "1"))), [None, None]),
        (AnyOf((Matching((("ds", "a"),)), Matching((("ds", "b"),)))), [{"a", "b"}, None]),
        (AnyOf((Matching((("ds", "a"),)), Matching((("hr", "1"),)))), [None, None]),
    ],
)
def test_predicates_require_values_of_each_key(
    predicate: PartitionPredicate, texts: list[set[str] | None]
) -> None:
    keys = (PartitionKey("ds", "string"), PartitionKey("hr", "int"))
    rows = [("a", "1"), ("a", "2"), ("b", "1"), ("c", "01")]
    required = predicate.required(keys)
    assert list(required) == texts
    partitions = PartitionSet(keys, rows)
    for row in predicate.select(partitions):
        for value, among in zip(partitions.row(row), required, strict=True):
            assert among is None or value in among


@pytest.mark.parametrize("seed", range(20))
def test_random_queries_read_the_tables_they_were_built_from(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(20):
        sql, tables = _query(chance, 3)
        answer = analyze(sql, Namespace("d"), _Catalog())
        assert isinstance(answer, Known), (sql, answer)
        assert {read.table.name for read in answer.reads} == tables, sql


def _query(chance: random.Random, depth: int) -> tuple[str, set[str]]:
    """A random query and the tables that it reads."""
    shape = chance.randrange(7) if depth else 0
    if shape == 0:
        name = f"t{chance.randrange(50)}"
        return f"SELECT * FROM {chance.choice(['d.', ''])}{name}", {name}
    first, reads = _query(chance, depth - 1)
    second, more = _query(chance, depth - 1)
    both = reads | more
    alias = f"s{chance.randrange(10**6)}"
    return {
        1: (f"SELECT * FROM ({first}) {alias}", reads),
        2: (f"SELECT * FROM ({first}) {alias} JOIN ({second}) {alias}b ON {alias}.k = 1", both),
        3: (f"SELECT * FROM ({first}) {alias} WHERE k IN (SELECT k FROM ({second}) z)", both),
        4: (f"WITH {alias} AS ({first}), unused AS ({second}) SELECT * FROM {alias}", reads),
        5: (f"SELECT * FROM ({first}) {alias} UNION ALL SELECT * FROM ({second}) {alias}", both),
        6: (f"SELECT (SELECT max(k) FROM ({first}) a1) FROM ({second}) {alias}", both),
    }[shape]


@pytest.mark.parametrize(
    ("condition", "left"),
    [
        ("ds LIKE '2020-01%'", 16),
        ("concat(ds, hr) = '2020-01-010'", 16),
        # What an index knows costs no work.
        ("ds IN ('2020-01-01', 'x')", 4),
        ("ds = '2020-01-01' AND ds LIKE '%x'", 4),
        ("ds < '2020-01-02'", 4),
    ],
)
def test_partitions_stay_if_the_budget_does_not_suffice(
    condition: str, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predicate, "WorkBudget", lambda: work_budget(0))
    answer = analyze(f"SELECT * FROM t WHERE {condition}", Namespace("d"), _Catalog())
    assert isinstance(answer, Known)
    assert len(answer.reads[0].partitions.select(PARTITIONS)) == left


work_budget = predicate.WorkBudget
