"""The analyser against real Spark: the relations of the analysed plan, files and rows.

A query must give the same rows where only the partitions exist that we say it reads, and of the
files of a table Spark may touch those of such partitions only.
"""

import os
from collections.abc import Iterator
from datetime import date
from typing import Any
from urllib.parse import unquote

import pytest

from conf.catalog.tables import Column, TableInfo, TableKind, ViewText
from conf.names import TableRef
from conf.partitions import PartitionKey, PartitionSet
from dialect.analyze import analyze
from dialect.statement import Known, Namespace
from pipeline.spark.jar import SPARK_MAJOR
from tests.dialect.lineage.random_queries import TABLES, RandomQueries, RandomTables, partitions_of
from tests.e2e.support.interpreted import INTERPRETED

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(900),
    # PySpark leaves the sockets of its results to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

RANDOM = int(os.environ.get("CAUSEWAY_STATEMENTS", "60"))
SEED = int(os.environ.get("CAUSEWAY_SEED", "16"))
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
VISITS = [
    (number, day, open_, code)
    for number, (day, open_, code) in enumerate(
        (day, open_, code)
        for day in (date(2020, 1, 1), date(2020, 1, 2), date(2019, 12, 31), None)
        for open_ in (True, False)
        for code in (1, 9_999_999_999)
    )
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
    "SELECT * FROM (SELECT ds FROM sales EXCEPT SELECT ds FROM shops) WHERE ds = '2020-01-01'",
    "SELECT * FROM (SELECT ds FROM sales EXCEPT ALL SELECT ds FROM shops) WHERE ds = '2020-01-01'",
    "SELECT * FROM (SELECT ds FROM sales INTERSECT SELECT ds FROM shops INTERSECT ALL"
    " SELECT ds FROM sales) WHERE ds = '2020-01-01'",
    "SELECT ds FROM sales INTERSECT SELECT ds FROM shops WHERE ds > '2020-01-01'",
    "SELECT * FROM late WHERE day = '2020-01-01'",
    "SELECT * FROM late l JOIN shops p ON l.day = p.ds AND p.name = 'n1' WHERE l.hr = 1",
    "WITH a AS (SELECT * FROM sales WHERE hr = 1), b AS (SELECT * FROM a WHERE ds > '2020-01-01')"
    " SELECT * FROM b UNION ALL SELECT * FROM a WHERE ds = '2020-01-01'",
    "WITH sales AS (SELECT * FROM shops) SELECT * FROM sales WHERE ds = 'x'",
    "FROM sales SELECT id WHERE hr = 11",
    "SELECT id, e FROM sales LATERAL VIEW explode(array(hr, 7)) x AS e WHERE e = 7 AND hr = 1",
    "TABLE shops",
    "SELECT * FROM visits WHERE day = '2020-01-01'",
    "SELECT * FROM visits WHERE day > DATE '2019-12-31' AND open",
    "SELECT * FROM visits WHERE NOT open AND code = 1",
    "SELECT * FROM visits WHERE day IS NULL OR code > 5",
    "SELECT * FROM visits WHERE year(day) = 2019 AND open = true",
    "SELECT * FROM visits WHERE day IN (DATE '2020-01-01', '2020-01-02')",
    "SELECT * FROM visits WHERE day BETWEEN '2020-01-01' AND '2020-01-31' AND code IN (1, 2)",
    "SELECT * FROM visits WHERE date_format(day, 'yyyyMM') = '202001'",
    "SELECT * FROM visits WHERE day = date_add('2020-01-01', 1) AND coalesce(open, false)",
    "SELECT * FROM visits v JOIN sales s ON v.day = s.ds WHERE s.ds = '2020-01-01'",
    "SELECT * FROM visits v JOIN visits w ON v.day = w.day AND v.code = w.code"
    " WHERE w.day = '2020-01-02' AND v.code = 1",
    "SELECT * FROM visits v LEFT JOIN visits w ON v.day = w.day AND w.open WHERE v.code = 1",
    "SELECT * FROM visits v FULL JOIN visits w ON v.day = w.day WHERE w.day = '2020-01-01'",
    "SELECT * FROM late l LEFT JOIN late m ON l.day = m.day WHERE l.day = '2020-01-01'",
    "SELECT * FROM late WHERE hr IN (SELECT hr FROM sales WHERE ds = '2020-02-01' AND hr = 1)",
    "SELECT * FROM (SELECT day, hr FROM late UNION SELECT ds, hr FROM sales) WHERE hr = 0",
    "SELECT ds, max(id) FROM sales WHERE hr = 1 GROUP BY ds HAVING ds > '2020-01-01'",
    "SELECT * FROM sales WHERE ds NOT LIKE '2020-01%' OR ds IS NULL",
    "SELECT DISTINCT ds FROM sales WHERE ds RLIKE '^2020-0[12]-01$' AND hr <> 0",
    "SELECT (SELECT max(id) FROM sales WHERE hr = 11) m, name FROM shops WHERE ds = 'x'",
    "SELECT * FROM sales s JOIN (SELECT ds FROM shops WHERE ds = 'x' UNION ALL"
    " SELECT ds FROM shops WHERE ds = '2020-01-01') u ON s.ds = u.ds",
    "SELECT * FROM sales s JOIN (SELECT DISTINCT ds FROM shops WHERE ds = '2020-01-01') u"
    " ON s.ds = u.ds",
    "SELECT * FROM sales s JOIN (SELECT ds, max(name) n FROM shops WHERE ds > '2020-01-01'"
    " GROUP BY ds) u ON s.ds = u.ds",
    "SELECT * FROM sales s JOIN (SELECT '2020-01-01' AS d) c ON s.ds = c.d",
    "WITH c AS (SELECT '2020-01-01' AS d) SELECT * FROM sales, c WHERE ds = d",
    "SELECT * FROM sales s JOIN shops p ON s.ds = p.ds JOIN sales t ON t.ds = p.ds"
    " WHERE t.hr = 1 AND s.ds = '2020-01-01'",
    "SELECT * FROM shops p LEFT JOIN (SELECT * FROM sales WHERE hr = 1) s ON p.ds = s.ds"
    " WHERE p.ds IN ('2020-01-01', 'x')",
    "SELECT * FROM sales s LEFT SEMI JOIN (SELECT ds FROM shops WHERE name = 'n0'"
    " AND ds = '2020-01-01') u ON s.ds = u.ds",
    "SELECT * FROM sales s LEFT ANTI JOIN shops p ON s.ds = p.ds WHERE s.ds = '2020-01-02'",
    "SELECT * FROM sales s JOIN shops p ON substr(s.ds, 1, 10) = p.ds WHERE s.ds = '2020-01-01'",
    "SELECT * FROM sales a JOIN sales b ON a.ds = b.ds AND a.hr = b.hr"
    " WHERE a.ds = '2020-01-01' AND (b.hr = 1 OR b.hr = 11)",
    "SELECT * FROM sales WHERE CASE WHEN id > 3 THEN ds = '2020-01-01' ELSE ds > '2020-01-31' END",
    "SELECT * FROM sales WHERE (ds = '2020-01-01' AND id > 3) OR (ds = '2020-01-02' AND hr = 1)",
    "SELECT * FROM sales WHERE NOT (ds <> '2020-01-01' OR id > 3)",
    "SELECT * FROM sales WHERE if(id > 3, ds, 'x') = '2020-01-01'",
    "SELECT * FROM sales WHERE coalesce(ds, v) = '2020-01-01'",
    "SELECT * FROM sales INTERSECT SELECT * FROM sales WHERE hr = 1",
    "SELECT * FROM (SELECT * FROM sales LATERAL VIEW explode(array(1, 2)) e AS x)"
    " WHERE ds = '2020-01-01' AND x = 1",
    "SELECT * FROM sales s, LATERAL (SELECT max(name) m FROM shops p WHERE p.ds = s.ds)"
    " WHERE s.ds = '2020-01-01'",
    "SELECT * FROM sales s FULL JOIN shops p USING (ds) WHERE ds = '2020-01-01'",
    "SELECT * FROM sales NATURAL JOIN shops WHERE ds = '2020-01-01'",
    "SELECT ds, hr FROM sales GROUP BY ds, hr GROUPING SETS ((ds, hr), (ds))"
    " HAVING ds = '2020-01-01'",
    "SELECT * FROM (SELECT ds, hr, id FROM sales) PIVOT (max(id) FOR hr IN (0, 1))"
    " WHERE ds = '2020-01-01'",
    "SELECT * FROM sales s LEFT JOIN shops p ON s.ds = p.ds AND s.hr = 1"
    " WHERE s.ds > '2020-01-01' AND (p.name = 'n1' OR s.hr = 0)",
    "SELECT * FROM sales s RIGHT JOIN shops p ON s.ds = p.ds AND p.ds = '2020-01-01'",
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
            "visits": TableInfo(
                TableRef("whole", "visits"),
                TableKind.TABLE,
                (Column("vid", "int"),),
                (
                    PartitionKey("day", "date"),
                    PartitionKey("open", "boolean"),
                    PartitionKey("code", "bigint"),
                ),
            ),
            "late": TableInfo(
                TableRef("whole", "late"), TableKind.VIEW, view=ViewText(VIEW, "whole")
            ),
        }

    def table(self, ref: TableRef) -> TableInfo | None:
        return self._tables.get(ref.name) if ref.db == "whole" else None


def _partitions(name: str) -> PartitionSet:
    null = "__HIVE_DEFAULT_PARTITION__"
    info = Tables().table(TableRef("whole", name))
    assert info is not None
    values = {
        "sales": [(day, hour) for _, _, day, hour in SALES],
        "shops": [(day,) for _, _, day in SHOPS],
        "visits": [(day, str(open_).lower(), code) for _, day, open_, code in VISITS],
    }[name]
    rows = [tuple(null if each is None else str(each) for each in row) for row in values]
    return PartitionSet(info.partition_keys, list(dict.fromkeys(rows)))


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
        .config(map=INTERPRETED)
        # In ANSI mode, the default of Spark 4, a key that is no number cannot be compared with one.
        .config("spark.sql.ansi.enabled", "false")
        # What is touched is in the plan then, and decided before the query runs.
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.optimizer.dynamicPartitionPruning.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sql("CREATE DATABASE whole")
    session.sql("CREATE DATABASE cut")
    sales = session.createDataFrame(SALES, "id int, v string, ds string, hr int")
    shops = session.createDataFrame(SHOPS, "sid int, name string, ds string")
    visits = session.createDataFrame(VISITS, "vid int, day date, open boolean, code bigint")
    sales.write.partitionBy("ds", "hr").saveAsTable("whole.sales")
    shops.write.partitionBy("ds").saveAsTable("whole.shops")
    visits.write.partitionBy("day", "open", "code").saveAsTable("whole.visits")
    session.sql("CREATE DATABASE random")
    for name, (_, keys, specs) in TABLES.items():
        rows = [(number, f"v{number % 3}", *spec) for number, spec in enumerate(specs)]
        shape = ", ".join(["k int", "v string", *(f"{key.name} {key.type}" for key in keys)])
        parted = session.createDataFrame(rows, shape).write.partitionBy(*(k.name for k in keys))
        parted.saveAsTable(f"random.{name}")
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
    if not any(word in sql for word in ("EXISTS", " IN (SELECT", "(SELECT max")):
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


@pytest.fixture(scope="module")
def views() -> dict[str, str]:
    """The conditions of the views in database `cut`."""
    return {}


@pytest.mark.parametrize("sql", QUERIES)
def test_the_rows_are_the_same_with_only_the_partitions_read(
    spark: Any, views: dict[str, str], sql: str
) -> None:
    reads = {read.table.name: read.partitions for read in _known(sql).reads}
    for name in ("sales", "shops", "visits"):
        partitions = _partitions(name)
        kept = reads[name].select(partitions) if name in reads else []
        conditions = [_condition(partitions.spec(row)) for row in kept]
        where = " OR ".join(conditions) or "false"
        if views.get(name) != where:
            text = f"SELECT * FROM whole.{name} WHERE {where}"
            spark.sql(f"CREATE OR REPLACE VIEW cut.{name} AS {text}")
            views[name] = where
    if "late" not in views:
        spark.sql("USE cut")
        spark.sql(f"CREATE VIEW late AS {VIEW}")
        views["late"] = "always"
    assert _rows(spark, "cut", sql) == _rows(spark, "whole", sql)


def _condition(spec: tuple[tuple[str, str], ...]) -> str:
    parts = [
        f"{key} IS NULL" if value.startswith("__HIVE") else f"{key} = '{value}'"
        for key, value in spec
    ]
    return "(" + " AND ".join(parts) + ")"


@pytest.mark.parametrize("sql", QUERIES)
def test_only_files_of_the_partitions_read_are_touched(spark: Any, sql: str) -> None:
    spark.sql("USE whole")
    named = {
        (read.table.name, partitions.spec(row))
        for read in _known(sql).reads
        for partitions in [_partitions(read.table.name)]
        for row in read.partitions.select(partitions)
    }
    touched = set(_touched(spark.sql(sql)._jdf.queryExecution().executedPlan()))
    assert touched <= named, "a partition that we do not name is read"


def test_random_queries_touch_only_files_of_the_partitions_read(spark: Any) -> None:
    """CAUSEWAY_STATEMENTS is how many, CAUSEWAY_SEED the first one's seed."""
    spark.sql("USE random")
    wrong, named_less = [], 0
    for number in range(RANDOM):
        sql = RandomQueries(SEED + number).query()
        answer = analyze(sql, Namespace("random"), RandomTables())
        assert isinstance(answer, Known), (sql, answer)
        named = {
            (read.table.name, partitions.spec(row))
            for read in answer.reads
            for partitions in [partitions_of(read.table.name)]
            for row in read.partitions.select(partitions)
        }
        of_all = sum(len(partitions_of(read.table.name)) for read in answer.reads)
        named_less += len(named) < of_all
        touched = set(_touched(spark.sql(sql)._jdf.queryExecution().executedPlan()))
        wrong += [f"{sql}: {sorted(touched - named)}"] if touched - named else []
    print(f"CAUSEWAY_SEED={SEED}: {named_less} of {RANDOM} queries do not read everything")
    assert not wrong, "\n".join(wrong)
    assert named_less > RANDOM * 0.3


def _touched(plan: Any) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """The partitions whose files a physical plan reads, its sub-queries' too."""
    for each in (plan, *_listed(plan.subqueriesAll())):
        for leaf in _listed(each.collectLeaves()):
            if leaf.getClass().getSimpleName() != "FileSourceScanExec":
                continue
            table = leaf.tableIdentifier().get().table()
            for path in _paths(leaf.selectedPartitions()):
                segments = [part.partition("=") for part in path.split("/")]
                yield table, tuple((key, unquote(v)) for key, sign, v in segments if sign)


def _paths(partitions: Any) -> Iterator[str]:
    if SPARK_MAJOR >= 4:
        yield from (str(file.toPath()) for file in partitions.toPartitionArray())
        return
    for directory in partitions:
        yield from (str(file.getPath()) for file in _listed(directory.files()))


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(at) for at in range(sequence.size())]


def test_most_queries_prune() -> None:
    """Rows would be the same if everything were read: the comparison needs what is left out."""
    pruned = 0
    for sql in QUERIES:
        for read in _known(sql).reads:
            partitions = _partitions(read.table.name)
            pruned += len(read.partitions.select(partitions)) < len(partitions)
    assert pruned >= 40


def test_variables_are_put_in_place_as_spark_does(spark: Any) -> None:
    from dialect.parsing.variables import substitute

    spark.sql("SET day=2020-01-01")
    spark.sql("SET hivevar:hour=11")
    for text in ("'${day}'", "'${hiveconf:day}'", "'${spark:day}'", "'${hivevar:day}'"):
        (row,) = spark.sql(f"SELECT {text} AS v").collect()
        assert substitute(text, {"day": "2020-01-01"}) == f"'{row.v}'"
