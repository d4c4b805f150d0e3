"""Tables of Iceberg and Delta are written in their primary alone, like any other, and copied.

c1 and c4 have Iceberg in the place of the session catalog, c2 and c3 have Delta.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive
from pyhive.exc import OperationalError

from cli.server.admin import call
from cli.stack.plan import StackSpec
from cli.stack.stack import Stack, free_ports
from conf.names import ClusterName
from conf.settings.load import load
from pipeline.spark.jar import SPARK_MAJOR, guard_jar
from tests.e2e.conftest import C1, C2, C3, rows, run_sql, server
from tests.e2e.support.claims import run_claimed
from tests.e2e.support.interpreted import INTERPRETED
from tests.e2e.support.jars import fetch_jar
from tests.e2e.support.lake import (
    ARTIFACTS,
    C4,
    MERGE,
    OWN,
    PYICEBERG,
    WRITES,
    assign_primary,
    copied,
    files_of,
    is_marked,
    run_sql_in,
    size_of,
)
from tests.e2e.support.lake_feeds import KEPT, LakeFeeds

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(SPARK_MAJOR >= 4, reason="Iceberg and Delta have no jars for Spark 4.3"),
]

FORMATS = {"iceberg": C1, "delta": C2}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    jars = tuple(fetch_jar(each) for each in ARTIFACTS)
    spec = StackSpec(
        (*OWN,), free_ports(1)[0], guard=guard_jar(), jars=jars, spark=INTERPRETED, own=OWN
    )
    with Stack(spec, tmp_path_factory.mktemp("lake")) as running:
        run_sql(running, "CREATE DATABASE lake")
        yield running


@pytest.fixture(scope="module", params=FORMATS)
def table(lake: Stack, request: pytest.FixtureRequest) -> str:
    """A table of each format with rows 1 and 2, in the cluster that has the format."""
    name = f"lake.{request.param}"
    run_sql(
        lake,
        f"USE CLUSTER {FORMATS[request.param]}",
        f"CREATE TABLE {name} (id INT, v STRING, p STRING) USING {request.param}"
        " PARTITIONED BY (p)",
        f"INSERT INTO {name} VALUES (1, 'a', 'x'), (2, 'b', 'x')",
    )
    return name


def _cluster(table: str) -> ClusterName:
    return FORMATS[table.removeprefix("lake.")]


def _location(lake: Stack, table: str) -> Path:
    return lake.layout.warehouse(_cluster(table)) / "lake.db" / table.removeprefix("lake.")


def test_the_primary_reads_and_writes_through_the_proxy(lake: Stack, table: str) -> None:
    endpoint = server(lake, None)
    format = table.removeprefix("lake.")
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
        cursor = connection.cursor()
        everything = f"SELECT id, v FROM {table} ORDER BY id"
        first = {"iceberg": f"SELECT min(snapshot_id) FROM {table}.snapshots", "delta": "SELECT 1"}
        assert rows(cursor, everything) == [(1, "a"), (2, "b")]
        rows(cursor, f"USE CLUSTER {_cluster(table)}")
        ((version,),) = rows(cursor, first[format])
        rows(cursor, "USE CLUSTER", MERGE.format(table))
        assert rows(cursor, everything) == [(1, "new"), (2, "b"), (3, "c")]
        assert rows(cursor, f"SELECT count(*) FROM {table} VERSION AS OF {version}") == [(2,)]
        rows(
            cursor,
            f"UPDATE {table} SET v = 'z' WHERE id = 2",
            f"DELETE FROM {table} WHERE id = 3",
            f"INSERT OVERWRITE {table} PARTITION (p = 'y') VALUES (4, 'd')",
            f"ALTER TABLE {table} ADD COLUMN w INT",
        )
        assert rows(cursor, everything) == [(1, "new"), (2, "z"), (4, "d")]
        if format == "delta":
            rows(cursor, f"OPTIMIZE {table}", f"VACUUM {table} DRY RUN")
            done = {row[4] for row in rows(cursor, f"DESCRIBE HISTORY {table}")}
            rows(cursor, f"RESTORE TABLE {table} TO VERSION AS OF {version}")
            assert done >= {"MERGE", "UPDATE", "DELETE", "ADD COLUMNS", "OPTIMIZE"}
            assert rows(cursor, everything) == [(1, "a"), (2, "b")]
        else:
            rows(cursor, f"ALTER TABLE {table} WRITE ORDERED BY id", f"TRUNCATE TABLE {table}")
            assert rows(cursor, everything) == []
            rows(cursor, f"INSERT INTO {table} VALUES (1, 'a', 'x', 0), (2, 'b', 'x', 0)")
    end = time.monotonic() + 60
    while is_marked(lake, table) and time.monotonic() < end:
        time.sleep(0.2)
    assert not is_marked(lake, table)


@pytest.mark.parametrize(("format", "to"), [("iceberg", C4), ("delta", C3)])
def test_no_statement_leaves_a_mark_when_its_client_has_the_result(
    lake: Stack, format: str, to: ClusterName
) -> None:
    """A mark would make the next copy stale. Some commands write files that no plan names."""
    name, home = f"lake.unmarked_{format}", FORMATS[format]
    statements = (
        f"CREATE TABLE {name} USING {format} AS SELECT 1 AS id, 'a' AS v",
        f"ALTER TABLE {name} COPY {home} TO {to}",
        f"INSERT INTO {name} VALUES (2, 'b')",
        f"ALTER TABLE {name} ADD COLUMN w INT",
        f"ALTER TABLE {name} SET TBLPROPERTIES ('a' = 'b')",
        f"UPDATE {name} SET v = 'z'",
        f"DELETE FROM {name} WHERE id = 1",
        f"REPLACE TABLE {name} (id INT) USING {format}",
        f"INSERT OVERWRITE {name} SELECT 2 AS id",
    )
    left = []
    endpoint = server(lake, None)
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
        cursor = connection.cursor()
        rows(cursor, f"USE CLUSTER {home}")
        for statement in statements:
            rows(cursor, statement)
            if is_marked(lake, name):
                left.append(statement)
    assert left == []


def test_another_cluster_writes_nothing(lake: Stack, table: str) -> None:
    """Without the proxy, by a server with the format that is not the primary."""
    here = _cluster(table)
    other = C2 if here == C1 else C1
    format = table.removeprefix("lake.")
    assign_primary(lake, table, other)
    before = sorted(each for each in _location(lake, table).rglob("*") if each.is_file())
    endpoint = server(lake, here)
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
        cursor = connection.cursor()
        for statement in (*WRITES[""], *WRITES[format]):
            with pytest.raises(OperationalError, match="CW350"):
                cursor.execute(statement.format(table, format))
    after = sorted(each for each in _location(lake, table).rglob("*") if each.is_file())
    assign_primary(lake, table, here)
    assert after == before


@pytest.mark.provokes("CW361", "CW362", "CW364")
def test_claims_are_compared(lake: Stack, table: str) -> None:
    here = _cluster(table)
    endpoint = server(lake, here)
    reads: dict[str, Any] = {table: {}}
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
        claimed = partial(run_claimed, connection)
        query = f"SELECT count(*) FROM {table} WHERE id > 0"
        assert claimed(query, reads=reads) == [(2,)]
        with pytest.raises(OperationalError, match=f"CW361.*{table}"):
            claimed(query, reads={"lake.other": {}})
        with pytest.raises(OperationalError, match=f"CW362.*{table}"):
            claimed(query, reads={table: {"in": []}})
        for statement in (f"INSERT INTO {table} SELECT * FROM {table}", f"DELETE FROM {table}"):
            with pytest.raises(OperationalError, match=f"CW364.*{table}"):
                claimed(statement, reads=reads)
        assign_primary(lake, table, C2 if here == C1 else C1)
        with pytest.raises(OperationalError, match=f"CW363.*{table}"):
            claimed(query, reads=reads)
        assign_primary(lake, table, here)


def test_a_copy_of_a_delta_table_is_read_from_its_own_files(lake: Stack) -> None:
    """Deletion vectors, a changed schema and a checkpoint included; stale copies are not read.
    Later copies send the files that the first one does not have."""
    name, copy = "lake.copied", f"ALTER TABLE lake.copied COPY {C2} TO {C3}"
    endpoint = server(lake, None)
    everything = f"SELECT * FROM {name} ORDER BY id"
    files = f"SELECT DISTINCT input_file_name() FROM {name}"
    primary = lake.layout.warehouse(C2) / "lake.db" / "copied"
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
        cursor = connection.cursor()
        rows(
            cursor,
            f"USE CLUSTER {C2}",
            f"CREATE TABLE {name} (id INT, p STRING) USING delta PARTITIONED BY (p) TBLPROPERTIES"
            " ('delta.enableDeletionVectors' = 'true', 'delta.checkpointInterval' = '2')",
            f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, 'a b' FROM range(3)",
            copy,
            f"USE CLUSTER {C3}",
        )
        first = files_of(primary)
        assert rows(cursor, everything) == [(0, "a b"), (1, "a b"), (2, "a b")]
        read = [path for (path,) in rows(cursor, files)]
        assert read
        assert all("/causeway-copies/lake.db/copied/" in path for path in read)
        rows(
            cursor,
            "USE CLUSTER",
            f"DELETE FROM {name} WHERE id = 1",
            f"ALTER TABLE {name} ADD COLUMN w INT",
            f"INSERT INTO {name} VALUES (3, 'a b', NULL)",
            f"UPDATE {name} SET w = 7 WHERE id = 2",
        )
        now = [(0, "a b", None), (2, "a b", 7), (3, "a b", None)]
        assert rows(cursor, everything) == now
        with pytest.raises(OperationalError, match=r"CW105.*lake.copied is stale"):
            rows(cursor, f"USE CLUSTER {C3}", everything)
        second = files_of(primary)
        assert rows(cursor, copy) == copied(first, second)
        rows(cursor, "USE CLUSTER", f"INSERT INTO {name} VALUES (4, 'a b', 8)")
        now.append((4, "a b", 8))
        third = files_of(primary)
        assert rows(cursor, copy, f"USE CLUSTER {C3}", everything) == now
        query = f"/v1/history/copies?table={name}"
        records = call(load(lake.layout.settings).operating, "GET", query)["copies"]
        assert [(each["bytes"], each["sent"]) for each in records] == [
            (size_of(third), size_of(third - second)),
            (size_of(second), size_of(second - first)),
            (size_of(first), size_of(first)),
        ]
        assert any(primary.glob("**/deletion_vector_*.bin"))
        assert any(primary.glob("_delta_log/*.checkpoint*"))
        primary.rename(away := primary.with_name("away"))
        try:
            assert rows(cursor, everything) == now
            assert rows(cursor, f"SELECT count(*) FROM {name} VERSION AS OF 1") == [(3,)]
        finally:
            away.rename(primary)


def test_a_copy_of_an_iceberg_table_is_read_from_its_own_files(lake: Stack) -> None:
    """Deletes by position, a changed schema and partitioning, branches and time travel included.
    Later copies send only new files; what has expired is refused by Iceberg itself."""
    name, copy = "lake.moved", f"ALTER TABLE lake.moved COPY {C1} TO {C4}"
    endpoint = server(lake, None)
    everything = f"SELECT * FROM {name} ORDER BY id"
    primary = lake.layout.warehouse(C1) / "lake.db" / "moved"
    modes = (f"'write.{each}.mode' = 'merge-on-read'" for each in ("delete", "update", "merge"))
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
        cursor = connection.cursor()

        def snapshots() -> list[int]:
            query = f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at"
            return [number for (number,) in rows(cursor, f"USE CLUSTER {C1}", query)]

        rows(
            cursor,
            f"USE CLUSTER {C1}",
            f"CREATE TABLE {name} (id INT, p STRING) USING iceberg PARTITIONED BY (p)"
            f" TBLPROPERTIES ({', '.join(modes)})",
            f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, 'a b' FROM range(3)",
            copy,
            f"USE CLUSTER {C4}",
        )
        assert rows(cursor, everything) == [(0, "a b"), (1, "a b"), (2, "a b")]
        read = [path for (path,) in rows(cursor, f"SELECT DISTINCT input_file_name() FROM {name}")]
        assert read
        assert all("/causeway-copies/lake.db/moved/" in path for path in read)
        rows(cursor, "USE CLUSTER", f"DELETE FROM {name} WHERE id = 1")
        with pytest.raises(OperationalError, match=r"CW105.*lake.moved is stale"):
            rows(cursor, f"USE CLUSTER {C4}", everything)
        rows(
            cursor,
            "USE CLUSTER",
            f"ALTER TABLE {name} ADD COLUMN w INT",
            f"ALTER TABLE {name} ADD PARTITION FIELD bucket(2, id)",
            f"INSERT INTO {name} VALUES (3, 'a b', NULL)",
            f"UPDATE {name} SET w = 7 WHERE id = 2",
            f"MERGE INTO {name} t USING (SELECT 3 id, 8 w) s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET w = s.w",
        )
        now = [(0, "a b", None), (2, "a b", 7), (3, "a b", 8)]
        known = snapshots()
        rows(cursor, copy, "USE CLUSTER", f"INSERT INTO {name} VALUES (4, 'a b', 9)")
        last = rows(cursor, copy)
        now.append((4, "a b", 9))
        assert last[0][0].endswith(" in 4 files")  # data, its manifest, their list, the metadata
        primary.rename(away := primary.with_name("away"))
        try:
            rows(cursor, f"USE CLUSTER {C4}")
            assert rows(cursor, everything) == now
            assert rows(cursor, f"SELECT count(*) FROM {name} VERSION AS OF {known[0]}") == [(3,)]
            assert rows(cursor, f"SELECT count(*) FROM {name} VERSION AS OF {known[1]}") == [(2,)]
            with pytest.raises(OperationalError, match="Cannot find snapshot"):
                rows(cursor, f"SELECT * FROM {name} VERSION AS OF 42")
            with pytest.raises(OperationalError, match="Cannot find a snapshot older than"):
                rows(cursor, f"SELECT * FROM {name} TIMESTAMP AS OF '2001-01-01 00:00:00'")
        finally:
            away.rename(primary)
        with pytest.raises(OperationalError, match="CW350"):
            run_sql_in(lake, C4, f"INSERT INTO {name} VALUES (5, 'a b', 9)")
        run_sql_in(
            lake, C1, f"CALL system.expire_snapshots('{name}', TIMESTAMP '2099-01-01 00:00:00', 1)"
        )
        with pytest.raises(OperationalError, match=r"CW105.*lake.moved is stale"):
            rows(cursor, f"USE CLUSTER {C4}", everything)
        rows(cursor, copy, f"USE CLUSTER {C4}")
        assert rows(cursor, everything) == now
        with pytest.raises(OperationalError, match="Cannot find snapshot"):
            rows(cursor, f"SELECT count(*) FROM {name} VERSION AS OF {known[0]}")


def test_feeds_copy_whole_tables(
    lake: Stack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A write makes a copy stale at once; the next instance copies what the write changed."""
    feeds = LakeFeeds(lake, tmp_path)
    feeds.submit_clusters()
    ways = {"lake.fed_iceberg": (C1, C4), "lake.fed_delta": (C2, C3)}
    for name, (home, to) in ways.items():
        format = name.removeprefix("lake.fed_")
        run_sql(
            lake,
            f"USE CLUSTER {home}",
            f"CREATE TABLE {name} (id INT, p STRING) USING {format} PARTITIONED BY (p)",
            f"INSERT INTO {name} SELECT /*+ COALESCE(1) */ id, 'a b' FROM range(3)",
        )
        for key, reason in (("p=${YEAR}", "#* is the whole table"), ("*", "Leave retention out")):
            assert (
                feeds.submit(format, home, to, f"catalog:lake:fed_{format}#{key}", retention=KEPT)
                == 1
            )
            assert reason in capsys.readouterr().err
        assert feeds.submit(format, home, to, f"catalog:lake:fed_{format}#*") == 0
        feeds.schedule(format, "2024-01-01T00:00Z")
    feeds.serve("2024-01-01T00:00Z")
    for name, (_, to) in ways.items():
        there, everything = f"USE CLUSTER {to}", f"SELECT * FROM {name} ORDER BY id"
        assert run_sql(lake, there, everything) == [(0, "a b"), (1, "a b"), (2, "a b")]
        read = run_sql(lake, there, f"SELECT DISTINCT input_file_name() FROM {name}")
        assert read
        assert all("/causeway-copies/lake.db/fed_" in path for (path,) in read)
        run_sql(
            lake,
            f"DELETE FROM {name} WHERE id = 1",
            f"ALTER TABLE {name} ADD COLUMN w INT",
            f"INSERT INTO {name} VALUES (3, 'c', 7)",
        )
        with pytest.raises(OperationalError, match=f"CW105.*{name} is stale"):
            run_sql(lake, there, everything)
    assert feeds.lag("2024-01-01T03:30Z") == dict.fromkeys(ways, 2.5 * 3600)
    feeds.serve("2024-01-01T03:30Z")
    assert feeds.lag("2024-01-01T03:30Z") == dict.fromkeys(ways, 0.0)
    for name, (_, to) in ways.items():
        now = [(0, "a b", None), (2, "a b", None), (3, "c", 7)]
        assert run_sql(lake, f"USE CLUSTER {to}", f"SELECT * FROM {name} ORDER BY id") == now
        assert feeds.states(name.removeprefix("lake.fed_")) == {
            "00:00": "SUCCEEDED", "01:00": "SKIPPED", "02:00": "SKIPPED", "03:00": "SUCCEEDED",
        }  # fmt: skip


def test_pyiceberg_commits_in_the_primary_alone(lake: Stack) -> None:
    python = os.environ.get("CAUSEWAY_PYICEBERG")
    if python is None:
        pytest.skip("CAUSEWAY_PYICEBERG names no Python that has pyiceberg")
    name = "lake.python"
    run_sql(lake, f"USE CLUSTER {C1}", f"CREATE TABLE {name} (id INT, v STRING) USING iceberg")

    def append() -> str:
        uri = f"thrift://{lake.ports.views[C1]}"
        done = subprocess.run(
            [python, "-c", PYICEBERG, uri, name],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert append() == "appended 1"
    assert run_sql(lake, f"SELECT * FROM {name}") == [(9, "p")]
    copy, there = f"ALTER TABLE {name} COPY {C1} TO {C4}", f"USE CLUSTER {C4}"
    assert run_sql(lake, copy, there, f"SELECT * FROM {name}") == [(9, "p")]
    assert append() == "appended 2"
    with pytest.raises(OperationalError, match=r"CW105.*lake.python is stale"):
        run_sql(lake, there, f"SELECT * FROM {name}")
    assert run_sql(lake, copy, there, f"SELECT * FROM {name}") == [(9, "p"), (9, "p")]
    assign_primary(lake, name, C2)
    assert append() == "refused True"
    assign_primary(lake, name, C1)
    assert run_sql(lake, f"SELECT count(*) FROM {name}") == [(2,)]
