"""The databases that the store's tests run on."""

from pathlib import Path

import pytest

from pipeline.scheduler.store.schema import TABLES


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
