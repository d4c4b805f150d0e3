"""Real Thrift Servers, each with its cluster's view of the one metastore, without the proxy."""

import json
from pathlib import Path

import pytest
from pyhive.exc import OperationalError

from cli.stack.stack import Stack
from tests.e2e.conftest import C1, C2, C3, Sql, Tables

pytestmark = pytest.mark.e2e

FORMATS = [
    *("STORED AS textfile", "STORED AS parquet", "USING parquet"),
    pytest.param("USING orc", marks=pytest.mark.long),  # read and written as those of parquet are
]


@pytest.fixture(params=FORMATS)
def table(request: pytest.FixtureRequest, db: str, sql: Sql) -> str:
    """A table of c1 with one row, 1."""
    name = f"{db}.t"
    if request.param.startswith("USING"):
        sql(f"CREATE TABLE {name} {request.param} AS SELECT 1 AS a", cluster=C1)
    else:
        sql(f"CREATE TABLE {name} (a INT) {request.param}", cluster=C1)
        sql(f"INSERT INTO {name} VALUES (1)", cluster=C1)
    return name


def put_other_data(sql: Sql, folder: Path, like: str, value: int) -> None:
    """Replaces a copy's files by others, so that rows show whether the copy was read."""
    twin = f"{like}_{value}"
    created = sql(f"SHOW CREATE TABLE {like}", cluster=C2)[0][0]
    using = next((word for word in ("parquet", "orc") if f"USING {word}" in created), None)
    stored = "STORED AS parquet" if "Parquet" in created else "STORED AS textfile"
    how = f"USING {using}" if using else stored
    sql(f"CREATE TABLE {twin} {how} AS SELECT {value} AS a", cluster=C2)
    for each in folder.iterdir():
        each.unlink()
    location = sql(f"DESCRIBE FORMATTED {twin}", cluster=C2)
    (place,) = [row[1] for row in location if row[0] == "Location"]
    for each in Path(place.removeprefix("file:")).iterdir():
        (folder / each.name).write_bytes(each.read_bytes())


def test_each_cluster_reads_its_own_copy(sql: Sql, tables: Tables, table: str) -> None:
    put_other_data(sql, tables.copy(table, C2), table, 22)
    query = f"SELECT a FROM {table}"
    assert sql(query, cluster=C1) == [(1,)]
    assert sql(query, cluster=C2) == [(22,)]
    assert sql(query, cluster=C3) == [(1,)]


def test_a_stale_copy_is_not_read_and_a_refreshed_one_is(
    sql: Sql, tables: Tables, table: str
) -> None:
    query = f"SELECT a FROM {table} ORDER BY a"
    put_other_data(sql, tables.copy(table, C2), table, 22)
    assert sql(query, cluster=C2) == [(22,)]
    # The view sees a write as an alter; the proxy marks other writes.
    sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('x' = 'y')", cluster=C1)
    assert sql(query, cluster=C2) == [(1,)]
    put_other_data(sql, tables.copy(table, C2), table, 23)
    assert sql(query, cluster=C2) == [(23,)]


@pytest.mark.parametrize(
    "statement", ["INSERT INTO {0} VALUES (2)", "INSERT OVERWRITE {0} VALUES (2)"]
)
def test_a_write_past_the_proxy_makes_copies_stale(
    sql: Sql, tables: Tables, table: str, statement: str, stack: Stack
) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard: Spark often writes without a word to the metastore")
    put_other_data(sql, tables.copy(table, C2), table, 22)
    query = f"SELECT a FROM {table} ORDER BY a"
    assert sql(query, cluster=C2) == [(22,)]
    sql(statement.format(table), cluster=C1)
    assert sql(query, cluster=C2) == sql(query, cluster=C1)


def test_a_change_elsewhere_is_seen_at_once(sql: Sql, table: str) -> None:
    query = f"SELECT a FROM {table} ORDER BY a"
    assert sql(query, cluster=C2) == [(1,)]
    sql(f"INSERT INTO {table} VALUES (2)", cluster=C1)
    assert sql(query, cluster=C2) == [(1,), (2,)]
    sql(f"INSERT OVERWRITE {table} VALUES (3)", cluster=C1)
    assert sql(query, cluster=C2) == [(3,)]


WRITES = (
    "INSERT INTO {0} VALUES (2)",
    "INSERT OVERWRITE {0} VALUES (2)",
    "TRUNCATE TABLE {0}",
    "DROP TABLE {0}",
    "ALTER TABLE {0} RENAME TO {0}_new",
    "ALTER TABLE {0} SET TBLPROPERTIES ('x' = 'y')",
    "FROM {0} INSERT INTO {0} SELECT a",
)


def test_nothing_is_changed_outside_the_primary(
    sql: Sql, tables: Tables, table: str, stack: Stack
) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard: Spark touches files before it asks the metastore")
    folder = tables.location(table)
    before = {each.name: each.read_bytes() for each in folder.iterdir()}
    for statement in WRITES:
        with pytest.raises(OperationalError, match=r"CW350.* is c1, .*cluster c2"):
            sql(statement.format(table), cluster=C2)
        now = {each.name: each.read_bytes() for each in folder.iterdir()}
        assert now == before, statement
        assert sql(f"SELECT a FROM {table}", cluster=C1) == [(1,)], statement


def test_new_tables_land_in_their_cluster_s_warehouse(
    sql: Sql, tables: Tables, stack: Stack, db: str
) -> None:
    for how in ("", "USING parquet", "STORED AS orc"):
        name = f"{db}.ctas_{how.split(' ')[-1].lower()}"
        sql(f"CREATE TABLE {name} {how} AS SELECT 7 AS a", cluster=C2)
        described = dict(row[:2] for row in sql(f"DESCRIBE FORMATTED {name}", cluster=C1))
        assert described["Location"].startswith(f"file:{stack.layout.warehouse(C2)}/")
        assert tables.facts(name)["causeway.primary"] == "c2"
        assert sql(f"SELECT a FROM {name}", cluster=C1) == [(7,)]
        with pytest.raises(OperationalError, match="CW350"):
            sql(f"DROP TABLE {name}", cluster=C1)
        sql(f"DROP TABLE {name}", cluster=C2)


def test_a_renamed_table_keeps_its_rows(sql: Sql, db: str) -> None:
    for how in ("USING parquet", "STORED AS parquet"):
        sql(f"CREATE TABLE {db}.old {how} AS SELECT 7 AS a", cluster=C2)
        sql(f"ALTER TABLE {db}.old RENAME TO {db}.new", cluster=C2)
        assert sql(f"SELECT a FROM {db}.new", cluster=C2) == [(7,)]
        assert sql(f"SELECT a FROM {db}.new", cluster=C1) == [(7,)]
        sql(f"DROP TABLE {db}.new", cluster=C2)


@pytest.mark.parametrize("how", ["USING parquet PARTITIONED BY (p)", "hive"])
def test_partitions_in_different_sets_of_clusters(
    sql: Sql, tables: Tables, db: str, how: str, stack: Stack
) -> None:
    name = f"{db}.parts"
    if how == "hive":
        sql(f"CREATE TABLE {name} (a INT) PARTITIONED BY (p STRING) STORED AS parquet", cluster=C1)
    else:
        sql(f"CREATE TABLE {name} (a INT, p STRING) {how}", cluster=C1)
    for number in (1, 2, 3):
        sql(f"INSERT INTO {name} PARTITION (p = '{number}') VALUES ({number})", cluster=C1)
    tables.copy(name, C2, "p=1")
    tables.copy(name, C3, "p=2")
    tables.copy(name, C3, "p=3")
    query = f"SELECT a, input_file_name() FROM {name} ORDER BY a"
    for cluster, copied in ((C1, ()), (C2, (1,)), (C3, (2, 3))):
        got = sql(query, cluster=cluster)
        assert [row[0] for row in got] == [1, 2, 3]
        assert tuple(a for a, file in got if f"/warehouse/{cluster}/copies/" in file) == copied
    if stack.spec.guard is None:
        return
    sql(f"INSERT INTO {name} PARTITION (p = '2') VALUES (22)", cluster=C1)
    sql(f"INSERT INTO {name} PARTITION (p = '4') VALUES (4)", cluster=C1)
    got = sql(query, cluster=C3)
    assert [row[0] for row in got] == [1, 2, 3, 4, 22]
    assert [a for a, file in got if f"/warehouse/{C3}/copies/" in file] == [3]


def test_facts_cannot_be_forged(sql: Sql, tables: Tables, table: str) -> None:
    sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('causeway.primary' = 'c2', 'x' = 'y')", cluster=C1)
    sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES IF EXISTS ('causeway.primary')", cluster=C1)
    assert tables.facts(table)["causeway.primary"] == "c1"
    assert dict(sql(f"SHOW TBLPROPERTIES {table}", cluster=C2))["x"] == "y"


def test_a_database_with_another_s_table_is_not_dropped(sql: Sql, db: str) -> None:
    sql(f"CREATE TABLE {db}.mine AS SELECT 1 AS a", cluster=C2)
    with pytest.raises(OperationalError, match=r"CW350.* is c2"):
        sql(f"DROP DATABASE {db} CASCADE", cluster=C1)
    assert sql(f"SELECT a FROM {db}.mine", cluster=C1) == [(1,)]


def test_copies_left_by_a_drop_are_recorded(
    sql: Sql, tables: Tables, stack: Stack, table: str
) -> None:
    place = tables.copy(table, C2)
    sql(f"DROP TABLE {table}", cluster=C1)
    lines = (stack.layout.root / "leftovers.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    (entry,) = [each for each in entries for left in each.get("left", ()) if left["what"] == table]
    assert [left["location"] for left in entry["left"]] == [place.as_uri()]
    assert {"id": entry["id"], "dropped": True} in entries
