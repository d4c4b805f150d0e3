"""A session over two clusters is one Spark session, by a model of Spark, in thousands of histories.

The proxy's own code runs: sessions, replay, analysis, decisions, statements; only the connections
to the clusters are stand-ins. CAUSEWAY_HISTORIES is how many histories there are,
CAUSEWAY_SEED the first one's seed.
"""

import asyncio
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from conf.names import ClusterName, TableRef
from conf.partitions import Holders, TableFacts
from conf.settings import Settings
from conf.topology import Cluster, Endpoint, Topology
from proxy.errors import Failure
from proxy.net import session as session_module
from proxy.net.facts import Decider
from proxy.net.limits import Limits
from proxy.net.lines import Lines
from proxy.net.operation import Operation
from proxy.net.replay import SessionReplay
from proxy.net.session import Session
from proxy.net.statement import Statement
from proxy.session.handles import new_handle
from proxy.session.journal import Journal
from proxy.session.session import SessionState
from proxy.wire.replies import Status
from proxy.wire.requests import ExecuteStatement, RemoteOperation
from proxy.wire.types import OperationState, OperationType
from tests.proxy.net.fakes import FakeMetastore
from tests.sessions.histories import LOWER, PINS, UPPER, History, Names
from tests.sessions.spark_model import SQLSTATES, Metastore, Rows, Server, SparkError, SparkSession

COUNT = int(os.environ.get("CAUSEWAY_HISTORIES", "150"))
SEED = int(os.environ.get("CAUSEWAY_SEED", "16"))
LENGTH = 40
C1, C2 = ClusterName("c1"), ClusterName("c2")
BOTH = frozenset({C1, C2})
TOPOLOGY = Topology(
    {name: Cluster(name, f"hdfs://{name}", (Endpoint(str(name), 1),)) for name in (C1, C2)},
    C1,
)
HOMES = {"t1": {C1}, "t2": {C2}, "both": BOTH, "w": BOTH}
# What a statement may be refused for that a plain session runs.
REFUSALS = frozenset({"CW101", "CW103", "CW104", "CW105", "CW106", "CW203"})


def metastore() -> Metastore:
    names = Names()
    full = [f"{database}.{name}" for database in names.databases for name in names.tables]
    tables: dict[str, Rows] = {name: ((name,),) for name in full}
    return Metastore(
        {**tables, "default.none": ()}, files={each: ((each,),) for each in names.folders}
    )


class Snapshot(FakeMetastore):
    def facts(self, ref: TableRef, selectors: object = None) -> TableFacts | None:
        if str(ref) not in self.primaries:
            return None
        primary, copies = self.primaries[str(ref)], HOMES.get(ref.name, BOTH)
        return TableFacts(Holders(primary, frozenset(copies - {primary})))


class FakeLink:
    """A cluster's session with its model in the place of a connection."""

    def __init__(
        self, lines: Lines, cluster: Cluster, spark: SparkSession, journal: Journal
    ) -> None:
        self.cluster = cluster.name
        self.endpoint = cluster.hs2[0]
        self.alive = True
        self.replay = SessionReplay(cluster.name, self.endpoint, journal, lines.functions, self.run)
        self.rows: Rows = ()
        self.failure: Failure | None = None
        self._spark = spark

    async def run(self, sql: str) -> Failure | None:
        try:
            self.rows, self.failure = self._spark.execute(sql), None
        except SparkError as error:
            self.failure = Failure(f"[{error.code}]", SQLSTATES.get(error.code))
        return self.failure

    async def execute(self, statement: str, *_: object, **__: object) -> RemoteOperation:
        await self.run(statement)
        return RemoteOperation({})

    def ping_call(self, statement: str, *_: object) -> bytes:
        return statement.encode()

    async def ping(self, request: bytes) -> RemoteOperation:
        return await self.execute(request.decode())

    async def end_of(self, _: RemoteOperation) -> Status:
        if self.failure is None:
            return Status(OperationState.FINISHED)
        return Status(OperationState.ERROR, self.failure)

    def ask(self, *_: object) -> None: ...

    def drop(self) -> None:
        self.alive = False

    async def close(self) -> None:
        self.alive = False


@dataclass
class Proxied:
    """A session of the proxy over the models of two clusters."""

    opening: Mapping[str, str]
    store: Metastore = field(default_factory=metastore)
    lines: Lines = field(default_factory=lambda: Lines(Limits()))

    def __post_init__(self) -> None:
        self.servers = {
            cluster: Server(
                self.store, frozenset(name for name, homes in HOMES.items() if cluster not in homes)
            )
            for cluster in (C1, C2)
        }
        self.links: list[FakeLink] = []
        primaries = {name: C2 if name.endswith(".t2") else C1 for name in self.store.tables}
        snapshot = Snapshot(primaries, databases=set(self.store.databases))
        self.decider = Decider(Settings(TOPOLOGY, ()), snapshot, snapshot)
        self.state = SessionState.opened("ann", 5, self.opening, TOPOLOGY)
        self.session = Session(new_handle(), self.state, self.lines)

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Sessions in clusters are opened here from now on."""
        opener = type("Opener", (), {"open": staticmethod(self.open_link)})
        monkeypatch.setattr(session_module, "Link", opener)

    async def open_link(
        self, lines: Lines, cluster: Cluster, user: str, protocol: int,
        configuration: Mapping[str, str], journal: Journal,
    ) -> FakeLink:  # fmt: skip
        spark = SparkSession(self.servers[cluster.name], dict(configuration))
        link = FakeLink(lines, cluster, spark, journal)
        self.links.append(link)
        return link

    def lose(self) -> None:
        """The connections to the clusters break, and with them the clusters' sessions."""
        for link in self.links:
            link.drop()

    async def execute(self, sql: str) -> Rows | str:
        """Its rows, or the code of its error."""
        operation = Operation(new_handle(), OperationType.EXECUTE_STATEMENT)
        request = ExecuteStatement(self.session.handle, sql, {}, False, 0)
        await Statement(self.session, operation, request, self.decider, linger=0).run(lambda: None)
        failure = operation.status.failure
        if failure is not None:
            return code_of(failure.message)
        assert operation.state is OperationState.FINISHED, operation.state
        return () if not operation.record.cluster else self.links_of(operation).rows

    def links_of(self, operation: Operation) -> FakeLink:
        return next(
            each for each in reversed(self.links) if each.cluster == operation.record.cluster
        )


def code_of(message: str) -> str:
    found = re.search(r"\[([A-Z_][\w.]*)\]", message)
    return message if found is None else found[1]


def plain(session: SparkSession, sql: str) -> Rows | str:
    try:
        return session.execute(sql)
    except SparkError as error:
        return error.code


async def live(seed: int, monkeypatch: pytest.MonkeyPatch, outcomes: Counter[str]) -> None:
    """One history; a refused statement is not run in the plain session either."""
    history = History(seed)
    opening = {**history.opening, "use:database": "d1"}
    direct = SparkSession(Server(metastore()), opening)
    proxied = Proxied(opening)
    proxied.patch(monkeypatch)
    told: list[str] = []
    for number, sql in enumerate(history.statements(LENGTH)):
        if seed % 2 and number % 13 == 12:
            proxied.lose()
        got = await proxied.execute(sql)
        told.append(f"{sql}  -- {got}")
        if sql in PINS:
            continue
        if isinstance(got, str) and got.startswith("CW"):
            outcomes[got] += 1
            assert got in REFUSALS, "\n".join([f"seed {seed}", *told])
            assert justified(got, proxied, sql), "\n".join([f"seed {seed}", *told])
            continue
        outcomes["error" if isinstance(got, str) else "rows"] += 1
        wanted = plain(direct, sql)
        same = got == wanted or sql.startswith("USE ")
        assert same, "\n".join([f"seed {seed}: a plain session says {wanted}", *told])


def justified(code: str, proxied: Proxied, sql: str) -> bool:
    """Whether there is anything for which the statement could be refused so."""
    if code == "CW106":
        return bool(proxied.state.objects.homes())
    if code == "CW103":  # a table that is there is the new name of one that is not
        return proxied.state.pinned is not None and "RENAME TO" in sql
    if code in ("CW104", "CW105"):
        return proxied.state.pinned is not None or "JOIN" in str(proxied.state.objects) + sql
    if code == "CW101":
        return "${" in sql or "global_temp" in sql + str(proxied.state.objects)
    return True


def test_a_session_is_a_plain_spark_session(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes: Counter[str] = Counter()

    async def all_of_them() -> None:
        for seed in range(SEED, SEED + COUNT):
            await live(seed, monkeypatch, outcomes)

    asyncio.run(all_of_them())
    with capsys.disabled():
        print(f"\n{COUNT} histories from seed {SEED}: {dict(outcomes)}")
    refused = sum(outcomes[code] for code in REFUSALS)
    assert outcomes["rows"] > outcomes["error"] > 0
    assert refused < 0.25 * outcomes.total(), "most of a session is served"


UPPER_F, LOWER_F = f"FUNCTION f AS '{UPPER}'", f"FUNCTION f AS '{LOWER}'"
FILES = "VIEW v USING parquet OPTIONS (path '/p1')"
SCRIPTS = {
    "ALTER TABLE renames a temporary view": (
        "CREATE TEMPORARY VIEW w AS SELECT 'view' AS c",
        "USE CLUSTER c2",
        "SELECT * FROM w",
        "ALTER TABLE w RENAME TO x",
        "USE CLUSTER c1",
        "SELECT * FROM x",
        "SELECT * FROM w",
    ),
    "ALTER VIEW gives a temporary view another query": (
        "CREATE TEMPORARY VIEW v AS SELECT 'one' AS c",
        "USE CLUSTER c2",
        "ALTER VIEW v AS SELECT 'two' AS c",
        "ALTER VIEW v RENAME TO x",
        "USE CLUSTER c1",
        "SELECT * FROM x",
    ),
    "a view that was replaced by files and dropped is gone everywhere": (
        "CREATE TEMPORARY VIEW v AS SELECT 'old' AS c",
        "SELECT * FROM v",
        "USE CLUSTER c2",
        "SELECT * FROM v",
        f"CREATE OR REPLACE TEMPORARY {FILES}",
        "DROP VIEW v",
        "USE CLUSTER c1",
        "SELECT * FROM v",
        "SHOW VIEWS",
    ),
    "a table is read again once a view of its name is gone": (
        "CREATE TEMPORARY VIEW w AS SELECT 'old' AS c",
        "SELECT * FROM w",
        "USE CLUSTER c2",
        "CREATE OR REPLACE TEMPORARY VIEW w USING parquet OPTIONS (path '/p1')",
        "DROP VIEW w",
        "USE CLUSTER c1",
        "SELECT * FROM w",
    ),
    "a view means the table that it was made of": (
        "CREATE TEMPORARY VIEW v AS SELECT * FROM t2",
        "CREATE TEMPORARY VIEW t2 AS SELECT 'view' AS c",
        "SELECT * FROM v",
        "SELECT * FROM t2",
    ),
    "a global view has no short name": (
        "CREATE GLOBAL TEMPORARY VIEW t2 AS SELECT 'view' AS c",
        "SELECT * FROM t2",
        "SELECT * FROM global_temp.t2",
    ),
    "a function that was replaced in one cluster is so in the other": (
        f"CREATE {UPPER_F}",
        "USE CLUSTER c1",
        "SELECT f('Ab') AS c",
        "USE CLUSTER c2",
        "SELECT f('Ab') AS c",
        f"CREATE OR REPLACE {LOWER_F}",
        "SELECT f('Ab') AS c",
        "USE CLUSTER c1",
        "SELECT f('Ab') AS c",
        "DROP FUNCTION f",
        f"CREATE {UPPER_F}",
        "USE CLUSTER c2",
        "SELECT f('Ab') AS c",
    ),
    "what lives in one cluster is found there": (
        "USE CLUSTER c2",
        f"CREATE TEMPORARY {FILES}",
        "CACHE TABLE x AS SELECT 'cached' AS c",
        "USE CLUSTER",
        "SHOW COLUMNS IN v",
        "SHOW VIEWS",
        "INSERT INTO v VALUES ('more')",
        "SELECT * FROM v",
        "UNCACHE TABLE x",
        "DROP VIEW v",
        "SELECT * FROM v",
        "DROP VIEW x",
        "SHOW VIEWS",
    ),
    "CACHE TABLE drops the view that is in its way": (
        "CREATE TEMPORARY VIEW v AS SELECT 'old' AS c",
        "USE CLUSTER c2",
        "SELECT * FROM v",
        "USE CLUSTER c1",
        "CACHE TABLE v AS SELECT 'new' AS c",
        "USE CLUSTER c2",
        "SELECT * FROM v",
    ),
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=list(SCRIPTS))
def test_script(script: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        opening = {"use:database": "d1"}
        direct = SparkSession(Server(metastore()), opening)
        proxied = Proxied(opening)
        proxied.patch(monkeypatch)
        for sql in script:
            got = await proxied.execute(sql)
            if sql not in PINS:
                assert (sql, got) == (sql, plain(direct, sql))

    asyncio.run(scenario())


@pytest.mark.parametrize("hivevar_first", [True, False])
def test_a_hivevar_wins_at_opening(hivevar_first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [("set:hivevar:a", "t2"), ("set:hiveconf:a", "t1")]
    opening = {"use:database": "d1", **dict(pairs if hivevar_first else reversed(pairs))}

    async def scenario() -> None:
        proxied = Proxied(opening)
        proxied.patch(monkeypatch)
        assert await proxied.execute("SELECT * FROM ${a}") == (("d1.t2",),)

    asyncio.run(scenario())


def test_objects_of_two_clusters_are_in_no_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        proxied = Proxied({"use:database": "d1"})
        proxied.patch(monkeypatch)
        for cluster, name in ((C1, "v"), (C2, "x")):
            await proxied.execute(f"USE CLUSTER {cluster}")
            await proxied.execute(f"CACHE TABLE {name} AS SELECT 'cached' AS c")
        await proxied.execute("USE CLUSTER")
        assert await proxied.execute("SELECT a.c FROM v a CROSS JOIN x b") == "CW106"
        assert await proxied.execute("SHOW VIEWS") == "CW106"
        assert await proxied.execute("SELECT * FROM x") == (("cached",),)
        assert await proxied.execute("ALTER VIEW v RENAME TO x") == "CW106"

    asyncio.run(scenario())


def test_a_function_that_another_session_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        one = Proxied({"use:database": "d1"})
        other = Proxied({"use:database": "d1"}, one.store, one.lines)
        one.patch(monkeypatch)
        await one.execute(f"CREATE {UPPER_F}")
        assert await one.execute("SELECT f('Ab') AS c") == (("AB",),)
        other.patch(monkeypatch)
        await other.execute("USE CLUSTER c2")
        await other.execute(f"CREATE OR REPLACE {LOWER_F}")
        one.patch(monkeypatch)
        assert await one.execute("SELECT f('Ab') AS c") == (("ab",),)

    asyncio.run(scenario())


def test_a_global_view_of_another_session_is_not_taken_for_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        proxied = Proxied({"use:database": "d1"})
        proxied.patch(monkeypatch)
        assert await proxied.execute("SELECT * FROM global_temp.g") == "CW101"
        theirs = SparkSession(proxied.servers[C2], {"use:database": "d1"})
        theirs.execute("CREATE GLOBAL TEMPORARY VIEW g AS SELECT 'theirs' AS c")
        await proxied.execute("CREATE GLOBAL TEMPORARY VIEW g AS SELECT 'ours' AS c")
        assert await proxied.execute("SELECT * FROM global_temp.g") == (("ours",),)
        await proxied.execute("USE CLUSTER c2")
        assert await proxied.execute("SELECT * FROM global_temp.g") == "CW203"
        assert await proxied.execute("DROP VIEW global_temp.g") == ()
        assert theirs.execute("SELECT * FROM global_temp.g") == (("theirs",),)

    asyncio.run(scenario())
