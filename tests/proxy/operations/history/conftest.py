"""The databases that the history's tests run on."""

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "history.db")
    import psycopg

    server: str = request.getfixturevalue("postgresql")
    with psycopg.connect(server) as connection:
        for table in ("history_revision", "history_statement", "history_table"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
    return server
