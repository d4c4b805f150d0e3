"""Real Thrift Servers, a real metastore and the proxy are stopped, killed and started again while
statements run, and a client's network is lost, on a stack of this module.

The tests are in an order in which each server is started again once.
"""

import json
import os
import secrets
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from itertools import count
from urllib.request import urlopen

import pytest
from pyhive import hive
from pyhive.exc import Error
from thrift.transport.TTransport import TTransportException

from cli.stack.plan import METASTORE, VIEW, StackSpec
from cli.stack.stack import free_ports
from conf.names import ClusterName
from pipeline.spark.jar import guard_jar
from tests.e2e.conftest import C1, C2, Tables, rows, run_sql
from tests.e2e.operations.lost_clients import (
    BOUND,
    Fetching,
    has_ended,
    kill_proxy,
    stop_process,
    vanished_client,
)
from tests.e2e.operations.proxy_site import SLOW, Running, Site, until
from tests.e2e.operations.site_facts import (
    cursor_with_state,
    has_state,
    is_up,
    last_audited,
    open_marks,
    placement_of,
    spark_sessions,
    users,
    works_in_c2,
)
from tests.e2e.support.time_zones import DEFAULT, LOCAL, TwoTimeZones
from tests.e2e.support.two_views import SECOND, Load, TwoViews

pytestmark = pytest.mark.e2e
_JDBC = {"use:database": "default"}  # of hive-jdbc's OpenSession
_GONE = (Error, OSError, EOFError, TTransportException)
_WRITE = "INSERT INTO {} SELECT id FROM range(0, 400000000) WHERE sqrt(id + rand()) < 0"


@pytest.fixture(scope="module")
def ui() -> int:
    return free_ports(1)[0].port


@pytest.fixture(scope="module")
def mortal(ui: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoViews]:
    """Its Thrift Servers show their sessions on Spark's own pages, from port `ui` on."""
    spark = {"spark.ui.enabled": "true", "spark.ui.port": str(ui)}
    spec = StackSpec((C1, C2), guard=guard_jar(), spark=spark)
    with TwoTimeZones(spec, tmp_path_factory.mktemp("mortal")) as running:
        yield running


@pytest.fixture(scope="module")
def site(mortal: TwoViews, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One proxy for all tests."""
    with ExitStack() as exits:
        proxy_site = Site(mortal, tmp_path_factory.mktemp("site"), exits, forwarded=False)
        proxy_site.base.append('hive.server2.thrift.bind.host = "0.0.0.0"')
        proxy_site.view_addresses = mortal.view_addresses
        proxy_site.base.append(f'proxy.writes.folder = "{proxy_site.folder / "writes"}"')
        more = ('proxy.health.timeout = "3s"', 'metastore.timeout = "2s"')
        proxy_site.configure(proxy_site.endpoints[:1], *more)
        proxy_site.start()
        yield proxy_site


@pytest.fixture(autouse=True)
def restarted(site: Site) -> Iterator[None]:
    """After a test that failed, the servers that it killed are started again for the next one."""
    yield
    for server in (METASTORE, VIEW, SECOND, C1, C2):
        if not site.stack.is_running(server):
            site.stack.restart(server)


@pytest.fixture(scope="module")
def vanished(site: Site) -> Iterator[None]:
    with vanished_client(site):
        assert "vanished" in users(site)
        yield


@pytest.fixture
def table(site: Site) -> str:
    """A table with the row 1, made in c1, with a copy in c2."""
    name = f"default.t{secrets.token_hex(4)}"
    cursor = site.connect().cursor()
    rows(cursor, f"CREATE TABLE {name} USING parquet AS SELECT CAST(1 AS BIGINT) AS id")
    Tables(site.stack).copy(name, C2)
    assert rows(cursor, f"USE CLUSTER {C2}", f"SELECT * FROM {name}") == [(1,)]
    return name


@pytest.mark.parametrize(("first", "other"), [(C1, C2), (C2, C1)])
def test_a_session_that_moves_between_clusters_keeps_its_time_zone(
    first: ClusterName, other: ClusterName, site: Site
) -> None:
    """The default is that of the cluster of its first statement. LOCAL and RESET have the meaning
    of the server that runs them, and then hold in the other cluster."""
    cursor, show = (
        site.connect().cursor(),
        "SELECT current_timezone(), CAST(timestamp(0) AS STRING)",
    )

    def seen() -> set[str]:
        rows_of = [rows(cursor, f"USE CLUSTER {each}", show) for each in (first, other, first)]
        assert rows_of[0] == rows_of[1] == rows_of[2], "the zone, and a timestamp in it"
        return {str(each[0][0]) for each in rows_of}

    assert seen() == {DEFAULT[first]}
    for cluster in (other, first):
        for statement, zone in (
            ("SET TIME ZONE LOCAL", LOCAL[cluster]),
            ("SET TIME ZONE 'Asia/Kolkata'", "Asia/Kolkata"),
            ("RESET spark.sql.session.timeZone", DEFAULT[cluster]),
            ("SET spark.sql.session.timeZone = Australia/Perth", "Australia/Perth"),
            ("RESET", DEFAULT[cluster]),
        ):
            rows(cursor, f"USE CLUSTER {cluster}", statement)
            assert seen() == {zone}, (statement, cluster)


def test_jobs_of_spark_have_the_id_of_the_statement(site: Site, ui: int) -> None:
    """The id is that of the audit log and of the proxy's log, before the text as it was."""
    text = f"SELECT count(*) FROM range(100) WHERE id <> {secrets.randbelow(10**9)}"
    cursor = site.connect().cursor()
    assert len(rows(cursor, text)) == 1
    cursor.close()

    def audited() -> list[str]:
        lines = [json.loads(line) for line in site.audit.read_text().splitlines()]
        return [each["statement"] for each in lines if each.get("text") == text]

    until(lambda: len(audited()) == 1)
    (statement,) = audited()

    def descriptions() -> list[str]:
        found = []
        for port in (ui, ui + 1):
            base = f"http://127.0.0.1:{port}/api/v1/applications"
            with urlopen(base) as answer:
                (application,) = json.load(answer)
            with urlopen(f"{base}/{application['id']}/jobs") as answer:
                found += [each.get("description", "") for each in json.load(answer)]
        return found

    until(lambda: f"[{statement}] {text}" in descriptions())


def test_a_thrift_server_that_stops_is_reported_and_heals(site: Site, vanished: None) -> None:
    del vanished  # test_a_vanished_client_is_noticed needs it to vanish now
    idle, asking = cursor_with_state(site), cursor_with_state(site)
    with ExitStack() as exits:
        pool = exits.enter_context(ThreadPoolExecutor(1))
        fetching = Fetching(site, exits)
        querying = Running(site.connect().cursor(), SLOW)
        site.running_statement()
        stop_process(site.stack.pid(C1))
        began = time.monotonic()
        rest = pool.submit(fetching.rest)
        try:
            assert works_in_c2(site)
            with pytest.raises(Error, match=r"CW20[12]"):
                asking.execute("SELECT 1")
            assert querying.join().rows == [(0,)], "in another cluster"
            assert rest.result() < fetching.length
            assert time.monotonic() - began < BOUND
            assert works_in_c2(site)
            with pytest.raises(Error, match=f"CW201.*{C1} is down"):
                rows(site.connect().cursor(), f"USE CLUSTER {C1}", "SELECT 1")
        finally:
            os.kill(site.stack.pid(C1), signal.SIGCONT)
    until(lambda: is_up(site))
    assert has_state(idle)
    assert has_state(asking)


def test_views_are_killed_one_after_the_other_under_load(site: Site, table: str) -> None:
    """All statements go on: writes and reads by the proxy, direct writes, changes of a table. No
    read of the copy lacks a write that had ended."""
    direct, altered = f"{table}_direct", f"{table}_altered"
    setup = site.connect().cursor()
    rows(setup, f"CREATE TABLE {direct} (id BIGINT) PARTITIONED BY (ds STRING) STORED AS TEXTFILE")
    rows(setup, f"CREATE TABLE {altered} (id BIGINT) USING parquet")
    reading, there, past, copying = (site.connect().cursor() for _ in range(4))
    rows(there, f"USE CLUSTER {C2}")
    server = site.stack.ports.hs2[C1]
    connection = hive.connect(server.host, server.port)
    spark = connection.cursor()
    written, refused, number = [1], [0], count(2)

    def write() -> None:
        rows(setup, f"INSERT INTO {table} VALUES ({next(number)})")
        written[0] += 1
        time.sleep(1.5)  # a copy can be made

    def copy() -> None:
        with suppress(Error):  # it is being written
            rows(copying, f"ALTER TABLE {table} COPY {C1} TO {C2}")

    def read() -> str | None:
        least = written[0]
        (found,) = rows(reading, f"SELECT count(*) FROM {table}")[0]
        return None if found >= least else f"{found} rows of {least}"

    def read_copy() -> str | None:
        least, refused[0] = written[0], refused[0] + 1
        try:
            (found,) = rows(there, f"SELECT count(*) FROM {table}")[0]
            refused[0] -= 1
        except Error as error:
            return None if "CW1" in str(error) else str(error)
        return None if found >= least else f"a stale copy: {found} rows of {least}"

    def alter() -> None:
        rows(past, f"ALTER TABLE {altered} SET TBLPROPERTIES ('n' = '{next(number)}')")

    def write_directly() -> None:
        spark.execute(f"INSERT INTO {direct} PARTITION (ds = '{next(number)}') VALUES (1)")

    acts = {each.__name__: each for each in (write, copy, read, read_copy, alter, write_directly)}
    kills = []
    with closing(connection), Load(acts, rare=frozenset(["copy"])) as load:
        load.await_rounds(1, 120)
        for view in (VIEW, SECOND):
            os.kill(site.stack.pid(view), signal.SIGKILL)
            kills.append(time.monotonic())
            load.await_rounds(2, 120)
            site.stack.restart(view)
            load.await_rounds(1, 120)
    for name in load.times:
        around = [load.longest(name, at, at + 5) for at in kills]
        print(name, [f"{each:.1f}" for each in around], f"{load.longest(name, 0, kills[0]):.1f}")
    print("reads of the copy", len(load.times["read_copy"]), "refused", refused[0])
    assert load.wrong == []
    assert rows(reading, f"SELECT count(*) FROM {table}") == [(written[0],)]
    assert open_marks(site, table) == []


def test_the_metastore_is_killed_and_started_again(site: Site, table: str) -> None:
    cursor, there = site.connect().cursor(), site.connect().cursor()
    assert rows(cursor, f"SELECT * FROM {table}") == [(1,)]
    assert rows(there, f"USE CLUSTER {C2}", f"SELECT * FROM {table}") == [(1,)]
    os.kill(site.stack.pid(METASTORE), signal.SIGKILL)
    until(lambda: not site.stack.is_running(METASTORE))
    assert rows(cursor, "SELECT id FROM range(2)") == [(0,), (1,)]
    new = site.connect().cursor()  # which begins with USE default
    assert rows(new, "SELECT 1") == [(1,)]
    jdbc = site.connect(configuration=_JDBC).cursor()
    assert rows(jdbc, "SET my.own=7", "SELECT ${my.own}") == [(7,)]
    for each in (cursor, new, jdbc):
        with pytest.raises(Error, match=r"CW226.*c1 cannot reach the metastore|CW301"):
            each.execute(f"SELECT * FROM {table}")
    assert rows(cursor, f"EXPLAIN CLUSTER SELECT * FROM {table}")[0][:2] == ("run", C1)
    with pytest.raises(Error, match=r"CW1\d\d"):
        there.execute(f"SELECT * FROM {table}")  # whether the copy is fresh is unknown
    with pytest.raises(Error, match="CW301"):
        cursor.execute("SELECT * FROM default.never_asked_for")
    with pytest.raises(Error, match="CW301"):
        cursor.execute(f"INSERT INTO {table} VALUES (3)")
    site.stack.restart(METASTORE)
    run_sql(site.stack, f"INSERT INTO {table} VALUES (2)", cluster=C1)  # past the proxy
    assert sorted(rows(cursor, f"SELECT * FROM {table}")) == [(1,), (2,)]
    with pytest.raises(Error, match=r"CW1\d\d"):
        there.execute(f"SELECT * FROM {table}")
    assert rows(cursor, f"INSERT INTO {table} VALUES (3)", f"SELECT max(id) FROM {table}") == [(3,)]


def test_a_thrift_server_is_killed_and_started_again(site: Site, table: str) -> None:
    """Running statements fail with that reason and do not run twice; sessions go on."""
    idle, writing = cursor_with_state(site), cursor_with_state(site)
    with ExitStack() as exits:
        fetching = Fetching(site, exits)
        reading = site.connect().cursor()
        reading.execute("SELECT id FROM range(200000)")
        delivered = [reading.fetchone() for _ in range(5500)]
        write = Running(writing, _WRITE.format(table))
        site.running_statement()
        assert len(open_marks(site, table)) == 1
        os.kill(site.stack.pid(C1), signal.SIGKILL)
        assert "CW202" in str(write.join().error)
        assert fetching.rest() < fetching.length
        with pytest.raises(Error, match="CW202"):
            delivered.extend(iter(reading.fetchone, None))
        assert delivered == [(number,) for number in range(len(delivered))]
    assert works_in_c2(site)
    with pytest.raises(Error, match=f"CW201.*{C1} is down"):
        idle.execute("SELECT 1")
    assert len(open_marks(site, table)) == 1
    with pytest.raises(Error, match=r"CW1\d\d"):
        rows(site.connect().cursor(), f"USE CLUSTER {C2}", f"SELECT * FROM {table}")
    site.stack.restart(C1)
    until(lambda: is_up(site))
    assert has_state(idle)
    assert has_state(writing)
    until(lambda: open_marks(site, table) == [])
    assert rows(writing, f"SELECT * FROM {table}") == [(1,)]
    with pytest.raises(Error, match=r"CW1\d\d"):
        rows(site.connect().cursor(), f"USE CLUSTER {C2}", f"SELECT * FROM {table}")
    log = (site.folder / "log").read_text()
    assert "the end of a write is not known; copies stay unread" in log
    assert "a write whose end was not known has ended" in log


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_a_read_goes_on_in_another_cluster_when_its_own_dies(
    how: signal.Signals, site: Site, table: str
) -> None:
    """Its client receives the rows, and the audit log has both clusters."""
    text = f"SELECT t.id, count(*) FROM {table} t, range(0, 40000000) r {_SLOWLY} GROUP BY t.id"
    cursor = site.connect().cursor()
    rows(cursor, "SET my.own=7", "CREATE TEMPORARY VIEW mine AS SELECT ${my.own} AS a")
    reading = Running(cursor, f"{text} HAVING count(*) > (SELECT count(*) FROM mine WHERE a <> 7)")
    site.running_statement()
    ended = site.connect().cursor()
    ended.execute(f"SELECT id FROM {table}")
    assert ended.description == [("id", "BIGINT_TYPE", None, None, None, None, True)]
    server = site.stack.pid(C1)
    os.kill(server, how)
    until(lambda: has_ended(server))  # it may have sent the rows without the end of the result
    assert ended.fetchall() == [(1,)]
    assert reading.join().error is None
    assert reading.rows == [(1, 40_000_000)]
    cursor.close()
    until(lambda: last_audited(site, text).get("state") == "FINISHED")
    line = last_audited(site, text)
    assert (line["cluster"], line["rule"]) == (C2, "lost")
    assert line["because"].startswith(f"{C1} was lost while it ran the statement")
    begun_later, cursor = f"SELECT id + 1 FROM {table}", site.connect().cursor()
    assert rows(cursor, begun_later) == [(2,)]
    cursor.close()
    until(lambda: last_audited(site, begun_later).get("state") == "FINISHED")
    assert last_audited(site, begun_later)["because"] == f"{C1} is down, and {C2} has all inputs"
    site.stack.restart(C1)
    until(lambda: is_up(site))


_SLOWLY = "WHERE sqrt(r.id + rand()) >= 0"


def test_a_vanished_client_is_noticed(site: Site, vanished: None) -> None:
    """Nothing reports its end. The proxy notices it within a minute."""
    del vanished
    until(lambda: "vanished" not in users(site), patience=75.0)


def test_a_killed_proxy_leaves_nothing_in_the_thrift_servers(site: Site, ui: int) -> None:
    cursor = site.connect().cursor()
    assert rows(cursor, "SELECT id FROM range(2)") == [(0,), (1,)]
    running = Running(site.connect().cursor(), SLOW)
    site.running_statement()
    assert spark_sessions(ui) >= 2
    kill_proxy(site)
    with pytest.raises(_GONE):
        cursor.execute("SELECT 1")
    assert isinstance(running.join().error, _GONE)
    until(lambda: spark_sessions(ui) == 0)


def test_the_next_proxy_removes_the_marks_of_one_that_was_killed(site: Site, ui: int) -> None:
    """No proxy runs after the previous test."""
    site.start()
    name = f"default.t{secrets.token_hex(4)}"
    rows(site.connect().cursor(), f"CREATE TABLE {name} USING parquet AS SELECT 1L AS id")
    Tables(site.stack).copy(name, C2)
    writing = Running(site.connect().cursor(), _WRITE.format(name))
    site.running_statement()
    assert len(open_marks(site, name)) == 1
    kill_proxy(site)
    assert isinstance(writing.join().error, _GONE)
    assert len(open_marks(site, name)) == 1
    site.start()
    until(lambda: not open_marks(site, name))
    placed = placement_of(site, name)
    assert not any(map(placed.is_fresh, placed.copies))
    assert spark_sessions(ui) == 0
    assert rows(site.connect().cursor(), f"SELECT * FROM {name}") == [(1,)]
