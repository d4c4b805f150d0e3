"""A proxy of its own before real Thrift Servers: endpoints die, hang and are drained, the proxy is
reloaded and ended, and found by ZooKeeper, with the commands of operators.

Each endpoint is the address of a process that forwards to a Thrift Server. It can be killed and
stopped without the Thrift Server, which other tests use.
"""

import json
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from pyhive import hive

from bench.proxy import RawClient
from cli.check.report import ok
from cli.check.services import quorum
from cli.check.targets import Quorum
from cli.stack.java import find_java
from cli.stack.stack import free_ports, spark_home
from conf.settings.load import load
from conf.topology import Endpoint
from proxy.protocol.cluster_calls import metadata_call
from tests.e2e.clients.test_proxy_clients import as_documented
from tests.e2e.conftest import C1, C2, rows
from tests.e2e.operations.proxy_site import SLOW, Running, Site, end_process, until
from thriftcodec.values import Struct

pytestmark = pytest.mark.e2e


def test_an_endpoint_dies_in_mid_query_and_another_one_hangs(site: Site) -> None:
    """A write that may have begun is not sent again. One that did not begin runs elsewhere."""
    site.start()
    table = f"default.ops_{os.getpid()}"
    first, second = site.connect().cursor(), site.connect().cursor()
    rows(first, f"CREATE TABLE {table} (id BIGINT) USING parquet")
    rows(second, "SET my.own=1")
    assert site.endpoints_in_use() == {str(each) for each in site.endpoints[:2]}
    write = f"INSERT INTO {table} SELECT count(*) FROM range(0, 40000000) WHERE rand() > 2"
    running = Running(first, write)
    statement = site.running_statement()
    (session,) = (e for e in site.get_admin("sessions") if e["session"] == statement["session"])
    dead, other = sorted(site.endpoints[:2], key=lambda each: str(each) != session["clusters"][C1])
    site.forwarders[dead].kill()
    assert "CW202" in str(running.join().error)
    until(lambda: site.endpoint_states()[str(dead)]["up"] is False)
    assert len(rows(first, f"SELECT * FROM {table}")) <= 1
    assert rows(second, "SET my.own") == [("my.own", "1")]
    assert site.endpoints_in_use() == {str(other)}

    site.forward(dead, site.stack.ports.hs2[C1])
    until(lambda: site.endpoint_states()[str(dead)]["up"] is True)
    site.forwarders[other].send_signal(signal.SIGSTOP)
    until(lambda: site.endpoint_states()[str(other)]["up"] is False)
    began = time.monotonic()
    assert rows(second, "SET my.own") == [("my.own", "1")]
    assert rows(site.connect().cursor(), "SELECT 1") == [(1,)]
    assert time.monotonic() - began < 100  # not the two minutes that a call may take
    site.forwarders[other].send_signal(signal.SIGCONT)
    until(lambda: site.endpoint_states()[str(other)]["up"] is True)
    rows(second, f"DROP TABLE {table}")


def test_statements_without_tables_run_while_the_default_cluster_is_down(
    site: Site,
) -> None:
    """A pool's test query, metadata calls and settings do; a new table does not (D11)."""
    site.start()
    table = f"default.down_{os.getpid()}"
    old = site.connect().cursor()
    rows(old, f"CREATE TABLE {table} USING parquet AS SELECT 1 AS a", "SET my.own=1")
    for endpoint in site.endpoints[:2]:
        site.forwarders[endpoint].kill()
    new = site.connect().cursor()
    for cursor in (new, old):
        assert rows(cursor, "SELECT 1") == [(1,)]
        (explained,) = rows(cursor, "EXPLAIN CLUSTER SELECT 1")
        because = f"no input decides; the default cluster {C1} is down, {C2} is up"
        assert explained[:4] == ("run", C2, "default", because)
    assert ("default",) in rows(new, "SHOW DATABASES")
    with RawClient(site.listen) as client:  # a metadata call: GetTypeInfo
        client.result("GetTypeInfo", metadata_call("GetTypeInfo", client.open(), Struct({})))
    rows(new, "USE default", "SET my.own=2", "CREATE TEMPORARY VIEW seven AS SELECT 7 AS a")
    for statement in (f"SELECT * FROM {table}", "CREATE TABLE default.nowhere (a INT)"):
        with pytest.raises(hive.OperationalError, match=f"CW201.*{C1} is down"):
            new.execute(statement)
    for endpoint in site.endpoints[:2]:
        site.forward(endpoint, site.stack.ports.hs2[C1])
    until(lambda: rows(new, "EXPLAIN CLUSTER SELECT 1")[0][:2] == ("run", C1))
    assert rows(new, "SET my.own") == [("my.own", "2")]
    assert rows(new, f"SELECT v.a, t.a FROM seven v, {table} t") == [(7, 1)]
    assert rows(old, "SET my.own", f"SELECT * FROM {table}") == [(1,)]
    assert site.endpoints_in_use()
    rows(old, f"DROP TABLE {table}")


def test_clients_loop_as_documented_while_a_thrift_server_stops_for_two_seconds(
    site: Site,
) -> None:
    """The session in the cluster is opened, and the statement waits, while nothing answers."""
    site.configure(site.endpoints[:1])
    site.start()
    forwarder = site.forwarders[site.endpoints[0]]
    with ThreadPoolExecutor(4) as pool:
        cursors = [site.connect().cursor() for _ in range(4)]
        rows(cursors[0], "SELECT 1")
        forwarder.send_signal(signal.SIGSTOP)
        answers = [
            pool.submit(as_documented, cursor, f"SELECT id FROM range({number})")
            for number, cursor in enumerate(cursors, 1)
        ]
        time.sleep(2)
        forwarder.send_signal(signal.SIGCONT)
        assert [len(each.result(60)) for each in answers] == [1, 2, 3, 4]


def test_draining_while_statements_run(site: Site) -> None:
    site.start()
    cursor = site.connect().cursor()
    running = Running(cursor, SLOW)
    site.running_statement()
    (busy,) = site.endpoints_in_use()
    site.admin("drain", busy)
    for _ in range(2):
        assert rows(site.connect().cursor(), "SELECT 1") == [(1,)]
    state = site.endpoint_states()
    assert [each["sessions"] for each in state.values() if each["endpoint"] != busy] == [2]
    site.admin("drain", C2)
    with pytest.raises(hive.OperationalError, match=f"CW201.*Cluster {C2} is drained"):
        rows(site.connect().cursor(), f"USE CLUSTER {C2}", "SELECT 1")
    site.admin("resume", C2)
    assert rows(site.connect().cursor(), f"USE CLUSTER {C2}", "SELECT 1") == [(1,)]
    assert running.join().rows == [(0,)]


def test_reload_kill_and_the_end(site: Site) -> None:
    proxy = site.start()
    cursor = site.connect().cursor()
    assert rows(cursor, "SELECT 1") == [(1,)]
    limit = "hive.server2.limit.connections.per.user = 2"
    # SLOW takes three seconds, and on a machine that is busy with all tests ten times as long.
    site.configure(site.endpoints[:1], limit, 'proxy.drain.timeout = "5m"')
    proxy.send_signal(signal.SIGHUP)
    until(lambda: len(site.endpoint_states()) == 1)
    assert rows(cursor, "SELECT 2") == [(2,)]
    good = site.conf.read_text()
    site.conf.write_text("nonsense")
    proxy.send_signal(signal.SIGHUP)
    until(lambda: "not reloaded" in (site.folder / "log").read_text())
    site.conf.write_text(good)
    assert rows(cursor, "SELECT 3") == [(3,)]
    killed = Running(site.connect().cursor(), SLOW)
    site.admin("kill", site.running_statement()["statement"][:12])
    assert killed.join().rows != [(0,)]

    rows(cursor, "SET my.secret.key=hunter2")
    last = Running(cursor, SLOW)
    site.running_statement()
    proxy.send_signal(signal.SIGTERM)
    assert last.join().rows == [(0,)], last.error
    assert proxy.wait(30) == 0
    lines = [json.loads(line) for line in site.audit.read_text().splitlines()]
    found = [each for each in lines if each["event"] == "statement"]
    assert {"login", "session_opened", "administration"} <= {each["event"] for each in lines}
    by_text = {each["text"]: each for each in found}
    assert by_text["SELECT 2"]["rows"] == 1
    assert by_text["SELECT 2"]["user"] == "ann"
    assert [e["state"] for e in found if e["text"] == SLOW] == ["CANCELED", "FINISHED"]
    assert "hunter2" not in site.audit.read_text() + (site.folder / "log").read_text()


def test_clients_find_the_proxy_by_zookeeper(site: Site) -> None:
    """Over each transport: the nodes have transport and path, whether the URL has them or not."""
    zookeeper = _zookeeper(site)
    (http,) = free_ports(1)
    more = [
        "hive.server2.support.dynamic.service.discovery = true",
        f'hive.zookeeper.quorum = "{zookeeper}"',
        'hive.server2.zookeeper.namespace = "causeway"',
        'hive.server2.transport.mode = "all"',
        f"hive.server2.thrift.http.port = {http.port}",
        'hive.server2.thrift.http.path = "some/where"',
    ]
    site.configure(site.endpoints[:1], *more)
    proxy = site.start()
    until(lambda: len(_registered(zookeeper)) == 2)
    settings = load(site.conf).operating.zookeeper
    assert settings is not None
    assert quorum(Quorum(settings), 30.0) == ok("/causeway has 1 servers")
    url = f"jdbc:hive2://{zookeeper}/;serviceDiscoveryMode=zooKeeper;zooKeeperNamespace=causeway"
    java = [str(find_java()), "-Xmx256m", "-cp", f"{spark_home() / 'jars'}/*"]
    for each in (url, f"{url}-http", f"{url}-http;transportMode=http"):
        words = ["org.apache.hive.beeline.BeeLine", "-u", each, "--silent=true"]
        words += ["--showHeader=false", "--outputformat=tsv2", "-e", "SELECT 40 + 2"]
        found = subprocess.run(
            [*java, *words], capture_output=True, text=True, timeout=120, check=False
        )
        assert found.stdout.split()[-1:] == ["42"], found.stderr
    proxy.send_signal(signal.SIGTERM)
    assert proxy.wait(30) == 0
    assert _registered(zookeeper) == []


def _zookeeper(site: Site) -> Endpoint:
    """A real ZooKeeper, of Spark's own jars."""
    jars = spark_home() / "jars"
    if not list(jars.glob("zookeeper-3*.jar")):
        pytest.skip("Spark's jars have no ZooKeeper")
    (where,) = free_ports(1)
    with (site.folder / "zookeeper.log").open("w") as log:
        process = subprocess.Popen(
            [
                *(str(find_java()), "-Xmx128m", "-Dzookeeper.admin.enableServer=false"),
                "-Dorg.apache.logging.log4j.level=ERROR",
                *("-cp", f"{jars}/*", "org.apache.zookeeper.server.ZooKeeperServerMain"),
                *(str(where.port), str(site.folder / "zookeeper")),
            ],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    site.exits.callback(end_process, process)
    return where


def _registered(zookeeper: Endpoint) -> list[str]:
    from kazoo.client import KazooClient
    from kazoo.exceptions import NoNodeError

    client = KazooClient(str(zookeeper))
    client.start(30)
    with closing(client):
        try:
            binary, http = map(client.get_children, ("/causeway", "/causeway-http"))
            return [*binary, *http]
        except NoNodeError:
            return []
        finally:
            client.stop()
