"""A database in a file, which several processes open."""

import subprocess
import sys
from pathlib import Path

from sqlalchemy import text

from database.database import open_database

OTHER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print([number for (number,) in connection.execute("SELECT a FROM t ORDER BY a")])
connection.execute(f"INSERT INTO t VALUES ({sys.argv[2]})")
connection.commit()
connection.close()
"""


def in_another_process(path: Path, number: int) -> str:
    """The numbers in the table before this one is added."""
    words = [sys.executable, "-c", OTHER, str(path), str(number)]
    return subprocess.run(words, capture_output=True, check=True, text=True).stdout.strip()


def test_closing_the_file_loses_no_changes_of_another_process(
    tmp_path: Path,
) -> None:
    """It is not the last one, also after this process has opened the file once more."""
    path = tmp_path / "file.db"
    database = open_database(str(path))
    with database.transaction() as connection:
        connection.execute(text("CREATE TABLE t (a INTEGER)"))
    with database.transaction(reading=True) as one, database.transaction(reading=True) as two:
        for connection in (one, two):  # each has a connection of its own
            connection.execute(text("SELECT * FROM t"))
    assert in_another_process(path, 1) == "[]"
    with database.transaction() as connection:
        connection.execute(text("INSERT INTO t VALUES (2)"))
    assert in_another_process(path, 3) == "[1, 2]"
    with database.transaction(reading=True) as connection:
        assert [a for (a,) in connection.execute(text("SELECT a FROM t ORDER BY a"))] == [1, 2, 3]


def test_only_the_owner_can_read_a_created_file(tmp_path: Path) -> None:
    path = tmp_path / "a" / "file.db"
    with open_database(str(path)).transaction() as connection:
        connection.execute(text("CREATE TABLE t (a INTEGER)"))
    assert {each.stat().st_mode & 0o777 for each in path.parent.iterdir()} == {0o600}
