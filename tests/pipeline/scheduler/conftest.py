"""The databases that the store's tests run on, and a store with entities."""

from pathlib import Path

import pytest

from pipeline.scheduler.store.schema import TABLES
from pipeline.scheduler.store.store import Store
from tests.pipeline.scheduler.fake_actions import store_with_entities


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "lifecycle.db")
    import psycopg

    server: str = request.getfixturevalue("postgresql")
    with psycopg.connect(server) as connection:
        for table in ("lifecycle_revision", *TABLES.tables):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
    return server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lifecycle.db"


@pytest.fixture
def store(path: Path) -> Store:
    return store_with_entities(path)
