"""No SQL statement shows the `causeway.` parameters, and none changes them."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from pyhive.exc import OperationalError

from cli.stack.stack import Stack
from tests.e2e.conftest import C1, C2, Connect, Sql, Tables, rows

pytestmark = pytest.mark.e2e

FORMATS = ("USING parquet", "STORED AS orc")
DAYS = ("mon", "tue")


def copied(sql: Sql, tables: Tables, db: str, how: str) -> tuple[str, str]:
    """A table, and a partitioned one, both with fresh copies in c2."""
    whole, parts = f"{db}.whole", f"{db}.parts"
    sql(f"CREATE TABLE {whole} {how} AS SELECT 1 AS id", cluster=C1)
    sql(f"CREATE TABLE {parts} {how} PARTITIONED BY (day) AS SELECT 1 AS id, 'mon' AS day")
    sql(f"INSERT INTO {parts} PARTITION (day = 'tue') VALUES (2)", cluster=C1)
    tables.copy(whole, C2)
    for day in DAYS:
        tables.copy(parts, C2, f"day={day}")
    return whole, parts


def files(sql: Sql, table: str, where: str = "true") -> set[str]:
    """The files from which c2 reads the table's rows."""
    query = f"SELECT DISTINCT input_file_name() FROM {table} WHERE {where}"
    return {str(name) for (name,) in sql(query, cluster=C2)}


def is_copy(names: set[str]) -> bool:
    return bool(names) and all(f"/{C2}/copies/" in name for name in names)


def unwritten(facts: Mapping[str, str]) -> dict[str, Any]:
    """The facts without those that a write changes: its id, and a copy's first missed write."""
    kept: dict[str, Any] = {}
    for key, value in facts.items():
        if key.startswith("causeway.copy."):
            kept[key] = json.loads(value)
            kept[key].pop("missed", None)
        elif key not in ("causeway.write", "causeway.bases"):
            kept[key] = value
    return kept


@pytest.mark.parametrize("how", FORMATS)
def test_no_statement_shows_facts(
    connect: Connect, sql: Sql, tables: Tables, db: str, how: str
) -> None:
    cursors = {cluster: connect(cluster).cursor() for cluster in (None, C1, C2)}
    for table in copied(sql, tables, db, how):
        assert tables.facts(table), "the table has facts"
        name = table.partition(".")[2]
        statements = [
            f"SHOW CREATE TABLE {table}",
            f"DESCRIBE EXTENDED {table}",
            f"DESCRIBE FORMATTED {table}",
            f"SHOW TBLPROPERTIES {table}",
            f"SHOW TABLE EXTENDED IN {db} LIKE '{name}'",
            f"EXPLAIN EXTENDED INSERT INTO {table} SELECT * FROM {table}",
        ]
        if name == "parts":
            statements += [
                f"DESCRIBE EXTENDED {table} PARTITION (day = 'mon')",
                f"SHOW TABLE EXTENDED IN {db} LIKE '{name}' PARTITION (day = 'mon')",
            ]
        for statement in statements:
            for cluster, cursor in cursors.items():
                if cluster is C2 and statement.startswith("EXPLAIN"):
                    continue
                assert "causeway" not in str(rows(cursor, statement)), statement
    shown = str(rows(cursors[C1], f"SHOW TBLPROPERTIES {db}.whole ('causeway.write')"))
    assert "does not have property: causeway.write" in shown


@pytest.mark.parametrize("how", FORMATS)
def test_changes_of_parameters_keep_facts(sql: Sql, tables: Tables, db: str, how: str) -> None:
    whole, parts = copied(sql, tables, db, how)
    facts = {table: tables.facts(table) for table in (whole, parts)}
    one = tables.facts(parts, "day=mon")
    for change in (
        "SET TBLPROPERTIES ('x' = 'y', 'causeway.primary' = 'c2')",
        "UNSET TBLPROPERTIES ('x')",
        "UNSET TBLPROPERTIES IF EXISTS ('causeway.primary', 'causeway.write')",
    ):
        for table in (whole, parts):
            sql(f"ALTER TABLE {table} {change}", cluster=C1)
    assert tables.facts(parts) == facts[parts]
    assert tables.facts(parts, "day=mon") == one
    assert is_copy(files(sql, parts))
    new = tables.facts(whole)  # an alter may mean new data of a table that is copied as a whole
    assert unwritten(new) == unwritten(facts[whole])
    assert not is_copy(files(sql, whole))
    tables.copy(whole, C2)
    assert is_copy(files(sql, whole))
    with pytest.raises(OperationalError, match="UNSET_NONEXISTENT_PROPERTIES"):
        sql(f"ALTER TABLE {whole} UNSET TBLPROPERTIES ('causeway.write')", cluster=C1)


@pytest.mark.parametrize("how", FORMATS)
def test_a_partition_that_is_altered_keeps_its_facts(
    sql: Sql, tables: Tables, db: str, how: str
) -> None:
    _, parts = copied(sql, tables, db, how)
    before = tables.facts(parts, "day=mon")
    other = tables.facts(parts, "day=tue")
    where = tables.location(parts, "day=mon").as_uri()
    sql(f"ALTER TABLE {parts} PARTITION (day = 'mon') SET LOCATION '{where}'", cluster=C1)
    after = tables.facts(parts, "day=mon")
    assert after["causeway.write"] != before.get("causeway.write")
    assert unwritten(after) == unwritten(before)
    assert tables.facts(parts, "day=tue") == other
    assert not is_copy(files(sql, parts, "day = 'mon'"))
    assert is_copy(files(sql, parts, "day = 'tue'"))


@pytest.mark.parametrize("how", FORMATS)
def test_a_renamed_table_keeps_its_facts(sql: Sql, tables: Tables, db: str, how: str) -> None:
    whole, parts = copied(sql, tables, db, how)
    for table in (whole, parts):
        facts = tables.facts(table)
        sql(f"ALTER TABLE {table} RENAME TO {table}_new", cluster=C1)
        new = tables.facts(f"{table}_new")
        assert unwritten(new) == unwritten(facts)


def test_a_table_like_another_has_facts_of_its_own(sql: Sql, tables: Tables, db: str) -> None:
    for number, how in enumerate(FORMATS):
        database = f"{db}_{number}"
        sql(f"CREATE DATABASE {database}")
        for table in copied(sql, tables, database, how):
            sql(f"CREATE TABLE {table}_like LIKE {table}", cluster=C2)
            made = tables.facts(f"{table}_like")
            assert made.pop("causeway.primary") == C2
            assert made in ({}, {"causeway.partitions": "uniform"})


@pytest.mark.parametrize("how", FORMATS)
def test_the_guard_reads_the_primaries_of_partitions(
    stack: Stack, sql: Sql, tables: Tables, db: str, how: str
) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard")
    table = f"{db}.shared"
    sql(f"CREATE TABLE {table} {how} PARTITIONED BY (day) AS SELECT 1 AS id, 'mon' AS day")
    tables.assign(table, "--partition", "day=mon", "--primary", C2)
    write = f"INSERT INTO {table} PARTITION (day = 'mon') VALUES (2)"
    with pytest.raises(OperationalError, match=r"CW350"):
        sql(write, cluster=C1)
    sql(write, cluster=C2)
    assert sorted(sql(f"SELECT id FROM {table}", cluster=C2)) == [(1,), (2,)]
