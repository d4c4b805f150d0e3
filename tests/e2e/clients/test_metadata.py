"""The replies to metadata calls by the proxy equal those of the Thrift Server, row for row.

The order of the tables within a database is not compared: the metastore's database chooses it.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyhive import hive
from TCLIService import ttypes as t

from cli.stack.stack import Stack
from conf.names import ClusterName
from pipeline.spark.jar import SPARK_MAJOR
from tests.e2e.conftest import C1, C2, Sql, server

pytestmark = pytest.mark.e2e

VERSIONS = (0, 9)  # versions 1 and 10 of the protocol: results in rows and in columns
DB = f"meta_{os.getpid()}"
OTHERS = tuple(f"{DB}{letter}" for letter in "abcd")
TABLES = (
    "t_all (a tinyint COMMENT 'one', b smallint, c int, d bigint, e float, f double,"
    " g decimal(12,3), i string, j varchar(20), k char(5), l boolean, m binary, n date,"
    " o timestamp, p array<int>, q map<string,array<double>>,"
    " r struct<x:int,Y:string,z:struct<k:varchar(3)>>) COMMENT 'all of them' STORED AS PARQUET",
    "u_all (A tinyint, h decimal(38,10), N date, s timestamp_ntz, v interval day to second,"
    " w interval year to month, r struct<`a b`:int COMMENT 'in',`1`:int>) USING parquet",
    "txt (a int COMMENT 'x', b string) PARTITIONED BY (ds string COMMENT 'day', hr int)",
    "prt (ds string, `weird name` int) USING parquet PARTITIONED BY (ds)",
    "csv (x int DEFAULT 5, y string) USING csv COMMENT 'ümläut ☃'",
    "abc_1 (x int)",
    "abcx1 (x int)",
)
VIEWS = (
    "v1 COMMENT 'a view' AS SELECT a, b, ds FROM {db}.txt",
    "v2 (p COMMENT 'pp', q) AS SELECT j, k FROM {db}.t_all",
    "v3 AS SELECT named_struct('a', 1, 'b c', 'x') s, interval 1 day i, null n, 1.5 d",
)


class Client:
    """A session at one version of the protocol, with the calls that BI tools make."""

    def __init__(self, stack: Stack, cluster: ClusterName | None, version: int) -> None:
        endpoint = server(stack, cluster)
        self.connection = hive.connect(endpoint.host, endpoint.port)
        self.calls = self.connection._client
        request = t.TOpenSessionReq(client_protocol=version)
        self.session = self.calls.OpenSession(request).sessionHandle

    def sql(self, statement: str) -> None:
        request = t.TExecuteStatementReq(self.session, statement, {}, False)
        reply = self.calls.ExecuteStatement(request)
        assert reply.status.statusCode == 0, reply.status.errorMessage

    def ask(self, name: str, *arguments: object) -> tuple[object, ...]:
        """All replies about a call, with pages of 50 rows."""
        request = getattr(t, f"TGet{name}Req")(self.session, *arguments)
        reply = getattr(self.calls, f"Get{name}")(request)
        if reply.status.statusCode != 0:
            return ("refused", reply.status.sqlState, reply.status.errorMessage)
        operation = reply.operationHandle
        status = self.calls.GetOperationStatus(t.TGetOperationStatusReq(operation))
        described = self.calls.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation))
        rows: list[tuple[Any, ...]] = []
        while page := self._page(operation):
            rows += page
        self.calls.CloseOperation(t.TCloseOperationReq(operation))
        described_as = (operation.operationType, operation.hasResultSet, status.operationState)
        return (*described_as, repr(described.schema), rows)

    def _page(self, operation: object) -> list[tuple[Any, ...]]:
        found = self.calls.FetchResults(t.TFetchResultsReq(operation, 0, 50, 0))
        assert found.status.statusCode == 0, found.status.errorMessage
        if not found.results.columns:
            return [tuple(repr(cell) for cell in row.colVals) for row in found.results.rows]
        return list(zip(*map(_cells, found.results.columns), strict=True))

    def close(self) -> None:
        self.calls.CloseSession(t.TCloseSessionReq(self.session))
        self.connection.close()


def _cells(column: Any) -> list[tuple[str, Any]]:
    ((kind, typed),) = [(k, v) for k, v in vars(column).items() if v is not None]
    nulls = typed.nulls
    return [
        (kind, None if at // 8 < len(nulls) and nulls[at // 8] >> at % 8 & 1 else value)
        for at, value in enumerate(typed.values)
    ]


def comparable(name: str, reply: tuple[object, ...]) -> tuple[object, ...]:
    """The reply with the tables of each database in the order of their names."""
    *described_as, rows = reply
    if not isinstance(rows, list) or name not in ("Tables", "Columns"):
        return reply
    databases = list(dict.fromkeys(row[1] for row in rows))
    ordered = sorted(rows, key=lambda row: (databases.index(row[1]), str(row[2])))
    return (*described_as, ordered)


@pytest.fixture(scope="module")
def tables(stack: Stack) -> Iterator[str]:
    maker = Client(stack, C1, 9)
    for name in (DB, *OTHERS):
        maker.sql(f"CREATE DATABASE {name}")
    for table in TABLES:
        maker.sql(f"CREATE TABLE {DB}.{table}")
    for view in VIEWS:
        maker.sql(f"CREATE VIEW {DB}.{view.format(db=DB)}")
    for name in OTHERS:
        maker.sql(f"CREATE TABLE {name}.one (x int)")
    maker.sql("CREATE GLOBAL TEMPORARY VIEW seen_by_all AS SELECT 1 AS a, 'x' AS b")
    yield DB
    maker.sql("DROP VIEW global_temp.seen_by_all")
    for name in (DB, *OTHERS):
        maker.sql(f"DROP DATABASE {name} CASCADE")
    maker.close()


@contextmanager
def pair(stack: Stack, version: int) -> Iterator[tuple[Client, Client]]:
    """The same session directly and by the proxy."""
    direct, proxied = Client(stack, C1, version), Client(stack, None, version)
    try:
        yield direct, proxied
    finally:
        direct.close()
        proxied.close()


def grid(db: str) -> Iterator[tuple[Any, ...]]:
    """Calls and their arguments."""
    for schema in (None, db, db.upper(), f"{db}%", f"{db}_", f"{db}|{db}a", "global_temp", "none"):
        yield ("Tables", None, schema, "%", None)
        yield ("Columns", None, schema, "%", "%")
    for schema in ("*", "a[b]", " x"):
        yield ("Tables", None, schema, None, None)
        yield ("Columns", None, schema, None, None)
    for table in (
        None,
        "",
        "abc_1",
        "abc\\_1",
        "ABC%",
        "a%|v*",
        "a__x1",
        "__t",
        "v%",
        "ab.*",
        "a$",
    ):
        yield ("Tables", "any", db, table, None)
        yield ("Columns", None, db, table, None)
    for kinds in ([], ["VIEW"], ["TABLE", "VIEW"], ["table"], ["OTHER"]):
        yield ("Tables", None, db, None, kinds)
    for column in ("A", "a", "x%", "", "weird name", "W%", "d_", "ds|hr", "[ab]", "("):
        yield ("Columns", None, db, "%", column)
    for schema in (None, "", "%", db.upper(), f"{db}%", f"{db}_", f"{db}|{db}a", "g%", "x", "*"):
        yield ("Schemas", None, schema)
    yield ("TableTypes",)
    yield ("TypeInfo",)
    yield ("Catalogs",)
    yield ("Functions", None, db, "abs")
    yield ("PrimaryKeys", None, db, "t_all")
    yield ("CrossReference", None, db, "t_all", None, db, "u_all")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_replies_are_those_of_the_thrift_server(
    stack: Stack, tables: str, version: int
) -> None:
    with pair(stack, version) as (direct, proxied):
        for each in (direct, proxied):
            each.sql("CREATE TEMPORARY VIEW tmpv AS SELECT 1 AS a, 'x' AS b")
        for name, *arguments in grid(tables):
            expected = comparable(name, direct.ask(name, *arguments))
            assert comparable(name, proxied.ask(name, *arguments)) == expected, (name, arguments)


@pytest.mark.parametrize(
    "setting", ["spark.sql.caseSensitive=true", "spark.sql.timestampType=TIMESTAMP_NTZ"]
)
def test_the_replies_are_equal_under_settings_that_change_them(
    stack: Stack, tables: str, setting: str
) -> None:
    with pair(stack, 9) as (direct, proxied):
        for each in (direct, proxied):
            each.ask("Columns", None, tables, "%", "%")
            each.sql(f"SET {setting}")
        for schema in (tables, tables.upper()):
            asked = ("Columns", None, schema, "%", "%")
            expected = comparable("Columns", direct.ask(*asked))
            assert comparable("Columns", proxied.ask(*asked)) == expected


def test_new_temporary_views_are_listed_at_once(stack: Stack, tables: str) -> None:
    """Although the proxy does not call the cluster for them if there can be none."""

    def same(direct: Client, proxied: Client) -> None:
        for name in ("Tables", "Columns"):
            for schema in (tables, "global_temp"):
                asked = (name, None, schema, "made%", None)
                expected = comparable(name, direct.ask(*asked))
                assert comparable(name, proxied.ask(*asked)) == expected, asked

    made = (
        "SELECT 1",
        "CREATE TEMPORARY VIEW made1 AS SELECT 1 AS a",
        "CACHE LAZY TABLE made2 AS SELECT 1 AS b",
        "DROP VIEW made1",
        "DROP VIEW made2",
    )
    with pair(stack, 9) as (direct, proxied):
        for statement in made:
            for each in (direct, proxied):
                each.sql(statement)
            same(direct, proxied)
    with pair(stack, 9) as (direct, proxied):
        same(direct, proxied)
        direct.sql("CREATE GLOBAL TEMPORARY VIEW made4 AS SELECT 1 AS c")
        same(direct, proxied)
        direct.sql("DROP VIEW global_temp.made4")
        same(direct, proxied)


def test_changes_of_another_cluster_are_listed_at_once(stack: Stack, tables: str, sql: Sql) -> None:
    """Through the proxy and past it, in either cluster: no cache is stale."""
    with pair(stack, 9) as (_, proxied):

        def names() -> set[str]:
            *_, rows = proxied.ask("Tables", None, tables, "new%", None)
            assert isinstance(rows, list)
            return {row[2][1] for row in rows}

        def columns() -> list[str]:
            *_, rows = proxied.ask("Columns", None, tables, "new1", None)
            assert isinstance(rows, list)
            return [row[3][1] for row in rows]

        def schemas() -> set[str]:
            *_, rows = proxied.ask("Schemas", None, f"{tables}n%")
            assert isinstance(rows, list)
            return {row[0][1] for row in rows}

        assert schemas() == set()
        sql(f"CREATE DATABASE {tables}n1", cluster=C2)
        assert schemas() == {f"{tables}n1"}
        sql(f"DROP DATABASE {tables}n1", cluster=C1)
        assert schemas() == set()
        assert names() == set()
        sql(f"CREATE TABLE {tables}.new1 (x int)", cluster=C1)
        assert names() == {"new1"}
        sql(f"CREATE TABLE {tables}.new2 (x int)", cluster=C2)
        assert names() == {"new1", "new2"}
        assert columns() == ["x"]
        sql(f"ALTER TABLE {tables}.new1 ADD COLUMNS (y string)", cluster=C1)
        assert columns() == ["x", "y"]
        sql(f"ALTER TABLE {tables}.new2 RENAME TO {tables}.new3", cluster=C2)
        assert names() == {"new1", "new3"}
        sql(f"DROP TABLE {tables}.new1")
        assert names() == {"new3"}
        sql(f"DROP TABLE {tables}.new3", cluster=C2)
        assert names() == set()


@pytest.mark.skipif(SPARK_MAJOR >= 4, reason="the metadata of Spark 4 is asked of the cluster")
def test_repeated_calls_are_answered_from_memory(stack: Stack, tables: str) -> None:
    """The Thrift Server reads every table from the metastore; the proxy none, the second time."""

    def seconds(client: Client) -> float:
        """The seconds of the shortest of five calls: other load makes calls only longer."""
        taken = []
        for _ in range(5):
            began = time.monotonic()
            client.ask("Columns", None, None, None, None)
            taken.append(time.monotonic() - began)
        return min(taken)

    with pair(stack, 9) as (direct, proxied):
        proxied.ask("Columns", None, None, None, None)
        ours, theirs = seconds(proxied), seconds(direct)
        assert ours < theirs / 2
