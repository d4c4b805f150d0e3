"""The work of the soak's clients: all that users and their tools do with a server, and what
misbehaving clients do. They decode only what they need.
"""

import http.client
import random
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from bench.proxy import RawClient, fetch
from bench.support.embedded import EAST, WEST
from conf.topology import Endpoint
from proxy.protocol.cluster_calls import (
    RemoteOperation,
    RemoteSession,
    close_session_call,
    execute_call,
    get_info_call,
    metadata_call,
    open_session_call,
    operation_call,
)
from proxy.protocol.replies import (
    opened_session,
    read_operation_status,
    read_result,
    result_failure,
    started_operation,
)
from proxy.protocol.types import ENDS, NEWEST_PROTOCOL, OperationState, Orientation
from thriftcodec.values import CALL, STRING, STRUCT, Message, Struct
from thriftcodec.writer import encode_message

PATIENCE = 120.0  # seconds for any reply
PASSWORD = "open sesame"
USERS = ("ann", "bob", "cleo", "dan")
GUESSER = "127.0.0.2"  # its own address, so that its failures delay no other client
_BATCH = 5000
_ROUTING = range(100, 200)  # our own refusals


@dataclass(frozen=True, slots=True)
class Listeners:
    """Where the server listens."""

    binary: Endpoint
    http: Endpoint


@dataclass(slots=True)
class CallCounts:
    """How often each call was made, and which failures were not expected."""

    done: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def add(self, what: str, failure: str = "") -> None:
        with self.lock:
            self.done[what] += 1
            if failure:
                self.failures.append(f"{what}: {failure}"[:400])


class Refused(Exception):
    """The server refused; `vendor` is the number of its error."""

    def __init__(self, message: str, vendor: int) -> None:
        super().__init__(message)
        self.vendor = vendor


class Way(Protocol):
    """One client's connection."""

    def call(self, request: bytes) -> memoryview | bytes: ...

    def close(self) -> None: ...


class HttpClient:
    """Sends its password once and its cookie afterwards. Sometimes it opens a new connection, which
    may lead to another worker."""

    def __init__(self, door: Endpoint, user: str, dice: random.Random) -> None:
        basic = b64encode(f"{user}:{PASSWORD}".encode()).decode()
        self._headers = {"Authorization": f"Basic {basic}", "Content-Type": "application/x-thrift"}
        self._dice = dice
        self._connection = http.client.HTTPConnection(door.host, door.port, PATIENCE)

    def call(self, request: bytes) -> bytes:
        if self._dice.random() < 0.2:
            self._connection.close()
        self._connection.request("POST", "/cliservice", request, self._headers)
        response = self._connection.getresponse()
        data = response.read()
        if response.status != http.client.OK:
            raise ConnectionError(f"HTTP {response.status}")
        cookie = response.headers.get("Set-Cookie")
        if cookie:
            self._headers.pop("Authorization", None)
            self._headers["Cookie"] = cookie.partition(";")[0]
        return data

    def close(self) -> None:
        self._connection.close()


class Visit:
    """One client, from its connection to its end. `number` chooses its own tables."""

    def __init__(
        self, listeners: Listeners, number: int, dice: random.Random, counts: CallCounts
    ) -> None:
        self._dice = dice
        self._counts = counts
        self._number = number
        self._pinned = False
        user = USERS[number % len(USERS)]
        if dice.random() < 0.4:
            self._way: Way = HttpClient(listeners.http, user, dice)
        else:
            self._way = RawClient(listeners.binary, user, PASSWORD, PATIENCE)
        self._session = self._open(user)

    def _open(self, user: str) -> RemoteSession:
        settings = {"set:hiveconf:spark.sql.shuffle.partitions": "2"}
        request = open_session_call(NEWEST_PROTOCOL, user, settings)
        return opened_session(self._result("OpenSession", request))

    def _result(self, name: str, request: bytes) -> Struct:
        result = read_result(bytes(self._way.call(request)), name)
        failure = result_failure(result)
        if failure is not None:
            raise Refused(failure.message, failure.vendor)
        return result

    # one thing after another

    def do_something(self) -> None:
        """Does one piece of work, and counts its outcome."""
        names, weights = zip(*((deed, weight) for deed, weight in _DEEDS.items()), strict=True)
        deed: Callable[[Visit], None] = self._dice.choices(names, weights)[0]
        name = deed.__name__.strip("_")
        try:
            deed(self)
        except Refused as error:
            expected = self._pinned and error.vendor in _ROUTING
            self._counts.add(name, "" if expected else str(error))
        except Exception as error:
            self._counts.add(name, repr(error))
            raise
        else:
            self._counts.add(name)

    def leave(self, properly: bool = False) -> None:
        """Properly, or as one that is killed; with a call on its way, too."""
        manner = 0.0 if properly else self._dice.random()
        with suppress(OSError, http.client.HTTPException, Refused):
            if manner < 0.6:
                self._result("CloseSession", close_session_call(self._session))
            elif manner < 0.8 and isinstance(self._way, RawClient):
                operation = self._start("SELECT id, repeat('y', 200) FROM range(100000)")
                self._until_ended(operation)
                self._way.send(fetch(operation, Orientation.NEXT, 50_000))  # and never reads it
                self._counts.add("left in mid-fetch")
            elif manner < 0.9:
                self._start("SELECT count(*) FROM range(20000000) WHERE rand() < 0")
                self._counts.add("left in mid-statement")
        self._way.close()

    # deeds

    def _query(self) -> None:
        self.say(f"SELECT count(*), max(a) FROM {self._table()}")

    def _insert(self) -> None:
        self.say(f"INSERT INTO {self._table()} VALUES ({self._dice.randrange(1000)})")

    def _ping(self) -> None:
        self.say("SELECT 1")

    def _big_result(self) -> None:
        """Read whole, or left in the middle; its operation closed, or forgotten."""
        count = self._dice.randrange(1, 60_000)
        operation = self._start(f"SELECT id, repeat('x', 100) FROM range({count})")
        self._until_ended(operation)
        for batch in range(self._dice.randrange(count // _BATCH + 2)):
            orientation = Orientation.FIRST if batch == 0 else Orientation.NEXT
            self._result("FetchResults", fetch(operation, orientation, _BATCH))
        if self._dice.random() < 0.5:
            self._close(operation)

    def _temporary_view(self) -> None:
        self.say(f"CREATE OR REPLACE TEMPORARY VIEW v AS SELECT {self._dice.randrange(9)} AS n")
        self.say("SELECT n FROM v")

    def _setting(self) -> None:
        self.say(f"SET soak.number = {self._dice.randrange(100)}")

    def _travel(self) -> None:
        """To each cluster's own table in turn: the session's changes follow."""
        for cluster in self._dice.sample((EAST, WEST), 2):
            self.say(f"SELECT max(a) FROM {self._table(cluster)}")

    def _pin(self) -> None:
        self.say(f"USE CLUSTER {self._dice.choice((EAST, WEST))}")
        self._pinned = True

    def _unpin(self) -> None:
        self.say("USE CLUSTER")
        self._pinned = False

    def _our_own(self) -> None:
        self.say("SHOW CLUSTERS")
        self.say(f"EXPLAIN CLUSTER SELECT * FROM {self._table()}")

    def _wrong(self) -> None:
        self._refused(self._dice.choice(("SELEC 1", "SELECT * FROM soak.nowhere", "SELECT 1/")))

    def _foreign_write(self) -> None:
        """No cluster has both, and one of them may not be written there."""
        east, west = self._table(EAST), self._table(WEST)
        self._refused(f"INSERT INTO {east} SELECT * FROM {west}")

    def _cancel(self) -> None:
        operation = self._start("SELECT count(*) FROM range(20000000) WHERE rand() < 0")
        time.sleep(self._dice.random() / 2)
        self._result("CancelOperation", operation_call("CancelOperation", operation))
        self._until_ended(operation)
        if self._dice.random() < 0.5:
            self._close(operation)

    def _metadata(self) -> None:
        texts: dict[str, Struct] = {
            "GetTables": Struct({3: (STRING, b"soak"), 4: (STRING, b"%")}),
            "GetColumns": Struct({3: (STRING, b"soak"), 4: (STRING, b"east%"), 5: (STRING, b"%")}),
            "GetSchemas": Struct(),
            "GetTypeInfo": Struct(),
        }
        for name, arguments in texts.items():
            result = self._result(name, metadata_call(name, self._session, arguments))
            operation = started_operation(result)
            self._result("FetchResults", fetch(operation, Orientation.NEXT, 1000))
            self._close(operation)
        self._way.call(get_info_call(self._session, 17))

    def _stranger(self) -> None:
        """A handle and a call that do not exist."""
        fields = Struct({1: (STRUCT, Struct({1: (STRING, bytes(16)), 2: (STRING, bytes(16))}))})
        try:
            self._result("ExecuteStatement", execute_call(RemoteSession(fields), "SELECT 1", {}, 0))
        except Refused:
            self._way.call(encode_message(Message("Sesame", CALL, 0, Struct())))
        else:
            raise AssertionError("a session that was never opened")

    # their parts

    def _table(self, cluster: str | None = None) -> str:
        return f"soak.{cluster or self._dice.choice((EAST, WEST))}{self._number}"

    def say(self, sql: str) -> None:
        """A statement, with a look at its rows."""
        operation = self._start(sql)
        self._until_ended(operation)
        self._result("FetchResults", fetch(operation, Orientation.NEXT, 100))
        if self._dice.random() < 0.7:
            self._close(operation)

    def _refused(self, sql: str) -> None:
        try:
            self._until_ended(self._start(sql))
        except Refused:
            return
        raise AssertionError(f"{sql!r} should have failed")

    def _start(self, sql: str) -> RemoteOperation:
        synchronously = self._dice.random() < 0.3
        request = execute_call(self._session, sql, {}, 0, not synchronously)
        return started_operation(self._result("ExecuteStatement", request))

    def _until_ended(self, operation: RemoteOperation) -> None:
        name = "GetOperationStatus"
        while True:
            status = read_operation_status(self._result(name, operation_call(name, operation)))
            if status.state in ENDS:
                break
        if status.state is OperationState.ERROR:
            failure = status.failure
            assert failure is not None
            raise Refused(failure.message, failure.vendor)

    def _close(self, operation: RemoteOperation) -> None:
        self._result("CloseOperation", operation_call("CloseOperation", operation))


_DEEDS: dict[Callable[[Visit], None], int] = {
    Visit._query: 12,
    Visit._insert: 6,
    Visit._ping: 12,
    Visit._big_result: 12,
    Visit._temporary_view: 6,
    Visit._setting: 6,
    Visit._travel: 8,
    Visit._pin: 3,
    Visit._unpin: 5,
    Visit._our_own: 4,
    Visit._wrong: 6,
    Visit._foreign_write: 4,
    Visit._cancel: 6,
    Visit._metadata: 6,
    Visit._stranger: 4,
}


def work(listeners: Listeners, number: int, until: float, rest: float, counts: CallCounts) -> None:
    """One client after another until the time (monotonic) is over; `rest` seconds, on average,
    lie between two of its deeds."""
    dice = random.Random(number)
    while time.monotonic() < until:
        try:
            visit = Visit(listeners, number, dice, counts)
        except Exception as error:
            counts.add("come", repr(error))
            time.sleep(1.0)
            continue
        counts.add("come")
        with suppress(Exception):  # it is in the counts; who comes next is another client
            for _ in range(dice.randrange(1, 12)):
                visit.do_something()
                time.sleep(dice.random() * 2 * rest)
        visit.leave()
        if dice.random() < 0.1:
            _guess(listeners, dice, counts)


def prepare(listeners: Listeners, clients: int) -> None:
    """Each client's own tables, one in each cluster."""
    visit = Visit(listeners, 0, random.Random(0), CallCounts())
    visit.say("CREATE DATABASE soak")
    for cluster in (EAST, WEST):
        visit.say(f"USE CLUSTER {cluster}")
        for number in range(clients):
            visit.say(f"CREATE TABLE soak.{cluster}{number} (a INT)")
    visit.leave(properly=True)


def _guess(listeners: Listeners, dice: random.Random, counts: CallCounts) -> None:
    """A wrong password, or no bytes at all."""
    try:
        RawClient(listeners.binary, dice.choice(USERS), "guess", PATIENCE, GUESSER).close()
    except PermissionError:
        counts.add("guess")
    except OSError as error:
        counts.add("guess", repr(error))
    else:
        counts.add("guess", "came in with a wrong password")
