"""The analysis of huge, deep and odd statements ends with a result in bounded time, never an
error."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conf.catalog.tables import Column, TableInfo, TableKind
from conf.names import TableRef
from conf.partitions import PartitionKey, PartitionSet
from dialect.analyze import FAILED, analyze
from dialect.grammar.cluster_statements import parse
from dialect.statement import Known, Namespace, Unknown
from tests.dialect.catalogs import PARTITIONS, TestCatalog


class _Nothing:
    def table(self, ref: TableRef) -> TableInfo | None:
        return None


def _analyze(sql: str) -> Known | Unknown:
    answer = analyze(sql, Namespace(), _Nothing())
    assert isinstance(answer, Known | Unknown)
    assert not isinstance(answer, Unknown) or answer.why != FAILED
    return answer


def _chain(count: int) -> str:
    """Each CTE uses the one before twice: 2 ** count mentions when written out."""
    steps = ["c0 AS (SELECT * FROM t)"]
    for at in range(1, count):
        steps.append(f"c{at} AS (SELECT * FROM c{at - 1} a JOIN c{at - 1} b USING (x))")
    return f"WITH {', '.join(steps)} SELECT * FROM c{count - 1}"


def _numbered(text: str, count: int, between: str = " ") -> str:
    return between.join(text.replace("#", str(at)) for at in range(count))


# Each with the number of tables that it reads.
HUGE = {
    "10,000 IN values": (f"SELECT * FROM t WHERE a IN ({_numbered('#', 10_000, ',')})", 1),
    "5,000 UNION branches": (_numbered("SELECT a FROM t#", 5_000, " UNION ALL "), 5_000),
    "10,000 ORs": ("SELECT * FROM t WHERE " + _numbered("a = #", 10_000, " OR "), 1),
    "1,000 joins": ("SELECT * FROM t " + _numbered("JOIN t# USING (x)", 1_000), 1_001),
    "joins without conditions": ("SELECT * FROM t " + _numbered("JOIN t#", 200), 201),
    "1 MB of VALUES": ("INSERT INTO t VALUES " + _numbered(f"(#, '{'x' * 80}')", 11_000, ","), 0),
    "1 MB of comment": ("SELECT * FROM t /*" + "x" * 1_000_000 + "*/", 1),
    "CTEs that double": (_chain(40), 1),
    "100 sub-queries deep": ("SELECT * FROM " + "(SELECT * FROM " * 100 + "t" + ") s" * 100, 1),
    "500 INSERT branches": ("FROM t " + _numbered("INSERT INTO u# SELECT a", 500), 1),
}
DEEP = [
    "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
    "SELECT " + "CASE WHEN a THEN " * 5_000 + "1" + " END" * 5_000,
    "SELECT " + "NOT " * 5_000 + "true",
    "SELECT " + "- " * 5_000 + "1",
    "SELECT " + "~" * 3_000 + "1",
    "SELECT " + "a = " * 3_000 + "1",
    "SELECT " + "interval " * 2_000 + "1 day",
    "SELECT a" + "[0]" * 3_000,
    "SELECT a" + "::int" * 3_000,
    "SELECT cast(a AS " + "array<" * 500 + "int" + ">" * 500 + ")",
    "SELECT " + "x -> " * 2_000 + "1",
    "SELECT /*+ " + "a(" * 2_000 + " */ 1",
    "SELECT * FROM t0 " + " ".join(f"LEFT JOIN t{n}" for n in range(1, 60)),
    " EXCEPT ".join(f"SELECT a FROM t{n}" for n in range(2_000)),
    "EXPLAIN " * 2_000 + "SELECT 1",
    "WITH " * 200 + "a AS (SELECT 1) SELECT 1",
    "/*" * 10_000 + "x",
    "SELECT '" + "a" * 10_000,
    "SELECT `" * 1_000,
    "SELECT \x00\x01\ufffe \ud800 FROM t",
    "\x00",
    ";" * 10_000,
    "${" * 1_000,
    "${a}" * 1_000,
]


@pytest.mark.slow
@pytest.mark.parametrize("title", HUGE)
def test_huge_statements_are_understood(title: str) -> None:
    sql, reads = HUGE[title]
    answer = _analyze(sql)
    assert isinstance(answer, Known), answer
    assert len(answer.reads) == reads


@pytest.mark.slow
@pytest.mark.parametrize("sql", DEEP, ids=lambda sql: repr(sql[:30]))
def test_deep_and_odd_statements_end_with_a_result(sql: str) -> None:
    _analyze(sql)
    parse(sql, in_use=True)


def _wrapped(column: str, count: int) -> str:
    """Nested sub-queries, each of which makes the column of the inner one longer."""
    query = "SELECT ds, hr FROM p"
    for at in range(count):
        query = f"SELECT {column} AS ds, hr FROM ({query}) t{at}"
    return f"SELECT * FROM ({query}) z WHERE ds = 'x'"


GROWING = {
    "texts": _wrapped("concat(ds, ds)", 60),
    "replacements": _wrapped("replace(ds, '0', '00')", 60),
    "choices": _wrapped("CASE WHEN ds = 'a' THEN ds ELSE upper(ds) END", 60),
    "joins": "SELECT * FROM p a0 "
    + " ".join(f"JOIN p a{at} ON a{at}.ds = a0.ds" for at in range(1, 300)),
    "a pattern": f"SELECT * FROM p WHERE ds LIKE '{'%2' * 5_000}'",
    "a pattern that backtracks": "SELECT * FROM p WHERE ds RLIKE '(0*)*(0*)*x'",
    "a broken pattern": "SELECT * FROM p WHERE ds RLIKE '*('",
    "a huge number": f"SELECT * FROM p WHERE hr = {'9' * 10_000} OR hr = 1e999999999",
    "a huge padding": "SELECT * FROM p WHERE lpad(ds, 2000000000, 'x') = 'x'",
    "lone surrogates": "SELECT * FROM p WHERE ds > '\ud800' OR upper(ds) LIKE '\udfff%'",
}


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("title", GROWING)
def test_conditions_with_functions_select_partitions(title: str) -> None:
    answer = analyze(GROWING[title], Namespace("d"), TestCatalog())
    assert isinstance(answer, Known), answer
    assert answer.reads[0].partitions.select(PARTITIONS["d.p"]) is not None


LONG = {
    "numbers among strings": "k IN (" + ",".join(str(at) for at in range(10_000)) + ")",
    "strings and numbers": "k IN (" + ",".join(f"{at}, '{at}x'" for at in range(5_000)) + ")",
    "tuples": "(k, h) IN (" + ",".join(f"('{at}', 'x')" for at in range(2_000)) + ")",
    "exclusions": " AND ".join(f"k <> '{at}'" for at in range(5_000)),
    "arms of two keys": " OR ".join(f"(k = '{at}' AND h <> '{at}')" for at in range(2_000)),
    "cases": "CASE " + " ".join(f"WHEN k = '{at}' THEN 1" for at in range(3_000)) + " END = 1",
}


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("title", LONG)
@pytest.mark.parametrize("kind", ["string", "int"])
def test_long_conditions_on_many_partitions_end(title: str, kind: str) -> None:
    keys = (PartitionKey("k", kind), PartitionKey("h", "string"))

    class Catalog:
        def table(self, ref: TableRef) -> TableInfo:
            return TableInfo(ref, TableKind.TABLE, (Column("c", "int"),), keys)

    answer = analyze(f"SELECT * FROM t WHERE {LONG[title]}", Namespace("d"), Catalog())
    assert isinstance(answer, Known), answer
    partitions = PartitionSet(keys, [(str(at), "x") for at in range(10_000)])
    assert len(answer.reads[0].partitions.select(partitions)) >= 2_000


WORDS = [
    "SELECT",
    "FROM",
    "WHERE",
    "JOIN",
    "LEFT",
    "ON",
    "INSERT",
    "INTO",
    "OVERWRITE",
    "TABLE",
    "PARTITION",
    "(",
    ")",
    ",",
    ".",
    ";",
    "=",
    "*",
    "'x'",
    '"',
    "`",
    "a",
    "b",
    "p",
    "ds",
    "hr",
    "WITH",
    "AS",
    "UNION",
    "ALL",
    "CREATE",
    "VIEW",
    "DROP",
    "ALTER",
    "ADD",
    "SET",
    "USE",
    "CLUSTER",
    "SHOW",
    "EXPLAIN",
    "COPY",
    "TO",
    "VALUES",
    "LATERAL",
    "VIEW",
    "explode",
    "IN",
    "EXISTS",
    "NOT",
    "NULL",
    "CASE",
    "WHEN",
    "THEN",
    "END",
    "--",
    "/*",
    "*/",
    "${x}",
    "1",
    "MERGE",
    "USING",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join))
@example("FROM LATERAL SELECT")
def test_random_words_end_with_a_result(sql: str) -> None:
    answer = analyze(sql, Namespace("d", {"x": "1"}), TestCatalog())
    assert getattr(answer, "why", "") != FAILED
    parse(sql, in_use=True)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60))
def test_random_texts_end_with_a_result(sql: str) -> None:
    _analyze(sql)
    parse(sql, in_use=True)
