"""The state of a session that uses several clusters is in each of them."""

import pytest

from tests.e2e.conftest import C1, C2, C3, Connect, Sql, rows

pytestmark = pytest.mark.e2e


@pytest.fixture
def spread(db: str, sql: Sql) -> str:
    """A database with one table in each of c1, c2 and c3."""
    for cluster in (C1, C2, C3):
        sql(
            f"USE CLUSTER {cluster}",
            f"CREATE TABLE {db}.of_{cluster} USING parquet AS SELECT '{cluster}' AS home",
        )
    return db


def test_the_database_travels(connect: Connect, spread: str) -> None:
    cursor = connect().cursor()
    rows(cursor, f"USE {spread}")
    assert [rows(cursor, f"SELECT home FROM of_{each}") for each in (C1, C2, C3)] == [
        [(C1,)],
        [(C2,)],
        [(C3,)],
    ]


def test_settings_and_variables_travel_in_order(connect: Connect, spread: str) -> None:
    cursor = connect().cursor()
    rows(cursor, f"SELECT home FROM {spread}.of_{C2}")  # opened before the state changes
    rows(cursor, "SET spark.sql.session.timeZone=Asia/Tokyo", "SET hivevar:greeting=hello")
    query = "SELECT current_timezone(), '${greeting}', home FROM " + spread
    for each in (C1, C2, C3):
        assert rows(cursor, f"{query}.of_{each}") == [("Asia/Tokyo", "hello", each)]
    rows(cursor, "SET spark.sql.session.timeZone=UTC")
    for each in (C3, C2, C1):
        assert rows(cursor, f"{query}.of_{each}")[0][0] == "UTC"


def test_a_temporary_view_travels_and_counts_as_its_query(connect: Connect, spread: str) -> None:
    cursor = connect().cursor()
    rows(cursor, f"USE {spread}")
    rows(cursor, f"CREATE TEMPORARY VIEW seen AS SELECT home FROM of_{C3}")
    assert rows(cursor, "SELECT home FROM seen") == [(C3,)]
    rows(cursor, "CREATE TEMPORARY VIEW numbers AS SELECT id FROM range(3)")
    assert rows(cursor, f"SELECT count(*) FROM numbers CROSS JOIN of_{C2}") == [(3,)]
    assert rows(cursor, f"SELECT count(*) FROM numbers CROSS JOIN of_{C1}") == [(3,)]


def test_a_temporary_function_travels(connect: Connect, spread: str) -> None:
    cursor = connect().cursor()
    rows(
        cursor,
        "CREATE TEMPORARY FUNCTION shout"
        " AS 'org.apache.hadoop.hive.ql.udf.generic.GenericUDFUpper'",
    )
    for each in (C1, C2, C3):
        assert rows(cursor, f"SELECT shout(home) FROM {spread}.of_{each}") == [(each.upper(),)]


def test_the_clients_own_configuration_travels(connect: Connect, spread: str) -> None:
    cursor = connect(database=spread, configuration={"set:hivevar:word": "kept"}).cursor()
    for each in (C3, C1):
        assert rows(cursor, "SELECT '${word}', home FROM of_" + each) == [("kept", each)]
