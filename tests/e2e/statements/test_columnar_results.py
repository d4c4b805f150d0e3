"""A Thrift Server that packs results into columns sends the same as without.

Each statement runs in two sessions of one Thrift Server, one of which packs, and all replies are
compared. Some statements fail in a task on purpose: the error's stack trace shows whether the rows
would be packed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest
from pyhive import hive
from TCLIService import ttypes as t

from cli.stack.stack import Stack
from pipeline.spark.jar import SPARK_MAJOR
from tests.e2e.conftest import C1, server
from tests.e2e.support.interpreted import COMPILED

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(SPARK_MAJOR >= 4, reason="results are packed for Spark 3.5 alone"),
]

PACKS = "spark.causeway.results.columnar"
NEWEST = t.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V10
ROWS_ONLY = t.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V5  # from 6 on results are columns
ROWS = 8_400  # two blocks in each of two partitions
NEXT, PRIOR, FIRST = (
    t.TFetchOrientation.FETCH_NEXT,
    t.TFetchOrientation.FETCH_PRIOR,
    t.TFetchOrientation.FETCH_FIRST,
)
FETCHES = (
    *((NEXT, 3), (NEXT, 1000), (PRIOR, 500), (NEXT, 4096), (PRIOR, 1), (FIRST, 9), (NEXT, 0)),
    *((PRIOR, 100_000), (NEXT, 50_000), (NEXT, 10), (PRIOR, 70), (NEXT, -1)),
)
# One value a row, of each type that is packed. `n` is a number, negative too.
VALUES = {
    "boolean": "n % 2 = 0",
    "tinyint": "CAST(n % 128 AS TINYINT)",
    "smallint": "CAST(n AS SMALLINT)",
    "int": "CAST(n * 200000 AS INT)",
    "bigint": "n * 900000000000000",
    "float": "CAST(n / 3 AS FLOAT)",
    "double": "CASE n % 4 WHEN 0 THEN double('NaN') WHEN 1 THEN double('-inf') ELSE n / 7D END",
    "string": "concat('n', n)",
    "empty string": "''",
    "text": "concat('ä€😀', repeat('é', CAST(abs(n) % 5 AS INT)), chr(0))",
    "long text": "repeat(concat(n, ','), 60)",
    "wrong utf-8": "CAST(X'61C328FF' AS STRING)",
    "varchar": "CAST(n AS VARCHAR(9))",
    "binary": "CAST(concat(X'00FF', CAST(n AS BINARY)) AS BINARY)",
    "decimal": "CAST(n / 7 AS DECIMAL(20, 9))",
    "wide decimal": "CAST(n AS DECIMAL(38, 0)) * 10000000000000000000000000000",
    "small decimal": "CAST(n / 100000 AS DECIMAL(9, 8))",
    "date": "date_add(DATE'0001-01-01', CAST(abs(n) * 300 AS INT))",
    "timestamp": "timestamp_micros(n * 7654321987654 + 5000)",
}
# Spark compiles each statement, so a statement of several types takes as long as one of one type.
TOGETHER = (
    ("boolean", "tinyint", "smallint", "int", "bigint"),
    ("float", "double", "decimal", "wide decimal", "small decimal"),
    ("string", "empty string", "text", "long text", "wrong utf-8"),
    ("varchar", "binary", "date", "timestamp"),
)
NOT_PACKED = {
    "array": "array(n, NULL)",
    "map": "map('a', n)",
    "struct": "struct(n, 'x')",
    "nothing": "NULL",
    "timestamp without a zone": "CAST(timestamp_seconds(n) AS TIMESTAMP_NTZ)",
    "interval": "make_dt_interval(CAST(n AS INT))",
    "years": "make_ym_interval(CAST(n AS INT))",
}
NUMBERS = f"(SELECT id - {ROWS // 2} AS n FROM range(0, {ROWS}, 1, 2))"
FAILS = "CAST(raise_error('provoked') AS INT)"
PACKER = "causeway.guard.results.RowPacker"

Opened = Callable[..., "Session"]


class Session:
    """A session of a Thrift Server, by calls of Thrift."""

    def __init__(self, connection: hive.Connection, version: int) -> None:
        self.client = connection.client
        opened = self.client.OpenSession(t.TOpenSessionReq(client_protocol=version))
        self.handle = opened.sessionHandle

    def execute(self, sql: str, runs_async: bool = False) -> Any:
        """Executes a statement and returns Thrift's response."""
        request = t.TExecuteStatementReq(self.handle, sql, runAsync=runs_async)
        return self.client.ExecuteStatement(request)

    def fetched(self, operation: Any, fetches: Sequence[tuple[int, int]] = FETCHES) -> list[str]:
        """The reply to each fetch, as text, in which NaN is equal to itself."""
        requests = (t.TFetchResultsReq(operation, *each) for each in fetches)
        return [repr(self.client.FetchResults(request)) for request in requests]

    def outcome(self, sql: str) -> list[str]:
        """The types and the fetches of a statement."""
        response = self.execute(sql)
        assert response.operationHandle is not None, response.status.errorMessage
        operation = response.operationHandle
        schema = self.client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation))
        found = [repr(schema), *self.fetched(operation)]
        self.client.CloseOperation(t.TCloseOperationReq(operation))
        return found

    def error(self, sql: str) -> str:
        return str(self.execute(sql).status.errorMessage)


@pytest.fixture(scope="module")
def opened(stack: Stack) -> Iterator[Opened]:
    """Opens sessions of c1 that pack or do not; without the proxy."""
    if stack.spec.guard is None:
        pytest.skip("no guard: nothing packs results")
    endpoint = server(stack, C1)
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:

        def opening(packs: bool | None, *settings: str, version: int = NEWEST) -> Session:
            session = Session(connection, version)
            own = () if packs is None else (f"{PACKS}={str(packs).lower()}",)
            for setting in (*own, *COMPILED, *settings):
                session.execute(f"SET {setting}")
            return session

        yield opening


@pytest.fixture(scope="module")
def plain(opened: Opened) -> Session:
    return opened(False)


@pytest.fixture(scope="module")
def packing(opened: Opened) -> Session:
    return opened(True)


def with_nulls(*values: str) -> str:
    columns = (f"{value}, IF(n % 3 = 0, NULL, {value})" for value in values)
    return f"SELECT {', '.join(columns)} FROM {NUMBERS}"


def test_each_type_is_tried() -> None:
    assert sorted(name for names in TOGETHER for name in names) == sorted(VALUES)


@pytest.mark.parametrize("names", TOGETHER, ids=",".join)
def test_a_packed_result_is_equal(plain: Session, packing: Session, names: Sequence[str]) -> None:
    statement = with_nulls(*(VALUES[name] for name in names))
    assert packing.outcome(statement) == plain.outcome(statement)


@pytest.mark.parametrize("names", TOGETHER, ids=",".join)
def test_it_is_packed_in_executors(plain: Session, packing: Session, names: Sequence[str]) -> None:
    """It is only if each of its columns can be packed."""
    values = ", ".join(VALUES[name] for name in names)
    statement = f"SELECT {values}, IF(n > 0, {FAILS}, 1) FROM {NUMBERS}"
    assert PACKER in packing.error(statement)
    assert PACKER not in plain.error(statement)


def test_it_is_packed_by_default(opened: Opened) -> None:
    assert PACKER in opened(None).error(f"SELECT n, IF(n > 0, {FAILS}, 1) FROM {NUMBERS}")


def test_results_with_other_types_are_equal(plain: Session, packing: Session) -> None:
    statement = with_nulls(*NOT_PACKED.values())
    assert packing.outcome(statement) == plain.outcome(statement)


@pytest.mark.parametrize("value", NOT_PACKED.values(), ids=NOT_PACKED)
def test_other_types_are_not_packed(packing: Session, value: str) -> None:
    assert PACKER not in packing.error(f"SELECT {value}, IF(n > 0, {FAILS}, 1) FROM {NUMBERS}")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id % 10 AS k, count(*), sum(id / 3) FROM range(100000) GROUP BY 1 ORDER BY 1",
        f"SELECT * FROM {NUMBERS} ORDER BY n DESC",
        f"SELECT a.n, b.n FROM {NUMBERS} a LEFT JOIN {NUMBERS} b ON a.n = b.n * 2",
        f"SELECT n FROM {NUMBERS} WHERE n > {ROWS}",
        f"SELECT n FROM {NUMBERS} LIMIT 5000",
        f"SELECT n FROM {NUMBERS} ORDER BY n LIMIT 5",
        f"SELECT n FROM {NUMBERS} UNION ALL SELECT 7",
        "SELECT * FROM VALUES (1, 'a'), (2, NULL)",
        "SELECT 1",
        "SHOW DATABASES",
        "SET spark.sql.ansi.enabled",
    ],
)
def test_whole_statements_are_equal(plain: Session, packing: Session, statement: str) -> None:
    assert packing.outcome(statement) == plain.outcome(statement)


@pytest.mark.parametrize(
    ("statement", "setting"),
    [
        (f"SELECT n, {FAILS} FROM {NUMBERS} LIMIT 5", "spark.sql.adaptive.enabled=true"),
        (f"SELECT n, {FAILS} FROM {NUMBERS} LIMIT 5", "spark.sql.adaptive.enabled=false"),
        (f"SELECT {FAILS} AS f FROM {NUMBERS} ORDER BY n LIMIT 5", "spark.sql.ansi.enabled=false"),
        (f"SELECT {FAILS} FROM {NUMBERS}", "spark.sql.thriftServer.incrementalCollect=true"),
    ],
)
def test_plans_that_collect_in_their_own_way_are_not_packed(
    opened: Opened, statement: str, setting: str
) -> None:
    session = opened(True, setting)
    response = session.execute(statement)
    message = str(response.status.errorMessage)
    if response.operationHandle is not None:  # incremental: the first fetch fails
        fetch = t.TFetchResultsReq(response.operationHandle, NEXT, 5)
        message = str(session.client.FetchResults(fetch).status.errorMessage)
    assert "provoked" in message
    assert PACKER not in message


def test_a_partition_without_rows_and_small_blocks_are_equal(
    plain: Session, packing: Session
) -> None:
    statement = "SELECT id, repeat('x', 3000000) FROM range(0, 12, 1, 4) WHERE id NOT IN (3, 4, 5)"
    fetches = [(NEXT, 2), (NEXT, 4), (PRIOR, 3), (NEXT, 100)]
    found = []
    for session in (plain, packing):
        operation = session.execute(statement).operationHandle
        found.append(session.fetched(operation, fetches))
        session.client.CloseOperation(t.TCloseOperationReq(operation))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "settings",
    [
        ("spark.sql.session.timeZone=Asia/Kolkata",),
        ("spark.sql.datetime.java8API.enabled=false",),
        ("spark.sql.legacy.timeParserPolicy=LEGACY",),
        ("spark.sql.adaptive.enabled=false",),
        ("spark.sql.codegen.wholeStage=false", "spark.sql.codegen.factoryMode=NO_CODEGEN"),
        ("spark.sql.thriftServer.incrementalCollect=true",),
    ],
)
def test_settings_have_the_same_effect(opened: Opened, settings: Sequence[str]) -> None:
    values = (VALUES[name] for name in ("date", "timestamp", "decimal", "string"))
    statement = f"SELECT {', '.join(values)} FROM {NUMBERS}"
    expected = opened(False, *settings).outcome(statement)
    assert opened(True, *settings).outcome(statement) == expected


def test_a_time_zone_that_is_set_after_the_statement_counts_in_the_next_fetch(
    opened: Opened,
) -> None:
    found = []
    for packs in (False, True):
        session = opened(packs, "spark.sql.session.timeZone=UTC")
        operation = session.execute(with_nulls(VALUES["timestamp"])).operationHandle
        before = session.fetched(operation, [(NEXT, 5)])
        session.execute("SET spark.sql.session.timeZone=America/Caracas")
        after = session.fetched(operation, [(FIRST, 5)])
        assert before != after
        found.append(before + after)
    assert found[0] == found[1]


@pytest.mark.parametrize("version", [0, ROWS_ONLY, ROWS_ONLY + 1])
def test_older_protocol_versions_get_the_same(opened: Opened, version: int) -> None:
    statement = f"SELECT n, {VALUES['date']}, {VALUES['text']} FROM {NUMBERS}"
    expected = opened(False, version=version).outcome(statement)
    assert opened(True, version=version).outcome(statement) == expected


def test_a_wrong_fetch_is_the_same_error(plain: Session, packing: Session) -> None:
    found = []
    for session in (plain, packing):
        operation = session.execute(with_nulls("n")).operationHandle
        orders = (t.TFetchOrientation.FETCH_LAST, t.TFetchOrientation.FETCH_ABSOLUTE)
        requests = [t.TFetchResultsReq(operation, order, 5) for order in orders]
        statuses = [session.client.FetchResults(request).status for request in requests]
        found.append([(each.statusCode, each.errorMessage) for each in statuses])
        assert statuses[0].statusCode == t.TStatusCode.ERROR_STATUS
        session.client.CloseOperation(t.TCloseOperationReq(operation))
    assert found[0] == found[1]


def test_an_error_in_a_task_begins_with_the_same_words(plain: Session, packing: Session) -> None:
    statement = f"SELECT n, IF(n > 0, {FAILS}, 1) FROM {NUMBERS}"
    first, second = (each.error(statement).split("provoked")[0] for each in (plain, packing))
    assert first.split(" in stage ")[0] == second.split(" in stage ")[0] != ""


def test_a_statement_that_is_cancelled_ends(packing: Session) -> None:
    slow = "SELECT count(*) OVER (), a.id FROM range(100000) a, range(10000000) b"
    operation = packing.execute(slow, runs_async=True).operationHandle
    packing.client.CancelOperation(t.TCancelOperationReq(operation))
    status = packing.client.GetOperationStatus(t.TGetOperationStatusReq(operation))
    assert status.operationState == t.TOperationState.CANCELED_STATE
    fetched = packing.client.FetchResults(t.TFetchResultsReq(operation, NEXT, 5))
    assert fetched.status.statusCode == t.TStatusCode.ERROR_STATUS
