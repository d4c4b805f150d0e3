"""The guard compares Spark's plans with the claim of a statement. The tests write the claims, right
and wrong ones, as clients of a Thrift Server.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive
from pyhive.exc import OperationalError

from cli.stack.stack import Stack
from conf.names import ClusterName
from tests.e2e.conftest import C1, C2, Sql, Tables, run_sql, server
from tests.e2e.support.claims import DAYS, days_statements, run_claimed
from tests.e2e.support.refusals import REFUSALS

pytestmark = [pytest.mark.e2e, pytest.mark.spark4]

Claimed = Callable[..., list[tuple[Any, ...]]]
PAIR = ("one", "other")
FORMATS = ("parquet", "orc")


@pytest.fixture(autouse=True)
def guarded(stack: Stack) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard: nothing checks claims")


@pytest.fixture(scope="module")
def claimed(stack: Stack) -> Iterator[Claimed]:
    """Runs a statement with a claim in c1 or another cluster, without the proxy."""
    connections: dict[ClusterName, hive.Connection] = {}

    def run(statement: str, cluster: ClusterName = C1, **claim: Any) -> list[tuple[Any, ...]]:
        if cluster not in connections:
            endpoint = server(stack, cluster)
            connections[cluster] = hive.connect(endpoint.host, endpoint.port)
        return run_claimed(connections[cluster], statement, **claim)

    yield run
    for each in connections.values():
        each.close()


@pytest.fixture(scope="module")
def made(stack: Stack) -> str:
    """A database with tables that no test changes."""
    db = "claims"
    run_sql(
        stack,
        f"CREATE DATABASE {db}",
        *(f"CREATE TABLE {db}.provoked_{name} USING parquet AS SELECT 1 AS id" for name in PAIR),
        *(each for name in FORMATS for each in days_statements(f"{db}.provoked_{name}", name)),
    )
    return db


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
    assert sorted(sql(f"SELECT * FROM {days}")) == DAYS
    assert len(sql(f"SHOW PARTITIONS {days}")) == 3


@pytest.mark.parametrize("format", FORMATS)
def test_the_claimed_partition_is_written(claimed: Claimed, sql: Sql, db: str, format: str) -> None:
    days = f"{db}.provoked_days"
    sql(*days_statements(days, format))
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
    sql(*days_statements(table, format))
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


def test_what_is_only_analysed_does_not_run(claimed: Claimed, made: str, sql: Sql) -> None:
    with pytest.raises(OperationalError, match="causeway: parsed"):
        claimed(f"CREATE TABLE {made}.provoked_new (x INT)", mode="analyze")
    with pytest.raises(OperationalError, match="causeway: parsed"):
        claimed(f"DROP TABLE {made}.provoked_one", mode="analyze")
    assert ("provoked_new",) not in [row[1:2] for row in sql(f"SHOW TABLES IN {made}")]
    assert sql(f"SELECT * FROM {made}.provoked_one") == [(1,)]
