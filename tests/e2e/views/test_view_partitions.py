"""Writes of partitions with a primary of their own, by Spark and through the proxy (DC-R10)."""

from pathlib import Path

import pytest
from pyhive.exc import OperationalError

from cli.stack.stack import Stack
from tests.e2e.conftest import C1, C2, C3, Sql, Tables

pytestmark = pytest.mark.e2e


@pytest.fixture(params=["USING parquet", "STORED AS parquet"])
def parts(request: pytest.FixtureRequest, stack: Stack, sql: Sql, tables: Tables, db: str) -> str:
    """A table of c1 whose partition p=2 is c2's."""
    if stack.spec.guard is None:
        pytest.skip("no guard: Spark touches files before it asks the metastore")
    name = f"{db}.parts"
    if request.param.startswith("USING"):
        sql(f"CREATE TABLE {name} (a INT, p STRING) {request.param} PARTITIONED BY (p)", cluster=C1)
    else:
        made = f"CREATE TABLE {name} (a INT) PARTITIONED BY (p STRING) {request.param}"
        sql(made, cluster=C1)
    for value in (1, 2):
        sql(f"INSERT INTO {name} PARTITION (p = '{value}') VALUES ({value})", cluster=C1)
    tables.assign(name, "--partition", "p=2", "--primary", C2)
    return name


def files_of(tables: Tables, name: str) -> dict[Path, bytes]:
    folders = [tables.location(name, f"p={value}") for value in (1, 2)]
    return {file: file.read_bytes() for folder in folders for file in folder.rglob("*.parquet")}


ELSEWHERE = (
    ("INSERT INTO {} PARTITION (p = '2') VALUES (9)", C1),
    ("INSERT OVERWRITE {} PARTITION (p = '2') VALUES (9)", C1),
    ("INSERT OVERWRITE {} PARTITION (p) SELECT 9, '1'", C1),
    ("INSERT INTO {} PARTITION (p) SELECT 9, '2'", C1),
    ("TRUNCATE TABLE {} PARTITION (p = '2')", C1),
    ("INSERT INTO {} PARTITION (p = '1') VALUES (9)", C2),
    ("INSERT INTO {} PARTITION (p = '3') VALUES (9)", C2),
    ("INSERT INTO {} PARTITION (p) SELECT 9, '2'", C2),
    ("INSERT INTO {} PARTITION (p = '2') VALUES (9)", C3),
)


def test_other_clusters_change_no_partition(sql: Sql, tables: Tables, parts: str) -> None:
    before = files_of(tables, parts)
    for statement, cluster in ELSEWHERE:
        with pytest.raises(OperationalError, match=r"CW350.* is c[12], .*cluster " + cluster):
            sql(statement.format(parts), cluster=cluster)
        assert files_of(tables, parts) == before, statement


def test_the_partitions_primary_writes_it(sql: Sql, parts: str) -> None:
    query = f"SELECT a FROM {parts} ORDER BY a"
    sql(f"INSERT INTO {parts} PARTITION (p = '2') VALUES (22)", cluster=C2)
    sql(f"INSERT INTO {parts} PARTITION (p = '1') VALUES (11)", cluster=C1)
    assert sql(query, cluster=C3) == [(1,), (2,), (11,), (22,)]
    sql(f"INSERT OVERWRITE {parts} PARTITION (p = '2') VALUES (5)", cluster=C2)
    assert sql(query, cluster=C1) == [(1,), (5,), (11,)]


def test_the_proxy_sends_the_write_to_the_partitions_primary(sql: Sql, parts: str) -> None:
    sql(f"INSERT INTO {parts} PARTITION (p = '2') VALUES (22)")
    sql(f"INSERT INTO {parts} PARTITION (p = '1') VALUES (11)")
    assert sql(f"SELECT a FROM {parts} ORDER BY a", cluster=C3) == [(1,), (2,), (11,), (22,)]
    with pytest.raises(OperationalError, match="CW102"):
        sql(f"INSERT INTO {parts} PARTITION (p) SELECT 9, '1'")
