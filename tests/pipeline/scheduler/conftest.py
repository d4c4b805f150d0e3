"""The databases that the store's tests run on."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="package")
def postgresql() -> Iterator[str]:
    """A server of our own on a Unix socket; skipped where PostgreSQL or psycopg is absent."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    if shutil.which("pg_ctl") is None or shutil.which("initdb") is None:
        pytest.skip("PostgreSQL's pg_ctl and initdb are not on PATH")
    home = Path(tempfile.mkdtemp(prefix="causeway-pg-"))
    as_user: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        as_user = ["runuser", "-u", "nobody", "--"]
        home.chmod(0o777)
    start = [*as_user, "initdb", "-D", f"{home}/data", "-U", "causeway", "-A", "trust"]
    made = subprocess.run(start, capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"initdb does not run here: {made.stderr.strip()[-200:]}")
    options = f"-k {home} -c listen_addresses='' -c fsync=off"
    control = [*as_user, "pg_ctl", "-D", f"{home}/data", "-w"]
    subprocess.run(
        [*control, "-o", options, "-l", f"{home}/data/log", "start"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield f"postgresql://causeway@/postgres?host={home}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], stdout=subprocess.DEVNULL)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "lifecycle.db")
    import psycopg

    server: str = request.getfixturevalue("postgresql")
    with psycopg.connect(server) as connection:
        for table in ("lifecycle_revision", "about", "entity", "instance", "horizon", "log"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
    return server
