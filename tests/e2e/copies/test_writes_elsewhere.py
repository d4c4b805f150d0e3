"""Attempts to change c2's files from c1, which c1's Thrift Server, view and guard refuse.

Each statement names a folder of c2 that c1 can read, and runs in c1 without the proxy.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyhive.exc import OperationalError

from cli.stack.java import find_java
from cli.stack.stack import Stack, spark_home
from conf.names import TableRef
from metastore.client.metastore_client import HmsClient
from tests.e2e.conftest import C1, C2, Sql, Tables, run_sql

pytestmark = pytest.mark.e2e
PROGRAM = Path(__file__).parent / "writes_elsewhere.py"


@pytest.fixture(autouse=True)
def _guarded(stack: Stack) -> None:
    if stack.spec.guard is None:
        pytest.skip("no guard: `make guard` builds it")


@pytest.fixture(scope="module")
def home(stack: Stack) -> str:
    """A database of all tests here, with `victim`, a table of c2, and `parts`, one of c1."""
    name = f"elsewhere_{os.getpid()}"
    run_sql(stack, f"CREATE DATABASE {name}")
    run_sql(stack, f"CREATE TABLE {name}.victim (a STRING) STORED AS textfile", cluster=C2)
    run_sql(stack, f"INSERT INTO {name}.victim VALUES ('x')", cluster=C2)
    return name


@pytest.fixture(scope="module")
def victim(stack: Stack, home: str) -> Path:
    """The folder of the table of c2: one file of text, one row. It stays as it is."""
    return Tables(stack).location(f"{home}.victim")


@pytest.fixture
def parts(sql: Sql, home: str) -> str:
    """A table of c1 with one partition, p=1."""
    name = f"{home}.parts"
    sql(f"DROP TABLE IF EXISTS {name}", cluster=C1)
    sql(f"CREATE TABLE {name} (a STRING) PARTITIONED BY (p STRING)", cluster=C1)
    sql(f"INSERT INTO {name} PARTITION (p = '1') VALUES ('y')", cluster=C1)
    return name


def everything(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder: files with their bytes, folders with None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


HIVE = "CREATE EXTERNAL TABLE {db}.e (a STRING) STORED AS textfile LOCATION '{folder}'"
NATIVE = "CREATE TABLE {db}.e (a STRING) USING parquet LOCATION '{folder}'"
OWN = "CREATE TABLE {db}.e (a STRING) STORED AS textfile"
OWN_NATIVE = "CREATE TABLE {db}.e (a STRING) USING parquet"
VIEW = "CREATE TEMPORARY VIEW v (a STRING) USING csv OPTIONS (path '{folder}')"
HISTORIES = {
    "external": [HIVE, "INSERT INTO {db}.e VALUES ('z')"],
    "external overwritten": [HIVE, "INSERT OVERWRITE {db}.e VALUES ('z')"],
    "external purged": [
        HIVE + " TBLPROPERTIES ('external.table.purge' = 'true')",
        "DROP TABLE {db}.e PURGE",
    ],
    "native": [NATIVE, "INSERT OVERWRITE {db}.e VALUES ('z')"],
    "native made managed": [
        NATIVE,
        "ALTER TABLE {db}.e SET TBLPROPERTIES ('EXTERNAL' = 'FALSE')",
        "DROP TABLE {db}.e",
    ],
    "path as an option": [
        "CREATE TABLE {db}.e (a STRING) USING parquet OPTIONS (path '{folder}')",
        "INSERT OVERWRITE {db}.e VALUES ('z')",
    ],
    "as select": ["CREATE TABLE {db}.e USING parquet LOCATION '{folder}/new' AS SELECT 'z' AS a"],
    "as select, external": [
        "CREATE EXTERNAL TABLE {db}.e STORED AS orc LOCATION '{folder}/new' AS SELECT 'z' AS a"
    ],
    "moved": [OWN, "ALTER TABLE {db}.e SET LOCATION '{folder}'", "DROP TABLE {db}.e"],
    "moved and written": [
        OWN,
        "ALTER TABLE {db}.e SET LOCATION '{folder}'",
        "INSERT OVERWRITE {db}.e VALUES ('z')",
    ],
    "native, moved": [
        OWN_NATIVE,
        "ALTER TABLE {db}.e SET LOCATION '{folder}'",
        "INSERT OVERWRITE {db}.e VALUES ('z')",
        "DROP TABLE {db}.e",
    ],
    "partition": [
        "ALTER TABLE {parts} ADD PARTITION (p = '2') LOCATION '{folder}'",
        "INSERT OVERWRITE {parts} PARTITION (p = '2') VALUES ('z')",
        "ALTER TABLE {parts} DROP PARTITION (p = '2')",
    ],
    "partition dropped": [
        "ALTER TABLE {parts} ADD PARTITION (p = '2') LOCATION '{folder}'",
        "ALTER TABLE {parts} DROP PARTITION (p = '2') PURGE",
    ],
    "partition moved": [
        "ALTER TABLE {parts} PARTITION (p = '1') SET LOCATION '{folder}'",
        "INSERT OVERWRITE {parts} PARTITION (p = '1') VALUES ('z')",
        "DROP TABLE {parts}",
    ],
    "load": [OWN, "LOAD DATA INPATH '{folder}' INTO TABLE {db}.e"],
    "load over": [OWN, "LOAD DATA INPATH '{folder}/*' OVERWRITE INTO TABLE {db}.e"],
    "directory": ["INSERT OVERWRITE DIRECTORY '{folder}' USING csv SELECT 'z'"],
    "hive directory": ["INSERT OVERWRITE DIRECTORY '{folder}' STORED AS textfile SELECT 'z'"],
    "local directory": [
        "INSERT OVERWRITE LOCAL DIRECTORY '{folder}' STORED AS textfile SELECT 'z'"
    ],
    "temporary view": [VIEW, "INSERT OVERWRITE v VALUES ('z')"],
    "appended temporary view": [VIEW, "INSERT INTO v VALUES ('z')"],
    "database": [
        "CREATE DATABASE {db}_e LOCATION '{folder}'",
        "CREATE TABLE {db}_e.victim (a STRING)",
        "DROP DATABASE {db}_e CASCADE",
    ],
    "another class for the scheme": [
        "SET fs.file.impl = org.apache.hadoop.fs.RawLocalFileSystem",
        "SET fs.file.impl.disable.cache = true",
        "INSERT OVERWRITE DIRECTORY '{folder}' USING csv SELECT 'z'",
        VIEW,
        "INSERT OVERWRITE v VALUES ('z')",
    ],
    "another class as an option": [
        "CREATE TEMPORARY VIEW v (a STRING) USING csv OPTIONS (path '{folder}', `fs.file.impl`"
        " 'org.apache.hadoop.fs.RawLocalFileSystem', `fs.file.impl.disable.cache` 'true')",
        "INSERT OVERWRITE v VALUES ('z')",
    ],
    "another cluster's settings": [
        "SET spark.causeway.cluster = c2",
        "SET spark.causeway.filesystem.c2 = file:/elsewhere",
        VIEW,
        "INSERT OVERWRITE v VALUES ('z')",
    ],
    "a link": ["INSERT OVERWRITE DIRECTORY '{link}/victim' USING csv SELECT 'z'"],
    "staging": [
        "SET hive.exec.stagingdir = {folder}/staging",
        OWN,
        "INSERT INTO {db}.e VALUES ('z')",
    ],
}
# Spark itself keeps the old location there, and refuses the others.
HARMLESS = {
    "moved by a property of the serde": [
        OWN_NATIVE,
        "ALTER TABLE {db}.e SET SERDEPROPERTIES ('path' = '{folder}')",
        "INSERT OVERWRITE {db}.e VALUES ('z')",
        "DROP TABLE {db}.e",
    ],
    "truncated": [HIVE, "TRUNCATE TABLE {db}.e"],
}


def errors_of(sql: Sql, statements: list[str]) -> list[str]:
    """Runs statements in c1, each in a session that has the settings and temporary views of those
    before it; their errors.
    """
    errors = []
    kept: list[str] = []
    for statement in statements:
        try:
            sql(*kept, statement, cluster=C1)
        except OperationalError as error:
            errors.append(str(error))
        else:
            kept += [statement] if statement.startswith(("SET", "CREATE TEMP")) else []
    return errors


@pytest.fixture
def emptied(sql: Sql, home: str) -> Iterator[str]:
    """The database, without the table `e` before and after a test."""
    sql(f"DROP TABLE IF EXISTS {home}.e", cluster=C1)
    yield home
    sql(f"DROP TABLE IF EXISTS {home}.e", cluster=C1)


def filled(history: list[str], **names: object) -> list[str]:
    return [statement.format(**names) for statement in history]


@pytest.mark.parametrize("history", (HISTORIES | HARMLESS).values(), ids=HISTORIES | HARMLESS)
def test_files_of_another_cluster_stay(
    sql: Sql,
    emptied: str,
    victim: Path,
    history: list[str],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    (tmp_path / "link").symlink_to(victim.parent)
    names: dict[str, object] = {"db": emptied, "folder": victim, "link": tmp_path / "link"}
    if "{parts}" in "".join(history):
        names["parts"] = request.getfixturevalue("parts")
    before = everything(victim)
    errors = errors_of(sql, filled(history, **names))
    assert everything(victim) == before
    assert history in HARMLESS.values() or any("CW350" in error for error in errors), errors


SPELLINGS = (
    "file:{folder}",
    "file:///{folder}",
    "FILE:{folder}",
    "file://localhost{folder}",
    "{parent}/other/../victim",
    "{own}/../c2/{below}",
    "file:{parent}/./victim//",
)


def test_every_spelling_of_a_folder_is_refused(
    sql: Sql, stack: Stack, emptied: str, victim: Path, parts: str
) -> None:
    before = everything(victim)
    names = {"folder": victim, "parent": victim.parent, "own": stack.layout.warehouse(C1)}
    below = victim.relative_to(stack.layout.warehouse(C2))
    for spelling in SPELLINGS:
        folder = spelling.format(**names, below=below)
        for name in ("directory", "external overwritten", "partition"):
            errors = errors_of(sql, filled(HISTORIES[name], db=emptied, folder=folder, parts=parts))
            assert errors, (name, spelling)
            assert everything(victim) == before, (name, spelling)
        sql(f"DROP TABLE IF EXISTS {emptied}.e", cluster=C1)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO {0} VALUES ('z')",
        "INSERT OVERWRITE {0} VALUES ('z')",
        "TRUNCATE TABLE {0}",
        "LOAD DATA LOCAL INPATH '{1}' INTO TABLE {0}",
        "INSERT INTO {0} SELECT /*+ REPARTITION(3) */ id FROM range(9)",
    ],
)
def test_a_table_in_a_folder_of_another_cluster_is_not_written(
    sql: Sql, stack: Stack, emptied: str, victim: Path, statement: str, tmp_path: Path
) -> None:
    """One made in the metastore itself, where no view refuses it."""
    (tmp_path / "rows").write_text("z\n")
    db = emptied
    sql(f"CREATE TABLE {db}.e (a STRING) STORED AS textfile", cluster=C1)
    with HmsClient((stack.ports.metastore,)) as metastore:
        ref = TableRef.parse(f"{db}.e")
        table = metastore.get_table(ref)
        table.location = f"file:{victim}"
        plain = {k: v for k, v in table.parameters.items() if not k.startswith("causeway.")}
        table.parameters = plain
        metastore.alter_table(ref, table)
        before = everything(victim)
        with pytest.raises(OperationalError, match="CW350"):
            sql(statement.format(f"{db}.e", tmp_path / "rows"), cluster=C1)
        assert everything(victim) == before
        metastore.drop_table(ref)  # not its files


def test_a_database_elsewhere_does_not_delete_files(
    sql: Sql, stack: Stack, home: str, tables: Tables
) -> None:
    """The metastore has a database's folder in the default cluster, and deletes all of it."""
    sql(f"CREATE TABLE IF NOT EXISTS {home}.own (a STRING)", cluster=C1)
    sql(f"INSERT INTO {home}.own VALUES ('y')", cluster=C1)
    folder = tables.location(f"{home}.own")
    same = stack.layout.warehouse(C2) / folder.relative_to(stack.layout.warehouse(C1))
    before = everything(folder)
    sql(f"CREATE DATABASE {home}_e LOCATION '{same}'", cluster=C2)
    with pytest.raises(OperationalError, match="CW350"):
        sql(f"DROP DATABASE {home}_e CASCADE", cluster=C2)
    assert everything(folder) == before


def test_own_folders_and_shared_ones_are_written(sql: Sql, emptied: str, tmp_path: Path) -> None:
    db = emptied
    sql(
        f"CREATE TABLE {db}.e (a STRING) USING csv LOCATION '{tmp_path}/e'",
        f"INSERT INTO {db}.e VALUES ('z')",
        f"INSERT OVERWRITE DIRECTORY '{tmp_path}/f' USING csv SELECT 'z'",
        cluster=C1,
    )
    assert sql(f"SELECT a FROM {db}.e", cluster=C2) == [("z",)]


def test_programs_do_not_write_elsewhere(
    stack: Stack, emptied: str, victim: Path, tmp_path: Path
) -> None:
    """DataFrames, RDDs, streams and the file system itself, with c1's configuration."""
    before = everything(victim)
    environment = os.environ | {
        "SPARK_CONF_DIR": str(stack.layout.conf(C1)),
        "SPARK_HOME": str(spark_home()),
        "JAVA_HOME": str(find_java().parents[1]),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    argv = [sys.executable, str(PROGRAM), emptied, str(victim), str(tmp_path)]
    done = subprocess.run(
        argv, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads(done.stdout.splitlines()[-1])
    assert everything(victim) == before
    assert len(results) > 15
    allowed = {name for name in results if name.startswith("own")}
    assert {name: text for name, text in results.items() if name in allowed and text} == {}
    assert allowed
    passed = {n: text for n, text in results.items() if n not in allowed and "CW350" not in text}
    assert passed == {}
