"""Clients receive the same from the proxy as from real Thrift Servers directly."""

import asyncio
import hashlib
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
import uvloop
from pyhive.exc import OperationalError
from TCLIService.ttypes import TOperationState

from bench.proxy import RawClient
from cli.stack.stack import Stack
from conf.names import ClusterName
from conf.settings.settings import Settings
from conf.topology import Endpoint, Topology
from metastore.snapshot.snapshot import Snapshot
from pipeline.spark.jar import SPARK_MAJOR
from proxy.protocol.cluster_calls import (
    RemoteSession,
    execute_call,
    fetch_call,
    metadata_call,
    open_session_call,
    operation_call,
)
from proxy.protocol.messages import decode_head
from proxy.protocol.replies import opened_session, started_operation
from proxy.protocol.requests import FetchResults, Handle
from proxy.protocol.types import Orientation
from proxy.server.listeners import ListenAddresses
from proxy.workers.worker import serve
from tests.e2e.conftest import C1, C2, Connect, Sql, rows, server
from thriftcodec.values import LIST, STRING, Items, Struct

pytestmark = pytest.mark.e2e

TYPES = """
SELECT CAST(id AS TINYINT) t, CAST(id AS SMALLINT) s, CAST(id AS INT) i, id b, id > 1 AS bool,
  CAST(id AS FLOAT) f, id / 3 AS d, CAST(id AS DECIMAL(20, 4)) dec, CAST(id AS STRING) str,
  CAST('é' AS BINARY) bin, DATE '2024-02-29' dt, TIMESTAMP '2024-02-29 01:02:03.5' ts,
  array(id, NULL) arr, map('k', id) m, named_struct('x', id) st, NULL n,
  INTERVAL '1' DAY iv, IF(id = 2, NULL, 'not null') maybe
FROM range(5) ORDER BY id
"""
SLOW = "SELECT count(*) FROM range(0, 20000000000) WHERE sqrt(id + rand()) < 0"


def test_every_type_and_null_is_as_directly(connect: Connect) -> None:
    both = []
    for cluster in (None, C1):
        cursor = connect(cluster).cursor()
        cursor.execute(TYPES)
        both.append((cursor.description, cursor.fetchall()))
    assert both[0] == both[1]
    assert len(both[0][1]) == 5


def test_a_large_result_is_the_same(connect: Connect) -> None:
    sums = []
    for cluster in (None, C1):
        cursor = connect(cluster).cursor()
        cursor.arraysize = 20_000
        cursor.execute("SELECT id, sha2(CAST(id AS STRING), 256) FROM range(100000) ORDER BY id")
        digest, count = hashlib.sha256(), 0
        for row in cursor:
            digest.update(repr(row).encode())
            count += 1
        assert count == 100_000
        sums.append(digest.hexdigest())
    assert sums[0] == sums[1]


def test_statements_without_rows_have_none(sql: Sql, db: str) -> None:
    assert sql(f"CREATE TABLE {db}.t (a INT) USING parquet") == []
    assert sql(f"INSERT INTO {db}.t VALUES (1), (2)") == []
    assert sorted(sql(f"SELECT a FROM {db}.t")) == [(1,), (2,)]
    assert sql(f"DROP TABLE {db}.t") == []


def test_asynchronous_execution_and_cancelling(connect: Connect) -> None:
    cursor = connect().cursor()
    cursor.execute(SLOW, async_=True)
    assert cursor.poll().operationState == TOperationState.RUNNING_STATE
    cursor.cancel()
    assert cursor.poll().operationState == TOperationState.CANCELED_STATE
    assert rows(cursor, "SELECT 1") == [(1,)]


def as_documented(cursor: Any, sql: str) -> list[tuple[Any, ...]]:
    """PyHive's documented loop for asynchronous statements; its own tests and Superset have it."""
    cursor.execute(sql, async_=True)
    state = cursor.poll().operationState
    while state in (TOperationState.INITIALIZED_STATE, TOperationState.RUNNING_STATE):
        cursor.fetch_logs()
        state = cursor.poll().operationState
    fetched: list[tuple[Any, ...]] = cursor.fetchall()
    return fetched


@pytest.mark.parametrize("cluster", [None, C1])
def test_pyhives_documented_loop(connect: Connect, sql: Sql, db: str, cluster: ClusterName) -> None:
    sql(f"CREATE TABLE {db}.one_row USING parquet AS SELECT 1 AS number_of_rows")
    cursor = connect(cluster).cursor()
    assert as_documented(cursor, f"SELECT * FROM {db}.one_row") == [(1,)]
    assert cursor.poll().operationState == TOperationState.FINISHED_STATE


def test_eight_clients_loop_as_documented_while_the_cluster_is_busy(
    connect: Connect, sql: Sql, db: str
) -> None:
    """The sessions in the cluster are opened, and the table's facts read, while others compute."""
    sql(f"CREATE TABLE {db}.some USING parquet AS SELECT id FROM range(400000)")

    def count(number: int) -> list[tuple[Any, ...]]:
        text = f"SELECT count(*) FROM {db}.some WHERE sqrt(id + rand()) >= 0 AND {number} >= 0"
        return as_documented(connect().cursor(), text)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, range(8))) == [[(400_000,)]] * 8


def test_an_asynchronous_error_has_its_reason(connect: Connect) -> None:
    cursor = connect().cursor()
    cursor.execute("SELECT * FROM no_such_table", async_=True)
    status = cursor.poll()
    while status.operationState not in (TOperationState.ERROR_STATE,):
        status = cursor.poll()
    assert "TABLE_OR_VIEW_NOT_FOUND" in status.errorMessage
    assert status.sqlState == "42P01"


def test_a_synchronous_error_is_the_text_alone(connect: Connect) -> None:
    statuses = []
    for cluster in (None, C1):
        with pytest.raises(OperationalError) as caught:
            rows(connect(cluster).cursor(), "SELECT * FROM no_such_table")
        status = caught.value.args[0].status
        statuses.append((status.statusCode, status.sqlState, status.errorCode, status.errorMessage))
    assert statuses[0] == statuses[1]


def test_use_of_a_missing_database_has_the_thrift_servers_error(connect: Connect) -> None:
    statuses = []
    for cluster in (None, C1):
        with pytest.raises(OperationalError) as caught:
            rows(connect(cluster).cursor(), "USE no_such_database")
        status = caught.value.args[0].status
        # The proxy answers itself, in the words of Spark 3.5: Spark 4 has others behind the class.
        text = status.errorMessage if SPARK_MAJOR < 4 else status.errorMessage[:40]
        statuses.append((status.statusCode, status.sqlState, status.errorCode, text))
    assert statuses[0] == statuses[1]


def test_beeline(
    beeline: Callable[..., subprocess.CompletedProcess[str]], sql: Sql, db: str
) -> None:
    sql(f"USE CLUSTER {C2}", f"CREATE TABLE {db}.far USING parquet AS SELECT 7 AS seven")
    done = beeline(
        "SHOW CLUSTERS;",
        f"USE {db};",
        "SELECT seven FROM far;",
        f"EXPLAIN CLUSTER SELECT * FROM {db}.far;",
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split("\t")[0] for line in lines[:3]] == ["c1", "c2", "c3"]
    assert "7" in lines
    assert any(line.startswith(f"run\t{C2}\tinputs") for line in lines)


# byte by byte


class Raw:
    """A session at one protocol version, whose replies are compared as bytes."""

    def __init__(self, endpoint: Endpoint, protocol: int) -> None:
        self.client = RawClient(endpoint)
        request = open_session_call(protocol, "ann", {})
        self.session: RemoteSession = opened_session(self.client.result("OpenSession", request))

    def body(self, request: bytes) -> bytes:
        reply = bytes(self.client.call(request))
        return reply[decode_head(reply)[3] :]

    def answers(self, sql: str) -> tuple[bytes, ...]:
        """The replies with the schema, the rows and the empty fetch after them."""
        result = self.client.result("ExecuteStatement", execute_call(self.session, sql, {}, 0))
        return self._of(started_operation(result))

    def metadata(self, name: str, **strings: str) -> tuple[bytes, ...]:
        texts = {int(key[1:]): (STRING, text.encode()) for key, text in strings.items()}
        arguments = Struct(texts)
        if name == "GetTables":
            arguments.set(5, LIST, Items(STRING, [b"TABLE", b"VIEW"]))
        request = metadata_call(name, self.session, arguments)
        return self._of(started_operation(self.client.result(name, request)))

    def fetches(self, sql: str, asks: Sequence[tuple[Orientation, int]]) -> list[bytes]:
        """The reply to each fetch, which is an orientation and a number of rows."""
        request = execute_call(self.session, sql, {}, 0, run_async=False)
        operation = started_operation(self.client.result("ExecuteStatement", request))
        no_handle = Handle(b"", b"")
        return [self.body(fetch_call(operation, FetchResults(no_handle, *ask, 0))) for ask in asks]

    def _of(self, operation: Any) -> tuple[bytes, ...]:
        status = operation_call("GetOperationStatus", operation)
        while self.client.result("GetOperationStatus", status).get(2) in (1, 7):
            pass
        fetch = fetch_call(operation, FetchResults(Handle(b"", b""), 0, 1000, 0))
        schema = operation_call("GetResultSetMetadata", operation)
        log = fetch_call(operation, FetchResults(Handle(b"", b""), 0, 1000, 1))
        return tuple(self.body(each) for each in (schema, fetch, fetch, log))


RawSession = Callable[[Endpoint, int], Raw]


@pytest.fixture
def raw() -> Iterator[RawSession]:
    with ExitStack() as exits:

        def opening(endpoint: Endpoint, protocol: int) -> Raw:
            session = Raw(endpoint, protocol)
            exits.enter_context(session.client)
            return session

        yield opening


@pytest.mark.parametrize("protocol", range(11))
def test_results_are_the_same_bytes_at_every_version(
    stack: Stack, raw: RawSession, protocol: int
) -> None:
    proxied, direct = (raw(server(stack, cluster), protocol) for cluster in (None, C1))
    for statement in (TYPES, "SELECT 1 WHERE false", "SHOW FUNCTIONS LIKE 'a*'"):
        assert proxied.answers(statement) == direct.answers(statement)


NEXT, PRIOR, FIRST = Orientation.NEXT, Orientation.PRIOR, Orientation.FIRST


@pytest.mark.parametrize("incremental", ["true", "false"])
@pytest.mark.parametrize("protocol", [3, 10])
def test_a_result_is_the_same_bytes_in_every_order_of_fetches(
    stack: Stack, raw: RawSession, protocol: int, incremental: str
) -> None:
    asks = [(NEXT, 10)] * 3 + [(NEXT, 4), (NEXT, 4), (PRIOR, 4)] + [(NEXT, 4)] * 3
    asks += [(FIRST, 10), *[(NEXT, 10)] * 4, (PRIOR, 25), (NEXT, 10), *[(NEXT, 30)] * 5]
    proxied, direct = (raw(server(stack, cluster), protocol) for cluster in (None, C1))
    setting = f"SET spark.sql.thriftServer.incrementalCollect = {incremental}"
    ways = []
    for way in (proxied, direct):
        way.fetches(setting, [])
        ways.append(way.fetches("SELECT id, id * 2 AS twice FROM range(0, 100, 1, 3)", asks))
    assert ways[0] == ways[1]
    assert len(set(ways[0])) > 10


@pytest.mark.parametrize("protocol", [3, 5, 10])
def test_a_repeated_literal_gives_the_same_bytes_each_time(
    stack: Stack, raw: RawSession, protocol: int
) -> None:
    asks = (
        [(NEXT, 1000)] * 3,
        [(NEXT, 1), (PRIOR, 1), (NEXT, 1)],
        [(NEXT, 10), (FIRST, 10), (NEXT, 10)],
        [(FIRST, 10), (NEXT, 10)],
        [(PRIOR, 10), (NEXT, 10)],
    )
    proxied, direct = (raw(server(stack, cluster), protocol) for cluster in (None, C1))
    for literal in ("SELECT 1", "select 'x' AS there", "SELECT null"):
        for each in asks:
            assert proxied.fetches(literal, each) == direct.fetches(literal, each)
        assert proxied.answers(literal) == direct.answers(literal)


METADATA = [
    ("GetTypeInfo", {}),
    ("GetCatalogs", {}),
    ("GetSchemas", {"f3": "%"}),
    ("GetTables", {"f3": "%", "f4": "%"}),
    ("GetTableTypes", {}),
    ("GetColumns", {"f3": "%", "f4": "%", "f5": "%"}),
    ("GetFunctions", {"f4": "a%"}),
]


@pytest.mark.parametrize(("name", "strings"), METADATA)
def test_metadata_calls_are_the_same_bytes(
    stack: Stack, raw: RawSession, name: str, strings: dict[str, str]
) -> None:
    proxied, direct = (raw(server(stack, cluster), 9) for cluster in (None, C1))
    assert proxied.metadata(name, **strings) == direct.metadata(name, **strings)


@pytest.fixture
def plain(stack: Stack) -> Iterator[Endpoint]:
    """A proxy without clusters, before one Thrift Server (DC-N1)."""
    settings = Settings(Topology(), (), Endpoint("127.0.0.1", 0), upstream=(server(stack, C1),))
    ready: list[Endpoint] = []
    there, stop = threading.Event(), asyncio.Event()
    loop = uvloop.new_event_loop()

    async def main() -> None:
        def announce(listening: ListenAddresses) -> None:
            assert listening.binary is not None
            ready.append(listening.binary)
            there.set()

        no_loader: Any = None
        serving = asyncio.ensure_future(serve(settings, Snapshot(), no_loader, announce))
        await stop.wait()
        serving.cancel()
        await asyncio.wait([serving])

    thread = threading.Thread(target=loop.run_until_complete, args=(main(),))
    thread.start()
    there.wait(60)
    yield ready[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


def test_a_proxy_without_clusters_changes_nothing(
    stack: Stack, raw: RawSession, plain: Endpoint, sql: Sql
) -> None:
    sql("CREATE DATABASE IF NOT EXISTS cluster")
    proxied, direct = (raw(endpoint, 5) for endpoint in (plain, server(stack, C1)))
    for statement in ("USE cluster", "SELECT current_database()", TYPES, "SHOW DATABASES"):
        ours, theirs = proxied.answers(statement), direct.answers(statement)
        if statement.startswith("USE"):  # a row set without columns is given an empty one
            assert ours[0] == theirs[0]
        else:
            assert ours == theirs
    for name, strings in METADATA:
        assert proxied.metadata(name, **strings) == direct.metadata(name, **strings)
