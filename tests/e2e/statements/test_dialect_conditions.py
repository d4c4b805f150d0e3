"""Conditions on partition keys compared with real Spark: each key that satisfies a condition must
be among the partitions that the analysis leaves.

Thousands of conditions are made of operators, functions and literals of every type, and each is
tried with keys of every type.
"""

import logging
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest

from conf.catalog.tables import Column, TableInfo, TableKind
from conf.names import TableRef
from conf.partitions import PartitionKey, PartitionSet
from dialect.analyze import analyze
from dialect.statement import Known, Namespace
from pipeline.spark.jar import SPARK_MAJOR
from tests.e2e.support.interpreted import WITHOUT_CODE

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

NULL = "__HIVE_DEFAULT_PARTITION__"


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(";")]


KEYS: dict[str, list[str | None]] = {
    "string": [
        *_listed(
            "2020-01-01; 2020-01-02; 2019-12-31; 2020-1-5; 11; 011; 1.0; 1e1; -3; true; f; A; a"
        ),
        *_listed("ab; a%b; x-y-z; now; 2020-01-01 10:00:00; 20200101; it's; ünï; 9999999999; NaN"),
        *("1d", ".5", " 11"),
    ],
    "int": ["0", "1", "-1", "11", "2020", "2147483647", "-2147483648"],
    "bigint": ["0", "1", "-7", "9999999999", "9223372036854775807"],
    "date": ["2020-01-01", "2019-12-30", "2020-02-29", "0001-01-01"],
    "boolean": ["true", "false"],
    "decimal(10,2)": ["0.00", "1.50", "-1.50", "11.00"],
    "tinyint": ["0", "100", "-128", "127"],
}
LITERALS = _listed(
    r"""
    '2020-01-01'; '11'; '011'; 11; 0; -1; 1.5; 1.50BD; 11L; 1e1; 'a'; 'true'; true; NULL;
    DATE '2020-01-01'; TIMESTAMP '2020-01-01 00:00:00'; current_date; ''; ' 11'; '1.0';
    2147483648; '9999999999'; 100S; 'it\'s'; cast('1' as int); date_sub('2020-01-02', 1); 2020;
    20200101; '2020-01'; 'A'; 2
    """
)
FUNCTIONS = _listed(
    r"""
    upper(k); lower(k); trim(k); length(k); reverse(k); concat(k, 'x'); concat_ws('-', k, 'x');
    k || 'x'; substr(k, 1, 4); substr(k, -2); substr(k, 0, 2); left(k, 2); right(k, 2);
    lpad(k, 4, '0'); rpad(k, 4, 'x'); replace(k, '-', ''); regexp_replace(k, '-', '');
    instr(k, '1'); split(k, '-')[0]; split(k, '-')[1]; split(k, '-')[5]; year(k); month(k);
    day(k); quarter(k); dayofweek(k); weekofyear(k); extract(year FROM k); to_date(k);
    to_date(k, 'yyyyMMdd'); date_add(k, 1); datediff(k, '2020-01-01');
    date_format(k, 'yyyy-MM'); cast(k AS int); cast(k AS bigint); cast(k AS string);
    cast(k AS double); cast(k AS decimal(5,1)); cast(k AS boolean); cast(k AS varchar(2));
    cast(k AS char(2)); cast(k AS date); abs(k); -k; +k; k + 1; 1 - k; k * 2; k / 2; k % 2;
    k div 2; pmod(k, 2); nvl2(k, 1, 2); if(k IS NULL, 'n', k); nvl(k, '11'); coalesce(k, 0);
    nullif(k, '11'); CASE WHEN k IS NULL THEN 'z' ELSE k END;
    CASE k WHEN '11' THEN 1 ELSE 0 END; startswith(k, '2'); contains(k, '-');
    current_date - interval 1 day; cast(k AS date) + interval 1 day
    """
)
FORMS = _listed(
    r"""
    {e} = {l}; {e} <> {l}; {e} < {l}; {e} >= {l}; {l} > {e}; {e} <=> {l}; NOT {e} = {l};
    {e} IN ({l}, 1); {e} NOT IN ({l}); {e} NOT IN ({l}, 'zz'); {e} BETWEEN {l} AND '3';
    {e} NOT BETWEEN 0 AND {l}; {e} IS DISTINCT FROM {l}; ({e}, 1) = ({l}, 1);
    NOT ({e}, 1) IN (({l}, 1)); CASE WHEN {e} = {l} THEN 1 ELSE 0 END = 1;
    if({e} > {l}, k, NULL) IS NOT NULL; ({e} = {l}) IS NOT TRUE; {e} = {l} OR k = '11';
    NOT ({e} = {l} AND k < '2'); {e} IS NOT NULL; {e} = {l} IS NULL; {e} < {l} = true;
    nvl({e}, {l}) <> {l}
    """
)
PATTERNS = _listed(
    r"""
    LIKE '%'; LIKE '2020%'; LIKE '%-01'; LIKE '_'; LIKE 'a\\%b'; LIKE 'a\\_b'; LIKE 'a%b';
    LIKE '%1%1%'; LIKE NULL; RLIKE '^2020'; RLIKE '01$'; RLIKE '^[0-9]+$'; RLIKE '\\d+';
    RLIKE 'a|b'; RLIKE '^a.b$'; RLIKE '[^0-9]'; RLIKE '^.{2}$'; RLIKE '(?i)A';
    LIKE ANY ('a%', '%1'); LIKE ALL ('%1%', '2%')
    """
)
MIXED_TYPES = _listed(
    r"""
    {e} IN (' 11', 1, {l}); {e} IN ({l}, '11', 1.5); ({e} = {l} OR {e} > '1');
    {e} = {l} AND {e} = '11'; coalesce({e}, {l}) = {l}; {e} BETWEEN '0' AND {l};
    greatest({e}, {l}) = {l}; array_contains(array({l}, 1), {e}); {e} || '' = {l};
    nullif({e}, {l}) IS NULL; CASE {e} WHEN {l} THEN true WHEN 1 THEN false END;
    decode({e}, {l}, 'x', 'y') = 'x'
    """
)


def _conditions(chance: random.Random, count: int, forms: Sequence[str] = FORMS) -> Iterator[str]:
    for _ in range(count):
        pick = chance.random()
        if pick < 0.15:
            yield f"k {chance.choice(['', 'NOT '])}{chance.choice(PATTERNS)}"
            continue
        expression = "k" if pick < 0.5 else chance.choice(FUNCTIONS)
        form, literal = chance.choice(forms), chance.choice(LITERALS)
        yield form.format(e=expression, l=literal)


class _Keys:
    def __init__(self, kind: str) -> None:
        self.rows: list[str | None] = [*KEYS[kind], None]
        self.key = PartitionKey("k", kind)

    def table(self, ref: TableRef) -> TableInfo:
        return TableInfo(ref, TableKind.TABLE, (Column("c", "int"),), (self.key,))

    def named(self, condition: str) -> set[int]:
        sql = f"SELECT * FROM t WHERE {condition}"
        answer = analyze(sql, Namespace("d"), self)
        assert isinstance(answer, Known), (sql, answer)
        stored = [(NULL if text is None else text,) for text in self.rows]
        return set(answer.reads[0].partitions.select(PartitionSet([self.key], stored)))


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.sql.catalogImplementation", "in-memory")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config(map=WITHOUT_CODE)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()


def _accepted(spark: Any, condition: str) -> bool:
    """Whether Spark's analysis accepts the condition; nothing runs."""
    from pyspark.errors import PySparkException

    try:
        spark.sql(f"SELECT cast(({condition}) AS boolean) FROM keys")
    except PySparkException:
        return False
    return True


def _failures() -> tuple[type[Exception], ...]:
    """The exceptions of a query that fails. Spark 3.5 has a class for each failure of its driver
    alone, not for those of its tasks."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JJavaError


def _satisfied(spark: Any, conditions: Sequence[str]) -> list[set[int] | None]:
    """The rows that satisfy each condition; None for a condition that fails when it runs."""
    columns = ", ".join(
        f"cast(({condition}) AS boolean) AS c{at}" for at, condition in enumerate(conditions)
    )
    try:
        rows = spark.sql(f"SELECT n, {columns} FROM keys").collect()
    except _failures():
        if len(conditions) == 1:
            return [None]
        half = len(conditions) // 2
        return _satisfied(spark, conditions[:half]) + _satisfied(spark, conditions[half:])
    return [{row["n"] for row in rows if row[f"c{at}"]} for at in range(len(conditions))]


def _made_keys(spark: Any, kind: str) -> _Keys:
    keys = _Keys(kind)
    frame = spark.createDataFrame(list(enumerate(keys.rows)), "n int, v string")
    frame.selectExpr("n", f"cast(v AS {kind}) AS k").createOrReplaceTempView("keys")
    return keys


@pytest.mark.parametrize("kind", KEYS)
def test_partitions_that_satisfy_a_condition_are_named(spark: Any, kind: str) -> None:
    keys = _made_keys(spark, kind)
    drawn = sorted(set(_conditions(random.Random(kind), 120)))
    conditions = [each for each in drawn if _accepted(spark, each)]
    missed: list[tuple[str, list[str | None]]] = []
    understood = sharp = 0
    for at in range(0, len(conditions), 32):
        some = conditions[at : at + 32]
        for condition, rows in zip(some, _satisfied(spark, some), strict=True):
            if rows is None:
                continue
            named = keys.named(condition)
            if not rows <= named:
                missed.append((condition, [keys.rows[row] for row in rows - named]))
            understood += 1
            sharp += len(named) < len(keys.rows)
    assert not missed
    assert understood > (40 if SPARK_MAJOR < 4 else 20)  # ANSI mode refuses more conditions
    assert sharp > understood // 6, "nearly nothing is left out: the comparison says nothing"


@pytest.fixture
def ansi(spark: Any) -> Iterator[None]:
    """ANSI mode, and no log line with a stack trace for each condition that fails."""
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "true")
    spark.sparkContext.setLogLevel("OFF")
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
    spark.conf.set("spark.sql.ansi.enabled", before)


def _satisfying(spark: Any, kind: str, keys: _Keys, condition: str) -> set[int]:
    """The rows that satisfy the condition, each asked alone: it may fail for another one."""
    found = set()
    for row, text in enumerate(keys.rows):
        value = "NULL" if text is None else "'" + text.replace("'", "\\'") + "'"
        sql = f"SELECT ({condition}) FROM (SELECT cast({value} AS {kind}) AS k)"
        with suppress(*_failures()):
            if spark.sql(sql).collect()[0][0]:
                found.add(row)
    return found


@pytest.mark.long
@pytest.mark.parametrize("kind", KEYS)
def test_each_key_for_which_a_condition_does_not_fail_is_named(
    spark: Any, ansi: None, kind: str
) -> None:
    """In ANSI mode a condition fails for the keys that it cannot convert. A query whose partitions
    Spark asks the metastore for does not see these keys, and reads those that satisfy it."""
    keys = _made_keys(spark, kind)
    drawn = sorted(set(_conditions(random.Random(kind), 120, [*FORMS, *MIXED_TYPES])))
    accepted = [each for each in drawn if _accepted(spark, each)]
    failing = [each for each in accepted if _satisfied(spark, [each]) == [None]]
    missed = {}
    for condition in failing:
        left_out = _satisfying(spark, kind, keys, condition) - keys.named(condition)
        if left_out:
            missed[condition] = [keys.rows[row] for row in left_out]
    assert not missed
    assert len(failing) > 5, "nearly no condition fails: the comparison says nothing"
