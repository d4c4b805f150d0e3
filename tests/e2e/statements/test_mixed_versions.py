"""One cluster on Spark 3.5 and one on Spark 4, with one metastore and one session over both."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyhive.exc import OperationalError

from cli.stack.plan import OtherSpark, StackSpec
from cli.stack.stack import Stack, free_ports
from conf.names import ClusterName
from pipeline.spark.jar import SPARK_MAJOR, guard_jar_or_none
from tests.e2e.conftest import C1, C2, Tables, run_sql

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.spark4,
    pytest.mark.skipif(SPARK_MAJOR < 4, reason="pyspark is older than 4: make test SPARK=4"),
]

DB = "mixed"


def older_spark() -> OtherSpark:
    """Spark 3.5 of `.venv`, whose packages are behind those of `.venv4`, with its guard."""
    homes = [Path(each) / "pyspark" for each in sys.path]
    home = next(each for each in homes if any(each.glob("jars/spark-sql_2.12-3.5.*.jar")))
    jar = Path(__file__).parents[3] / "guard/target/causeway-guard.jar"
    return OtherSpark(home, jar if jar.exists() else None)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """c1, the default, is on Spark 3.5, c2 on Spark 4. Each has a table, and both have `both`."""
    others = {C1: older_spark()}
    spec = StackSpec((C1, C2), free_ports(1)[0], guard=guard_jar_or_none(), others=others)
    with Stack(spec, tmp_path_factory.mktemp("mixed")) as stack:
        run_sql(stack, f"CREATE DATABASE {DB}")
        for name, cluster in (("first", C1), ("second", C2), ("both", C1)):
            create = f"CREATE TABLE {DB}.{name} (id INT, day DATE) USING parquet"
            insert = f"INSERT INTO {DB}.{name} VALUES (1, DATE '2026-01-31'), (2, NULL)"
            run_sql(stack, f"USE CLUSTER {cluster}", create, insert)
        Tables(stack).copy(f"{DB}.both", C2)
        yield stack


def pinned(cluster: ClusterName) -> str:
    return f"USE CLUSTER {cluster}"


def test_each_statement_runs_in_the_version_that_has_its_table(mixed: Stack) -> None:
    version = "SELECT max(split(version(), '[.]')[0]) FROM"
    assert run_sql(mixed, f"{version} {DB}.first") == [("3",)]
    assert run_sql(mixed, f"{version} {DB}.second") == [("4",)]
    query = f"SELECT id, day FROM {DB}.both ORDER BY id"
    assert run_sql(mixed, pinned(C1), query) == run_sql(mixed, pinned(C2), query)
    used = (pinned(C1), "SELECT 1", pinned(C2), "SELECT 1")
    checked = {row[0]: row[5] for row in run_sql(mixed, *used, "SHOW CLUSTERS")}
    assert mixed.spec.guard is None or checked == {C1: "true", C2: "true"}


def test_both_versions_write_into_tables_of_either(mixed: Stack) -> None:
    for source, target in (("both", "second"), ("both", "first")):
        count = f"SELECT count(*) FROM {DB}.{target}"
        ((before,),) = run_sql(mixed, count)
        run_sql(mixed, f"INSERT INTO {DB}.{target} SELECT * FROM {DB}.{source}")
        assert run_sql(mixed, count) == [(before + 2,)]


def test_a_session_takes_its_state_to_the_other_version(mixed: Stack) -> None:
    state = (
        "SET a=1",
        f"USE {DB}",
        "CREATE TEMPORARY VIEW v AS SELECT ${a} AS c",
        pinned(C2),
        "EXECUTE IMMEDIATE 'SET b=2'",
        "DECLARE OR REPLACE x = 3",
        pinned(C1),
    )
    assert run_sql(mixed, *state, "SELECT c, ${b}, current_database() FROM v") == [(1, 2, DB)]
    with pytest.raises(OperationalError, match=r"\[CW203\].*DECLARE OR REPLACE x"):
        run_sql(mixed, *state, "SELECT x")
    assert run_sql(mixed, *state, pinned(C2), "SELECT x + c FROM v") == [(4,)]


def test_the_language_of_one_version_is_a_parse_error_in_the_other(mixed: Stack) -> None:
    of_spark_4 = ("DECLARE x = 1", "EXECUTE IMMEDIATE 'SELECT 1'", "FROM first |> LIMIT 1")
    for statement in (*of_spark_4, "BEGIN SELECT * FROM first; END"):
        with pytest.raises(OperationalError, match="PARSE_SYNTAX_ERROR"):
            run_sql(mixed, pinned(C1), f"USE {DB}", statement)
    assert len(run_sql(mixed, pinned(C2), f"USE {DB}", "FROM second |> LIMIT 1")) == 1
    assert len(run_sql(mixed, f"USE {DB}", "BEGIN SELECT * FROM second LIMIT 1; END")) == 1
