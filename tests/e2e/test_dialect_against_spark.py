"""The analyser against real Spark: the relations of the analysed plan, and rows.

A query must give the same rows where only the partitions exist that we say it reads.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from conf.names import TableRef
from conf.partitions import PartitionKey, PartitionSet
from conf.tables import Column, TableInfo, TableKind, ViewText
from dialect.analyze import analyze
from dialect.statement import Known, Namespace

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(900),
    # PySpark leaves the sockets of its results to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

SALES = [
    (number, f"v{number % 5}", day, hour)
    for number, (day, hour) in enumerate(
        (day, hour)
        for day in ("2020-01-01", "2020-01-02", "2020-02-01", None)
        for hour in (0, 1, 11)
        for _ in range(3)
    )
]
SHOPS = [
    (number, f"n{number}", day) for number, day in enumerate(["2020-01-01", "2020-01-02", "x"])
]
VIEW = "SELECT id, v, ds AS day, hr FROM sales WHERE hr < 11"

QUERIES = [
    "SELECT * FROM sales WHERE ds = '2020-01-01'",
    "SELECT * FROM sales WHERE ds = '2020-01-01' AND hr = '1'",
    "SELECT * FROM sales WHERE ds <> '2020-01-01'",
    "SELECT * FROM sales WHERE ds IS NULL OR hr = 11",
    "SELECT * FROM sales WHERE NOT (ds = '2020-01-01' OR hr > 0)",
    "SELECT * FROM sales WHERE ds <=> NULL",
    "SELECT * FROM sales WHERE ds IN ('2020-01-01', '2020-02-01') AND hr BETWEEN 1 AND 11",
    "SELECT * FROM sales WHERE ds NOT IN ('2020-01-01', NULL)",
    "SELECT * FROM sales WHERE ds LIKE '2020-01-%' AND hr % 2 = 1",
    "SELECT * FROM sales WHERE (ds, hr) IN (('2020-01-01', 0), ('2020-01-02', 11))",
    "SELECT * FROM sales WHERE substr(ds, 6, 2) = '02' OR (id = 3 AND hr = 0)",
    "SELECT * FROM sales WHERE CASE WHEN hr = 11 THEN ds > '2020-01-15' ELSE false END",
    "SELECT * FROM sales WHERE year(ds) = 2020 AND month(ds) = 1",
    "SELECT * FROM sales WHERE ds >= date_sub('2020-01-03', 1)",
    "SELECT * FROM sales WHERE coalesce(ds, 'none') = 'none'",
    "SELECT * FROM sales WHERE hr = '01' OR hr = 1.0",
    "SELECT * FROM sales WHERE ds = 20200101",
    "SELECT * FROM sales WHERE 1 = 2 OR hr IS NULL",
    "SELECT count(*) FROM sales WHERE ds > '2020-01-01' HAVING count(*) > 0",
    "SELECT ds, count(*) c FROM sales GROUP BY ds HAVING ds = '2020-01-02'",
    "SELECT * FROM (SELECT ds AS d, max(id) m FROM sales GROUP BY ds) WHERE d = '2020-02-01'",
    "SELECT * FROM (SELECT ds, hr, count(*) FROM sales GROUP BY ROLLUP (ds, hr)) WHERE ds IS NULL",
    "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY ds ORDER BY id) r FROM sales)"
    " WHERE r = 1 AND ds = '2020-01-01'",
    "SELECT * FROM (SELECT *, row_number() OVER (ORDER BY ds, hr, id) r FROM sales)"
    " WHERE ds = '2020-01-02'",
    "SELECT * FROM (SELECT * FROM sales ORDER BY id LIMIT 4) WHERE hr = 1",
    "SELECT * FROM sales s JOIN shops p ON s.ds = p.ds WHERE p.ds = '2020-01-02'",
    "SELECT * FROM sales s LEFT JOIN shops p ON s.ds = p.ds AND p.ds = '2020-01-01'",
    "SELECT * FROM sales s LEFT JOIN shops p ON s.ds = p.ds WHERE p.ds = '2020-01-01'",
    "SELECT * FROM sales s LEFT JOIN shops p ON s.ds = p.ds WHERE p.ds IS NULL",
    "SELECT * FROM shops p RIGHT JOIN sales s ON s.ds = p.ds AND s.hr = 1",
    "SELECT * FROM sales s FULL JOIN shops p ON s.ds = p.ds WHERE s.hr = 0",
    "SELECT * FROM sales s FULL JOIN shops p ON s.ds = p.ds AND s.hr = 0 AND p.ds = 'x'",
    "SELECT * FROM sales s LEFT SEMI JOIN shops p ON s.ds = p.ds AND p.ds = '2020-01-01'",
    "SELECT * FROM shops p LEFT ANTI JOIN sales s ON s.ds = p.ds AND s.hr = 1",
    "SELECT * FROM sales JOIN shops USING (ds) WHERE ds = '2020-01-01'",
    "SELECT * FROM sales WHERE ds IN (SELECT ds FROM shops WHERE ds < '2020-01-02')",
    "SELECT * FROM sales WHERE ds NOT IN (SELECT ds FROM shops WHERE ds < '2020-01-02')",
    "SELECT * FROM shops p WHERE EXISTS (SELECT 1 FROM sales s WHERE s.ds = p.ds AND s.hr = 11)"
    " AND p.ds = '2020-01-01'",
    "SELECT * FROM shops p WHERE NOT EXISTS (SELECT 1 FROM sales s WHERE s.ds = p.ds)"
    " AND p.ds <> '2020-01-01'",
    "SELECT * FROM sales WHERE ds = (SELECT max(ds) FROM shops WHERE ds < 'x')",
    "SELECT * FROM (SELECT ds d FROM sales UNION ALL SELECT ds FROM shops) WHERE d = '2020-01-02'",
    "SELECT ds FROM sales WHERE hr = 0 EXCEPT SELECT ds FROM shops",
    "SELECT ds FROM sales INTERSECT SELECT ds FROM shops WHERE ds > '2020-01-01'",
    "SELECT * FROM late WHERE day = '2020-01-01'",
    "SELECT * FROM late l JOIN shops p ON l.day = p.ds AND p.name = 'n1' WHERE l.hr = 1",
    "WITH a AS (SELECT * FROM sales WHERE hr = 1), b AS (SELECT * FROM a WHERE ds > '2020-01-01')"
    " SELECT * FROM b UNION ALL SELECT * FROM a WHERE ds = '2020-01-01'",
    "WITH sales AS (SELECT * FROM shops) SELECT * FROM sales WHERE ds = 'x'",
    "FROM sales SELECT id WHERE hr = 11",
    "SELECT id, e FROM sales LATERAL VIEW explode(array(hr, 7)) x AS e WHERE e = 7 AND hr = 1",
    "TABLE shops",
]


class Tables:
    """The catalog of the two test databases' tables."""

    def __init__(self) -> None:
        ds, hr = PartitionKey("ds", "string"), PartitionKey("hr", "int")
        columns = (Column("id", "int"), Column("v", "string"))
        names = (Column("sid", "int"), Column("name", "string"))
        self._tables = {
            "sales": TableInfo(
                TableRef("whole", "sales"), TableKind.TABLE, columns, partition_keys=(ds, hr)
            ),
            "shops": TableInfo(
                TableRef("whole", "shops"), TableKind.TABLE, names, partition_keys=(ds,)
            ),
            "late": TableInfo(
                TableRef("whole", "late"), TableKind.VIEW, view=ViewText(VIEW, "whole")
            ),
        }

    def table(self, ref: TableRef) -> TableInfo | None:
        return self._tables.get(ref.name) if ref.db == "whole" else None


def _partitions(name: str) -> PartitionSet:
    null = "__HIVE_DEFAULT_PARTITION__"
    ds, hr = PartitionKey("ds", "string"), PartitionKey("hr", "int")
    if name == "sales":
        rows = dict.fromkeys((day or null, str(hour)) for _, _, day, hour in SALES)
        return PartitionSet([ds, hr], list(rows))
    return PartitionSet([ds], list(dict.fromkeys((day,) for _, _, day in SHOPS)))


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("warehouse")
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.sql.warehouse.dir", str(folder))
        .config("spark.sql.catalogImplementation", "in-memory")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sql("CREATE DATABASE whole")
    session.sql("CREATE DATABASE cut")
    sales = session.createDataFrame(SALES, "id int, v string, ds string, hr int")
    shops = session.createDataFrame(SHOPS, "sid int, name string, ds string")
    sales.write.partitionBy("ds", "hr").saveAsTable("whole.sales")
    shops.write.partitionBy("ds").saveAsTable("whole.shops")
    for database in ("whole", "cut"):
        session.sql(f"USE {database}")
        if database == "whole":
            session.sql(f"CREATE VIEW late AS {VIEW}")
    yield session
    session.stop()


def _known(sql: str) -> Known:
    answer = analyze(sql, Namespace("whole"), Tables())
    assert isinstance(answer, Known), answer
    return answer


def _rows(spark: Any, database: str, sql: str) -> list[str]:
    spark.sql(f"USE {database}")
    return sorted(str(row) for row in spark.sql(sql).collect())


@pytest.mark.parametrize("sql", QUERIES)
def test_the_relations_are_those_of_the_analysed_plan(spark: Any, sql: str) -> None:
    spark.sql("USE whole")
    plan = spark.sql(sql)._jdf.queryExecution().analyzed()
    assert _relations(plan) <= {read.table.name for read in _known(sql).reads}
    if "EXISTS" not in sql and " IN (SELECT" not in sql and "(SELECT max" not in sql:
        assert _relations(plan) == {read.table.name for read in _known(sql).reads}


def _relations(plan: Any) -> set[str]:
    """Tables at the leaves of a Catalyst plan; those of expressions' sub-queries are not."""
    found = set()
    leaves = plan.collectLeaves()
    for at in range(leaves.size()):
        leaf = leaves.apply(at)
        if leaf.getClass().getSimpleName() == "LogicalRelation":
            found.add(leaf.catalogTable().get().identifier().table())
    return found


@pytest.mark.parametrize("sql", QUERIES)
def test_the_rows_are_the_same_with_only_the_partitions_read(spark: Any, sql: str) -> None:
    reads = {read.table.name: read.partitions for read in _known(sql).reads}
    for name in ("sales", "shops"):
        partitions = _partitions(name)
        kept = reads[name].select(partitions) if name in reads else []
        conditions = [_condition(partitions.spec(row)) for row in kept]
        spark.sql("USE cut")
        where = " OR ".join(conditions) or "false"
        spark.sql(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM whole.{name} WHERE {where}")
    spark.sql(f"CREATE OR REPLACE VIEW late AS {VIEW}")
    assert _rows(spark, "cut", sql) == _rows(spark, "whole", sql)


def _condition(spec: tuple[tuple[str, str], ...]) -> str:
    parts = [
        f"{key} IS NULL" if value.startswith("__HIVE") else f"{key} = '{value}'"
        for key, value in spec
    ]
    return "(" + " AND ".join(parts) + ")"


def test_most_queries_prune() -> None:
    """Rows would be the same if everything were read: the comparison needs what is left out."""
    pruned = 0
    for sql in QUERIES:
        for read in _known(sql).reads:
            partitions = _partitions(read.table.name)
            pruned += len(read.partitions.select(partitions)) < len(partitions)
    assert pruned >= 40


def test_variables_are_put_in_place_as_spark_does(spark: Any) -> None:
    from dialect.variables import substitute

    spark.sql("SET day=2020-01-01")
    spark.sql("SET hivevar:hour=11")
    for text in ("'${day}'", "'${hiveconf:day}'", "'${spark:day}'", "'${hivevar:day}'"):
        (row,) = spark.sql(f"SELECT {text} AS v").collect()
        assert substitute(text, {"day": "2020-01-01"}) == f"'{row.v}'"
