"""The analyser compared with real Spark: the relations of the analysed plan, files and rows.

A query must return the same rows if only the partitions exist that the analyser says it reads, and
Spark must read files of such partitions alone.
"""

import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest

from dialect.analyze import analyze
from dialect.statement import Known, Namespace
from pipeline.spark.jar import SPARK_MAJOR
from tests.dialect.lineage.random_queries import TABLES, RandomQueries, RandomTables
from tests.dialect.lineage.random_queries import partitions_of as random_partitions_of
from tests.e2e.support.interpreted import INTERPRETED
from tests.e2e.support.pruned_queries import (
    QUERIES,
    SALES,
    SHOPS,
    VIEW,
    VISITS,
    QueryTables,
    partitions_of,
)

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(900),
    # PySpark leaves the sockets of its results to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

RANDOM = int(os.environ.get("CAUSEWAY_STATEMENTS", "60"))
SEED = int(os.environ.get("CAUSEWAY_SEED", "16"))


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
        # Then the plan has the files that are read before the query runs.
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
    statement = analyze(sql, Namespace("whole"), QueryTables())
    assert isinstance(statement, Known), statement
    return statement


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
    """The tables at the leaves of a Catalyst plan, without those of expressions' sub-queries."""
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
        partitions = partitions_of(name)
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
        for partitions in [partitions_of(read.table.name)]
        for row in read.partitions.select(partitions)
    }
    touched = set(_touched(spark.sql(sql)._jdf.queryExecution().executedPlan()))
    assert touched <= named, "Spark reads a partition that the analyser does not name"


def test_random_queries_touch_only_files_of_the_partitions_read(spark: Any) -> None:
    """CAUSEWAY_STATEMENTS is the number of queries, CAUSEWAY_SEED the seed of the first one."""
    spark.sql("USE random")
    wrong, pruned = [], 0
    for number in range(RANDOM):
        sql = RandomQueries(SEED + number).query()
        answer = analyze(sql, Namespace("random"), RandomTables())
        assert isinstance(answer, Known), (sql, answer)
        named = {
            (read.table.name, partitions.spec(row))
            for read in answer.reads
            for partitions in [random_partitions_of(read.table.name)]
            for row in read.partitions.select(partitions)
        }
        of_all = sum(len(random_partitions_of(read.table.name)) for read in answer.reads)
        pruned += len(named) < of_all
        touched = set(_touched(spark.sql(sql)._jdf.queryExecution().executedPlan()))
        wrong += [f"{sql}: {sorted(touched - named)}"] if touched - named else []
    print(f"CAUSEWAY_SEED={SEED}: {pruned} of {RANDOM} queries do not read everything")
    assert not wrong, "\n".join(wrong)
    assert pruned > RANDOM * 0.3


def _touched(plan: Any) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """The partitions of which a physical plan and its sub-queries read files."""
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
    """The comparison of rows proves nothing for a query that reads all partitions."""
    pruned = 0
    for sql in QUERIES:
        for read in _known(sql).reads:
            partitions = partitions_of(read.table.name)
            pruned += len(read.partitions.select(partitions)) < len(partitions)
    assert pruned >= 40


def test_variables_are_substituted_as_by_spark(spark: Any) -> None:
    from dialect.parsing.variables import substitute

    spark.sql("SET day=2020-01-01")
    spark.sql("SET hivevar:hour=11")
    for text in ("'${day}'", "'${hiveconf:day}'", "'${spark:day}'", "'${hivevar:day}'"):
        (row,) = spark.sql(f"SELECT {text} AS v").collect()
        assert substitute(text, {"day": "2020-01-01"}) == f"'{row.v}'"
