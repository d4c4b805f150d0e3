"""Stores of earlier releases are migrated; stores of later releases are refused."""

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from database.database import open_database
from database.errors import StoreUnavailable
from pipeline.scheduler.instances.outcomes import recover
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.store.migrations import MIGRATIONS
from pipeline.scheduler.store.schema import TABLES
from pipeline.scheduler.store.store import Store
from tests.pipeline.scheduler.fake_actions import FEED_KEY, FIRST, PROCESS_KEY

STORES = Path(__file__).parent / "stores"


@pytest.fixture
def unmigrated(url: str) -> str:
    """A store written by the release that had no migrations (`stores/unmigrated.*.sql`)."""
    if not url.startswith("postgresql"):
        with sqlite3.connect(url) as connection:
            connection.executescript((STORES / "unmigrated.sqlite.sql").read_text())
        connection.close()
        return url
    import psycopg

    with psycopg.connect(url) as server:
        server.execute((STORES / "unmigrated.postgresql.sql").read_bytes())
    return url


def differences(url: str) -> list[object]:
    """How the tables differ from `schema`; nullable keys of old SQLite stores do not count."""
    with open_database(url).transaction() as connection:
        options = {
            "include_name": lambda name, kind, _: kind != "table" or name in TABLES.tables,
            "compare_type": False,
        }
        context = MigrationContext.configure(connection, opts=options)
        found: list[object] = compare_metadata(context, TABLES)
    return [
        each for each in found if not (isinstance(each, list) and each[0][0] == "modify_nullable")
    ]


def revision(url: str) -> str:
    with open_database(url).transaction() as connection:
        return str(connection.execute(text(f"SELECT version_num FROM {MIGRATIONS.table}")).scalar())


def test_head_is_the_newest_revision() -> None:
    config = Config()
    config.set_main_option("script_location", MIGRATIONS.location)
    assert ScriptDirectory.from_config(config).get_current_head() == MIGRATIONS.head


def test_a_new_store_has_the_schema_and_its_revision(url: str) -> None:
    Store(url)
    assert revision(url) == MIGRATIONS.head
    assert differences(url) == []


def test_an_unmigrated_store_is_migrated_with_its_rows(unmigrated: str) -> None:
    store = Store(unmigrated)
    assert revision(unmigrated) == MIGRATIONS.head
    assert differences(unmigrated) == []
    owners = {each.key.name: (each.owner, each.status) for each in store.entities()}
    assert owners["summary"] == ("ann", "RUNNING")
    assert owners["clicks"] == ("ann", "SUBMITTED")
    feed = store.entity(FEED_KEY)
    assert feed is not None
    assert feed.document.startswith(b'<?xml version="1.0"?>')
    first, second, third = store.instances(PROCESS_KEY)
    assert [each.state for each in (first, second, third)] == [
        InstanceState.SUCCEEDED,
        InstanceState.RUNNING,
        InstanceState.WAITING,
    ]
    assert (first.nominal, first.fence, first.fingerprint) == (FIRST, 3, '{"in": "v1"}')
    situation = store.situation(first.key.schedule)
    assert situation.created_until == FIRST + timedelta(hours=2, minutes=1)
    assert [entry.what for entry in store.log(PROCESS_KEY)] == ["started", "succeeded", "started"]


def test_an_unmigrated_store_works(unmigrated: str) -> None:
    store = Store(unmigrated)
    (orphan,) = store.orphans()
    assert store.change(recover(orphan, FIRST), FIRST)
    assert not store.renew(orphan, "server", 60)
    store.add_log_entry(orphan.key, FIRST, "log", "a new entry gets a new id")
    assert [entry.message for entry in store.log(PROCESS_KEY)][-1] == "a new entry gets a new id"
    assert Store(unmigrated).instances(PROCESS_KEY)[1].state is InstanceState.READY


@pytest.mark.slow
def test_a_store_of_a_later_release_is_refused(url: str) -> None:
    Store(url)
    with open_database(url).transaction() as connection:
        connection.execute(text(f"UPDATE {MIGRATIONS.table} SET version_num = '9999'"))
    with pytest.raises(StoreUnavailable, match="later version"):
        Store(url)
    assert revision(url) == "9999"


def test_an_unknown_version_without_migrations_is_refused(unmigrated: str) -> None:
    with open_database(unmigrated).transaction() as connection:
        connection.execute(text("UPDATE about SET version = '7'"))
    with pytest.raises(StoreUnavailable, match="another version"):
        Store(unmigrated)


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_closed_connection_is_replaced_before_its_next_use(url: str) -> None:
    store = Store(url)
    before = store.entities()
    import psycopg

    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
    assert store.entities() == before
