"""Measures the cost of the proxy against the Thrift Server directly and HAProxy, in one run.

    python -m bench.proxy                                        # its own embedded stack
    python -m bench.proxy --direct HOST:PORT --proxy HOST:PORT   # one that runs

The client is a bare socket that decodes nothing, so that its own work is small. Each round uses
each way once, in turn. Ratios and differences are medians of the rounds' own. The first lines are
the statements of a dashboard, from ExecuteStatement to CloseOperation, each with a new text.
"""

import argparse
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import Self

from bench.support.dashboard import QUESTIONS, SCHEMA, Question
from bench.support.embedded import EAST, embedded
from conf.topology import Endpoint
from pipeline.spark.jar import guard_jar
from proxy.protocol.cluster_calls import (
    RemoteOperation,
    RemoteSession,
    close_session_call,
    execute_call,
    fetch_call,
    get_info_call,
    open_session_call,
    operation_call,
)
from proxy.protocol.framing import client_negotiation
from proxy.protocol.replies import (
    opened_session,
    read_operation_status,
    read_result,
    result_failure,
    started_operation,
)
from proxy.protocol.requests import FetchResults, Handle
from proxy.protocol.types import ENDS, NEWEST_PROTOCOL, Orientation
from saslauth.negotiation import read_sasl_reply
from thriftcodec.values import BOOL, CALL, STRING, STRUCT, Message, Struct
from thriftcodec.writer import encode_message

ROWS, BATCH = 1_000_000, 10_000
WIDE = (
    f"SELECT id, id * 2 AS twice, CAST(id AS DOUBLE) AS real, CAST(id AS STRING) AS name"
    f" FROM range({ROWS})"
)
SPARK_THREADS = 110  # a Thrift Server makes a thread for each of its first 100 statements
_NOBODY = Handle(b"", b"")
_numbers = count()  # of statements, so that no two texts are the same
_DBMS_NAME = 17


class RawClient:
    """A connection that sends whole calls and reads whole replies."""

    def __init__(
        self,
        endpoint: Endpoint,
        user: str = "bench",
        password: str = "bench",
        patience: float | None = None,
        source: str = "",
    ) -> None:
        """Raises PermissionError; `patience` is in seconds, `source` an address of ours."""
        where, ours = (endpoint.host, endpoint.port), (source, 0) if source else None
        self._socket = socket.create_connection(where, patience, ours)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray(64 << 10)
        self._socket.sendall(client_negotiation(user, password))
        word = read_sasl_reply(
            bytes(head := self._read(5)) + bytes(int.from_bytes(head[1:], "big"))
        )
        assert word is not None
        self._read(word.used - 5)
        if not word.ok:
            self._socket.close()
            raise PermissionError(f"{user} is not let in")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._socket.close()

    def call(self, request: bytes) -> memoryview:
        """The reply's bytes, valid until the next call."""
        self.send(request)
        return self._read(int.from_bytes(self._read(4), "big"))

    def send(self, request: bytes) -> None:
        self._socket.sendall(len(request).to_bytes(4, "big") + request)

    def close(self) -> None:
        self._socket.close()

    def result(self, name: str, request: bytes) -> Struct:
        result = read_result(bytes(self.call(request)), name)
        failure = result_failure(result)
        if failure is not None:
            raise RuntimeError(f"{name}: {failure.message}")
        return result

    def open(self) -> RemoteSession:
        request = open_session_call(NEWEST_PROTOCOL, "bench", {})
        return opened_session(self.result("OpenSession", request))

    def execute(self, session: RemoteSession, sql: str) -> RemoteOperation:
        """Executes a statement synchronously, as PyHive does."""
        request = Struct(
            {
                1: (STRUCT, session.fields),
                2: (STRING, sql.encode()),
                4: (BOOL, False),
            }
        )
        message = Message("ExecuteStatement", CALL, 0, Struct({1: (STRUCT, request)}))
        return started_operation(self.result("ExecuteStatement", encode_message(message)))

    def _read(self, count: int) -> memoryview:
        if count > len(self._buffer):
            self._buffer = bytearray(count)
        view = memoryview(self._buffer)[:count]
        at = 0
        while at < count:
            got = self._socket.recv_into(view[at:])
            if not got:
                raise ConnectionError("the server closed the connection")
            at += got
        return view


@dataclass(frozen=True)
class Way:
    """One way to the same Thrift Server, with a warm session of its own."""

    name: str
    endpoint: Endpoint
    client: RawClient
    session: RemoteSession

    @cached_property
    def wide(self) -> RemoteOperation:
        """Executes a query with many rows. Call it just before fetching them, because they fill the
        server's memory."""
        return self.client.execute(self.session, WIDE)


def _open(way: Way) -> None:
    with RawClient(way.endpoint) as client:
        client.result("CloseSession", close_session_call(client.open()))


def _get_info(way: Way) -> None:
    for _ in range(20):
        way.client.call(get_info_call(way.session, _DBMS_NAME))


def _synchronously(way: Way, sql: str) -> None:
    """Runs a statement as PyHive does."""
    read_and_close(way.client, way.client.execute(way.session, sql))


def _by_polls(way: Way, sql: str) -> None:
    """Runs a statement as hive-jdbc and most other clients do."""
    request = execute_call(way.session, sql, {}, 0)
    operation = started_operation(way.client.result("ExecuteStatement", request))
    while True:
        request = operation_call("GetOperationStatus", operation)
        status = read_operation_status(way.client.result("GetOperationStatus", request))
        if status.state in ENDS:
            break
    read_and_close(way.client, operation)


def read_and_close(client: RawClient, operation: RemoteOperation) -> None:
    """Requests the schema of a finished operation, reads its rows and closes it."""
    client.result("GetResultSetMetadata", operation_call("GetResultSetMetadata", operation))
    client.result("FetchResults", fetch(operation, Orientation.NEXT, 1000))
    client.result("CloseOperation", operation_call("CloseOperation", operation))


def _asked(question: Question, ask: Callable[[Way, str], None], way: Way) -> None:
    ask(way, question.text(next(_numbers)))


def _fetch_all(way: Way) -> None:
    total = 0
    for batch in range(ROWS // BATCH):
        orientation = Orientation.FIRST if batch == 0 else Orientation.NEXT
        total += len(way.client.call(fetch(way.wide, orientation, BATCH)))
    assert total > ROWS * 20, f"{total} bytes are not {ROWS} rows"


def fetch(operation: RemoteOperation, orientation: Orientation, rows: int) -> bytes:
    return fetch_call(operation, FetchResults(_NOBODY, orientation, rows, 0))


@dataclass(frozen=True, slots=True)
class Measure:
    """`each` is how many calls one timing has; `warm` rounds are run first and not counted."""

    name: str
    run: Callable[[Way], None]
    rounds: int
    target: str
    each: int = 1
    warm: int = 2


_MORE = "<= + 1.5 ms"
DASHBOARD = tuple(
    Measure(f"{question.name}{how}", partial(_asked, question, ask), 60, _MORE, warm=20)
    for how, ask in ((", synchronous", _synchronously), (", with polls", _by_polls))
    for question in QUESTIONS
)
MEASURES = (
    *DASHBOARD,
    Measure("open and close a session", _open, 40, "<= 0.1 x"),
    Measure("GetInfo", _get_info, 40, "", 20),
    *(
        Measure(f"SELECT 1, {how}", partial(ask, sql="SELECT 1"), 900, _MORE, warm=SPARK_THREADS)
        for how, ask in (("synchronous", _synchronously), ("with polls", _by_polls))
    ),
    Measure(f"fetch {ROWS:,} x 4 rows", _fetch_all, 12, "<= 1.03 x"),
)


def measure(ways: list[Way], rounds: float = 1.0) -> Iterator[str]:
    """The lines of the table, one for each measure and way; all are compared with the first way."""
    yield f"{'':38} {'':9} {'median ms':>10} {'ratio':>7} {'+ ms':>8}  target for Causeway"
    for each in MEASURES:
        times: dict[str, list[float]] = {way.name: [] for way in ways}
        for number in range(max(3, round(each.rounds * rounds)) + each.warm):
            for way in ways if number % 2 else reversed(ways):
                began = time.perf_counter()
                each.run(way)
                if number >= each.warm:
                    times[way.name].append((time.perf_counter() - began) * 1000 / each.each)
        direct = times[ways[0].name]
        for way in ways:
            pairs = list(zip(times[way.name], direct, strict=True))
            ratio = statistics.median(mine / base for mine, base in pairs)
            plus = statistics.median(mine - base for mine, base in pairs)
            middle = statistics.median(times[way.name])
            target = each.target if way is ways[-1] else ""
            yield f"{each.name:38} {way.name:9} {middle:10.3f} {ratio:7.2f} {plus:8.3f}  {target}"


@contextmanager
def haproxy(target: Endpoint) -> Iterator[tuple[Endpoint, int] | None]:
    """HAProxy in TCP mode before the Thrift Server, with its pid; None if it is not installed."""
    program = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if program is None:
        yield None
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "haproxy.cfg")
        settings.write_text(
            "defaults\n mode tcp\n timeout connect 5s\n timeout client 1h\n timeout server 1h\n"
            f"frontend f\n bind 127.0.0.1:{port}\n default_backend b\n"
            f"backend b\n server s {target}\n"
        )
        process = subprocess.Popen([program, "-q", "-f", str(settings)])
        try:
            _wait_for(port)
            yield Endpoint("127.0.0.1", port), process.pid
        finally:
            process.terminate()
            process.wait()


def _wait_for(port: int) -> None:
    for _ in range(100):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("HAProxy does not listen")


def run(direct: Endpoint, proxy: Endpoint, rounds: float = 1.0) -> None:
    """Prints the table. Makes the dashboard's tables unless they are there."""
    _fill(proxy)
    with ExitStack() as exits:
        between = exits.enter_context(haproxy(direct))
        ways = []
        for name, endpoint in (
            ("direct", direct),
            ("HAProxy", between and between[0]),
            ("Causeway", proxy),
        ):
            if endpoint is None:
                print("HAProxy is not installed; its rows are left out.")
                continue
            client = exits.enter_context(RawClient(endpoint))
            ways.append(Way(name, endpoint, client, client.open()))
        for line in measure(ways, rounds):
            print(line, flush=True)


def _fill(proxy: Endpoint) -> None:
    with RawClient(proxy) as client:
        session = client.open()
        for sql in SCHEMA:
            client.execute(session, sql)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.proxy", description=__doc__)
    parser.add_argument("--direct", type=Endpoint.parse, help="a running Thrift Server")
    parser.add_argument("--proxy", type=Endpoint.parse, help="a running Causeway before it")
    parser.add_argument("--rounds", type=float, default=1.0, help="more or fewer (%(default)s)")
    args = parser.parse_args()
    if args.direct and args.proxy:
        run(args.direct, args.proxy, args.rounds)
        return
    with embedded(EAST, guard=guard_jar()) as (stack, proxy):
        run(stack.ports.hs2[EAST], proxy, args.rounds)


if __name__ == "__main__":
    main()
