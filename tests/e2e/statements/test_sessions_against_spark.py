"""Random histories of a session through the proxy over two clusters, and the same in one plain
session of a third cluster's Thrift Server: the same rows, the same errors.

The two have databases, folders and global views of their own, with the same data. A statement that
is refused does not run in the plain session. CAUSEWAY_SESSIONS is the number of histories,
CAUSEWAY_SEED the seed of the first one.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from pyhive import hive
from TCLIService import ttypes
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TTransportException
from thrift_sasl import TSaslClientTransport

from cli.stack.stack import Stack
from conf.names import TableRef
from metastore.client.metastore_client import HmsClient
from metastore.errors import NoSuchObject
from tests.e2e.conftest import C1, C2, C3, Connect, Tables, rows, run_sql, server
from tests.sessions.histories import LOWER, PINS, UPPER, History, Names, WiderHistory

pytestmark = pytest.mark.e2e

COUNT = int(os.environ.get("CAUSEWAY_SESSIONS", "2"))
SEED = int(os.environ.get("CAUSEWAY_SEED", "7"))
LENGTH = 40


@dataclass(frozen=True, slots=True)
class Side:
    """The names of one of the two. Its names of shared objects begin with `prefix`."""

    prefix: str
    folder: Path

    def names(self) -> Names:
        databases = [f"{self.prefix}_d1", f"{self.prefix}_d2"]
        folders = [str(self.folder / name) for name in ("p1", "p2")]
        return Names(databases, folders, shared=f"{self.prefix}_g")

    def neutral(self, text: str) -> str:
        """The text with neutral names in the place of those of this side."""
        return text.replace(self.prefix, "side").replace(str(self.folder), "folder")


@pytest.fixture(scope="module")
def sides(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> tuple[Side, Side]:
    """The proxy's and the plain session's."""
    folder = tmp_path_factory.mktemp("sessions")
    through, plain = Side("through", folder / "through"), Side("plain", folder / "plain")
    tables = Tables(stack)
    for side in (through, plain):
        for database in side.names().databases:
            run_sql(stack, f"CREATE DATABASE {database}")
            for name in side.names().tables:
                own = C2 if name == "t2" else C1
                cluster = own if side is through else C3
                text = side.neutral(f"{database}.{name}")
                made = f"CREATE TABLE {database}.{name} USING parquet AS SELECT '{text}' AS c"
                run_sql(stack, f"USE CLUSTER {cluster}", made)
                if side is through and name in ("both", "w"):
                    tables.copy(f"{database}.{name}", C2)
    return through, plain


def fill(stack: Stack, side: Side) -> None:
    """Fills the folders for the beginning of a history."""
    for path in side.names().folders:
        name = Path(path).name
        write = f"INSERT OVERWRITE DIRECTORY '{path}' USING parquet SELECT '{name}' AS c"
        run_sql(stack, write, cluster=C1)


def forget(stack: Stack, side: Side) -> None:
    """Drops the objects that outlive a session: functions, permanent and global views.

    A view of itself cannot be dropped by a statement, which ends with a stack overflow: permanent
    views are dropped in the metastore.
    """
    with HmsClient((stack.ports.views[C1],)) as client:
        for database in side.names().databases:
            with suppress(NoSuchObject):
                client.drop_table(TableRef(database, side.names().permanent))
    for cluster in (C1, C2, C3):
        endpoint = server(stack, cluster)
        with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
            session = Talk(side, connection.cursor())
            for database in side.names().databases:
                session.outcome(f"DROP FUNCTION IF EXISTS {database}.f")
            for name in _shared(side):
                session.outcome(f"DROP VIEW IF EXISTS global_temp.{name}")


def _shared(side: Side) -> Sequence[str]:
    """All names that a global view of the side may have after renames."""
    return (*side.names().views, side.names().shared)


_ERROR = ttypes.TOperationState.ERROR_STATE
_GOES_ON = (
    ttypes.TOperationState.INITIALIZED_STATE,
    ttypes.TOperationState.PENDING_STATE,
    ttypes.TOperationState.RUNNING_STATE,
)


@dataclass(frozen=True, slots=True)
class Talk:
    """A session of one side. It waits for its statements asynchronously: a Thrift Server never
    answers a synchronous one that ends with a stack overflow, as that of a view of itself does."""

    side: Side
    cursor: Any

    def outcome(self, sql: str) -> str:
        """The statement's rows or its error's code, with neutral names."""
        try:
            self.cursor.execute(sql, async_=True)
            status = self.ended()
            if status.errorMessage:
                return self.side.neutral(code_of(status.errorMessage))
            return str(sorted(self.side.neutral(str(row)) for row in self.fetched()))
        except hive.OperationalError as error:
            return self.side.neutral(code_of(str(error.args[0].status.errorMessage)))

    def ended(self) -> Any:
        """The last status of the statement. A Thrift Server says ERROR before it can say why."""
        while True:
            status = self.cursor.poll()
            unexplained = status.operationState == _ERROR and not status.errorMessage
            if status.operationState not in _GOES_ON and not unexplained:
                return status
            sleep(0.01)

    def fetched(self) -> list[Any]:
        """The rows of the last statement; none where it has no columns."""
        try:
            return list(self.cursor.fetchall())
        except TypeError:
            return []


def code_of(message: str) -> str:
    """The error's code, or the first line of the message of an error without one."""
    found = re.search(r"\[([A-Z_][\w.]*)\]", message)
    if found is not None:
        return found[1]
    return message.partition("\n")[0].removeprefix("org.apache.hive.service.cli.HiveSQLException: ")


@pytest.fixture
def talks(stack: Stack, sides: tuple[Side, Side]) -> Iterator[Any]:
    """Opens a session of each side."""
    opened: list[tuple[hive.Connection, TSocket]] = []

    def opening(history: History, side: Side, through: bool) -> Talk:
        endpoint = server(stack, None if through else C3)
        socket = TSocket(endpoint.host, endpoint.port)
        connection = hive.connect(
            thrift_transport=TSaslClientTransport(_sasl, "PLAIN", socket),
            configuration=history.opening,
            database=side.names().databases[0],
        )
        opened.append((connection, socket))
        return Talk(side, connection.cursor())

    yield opening
    for connection, socket in opened:
        _close(connection, socket)


def _sasl() -> Any:
    return hive.get_installed_sasl("localhost", "PLAIN", username="ann", password="x")


def _close(connection: hive.Connection, socket: TSocket) -> None:
    """Ends a session. A Thrift Server does not answer where that ends with a stack overflow, as the
    end of a session does that has a temporary view over a view of itself."""
    socket.setTimeout(10_000)  # milliseconds
    with suppress(TTransportException):
        connection.close()
    socket.close()


VIEWS = (
    "CREATE TEMPORARY VIEW v AS SELECT * FROM t1",
    "CACHE TABLE v",
    "UNCACHE TABLE v",
    "ALTER TABLE v RENAME TO x",
    "SELECT * FROM x",
    "CACHE TABLE x",
    "SELECT * FROM x",
    "CREATE OR REPLACE TEMPORARY VIEW x AS SELECT * FROM both",
    "SELECT * FROM x",
    "ALTER VIEW x AS SELECT * FROM t1",
    "UNCACHE TABLE x",
    "CREATE TEMPORARY VIEW v AS SELECT * FROM x",
    "ALTER VIEW x RENAME TO w",
    "SELECT * FROM v",
    "SELECT * FROM w",
    "UNCACHE TABLE IF EXISTS v",
    "DROP VIEW v",
    "CREATE GLOBAL TEMPORARY VIEW {g} AS SELECT * FROM both",
    "ALTER VIEW global_temp.{g} RENAME TO v",
    "SELECT * FROM global_temp.v",
    "REFRESH TABLE global_temp.v",
    "DROP VIEW global_temp.v",
    "CREATE OR REPLACE VIEW pv AS SELECT * FROM t1",
    "CACHE TABLE pv",
    "UNCACHE TABLE pv",
    "CREATE OR REPLACE VIEW pv AS SELECT * FROM both",
    "ALTER VIEW pv AS SELECT * FROM t1",
    "DROP VIEW pv",
    "SELECT '[${{nothing}}]' AS c",
    "SET TIME ZONE LOCAL",
)


@pytest.mark.parametrize("pins", [(), PINS[:2]])
def test_views_that_are_renamed_cached_and_replaced_stay_within_their_claims(
    pins: Sequence[str], stack: Stack, sides: tuple[Side, Side], talks: Any
) -> None:
    empty = History(0)
    empty.opening = {}
    for side in sides:
        forget(stack, side)
    proxied, plain = (talks(empty, side, side is sides[0]) for side in sides)
    for number, statement in enumerate(VIEWS):
        if pins and "CACHE" not in statement:
            proxied.outcome(PINS[number % 2])
        got, wanted = (
            each.outcome(statement.format(g=each.side.names().shared)) for each in (proxied, plain)
        )
        if not (pins and got in ("CW105", "CW106")):
            assert (statement, got) == (statement, wanted)


def test_a_function_that_is_replaced_past_the_proxy_stays_in_sessions_that_used_it(
    connect: Connect, db: str
) -> None:
    """As in a plain session, whichever client replaces it; a dropped one is missing at once."""
    create, call = f"CREATE OR REPLACE FUNCTION {db}.f AS", f"SELECT {db}.f('Ab')"
    for cluster in (None, C1):  # through the proxy, and directly
        session, other = connect(cluster).cursor(), connect(C1).cursor()
        rows(other, f"{create} '{UPPER}'")
        assert rows(session, call) == [("AB",)]
        rows(other, f"{create} '{LOWER}'")
        assert rows(session, call) == [("AB",)]
        assert rows(connect(cluster).cursor(), call) == [("ab",)]
        rows(other, f"DROP FUNCTION {db}.f")
        with pytest.raises(hive.OperationalError):
            rows(session, call)


def test_a_renamed_view_qualifies_its_columns_by_its_first_name(stack: Stack) -> None:
    rename = ("CREATE TEMPORARY VIEW v AS SELECT 1 AS c", "ALTER VIEW v RENAME TO w")
    for cluster, go in ((C3, ()), (None, ()), (None, (f"USE CLUSTER {C2}",))):
        assert run_sql(stack, *rename, *go, "SELECT v.c FROM w", cluster=cluster) == [(1,)]
        with pytest.raises(hive.OperationalError, match=r"UNRESOLVED_COLUMN.*`w`\.`c`"):
            run_sql(stack, *rename, *go, "SELECT w.c FROM w", cluster=cluster)


@pytest.mark.parametrize("seed", range(SEED, SEED + COUNT))
def test_a_session_is_a_plain_spark_session(
    seed: int, stack: Stack, sides: tuple[Side, Side], talks: Any
) -> None:
    for side in sides:
        fill(stack, side)
        forget(stack, side)
    histories = [WiderHistory(seed, side.names()) for side in sides]
    proxied, plain = (
        talks(history, side, side is sides[0])
        for history, side in zip(histories, sides, strict=True)
    )
    outcomes: Counter[str] = Counter()
    transcript: list[str] = []
    pairs = zip(*(each.statements(LENGTH) for each in histories), strict=True)
    for sql, same_sql in pairs:
        got = proxied.outcome(sql)
        transcript.append(f"{sql}  -- {got}")
        assert not got.startswith("CW36"), "\n".join(
            [f"seed {seed}: beyond its claim", *transcript]
        )
        if sql in PINS:
            continue
        outcomes[got if got.startswith("CW") else "served"] += 1
        if not got.startswith("CW"):
            wanted = plain.outcome(same_sql)
            assert got == wanted, "\n".join([f"seed {seed}: directly {wanted}", *transcript])
    print(f"seed {seed}: {dict(outcomes)}")
    assert outcomes["served"] > LENGTH / 2
