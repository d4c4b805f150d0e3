"""The databases that the history's tests run on: a fixture that other folders import."""

from pathlib import Path

import pytest

from database.history.schema import TABLES


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "history.db")
    import psycopg

    server: str = request.getfixturevalue("postgresql")
    with psycopg.connect(server) as connection:
        for table in ("history_revision", *TABLES.tables):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
    return server
