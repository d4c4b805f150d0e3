"""`snapshot.writers = views`, as `causeway up` sets it: the proxy misses no change."""

from pathlib import Path

import pytest

from cli.stack.stack import Stack
from conf.names import TableRef
from conf.settings.load import load
from conf.settings.settings import Writers
from metastore.client.changes.notifying_client import notifying_client
from tests.e2e.conftest import C1, C2, Connect, Sql, Tables, rows

pytestmark = pytest.mark.e2e


@pytest.fixture
def known(stack: Stack, db: str, connect: Connect, sql: Sql) -> tuple[str, Connect]:
    """A table that the proxy has read and that did not change since."""
    assert load(stack.layout.settings).writers is Writers.VIEWS
    sql(f"CREATE TABLE {db}.t (a int)", f"INSERT INTO {db}.t VALUES (1)")
    cursor = connect().cursor()
    for _ in range(3):
        assert rows(cursor, f"SELECT * FROM {db}.t") == [(1,)]
    return f"{db}.t", connect


def test_a_table_that_a_clusters_spark_altered_is_seen(
    known: tuple[str, Connect], sql: Sql
) -> None:
    table, connect = known
    sql(f"ALTER TABLE {table} ADD COLUMNS (b string)", cluster=C1)
    cursor = connect().cursor()
    rows(cursor, f"SELECT * FROM {table}")
    assert [each[0] for each in cursor.description] == ["a", "b"]


def test_a_table_made_again_in_another_cluster_is_read_there(
    known: tuple[str, Connect], sql: Sql
) -> None:
    table, connect = known
    sql(f"DROP TABLE {table}", cluster=C1)
    sql(f"CREATE TABLE {table} (a int)", f"INSERT INTO {table} VALUES (2)", cluster=C2)
    cursor = connect().cursor()
    assert rows(cursor, f"EXPLAIN CLUSTER SELECT * FROM {table}")[0][1] == C2
    assert rows(cursor, f"SELECT * FROM {table}") == [(2,)]


def test_a_database_that_a_cluster_dropped_is_gone(known: tuple[str, Connect], sql: Sql) -> None:
    table, connect = known
    database = table.partition(".")[0]
    sql(f"DROP DATABASE {database} CASCADE", cluster=C1)
    with pytest.raises(Exception, match=r"cannot be found|TABLE_OR_VIEW_NOT_FOUND"):
        rows(connect().cursor(), f"SELECT * FROM {table}")


def test_a_copy_that_a_command_published_is_used(
    known: tuple[str, Connect], tables: Tables
) -> None:
    table, connect = known
    tables.copy(table, C2)
    cursor = connect().cursor()
    rows(cursor, f"USE CLUSTER {C2}")
    assert rows(cursor, f"SELECT * FROM {table}") == [(1,)]


def test_a_commands_change_in_the_metastore_itself_is_seen(
    stack: Stack, known: tuple[str, Connect], tables: Tables, tmp_path: Path
) -> None:
    """Lifecycle and upgrade change tables so: the table's files are in another folder at once."""
    table, connect = known
    cursor = connect().cursor()
    copy = tables.copy(table, C2)
    rows(cursor, f"USE CLUSTER {C2}", f"SELECT * FROM {table}")
    with notifying_client(load(stack.layout.settings)) as client:
        found = client.get_table(TableRef.parse(table))
        kept = {k: v for k, v in found.parameters.items() if not k.startswith("causeway.copy.")}
        found.parameters = kept
        client.alter_table(found.ref, found)
    assert copy.exists()
    with pytest.raises(Exception, match="CW10"):
        rows(cursor, f"SELECT * FROM {table}")
