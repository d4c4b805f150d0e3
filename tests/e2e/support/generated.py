"""Databases, tables and sessions for generated statements: all names of `RunningWriter` exist.

`gen_a` and `gen_b` have tables of both formats, whole and in partitions, with primaries and copies
in two clusters, and views; statements only read them. `gen_w` has tables to write, which are made
again now and then.
"""

import random
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pyhive import hive

from cli.stack.stack import Stack
from conf.names import ClusterName
from tests.dialect.spark.names import Names
from tests.dialect.spark.running import COLUMNS, DAYS, HOURS
from tests.e2e.conftest import C1, C2, Tables, rows, run_sql, server

READ, OTHER, WRITTEN = "gen_a", "gen_b", "gen_w"
_ROWS = ", ".join(
    f"({number}, 'y{number}', {number % 3}, '{day}', {hour})"
    for number, (day, hour) in enumerate((day, hour) for day in DAYS for hour in HOURS)
)
_SHAPE = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
_PLAIN = f"({_SHAPE}) USING parquet"
_PARTED = f"({_SHAPE}) USING parquet PARTITIONED BY (ds, hr)"
_HIVE = "(x INT, y STRING, k INT) PARTITIONED BY (ds STRING, hr INT) STORED AS ORC"
_COALESCE = "org.apache.hadoop.hive.ql.udf.generic.GenericUDFCoalesce"

# Variables of the session, which the texts use as ${..}.
VARIABLES = {
    "v_table": "gen_b.t2",
    "v_name": "t3",
    "v_nested": "${v_name}",
    "v_comment": "/* ${v_name} */",
    "v_open": "/*",
    "v_dashes": "-- ",
    "v_quote": "'",
    "v_empty": "",
}
# Settings by which Spark reads tables differently; a session may have one.
_SETTINGS = (
    "spark.sql.hive.convertMetastoreOrc=false",
    "spark.sql.hive.metastorePartitionPruning=false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled=false",
    "spark.sql.adaptive.enabled=false",
    "spark.sql.cbo.enabled=true",
    "spark.sql.ansi.enabled=true",
    "spark.sql.caseSensitive=true",
    "spark.sql.legacy.storeAnalyzedPlanForView=true",
    "spark.sql.sources.useV1SourceList=",
    "spark.sql.parser.quotedRegexColumnNames=true",
    "spark.sql.sources.partitionOverwriteMode=dynamic",
    "spark.sql.storeAssignmentPolicy=LEGACY",
)


def names(folder: Path) -> Names:
    """The names in generated statements; their files are in `folder`."""
    return Names(
        tables=(
            *("t1", "t2", "t2", "t3", "t3", "t4", "T5", "gen_a.t1", "gen_a.t2", "GEN_A.T3"),
            *("gen_b.t2", "gen_b.t3", "gen_b.t6", "`t2`", "`gen_b`.`t2`", "spark_catalog.gen_a.t3"),
            *("v1", "v2", "gen_b.v3", "tv1", "tv2", "global_temp.gen_g", "gen_w.w1", "gen_w.w2"),
        ),
        odd_tables=(
            "`select`",
            "date",
            "map",
            "gen_a.date",
            "cte1",
            "gen_a.cte1",
            "tv3",
            "nothing",
        ),
        by_variable=("${v_table}", "${v_nested}", "${hiveconf:v_table}", "gen_b.${v_name}"),
        identifiers=(
            *("'t1'", "'gen_a.t2'", "'gen_b' '.t3'", '"GEN_A.t4"', "'`gen_b`.`t2`'", "x"),
            *("'gen_b.' || 't2'", "concat('gen_a', '.', 't3')", "'${v_table}'", "lower('T1')"),
        ),
        written=(
            *("gen_w.w1", "gen_w.w2", "gen_w.w2", "gen_w.w3", "gen_w.w3", "gen_w.w4", "gen_w.wv"),
            *("`gen_w`.`w2`", "IDENTIFIER('gen_w.w1')", "spark_catalog.gen_w.w3", "GEN_W.W2"),
            *("gen_w.n1", "gen_w.n2", "w2"),
        ),
        made=(
            "gen_w.n1",
            "gen_w.n2",
            "gen_w.n3",
            "`gen_w`.n1",
            "IDENTIFIER('gen_w.n2')",
            "gen_w.wv",
        ),
        temporary=("tv1", "tv2", "tv3", "`tv3`", "TV1"),
        databases=("gen_x1", "`gen_x2`", "spark_catalog.gen_x1", "IDENTIFIER('gen_x2')"),
        used=("gen_a", "gen_b", "`gen_a`", "GEN_B", "gen_w", "spark_catalog.gen_a"),
        functions=("gen_a.f", "tf", "coalesce"),
        folder=str(folder),
    )


def prepare(stack: Stack) -> None:
    """Makes the tables that statements read, with primaries and copies in c1 and c2."""
    tables = Tables(stack)
    run_sql(
        stack,
        f"CREATE DATABASE {READ}",
        f"CREATE DATABASE {OTHER}",
        f"CREATE FUNCTION {READ}.f AS '{_COALESCE}'",
        *_filled(f"{READ}.t1", _PLAIN),
        *_filled(f"{READ}.t2", _PARTED),
        *_filled(f"{READ}.t3", _HIVE),
        *_filled(f"{READ}.T5", _PLAIN),
        *_filled(f"{READ}.`select`", _PARTED),
        *_filled(f"{READ}.date", _PLAIN),
        *_filled(f"{READ}.map", _PLAIN),
        *_filled(f"{READ}.cte1", _PLAIN),
        *_filled(f"{OTHER}.t3", _HIVE),
    )
    run_sql(
        stack,
        f"USE CLUSTER {C2}",
        *_filled(f"{READ}.t4", _PLAIN),
        *_filled(f"{OTHER}.t2", _PARTED),
        *_filled(f"{OTHER}.t6", _PLAIN),
    )
    run_sql(
        stack,
        f"CREATE VIEW {READ}.v1 AS SELECT * FROM {READ}.t2 WHERE ds < 'c'",
        f"CREATE VIEW {READ}.v2 AS SELECT a.* FROM {READ}.v1 a JOIN {READ}.T5 b USING (x)",
        f"CREATE VIEW {OTHER}.v3 AS WITH t3 AS (SELECT * FROM {OTHER}.t2) SELECT * FROM t3",
    )
    tables.copy(f"{READ}.T5", C2)
    tables.copy(f"{READ}.date", C2)
    tables.copy(f"{READ}.t4", C1)
    for partition in ("ds=a/hr=1", "ds=a/hr=2", "ds=b/hr=1", "ds=b/hr=2", "ds=c/hr=1"):
        tables.copy(f"{OTHER}.t2", C1, partition)
    for partition in ("ds=a/hr=1", "ds=a/hr=2", "ds=b/hr=1"):
        tables.copy(f"{READ}.t2", C2, partition)
        tables.copy(f"{READ}.t3", C2, partition)
    tables.assign(f"{OTHER}.t3", "--partition", "ds=b/hr=1", "--primary", str(C2))
    tables.copy(f"{OTHER}.t3", C1, "ds=b/hr=1")


def _filled(table: str, shape: str) -> tuple[str, str]:
    return f"CREATE TABLE {table} {shape}", f"INSERT INTO {table} VALUES {_ROWS}"


def make_written(stack: Stack) -> None:
    """Makes the tables that statements write, again in their first state."""
    _drop(stack, WRITTEN)
    run_sql(
        stack,
        f"CREATE DATABASE {WRITTEN}",
        *_filled(f"{WRITTEN}.w1", _PLAIN),
        *_filled(f"{WRITTEN}.w2", _PARTED),
        *_filled(f"{WRITTEN}.w3", _HIVE),
        f"CREATE VIEW {WRITTEN}.wv AS SELECT * FROM {WRITTEN}.w1",
    )
    run_sql(stack, f"USE CLUSTER {C2}", *_filled(f"{WRITTEN}.w4", _PLAIN))
    tables = Tables(stack)
    for name in ("w1", "w2"):
        tables.await_tasks(f"{WRITTEN}.{name}")
    tables.copy(f"{WRITTEN}.w1", C2)
    tables.copy(f"{WRITTEN}.w2", C2, "ds=a/hr=1")


def remove(stack: Stack) -> None:
    """Drops all databases, and the cached tables and views in the clusters."""
    for cluster in stack.spec.clusters:
        run_sql(stack, "CLEAR CACHE", "DROP VIEW IF EXISTS global_temp.gen_g", cluster=cluster)
    run_sql(stack, f"ALTER TABLE {OTHER}.t3 DROP PARTITION (ds = 'b', hr = 1)")
    for database in (READ, OTHER, WRITTEN, "gen_x1", "gen_x2"):
        _drop(stack, database)


def _drop(stack: Stack, database: str) -> None:
    """Drops a database and its tables, one by one since they are in different clusters."""
    if not run_sql(stack, f"SHOW DATABASES LIKE '{database}'"):
        return
    views = {row[1] for row in run_sql(stack, f"SHOW VIEWS IN {database}")}
    for name in {row[1] for row in run_sql(stack, f"SHOW TABLES IN {database}")} | views:
        kind = "VIEW" if name in views else "TABLE"
        run_sql(stack, f"DROP {kind} IF EXISTS {database}.`{name}`")
    run_sql(stack, f"DROP DATABASE {database} CASCADE")
    for cluster in stack.spec.clusters:  # a table that lay elsewhere has left its folder
        shutil.rmtree(stack.layout.warehouse(cluster) / f"{database}.db", ignore_errors=True)


@contextmanager
def session(
    stack: Stack, folder: Path, seed: int, cluster: ClusterName | None = None
) -> Iterator[hive.Connection]:
    """A session with variables, temporary views and a function: of the proxy, or of a cluster's
    Thrift Server. Some of the proxy's are pinned."""
    chance = random.Random(seed)
    endpoint = server(stack, cluster)
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
        settings = [f"SET {chance.choice(_SETTINGS)}"] if chance.random() < 0.4 else []
        pinned = chance.choice((None, None, None, None, C1, C2))
        rows(
            connection.cursor(),
            f"USE {READ}",
            "SET spark.sql.shuffle.partitions=1",
            *(f"SET {name}={value}" for name, value in VARIABLES.items()),
            *_session_objects(folder / f"files-{seed}-{cluster}"),
            *settings,
            *([] if pinned is None or cluster is not None else [f"USE CLUSTER {pinned}"]),
        )
        yield connection


def _session_objects(path: Path) -> list[str]:
    return [
        f"CREATE TEMPORARY FUNCTION tf AS '{_COALESCE}'",
        f"CREATE OR REPLACE TEMPORARY VIEW tv1 AS SELECT * FROM {READ}.t2",
        f"INSERT OVERWRITE DIRECTORY '{path}' USING parquet SELECT * FROM {READ}.date",
        f"CREATE TEMPORARY VIEW tv2 USING parquet OPTIONS (path '{path}')",
        f"CREATE OR REPLACE GLOBAL TEMPORARY VIEW gen_g AS SELECT * FROM {READ}.date",
    ]
