"""The guard compares Spark's own plans with the claim that goes along with a statement.

Claims are made here by hand, and wrong: a client of a Thrift Server itself may send any.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive
from pyhive.exc import OperationalError
from TCLIService import ttypes

from cli.stack.stack import Stack
from conf.names import ClusterName
from router.claim import KEY
from tests.e2e.conftest import C1, C2, Connect, Sql, Tables, rows, run_sql, server
from tests.e2e.support.refusals import REFUSALS

pytestmark = [pytest.mark.e2e, pytest.mark.spark4]

Claimed = Callable[..., list[tuple[Any, ...]]]
PAIR = ("one", "other")
FORMATS = ("parquet", "orc")
ROWS = [(1, "mon"), (2, "tue"), (3, "wed")]


@pytest.fixture(autouse=True)
def guarded(stack: Stack) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard: nothing checks claims")


@pytest.fixture(scope="module")
def claimed(stack: Stack) -> Iterator[Claimed]:
    """Runs a statement in c1 with a claim, without the proxy; raises what Spark answers."""
    connections: dict[ClusterName, hive.Connection] = {}

    def run(statement: str, cluster: ClusterName = C1, **claim: Any) -> list[tuple[Any, ...]]:
        if cluster not in connections:
            endpoint = server(stack, cluster)
            connections[cluster] = hive.connect(endpoint.host, endpoint.port)
        cursor = connections[cluster].cursor()
        response = _execute(cursor, statement, {"v": 1, **claim})
        hive._check_status(response)
        cursor._reset_state()
        cursor._state = cursor._STATE_RUNNING
        cursor._operationHandle = response.operationHandle
        return rows(cursor)

    yield run
    for each in connections.values():
        each.close()


def _execute(cursor: Any, statement: str, claim: dict[str, Any]) -> Any:
    """The response to a statement with that claim."""
    connection = cursor._connection
    overlay = {KEY: json.dumps(claim)}
    request = ttypes.TExecuteStatementReq(
        connection.sessionHandle, statement, overlay, runAsync=False
    )
    return connection.client.ExecuteStatement(request)


@pytest.fixture(scope="module")
def made(stack: Stack) -> str:
    """A database with tables that no test changes."""
    db = "claims"
    run_sql(
        stack,
        f"CREATE DATABASE {db}",
        *(f"CREATE TABLE {db}.provoked_{name} USING parquet AS SELECT 1 AS id" for name in PAIR),
        *(each for name in FORMATS for each in _days(f"{db}.provoked_{name}", name)),
    )
    return db


def _days(table: str, format: str) -> tuple[str, str]:
    """The statements that make a table of three days: one of Spark's own, or of Hive's."""
    shape = "(id INT) PARTITIONED BY (day STRING) STORED AS ORC"
    if format == "parquet":
        shape = "(id INT, day STRING) USING parquet PARTITIONED BY (day)"
    values = ", ".join(map(str, ROWS))
    return f"CREATE TABLE {table} {shape}", f"INSERT INTO {table} VALUES {values}"


@pytest.fixture
def two(made: str) -> tuple[str, str]:
    """Two tables with a row each."""
    one, other = (f"{made}.provoked_{name}" for name in PAIR)
    return one, other


@pytest.fixture(params=FORMATS)
def days(made: str, request: pytest.FixtureRequest) -> str:
    return f"{made}.provoked_{request.param}"


def test_what_is_claimed_runs(claimed: Claimed, two: tuple[str, str], days: str) -> None:
    one, other = two
    joined = f"SELECT * FROM {one} JOIN {other} USING (id)"
    assert claimed(joined, reads={one: {}, other: {}}) == [(1,)]
    monday = {days: {"in": [["mon"]]}}
    assert claimed(f"SELECT id FROM {days} WHERE day = 'mon'", reads=monday) == [(1,)]
    others = {days: {"but": [["mon"]]}}
    assert claimed(f"SELECT count(*) FROM {days} WHERE day > 'mon'", reads=others) == [(2,)]
    assert claimed("SELECT 1") == [(1,)]


@pytest.mark.provokes("CW361")
def test_another_table_is_not_read(claimed: Claimed, two: tuple[str, str]) -> None:
    one, other = two
    for statement in (
        f"SELECT * FROM {other}",
        f"SELECT * FROM {one} WHERE id IN (SELECT id FROM {other})",
        f"WITH w AS (SELECT * FROM {other}) SELECT * FROM w, {one}",
        f"CREATE TEMPORARY VIEW provoked_view AS SELECT * FROM {other}",
        f"CACHE TABLE provoked_cache AS SELECT * FROM {other}",
        f"CACHE TABLE {other}",
        f"SHOW COLUMNS IN {other}",
        f"DESCRIBE TABLE EXTENDED {other}",
    ):
        with pytest.raises(OperationalError, match=rf"CW361.*{other}"):
            claimed(statement, reads={one: {}})
    explained = claimed(f"EXPLAIN SELECT * FROM {other}", reads={one: {}})
    assert "CW361" in str(explained)  # Spark shows why it cannot be planned


def test_a_refusal_is_reported(claimed: Claimed, two: tuple[str, str]) -> None:
    query = f"SELECT * FROM {two[1]}"
    with pytest.raises(OperationalError, match="CW361"):
        claimed(query)
    assert "CW361" in str(claimed(f"EXPLAIN {query}"))
    refused, explained = REFUSALS.take()
    assert refused.keys() == {"time", "cluster", "code", "refusal", "statement"}
    assert (refused["cluster"], refused["statement"]) == (C1, query)
    assert explained["statement"] == f"EXPLAIN {query}"


@pytest.mark.provokes("CW361")
def test_a_view_that_is_not_claimed_is_not_opened(
    claimed: Claimed, sql: Sql, two: tuple[str, str], db: str
) -> None:
    one, _ = two
    view = f"{db}.provoked_view"
    sql(f"CREATE VIEW {view} AS SELECT * FROM {one}")
    with pytest.raises(OperationalError, match=rf"CW361.*{view}"):
        claimed(f"SELECT * FROM {view}", reads={one: {}})
    assert claimed(f"SELECT * FROM {view}", reads={one: {}}, opens=[view]) == [(1,)]
    with pytest.raises(OperationalError, match=rf"CW361.*{one}"):
        claimed(f"SELECT * FROM {view}", opens=[view])
    described = claimed(f"DESCRIBE {view} id", reads={view: {"in": []}})
    assert ("col_name", "id") in described


@pytest.mark.provokes("CW362")
def test_another_partition_is_not_read(claimed: Claimed, days: str) -> None:
    for condition in ("", "WHERE day >= 'mon'", "WHERE id > 0", "WHERE day IN ('mon', 'tue')"):
        with pytest.raises(OperationalError, match=r"CW362.*(tue|wed).*provoked"):
            claimed(f"SELECT * FROM {days} {condition}", reads={days: {"in": [["mon"]]}})


@pytest.mark.provokes("CW362")
def test_numbers_are_compared_as_the_metastore_spells_them(
    claimed: Claimed, sql: Sql, db: str
) -> None:
    table = f"{db}.provoked_numbers"
    sql(
        f"CREATE TABLE {table} (id INT, n INT) USING parquet PARTITIONED BY (n)",
        f"INSERT INTO {table} VALUES (1, 1), (2, 2)",
    )
    query = f"SELECT count(*) FROM {table} WHERE n = 1"
    assert claimed(query, reads={table: {"in": [["1"]]}}) == [(1,)]
    for wrong in ({"in": [["2"]]}, {"but": [["1"]]}):
        with pytest.raises(OperationalError, match="CW362"):
            claimed(query, reads={table: wrong})


@pytest.mark.provokes("CW362")
def test_data_is_not_read_where_a_description_is_claimed(
    claimed: Claimed, two: tuple[str, str]
) -> None:
    one, _ = two
    assert claimed(f"DESCRIBE {one}", reads={one: {"in": []}})[0][0] == "id"
    with pytest.raises(OperationalError, match=rf"CW362.*{one}"):
        claimed(f"SELECT count(*) FROM {one}", reads={one: {"in": []}})


@pytest.mark.provokes("CW364")
def test_another_table_is_not_written(
    claimed: Claimed, sql: Sql, two: tuple[str, str], made: str
) -> None:
    one, other = two
    before = sql(f"SHOW TBLPROPERTIES {other}"), sql(f"SHOW TABLES IN {made}")
    for statement in (
        f"INSERT INTO {other} VALUES (2)",
        f"INSERT OVERWRITE {other} SELECT id + 1 FROM {one}",
        f"TRUNCATE TABLE {other}",
        f"DROP TABLE {other}",
        f"ALTER TABLE {other} RENAME TO provoked_else",
        f"ALTER TABLE {other} SET TBLPROPERTIES ('a' = 'b')",
        f"ANALYZE TABLE {other} COMPUTE STATISTICS",
        f"CREATE TABLE {other}2 AS SELECT * FROM {one}",
        f"CREATE TABLE {other}2 LIKE {one}",
        f"CREATE VIEW {other}2 AS SELECT * FROM {one}",
        f"COMMENT ON TABLE {other} IS 'x'",
    ):
        with pytest.raises(OperationalError, match=rf"CW364.*{other}"):
            claimed(statement, reads={one: {}}, writes={one: {}})
    with pytest.raises(OperationalError, match=r"CW364.*provoked"):
        claimed("CREATE DATABASE provoked_db", databases=[made])
    assert sql(f"SELECT * FROM {other}") == [(1,)]
    assert (sql(f"SHOW TBLPROPERTIES {other}"), sql(f"SHOW TABLES IN {made}")) == before


def test_a_drop_of_nothing_is_no_write(claimed: Claimed, sql: Sql, two: tuple[str, str]) -> None:
    _, other = two
    claimed(f"DROP TABLE IF EXISTS {other}2")
    sql(f"DROP TABLE IF EXISTS {other}2", f"DROP VIEW IF EXISTS {other}2")
    with pytest.raises(OperationalError, match=rf"CW363.*{other}"):
        claimed(f"DROP TABLE IF EXISTS {other}")  # decided before it was there
    assert sql(f"SELECT * FROM {other}") == [(1,)]


@pytest.mark.provokes("CW364")
def test_another_partition_is_not_written(claimed: Claimed, sql: Sql, days: str) -> None:
    for statement in (
        f"INSERT INTO {days} PARTITION (day = 'tue') VALUES (9)",
        f"INSERT INTO {days} VALUES (9, 'mon')",
        f"ALTER TABLE {days} ADD PARTITION (day = 'sun')",
        f"ALTER TABLE {days} DROP PARTITION (day = 'tue')",
        f"TRUNCATE TABLE {days} PARTITION (day = 'tue')",
        f"TRUNCATE TABLE {days}",
    ):
        with pytest.raises(OperationalError, match=rf"CW364.*{days}"):
            claimed(statement, writes={days: {"in": [["mon"]]}})
    assert sorted(sql(f"SELECT * FROM {days}")) == ROWS
    assert len(sql(f"SHOW PARTITIONS {days}")) == 3


@pytest.mark.parametrize("format", FORMATS)
def test_the_claimed_partition_is_written(claimed: Claimed, sql: Sql, db: str, format: str) -> None:
    days = f"{db}.provoked_days"
    sql(*_days(days, format))
    monday = {days: {"in": [["mon"]]}}
    claimed(f"INSERT INTO {days} PARTITION (day = 'mon') VALUES (9)", writes=monday)
    assert sql(f"SELECT id FROM {days} WHERE day = 'mon' ORDER BY id") == [(1,), (9,)]


@pytest.mark.provokes("CW361", "CW364")
def test_paths_are_compared(
    claimed: Claimed, two: tuple[str, str], tmp_path: Path, stack: Stack
) -> None:
    one, _ = two
    folder = stack.layout.warehouse(C1) / "provoked_out"
    write = f"INSERT OVERWRITE DIRECTORY '{folder}' USING parquet SELECT * FROM {one}"
    with pytest.raises(OperationalError, match=r"CW364.*provoked_out"):
        claimed(write, reads={one: {}}, outs=[str(tmp_path)])
    assert not folder.exists()
    claimed(write, reads={one: {}}, outs=[str(folder)])
    for statement in (
        f"CREATE TABLE {one}2 (id INT) USING parquet LOCATION '{folder}2'",
        f"CREATE TABLE {one}2 USING parquet LOCATION '{folder}2' AS SELECT * FROM {one}",
        f"CREATE TABLE {one}2 LIKE {one} LOCATION '{folder}2'",
        f"INSERT OVERWRITE LOCAL DIRECTORY '{folder}2' USING parquet SELECT * FROM {one}",
        f"INSERT OVERWRITE LOCAL DIRECTORY '{folder}2' STORED AS ORC SELECT * FROM {one}",
        f"ALTER TABLE {one} SET LOCATION '{folder}2'",
    ):
        with pytest.raises(OperationalError, match=r"CW364.*provoked_out2"):
            claimed(statement, reads={one: {}}, writes={one: {}, f"{one}2": {}}, outs=[str(folder)])
    read = f"SELECT * FROM parquet.`{folder}`"
    with pytest.raises(OperationalError, match=r"CW361.*provoked_out"):
        claimed(read, reads={one: {}}, paths=[f"{folder}2"])
    for spelled in (f"file://{folder}", str(folder), f"{folder.parent}/provoked_*"):
        assert claimed(read, paths=[spelled]) == [(1,)]


def test_a_copy_that_is_stale_is_not_read(
    claimed: Claimed, sql: Sql, tables: Tables, db: str
) -> None:
    table = f"{db}.provoked_copied"
    sql(f"CREATE TABLE {table} USING parquet AS SELECT 1 AS id")
    tables.copy(table, C2)
    version = {"write": tables.facts(table).get("causeway.write", "0"), "facts": "0"}
    query = f"SELECT * FROM {table}"
    assert claimed(query, C2, reads={table: version}) == [(1,)]
    sql(f"INSERT INTO {table} VALUES (2)")
    for claim in (version, {}):
        with pytest.raises(OperationalError, match=rf"CW363.*{table}"):
            claimed(query, C2, reads={table: claim})
    assert sorted(claimed(query, reads={table: {}})) == [(1,), (2,)]


@pytest.mark.parametrize("format", FORMATS)
def test_a_partitions_copy_that_is_stale_is_not_read(
    claimed: Claimed, sql: Sql, tables: Tables, db: str, format: str
) -> None:
    table = f"{db}.provoked_copied"
    sql(*_days(table, format))
    for day in ("mon", "tue"):
        tables.copy(table, C2, f"day={day}")
    facts = tables.facts(table)
    ids = {name: facts.get(f"causeway.{name}", "0") for name in ("write", "facts")}
    claim = {"in": [["mon"]], **ids}
    query = f"SELECT id FROM {table} WHERE day = 'mon'"
    assert claimed(query, C2, reads={table: claim}) == [(1,)]
    sql(f"INSERT INTO {table} PARTITION (day = 'tue') VALUES (2)")
    assert claimed(query, C2, reads={table: claim}) == [(1,)]  # of another partition
    sql(f"INSERT INTO {table} PARTITION (day = 'mon') VALUES (2)")
    with pytest.raises(OperationalError, match=rf"CW363.*{table}"):
        claimed(query, C2, reads={table: claim})


@pytest.mark.provokes("CW362")
def test_a_query_of_which_spark_reads_more_partitions_runs_where_all_are(
    sql: Sql, tables: Tables, db: str
) -> None:
    """No row of p fulfils the condition, so the analysis names none of its partitions, and c2 seems
    to have all that is read. Spark reads two of them."""
    p, q = f"{db}.provoked_p", f"{db}.provoked_q"
    for table, cluster in ((p, C1), (q, C2)):
        sql(
            f"USE CLUSTER {cluster}",
            f"CREATE TABLE {table} (k INT, ds STRING) USING parquet PARTITIONED BY (ds)",
            f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')",
        )
    query = (
        f"SELECT s.k, q.k FROM (SELECT o.k, t.ds FROM {p} o JOIN {p} t ON o.ds = t.ds"
        f" WHERE o.ds <> 'c') s RIGHT JOIN {q} q ON s.ds = q.ds"
        " AND (q.ds IS NULL AND (q.ds NOT LIKE 'c%' AND s.ds >= 'a'))"
    )
    with pytest.raises(OperationalError, match=rf"CW104.*{p}"):
        sql(query)
    (refused,) = REFUSALS.take()
    assert (refused["cluster"], refused["code"]) == (C2, "CW362")
    for day in "abc":
        tables.copy(q, C1, f"ds={day}")
    assert sorted(sql(query)) == [(None, 1), (None, 2), (None, 3)]


@pytest.mark.provokes("CW364")
def test_an_explain_writes_nothing(claimed: Claimed, sql: Sql, two: tuple[str, str]) -> None:
    one, _ = two
    insert = f"INSERT INTO {one} VALUES (2)"
    assert "Insert" in claimed(f"EXPLAIN {insert}", writes={one: {}}, explain=True)[0][0]
    with pytest.raises(OperationalError, match=r"CW364.*provoked"):
        claimed(insert, writes={one: {}}, explain=True)
    assert sql(f"SELECT * FROM {one}") == [(1,)]


@pytest.mark.provokes("CW364")
def test_what_was_not_analysed_may_read_and_not_write(
    claimed: Claimed, sql: Sql, two: tuple[str, str]
) -> None:
    one, other = two
    assert claimed(f"SELECT * FROM {other}", mode="read") == [(1,)]
    for statement in (f"INSERT INTO {one} VALUES (2)", f"DROP TABLE {one}"):
        with pytest.raises(OperationalError, match="CW364"):
            claimed(statement, mode="read", writes={one: {}})
    assert sql(f"SELECT * FROM {one}") == [(1,)]


@pytest.mark.provokes("CW360")
def test_a_claim_of_another_version_is_refused(claimed: Claimed) -> None:
    with pytest.raises(OperationalError, match=r"CW360.*provoked"):
        claimed("SELECT 1", v="provoked")


def test_clients_cannot_claim_through_the_proxy(connect: Connect) -> None:
    response = _execute(connect().cursor(), "SELECT 1", {"v": 1, "mode": "probe"})
    assert response.status.statusCode == ttypes.TStatusCode.SUCCESS_STATUS


def test_syntax_errors_are_sparks_own(connect: Connect) -> None:
    cursors = [connect(cluster).cursor() for cluster in (None, C1)]
    for statement in (
        "SELECT 1\n  FROM t t2 t3",
        "FROBNICATE TABLE x",
        "SELECT 'a",
        "INSERT INTO t VALUES (1",
        "CREATE TABLE t (a FROB(1,2)",
    ):
        seen = []
        for cursor in cursors:
            with pytest.raises(OperationalError) as caught:
                cursor.execute(statement)
            status = caught.value.args[0].status
            text = status.errorMessage.split("\n\tat ")[0]
            seen.append((text, status.sqlState, status.errorCode))
        assert seen[0] == seen[1]
        assert seen[0][1] == "42601"


def test_what_parses_and_is_not_understood_is_refused_by_name(sql: Sql) -> None:
    with pytest.raises(OperationalError, match="CW101"):
        sql("SELECT * FROM cat.d.t")


def test_an_error_of_analysis_is_sparks_own_where_nothing_is_read(connect: Connect) -> None:
    cursors = [connect(cluster).cursor() for cluster in (C1, None)]
    for statement in (
        "CREATE TABLE cat.d.t (x INT) USING csv",
        "CREATE VIEW cat.d.t AS VALUES (1)",
        "DROP TABLE cat.d.t",
        "COMMENT ON TABLE cat.d.x.t IS 'x'",
    ):
        seen = []
        for cursor in cursors:
            with pytest.raises(OperationalError, match="REQUIRES_SINGLE_PART_NAMESPACE") as caught:
                cursor.execute(statement)
            seen.append(caught.value.args[0].status.sqlState)
        assert seen == ["42K05", "42K05"], statement


def test_what_is_only_analysed_does_not_run(claimed: Claimed, made: str, sql: Sql) -> None:
    with pytest.raises(OperationalError, match="causeway: parsed"):
        claimed(f"CREATE TABLE {made}.provoked_new (x INT)", mode="analyze")
    with pytest.raises(OperationalError, match="causeway: parsed"):
        claimed(f"DROP TABLE {made}.provoked_one", mode="analyze")
    assert ("provoked_new",) not in [row[1:2] for row in sql(f"SHOW TABLES IN {made}")]
    assert sql(f"SELECT * FROM {made}.provoked_one") == [(1,)]


def test_a_temporary_view_of_no_files_reads_nothing(sql: Sql) -> None:
    made = "CREATE OR REPLACE TEMPORARY VIEW no_files (x INT) USING json"
    assert sql(made, "SELECT * FROM no_files") == []


@pytest.mark.parametrize("change", ["DROP VIEW {0}.v", "CREATE OR REPLACE VIEW {0}.v AS {1}"])
def test_a_changed_view_is_no_longer_cached(sql: Sql, db: str, change: str) -> None:
    query = f"SELECT id + 1 AS next FROM {db}.t"
    cached = [
        f"CREATE TABLE {db}.t USING parquet AS SELECT 1 AS id",
        f"CREATE VIEW {db}.v AS {query}",
        f"CACHE TABLE {db}.v",
    ]
    plan = sql(*cached, f"EXPLAIN {query}")[0][0]
    assert "InMemoryRelation" in plan
    assert "InMemoryRelation" not in sql(change.format(db, query), f"EXPLAIN {query}")[0][0]


def test_a_cached_view_is_counted(sql: Sql, db: str) -> None:
    sql(f"CREATE TABLE {db}.t USING parquet AS SELECT 1 AS id")
    sql(f"CREATE VIEW {db}.v AS SELECT * FROM {db}.t", f"CACHE TABLE {db}.v")
    assert sql(f"ANALYZE TABLE {db}.v COMPUTE STATISTICS") == []


def test_a_write_has_cached_queries_of_other_sessions_planned_again(sql: Sql, db: str) -> None:
    sql(*(f"CREATE TABLE {db}.{name} USING parquet AS SELECT 1 AS id" for name in "ab"))
    joined = f"SELECT a.id FROM {db}.a JOIN {db}.b ON a.id = b.id"
    sql(f"CREATE VIEW {db}.v AS {joined}", f"CACHE TABLE {db}.v")
    for name in "ab":
        sql(f"INSERT INTO {db}.{name} VALUES (2)")
    assert sorted(sql(f"SELECT * FROM {db}.v")) == [(1,), (2,)]
    assert sorted(sql(f"SELECT * FROM {db}.a")) == [(1,), (2,)]
    sql(f"DROP TABLE {db}.b")
    assert sql(f"INSERT INTO {db}.a VALUES (3)") == []


def test_a_query_of_with_that_is_not_used_is_claimed(sql: Sql, db: str) -> None:
    sql(*(f"CREATE TABLE {db}.{name} USING parquet AS SELECT 1 AS id" for name in "ab"))
    sql(f"CREATE VIEW {db}.v AS SELECT * FROM {db}.a")
    for unused in ("SELECT * FROM {}.a", "SELECT * FROM {}.v", "SELECT 1 WHERE 1 IN (TABLE {}.a)"):
        assert sql(f"WITH s AS ({unused.format(db)}) SELECT * FROM {db}.b") == [(1,)]


def test_create_if_not_exists_of_an_existing_table_writes_nothing(sql: Sql, db: str) -> None:
    sql(*(f"CREATE TABLE {db}.{name} USING parquet AS SELECT 1 AS id" for name in "ab"))
    sql(f"CREATE TABLE IF NOT EXISTS {db}.a USING parquet AS SELECT * FROM {db}.b")
    sql(f"CREATE TABLE IF NOT EXISTS {db}.a LIKE {db}.b")
    sql(f"CREATE TABLE IF NOT EXISTS {db}.a (id INT) USING parquet")
    assert sql(f"SELECT * FROM {db}.a") == [(1,)]


def test_delete_from_a_table_of_files_has_sparks_own_error(sql: Sql, db: str) -> None:
    sql(*_days(f"{db}.t", "parquet"))
    with pytest.raises(OperationalError, match=r"UNSUPPORTED_FEATURE\.TABLE_OPERATION"):
        sql(f"DELETE FROM {db}.t WHERE day = 'mon'")


def test_show_clusters_says_that_claims_are_checked(sql: Sql) -> None:
    checked = {row[0]: row[5] for row in sql("USE CLUSTER c1", "SELECT 1", "SHOW CLUSTERS")}
    assert checked["c1"] == "true"
    assert "false" not in checked.values()
