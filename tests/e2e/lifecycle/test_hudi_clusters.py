"""With `up --hudi` the clusters serve Hudi tables through the proxy like any other, and feeds
replicate them commit by commit.
"""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from pyhive import hive
from pyhive.exc import OperationalError

from cli.stack.stack import Stack
from metastore.client.metastore_client import HmsClient
from metastore.errors import NoSuchObject
from pipeline.hudi.plan import plan
from pipeline.hudi.table.storage import LocalStorage
from pipeline.hudi.table.table import open_for_changes
from tests.e2e.conftest import C1, C2, rows, run_sql, server
from tests.e2e.console.conftest import browsing
from tests.e2e.support.fronts import serving
from tests.e2e.support.hudi_clusters import (
    DIRECT,
    METADATA,
    check_hive_reader,
    consume_settings,
    make_copied,
    make_with_commits,
    open_table,
    pulled_rows,
    running_hudi_stack,
    sync_to_hive,
)
from tests.e2e.support.hudi_feeds import AGED, HITS, Feeds, running_feeds
from tests.e2e.support.spark_job import SparkJob

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def hudi_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running_hudi_stack(tmp_path_factory.mktemp("hudi")) as running:
        yield running


@pytest.fixture
def cursor(hudi_stack: Stack) -> Iterator[hive.Cursor]:
    """One session through the proxy for the whole test."""
    endpoint = server(hudi_stack, None)
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
        yield connection.cursor()


def test_create_merge_select_and_changes(cursor: hive.Cursor) -> None:
    rows(
        cursor,
        "CREATE DATABASE lake",
        "CREATE TABLE lake.trips (id INT, v STRING, ts BIGINT) USING hudi "
        f"TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts', {METADATA})",
        "INSERT INTO lake.trips VALUES (1, 'a', 1), (2, 'b', 1)",
        "MERGE INTO lake.trips t USING (SELECT 2 id, 'new' v, 2L ts) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )
    assert rows(cursor, "SELECT id, v FROM lake.trips ORDER BY id") == [(1, "a"), (2, "new")]
    first = rows(cursor, "SELECT min(_hoodie_commit_time) FROM lake.trips")[0][0]
    changes = rows(
        cursor,
        f"SELECT id FROM hudi_table_changes('lake.trips', 'latest_state', '{int(first) + 1}') "
        "WHERE v = 'new'",
    )
    assert changes == [(2,)]
    rows(cursor, "DELETE FROM lake.trips WHERE id = 1")
    assert rows(cursor, "SELECT id, v FROM lake.trips") == [(2, "new")]


@pytest.mark.parametrize(
    ("kind", "version"), [pytest.param("cow", "6", marks=pytest.mark.long), ("mor", "9")]
)
def test_a_session_reads_the_rows_of_a_pull(hudi_stack: Stack, kind: str, version: str) -> None:
    table = make_with_commits(hudi_stack, kind, version)
    commits = table.timeline.commits
    keys = [table.timeline.key(each) for each in commits]
    ranges = [("000", keys[0], "1"), ("000", keys[1], "2"), ("000", keys[-1], "-1")]
    ranges += [(keys[0], keys[1], "1"), (keys[1], keys[-1], "-1"), (keys[-1], keys[-1], "-1")]
    ranges += [(commits[1].requested, keys[2], "1"), (commits[0].requested, keys[-1], "-1")]
    endpoint = server(hudi_stack, None)
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
        cursor = connection.cursor()
        select = f"SELECT _hoodie_commit_time, id, v FROM inc.{kind}"
        rows(cursor, f"SET hoodie.{kind}.consume.mode=incremental")
        with pytest.raises(hive.OperationalError, match=r"CW227.*start\.timestamp is not set"):
            cursor.execute(select)
        wrong = {}
        for start, last, most in ranges:
            settings = consume_settings(kind, start_timestamp=start, max_commits=most)
            found = sorted(rows(cursor, *settings, select))
            if found != (expected := pulled_rows(table, start, last)):
                wrong[start, most] = found, expected
        assert not wrong
        ended = consume_settings(
            kind, start_timestamp="earliest", end_timestamp=keys[1], max_commits="-1"
        )
        assert sorted(rows(cursor, *ended, select)) == pulled_rows(table, "000", keys[1])

        rows(
            cursor,
            f"RESET hoodie.{kind}.consume.end.timestamp",
            *consume_settings(kind, start_timestamp=keys[1]),
        )
        changed = sorted(row[1:] for row in pulled_rows(table, keys[1], None))
        assert changed == [(1, "c"), (5, "c"), (6, "d")]
        join = (
            f"SELECT t.id, o.v FROM inc.{kind} t JOIN inc.other{kind} o ON t.id = o.id ORDER BY 1"
        )
        made = f"CREATE TABLE inc.other{kind} USING parquet AS SELECT id, v FROM inc.{kind}"
        assert rows(cursor, made, join) == changed
        seen = f"SELECT id, v FROM inc.v{kind} ORDER BY id"
        view = f"CREATE VIEW inc.v{kind} AS SELECT * FROM inc.{kind}"
        assert rows(cursor, view, seen) == changed
        assert rows(cursor, f"SELECT count(*) FROM inc.{kind} a JOIN inc.{kind} b USING (id)") == [
            (3,)
        ]
        (decision,) = rows(cursor, f"EXPLAIN CLUSTER {select}")
        assert f"inc.{kind} is read incrementally: commits after {keys[1]}, all" in decision[3]
        size = r": 2 commits, 2 of 3 partitions, \d of \d files, [\d.]+ [kM]B of [\d.]+ [kM]B$"
        assert re.search(f"inc.{kind}{size}", decision[3])
        for refused in (f"{select} TIMESTAMP AS OF '{commits[0].requested}'",
                        f"INSERT INTO inc.{kind} SELECT id, v, ts, p FROM inc.{kind}",
                        f"SELECT * FROM hudi_query('inc.{kind}', 'snapshot')"):  # fmt: skip
            with pytest.raises(hive.OperationalError, match="CW"):
                cursor.execute(refused)
        rows(cursor, f"UPDATE inc.{kind} SET v = 'e', ts = 9 WHERE id = 4")
        assert rows(cursor, seen) == [(1, "c"), (4, "e"), (5, "c"), (6, "d")]
        assert rows(cursor, f"RESET hoodie.{kind}.consume.mode", seen) == [
            (1, "c"), (2, "b"), (3, "b"), (4, "e"), (5, "c"), (6, "d")
        ]  # fmt: skip
    if kind == "cow":
        check_hive_reader(hudi_stack, open_table(hudi_stack, kind))


def test_the_console_shows_the_timeline_and_what_a_pull_would_read(hudi_stack: Stack) -> None:
    try:
        table = open_table(hudi_stack, "mor")
    except NoSuchObject:  # the test above was left out
        table = make_with_commits(hudi_stack, "mor", "9")
    since = table.timeline.key(table.timeline.commits[1])
    expected = plan(table, since, None)
    with browsing(f"http://{hudi_stack.spec.console}") as watched:
        page = watched.page
        watched.open("/hudi")
        page.get_by_role("link", name="inc.mor", exact=True).click()
        lines = page.locator("#timeline tbody tr")
        lines.first.wait_for()
        requested = sorted((each.requested for each in table.timeline.instants), reverse=True)
        shown = [text.split()[0] for text in lines.all_inner_texts()]
        assert shown == requested
        page.get_by_label("since").fill(since)
        page.get_by_role("button", name="Show").click()
        page.locator("dl.facts").wait_for()
        facts = page.locator("dl.facts dd").all_inner_texts()
        watched.picture("hudi")
        numbers = [str(len(each)) for each in (expected.commits, expected.partitions)]
        assert facts[:2] == numbers
        assert facts[2].startswith(f"{len(expected.files)}, ")
        assert facts[3] == "is not read"
        assert page.locator("svg .mark-read").count() == len(expected.commits) + 1  # and the legend
        page.get_by_label("since").fill("yesterday")
        page.get_by_role("button", name="Show").click()
        page.get_by_role("alert").wait_for()


def test_changed_rows_are_read_from_a_fresh_copy(hudi_stack: Stack) -> None:
    if hudi_stack.spec.guard is None:
        pytest.skip("no guard")
    source, _ = make_copied(hudi_stack, "read")
    table = open_for_changes(str(source), LocalStorage())
    (key,) = [table.timeline.key(each) for each in table.timeline.commits]
    where = "SELECT id, input_file_name() FROM past.read"
    before = consume_settings("past.read", mode="INCREMENTAL", start_timestamp="000")
    found = run_sql(hudi_stack, *before, "USE CLUSTER c2", where)
    assert sorted(row[0] for row in found) == [1, 2]
    assert all("/copies/read/" in row[1] for row in found), found
    (explained,) = run_sql(hudi_stack, *before, "USE CLUSTER c2", f"EXPLAIN CLUSTER {where}")
    assert "past.read: 1 commit, 1 of 1 files, " in explained[3]
    after = consume_settings("past.read", mode="INCREMENTAL", start_timestamp=key)
    assert run_sql(hudi_stack, *after, "USE CLUSTER c2", where) == []


def test_tables_of_hivesync_are_read_incrementally_or_refused(
    hudi_stack: Stack, tmp_path: Path
) -> None:
    if hudi_stack.spec.guard is None:
        pytest.skip("no guard")
    run_sql(hudi_stack, "CREATE DATABASE IF NOT EXISTS inc")
    with closing(SparkJob(hudi_stack, C1, tmp_path)) as job:
        changed = sync_to_hive(hudi_stack, job, "mine", as_source=True)
        sync_to_hive(hudi_stack, job, "hives", as_source=False)
    found, refused = {}, {}

    def changes(table: str, name: str, first: str) -> list[tuple[Any, ...]]:
        """The keys of rows changed after `first`, by settings with the name `name`."""
        settings = consume_settings(
            name, mode="INCREMENTAL", start_timestamp=first, max_commits="-1"
        )
        return run_sql(hudi_stack, *settings, f"SELECT id FROM inc.{table}")

    time = "SELECT min(_hoodie_commit_time) FROM inc.{}"
    firsts = {name: run_sql(hudi_stack, time.format(name))[0][0] for name in ("mine_rt", "hives")}
    for table, name in (("mine", "mine"), ("mine_rt", "mine_rt"), ("mine_rt", "inc.mine_rt")):
        found[table, name] = [row[0] for row in changes(table, name, firsts["mine_rt"])]
    for table, name, why in (
        ("mine_rt", "mine", "mine for Hudi"),
        ("mine_ro", "mine_ro", "read-optimized"),
        ("hives_rt", "hives", "hives for Hudi"),
        ("hives", "hives", "for Hive alone"),
        ("hives_rt", "hives_rt", "for Hive alone"),
    ):
        try:
            refused[table, name] = changes(table, name, firsts["hives"])
        except hive.OperationalError as error:
            if why not in str(error) or "CW227" not in str(error):
                refused[table, name] = error
    assert (found, refused) == (dict.fromkeys(found, changed), {})
    whole = consume_settings("mine", mode="INCREMENTAL") + consume_settings(
        "mine_rt", mode="SNAPSHOT"
    )
    assert len(run_sql(hudi_stack, *whole, "SELECT id FROM inc.mine_rt")) == 2


ROWS, ALL = ("INSERT", "MERGE", "OVERWRITE"), tuple(DIRECT)  # UPDATE and DELETE write as MERGE does


@pytest.mark.parametrize(("partitioned", "kinds"), [("", ALL), ("PARTITIONED BY (ds)", ROWS)])
def test_direct_writes_of_hudi_tables_end_their_copies(
    hudi_stack: Stack, partitioned: str, kinds: tuple[str, ...]
) -> None:
    if hudi_stack.spec.guard is None:
        pytest.skip("no guard")
    left = {}
    for number, what in enumerate(kinds):
        statement = DIRECT[what]
        name = f"h{number}{'p' if partitioned else ''}"
        _, fresh = make_copied(hudi_stack, name, partitioned)
        text = statement.format(f"past.{name}")
        if partitioned:
            text = text.replace(", 1)", ", 1, 'x')").replace("2L ts)", "2L ts, 'x' ds)")
        run_sql(hudi_stack, text, cluster=C1)
        left[what] = fresh()
    assert not any(left.values()), left


def test_hudis_dataframe_writer_ends_the_copies(hudi_stack: Stack, tmp_path: Path) -> None:
    if hudi_stack.spec.guard is None:
        pytest.skip("no guard")
    folder, fresh = make_copied(hudi_stack, "frame")
    options = {
        "hoodie.table.name": "frame",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.keygenerator.class":
            "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
    }  # fmt: skip
    with closing(SparkJob(hudi_stack, C1, tmp_path)) as job:
        job("save_hudi", path=folder.as_uri(), options=options, row=[3, "c", 1])
    assert not fresh()


@pytest.fixture(scope="module")
def feeds(hudi_stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Feeds]:
    with running_feeds(hudi_stack, tmp_path_factory.mktemp("feeds")) as running:
        yield running


def test_a_hudi_feed_is_replicated_commit_by_commit(
    feeds: Feeds, cursor: hive.Cursor, capfd: pytest.CaptureFixture[str]
) -> None:
    stack = feeds.stack
    select = "SELECT id, v, ds FROM feeds.hits ORDER BY id"
    where = "SELECT DISTINCT substr(input_file_name(), 1, 400) FROM feeds.hits"

    feeds.serve(0)
    rows_now = [(1, "a", "2024-01-01-00"), (2, "b", "2024-01-01-01")]
    assert rows(cursor, "USE CLUSTER c2", select) == rows_now
    found = run_sql(stack, "USE CLUSTER c2", where)
    assert found
    assert all("causeway-copies/feeds.db/hits" in row[0] for row in found), found
    with feeds.other.client() as client:
        table = client.get_table(HITS)
        assert client.get_partition_names(HITS) == ["ds=2024-01-01-00", "ds=2024-01-01-01"]
        assert {p.location for p in client.get_all_partitions(HITS)} == {
            f"{table.location}/ds=2024-01-01-0{hour}" for hour in (0, 1)
        }

    run_sql(stack, "UPDATE feeds.hits SET v = 'new' WHERE id = 2")
    changed = [(1, "a", "2024-01-01-00"), (2, "new", "2024-01-01-01")]
    with pytest.raises(Exception, match="stale"):
        run_sql(stack, "USE CLUSTER c2", select)
    assert run_sql(stack, select) == changed
    assert run_sql(stack, select, cluster=C2) == changed, "past the proxy: the primary's"
    capfd.readouterr()
    feeds.serve(1)
    events = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    messages = [e["message"] for e in events if e["event"] == "succeeded" and "commits" in str(e)]
    assert all(": 1 commits, 4 files" in line for line in messages), events
    assert len(messages) == 2, "to c2 and to c3"
    assert rows(cursor, select) == changed, "what the session knew of the files is forgotten"
    assert all("causeway-copies" in row[0] for row in run_sql(stack, "USE CLUSTER c2", where))
    with feeds.other.client() as client:
        location = client.get_table(HITS).location
    by_path = f"CREATE TABLE feeds.replica USING hudi LOCATION '{location}'"
    assert run_sql(stack, by_path, select.replace("hits", "replica"), cluster=C1) == changed


def test_retention_drops_partitions_of_a_hudi_table_by_a_commit(feeds: Feeds) -> None:
    stack = feeds.stack
    run_sql(stack, "INSERT INTO feeds.hits VALUES (3, 'c', 1, '2024-01-01-04')")
    feeds.serve(4)
    (feeds.folder / "aged.xml").write_text(AGED.format(targets=""))
    feeds.run("entity", "delete", "feed", "hits")
    feeds.run("entity", "submit", str(feeds.folder / "aged.xml"))
    feeds.run("entity", "schedule", "feed", "aged", "--at", "2024-01-01T00:00Z")
    feeds.serve(5)
    select = "SELECT id, v, ds FROM feeds.hits ORDER BY id"
    kept = [(3, "c", "2024-01-01-04")]
    assert run_sql(stack, "USE CLUSTER c1", select) == kept
    with HmsClient((stack.ports.metastore,)) as client:
        assert client.get_partition_names(HITS) == ["ds=2024-01-01-04"]
        folder = Path(unquote(urlsplit(client.get_table(HITS).location).path))
    assert (folder / "ds=2024-01-01-00").exists(), "its files are the cleaner's"
    run_sql(stack, "INSERT INTO feeds.hits VALUES (4, 'd', 1, '2024-01-01-04')")
    assert run_sql(stack, select) == [*kept, (4, "d", "2024-01-01-04")]


RESTRICTED = """
[[rules]]
name = "x only"
effect = "filter"
users = ["fay"]
tables = ["parts.*"]
expression = "p = 'x'"

[[rules]]
name = "v"
effect = "mask"
users = ["fay"]
tables = ["parts.*"]
columns = ["v"]
mask = "hash"
"""


@pytest.mark.parametrize("kind", [pytest.param("cow", marks=pytest.mark.long), "mor"])
def test_a_user_reads_the_part_that_rules_show(
    hudi_stack: Stack, tmp_path: Path, kind: str
) -> None:
    table = f"parts.{kind}"
    run_sql(
        hudi_stack,
        "CREATE DATABASE IF NOT EXISTS parts",
        f"CREATE TABLE {table} (id INT, v STRING, ts BIGINT, p STRING) USING hudi"
        f" PARTITIONED BY (p) TBLPROPERTIES (type = '{kind}', primaryKey = 'id,v',"
        " preCombineField = 'ts')",
        f"INSERT INTO {table} VALUES (1, 'a', 1, 'x'), (2, 'b', 1, 'y'), (3, 'c', 1, 'x')",
        f"UPDATE {table} SET ts = 2 WHERE id = 3",
    )
    (tmp_path / "access.toml").write_text(RESTRICTED)
    more = f"access.rules = '{tmp_path / 'access.toml'}'\n"
    with (
        serving(hudi_stack, tmp_path / "front.toml", more) as front,
        closing(hive.connect(front.binary.host, front.binary.port, username="fay")) as fay,
    ):
        cursor = fay.cursor()
        found = rows(cursor, f"SELECT id, v, ts, p, _hoodie_record_key FROM {table} ORDER BY id")
        hashes = {each: sha256(each.encode()).hexdigest() for each in "ac"}
        assert found == [(1, hashes["a"], 1, "x", None), (3, hashes["c"], 2, "x", None)]
        assert rows(cursor, f"SELECT count(*) FROM {table} WHERE v IN ('a', 'c')") == [(0,)]
        first = rows(cursor, f"SELECT min(_hoodie_commit_time) FROM {table}")[0][0]
        past = f"SELECT id, v FROM {table} TIMESTAMP AS OF '{first}' ORDER BY id"
        assert rows(cursor, past) == [(1, hashes["a"]), (3, hashes["c"])]
        rows(cursor, f"INSERT INTO {table} SELECT id + 10, v, ts, p FROM {table}")
        for text in (
            f"SELECT * FROM hudi_table_changes('{table}', 'latest_state', '0')",
            f"UPDATE {table} SET ts = 3 WHERE id = 1",
            f"MERGE INTO {table} t USING {table} s ON t.id = s.id WHEN MATCHED THEN DELETE",
        ):
            with pytest.raises(OperationalError, match="CW107"):
                rows(cursor, text)
        rows(cursor, f"SET hoodie.{table}.consume.mode=INCREMENTAL")
        rows(cursor, f"SET hoodie.{table}.consume.start.timestamp={first}")
        with pytest.raises(OperationalError, match="the session reads changes of tables"):
            rows(cursor, f"SELECT id FROM {table}")
    written = run_sql(hudi_stack, f"SELECT id, v FROM {table} WHERE id > 10 ORDER BY id")
    assert written == [(11, hashes["a"]), (13, hashes["c"])]
