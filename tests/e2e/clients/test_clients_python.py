"""PyHive, SQLAlchemy and impyla receive the same through Causeway as directly."""

import base64
import re
import ssl
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from impala import dbapi as impala
from impala.error import Error as ImpylaError
from pyhive import hive
from pyhive.exc import OperationalError
from sqlalchemy import MetaData, Table, create_engine, inspect, select, text
from thrift.transport.THttpClient import THttpClient
from thrift.transport.TSSLSocket import TSSLSocket
from thrift_sasl import TSaslClientTransport

from conf.topology import Endpoint
from tests.e2e.support.fronts import DATABASE, Fronts

pytestmark = pytest.mark.e2e

TYPES = f"SELECT * FROM {DATABASE}.types ORDER BY i"
MORE_TYPES = """
SELECT NULL n, X'41' b, CAST(1.5 AS DECIMAL(38, 18)) de, CAST('NaN' AS DOUBLE) nan,
  TIMESTAMP '9999-12-31 23:59:59.999999' t, 'żółć 漢字 😀' u, repeat('é', 1000000) huge
"""
STATEMENTS = (
    TYPES,
    MORE_TYPES,
    f"{TYPES} LIMIT 0",
    "SELECT id FROM range(2500)",
    "SELECT INTERVAL '1' DAY d, INTERVAL '1' YEAR y, make_interval(1, 2, 3) c",
    "SHOW TABLES",
    f"SHOW TABLES IN {DATABASE}",
    f"DESCRIBE {DATABASE}.types",
    "SET spark.sql.ansi.enabled",
    "SELECT * FROM no_such",
    "SELECT current_database(), current_user()",
)
SLEEP = "SELECT java_method('java.lang.Thread', 'sleep', 60000L + id) FROM range(1)"
Connecting = Callable[[], Any]


def results(connecting: Connecting, *, arraysize: int = 1000) -> list[str]:
    """A DB-API connection's answers to all questions."""
    answers: list[str] = []
    with closing(connecting()) as connection:
        for sql in STATEMENTS:
            cursor = connection.cursor()
            cursor.arraysize = arraysize
            answers.append(answer(cursor, sql))
            cursor.close()
    return answers


def answer(cursor: Any, sql: str, again: int = 5) -> str:
    try:
        cursor.execute(sql)
        return f"{cursor.description} {cursor.fetchall()!r}"
    except OperationalError as error:  # PyHive's, with the whole reply; infoMessages is the stack
        status = error.args[0].status
        words = status.statusCode, status.sqlState, status.errorCode, status.errorMessage
        return without_ids(repr(words))
    except (ImpylaError, KeyError) as error:  # impyla has no type for intervals
        # A Thrift Server asked within 40 ms of a failure does not say why.
        if "ERROR_STATE" in str(error) and again:
            return answer(cursor, sql, again - 1)
        return without_ids(str(error))


def without_ids(words: str) -> str:
    """The answers without Spark's numbers of expressions and impyla's stack traces."""
    return re.sub(r"#\d+", "#", words.partition("\tat ")[0])


# PyHive


def pyhive_over_tls(fronts: Fronts) -> hive.Connection:
    """PyHive over TLS: the caller passes the transport."""
    from puresasl.client import SASLClient  # noqa: F401 - what thrift_sasl calls for below
    from pyhive.sasl_compat import PureSASLClient

    def sasl() -> Any:
        return PureSASLClient("127.0.0.1", username="ann", password="x", service="hive")

    endpoint = fronts.secure.binary
    socket = TSSLSocket(endpoint.host, endpoint.port, ca_certs=str(fronts.ca))
    return hive.connect(thrift_transport=TSaslClientTransport(sasl, "PLAIN", socket))


def pyhive_over_https(fronts: Fronts) -> hive.Connection:
    endpoint = fronts.secure.http
    context = ssl.create_default_context(cafile=str(fronts.ca))
    transport = THttpClient(
        f"https://{endpoint.host}:{endpoint.port}/cliservice", ssl_context=context
    )
    secret = base64.b64encode(b"ann:x").decode()
    transport.setCustomHeaders({"Authorization": f"Basic {secret}"})
    return hive.connect(thrift_transport=transport)


def pyhive(fronts: Fronts, way: str) -> Connecting:
    def binary(endpoint: Endpoint) -> hive.Connection:
        return hive.connect(endpoint.host, endpoint.port, username="ann")

    plain = fronts.plain.http
    ways: dict[str, Connecting] = {
        "direct": lambda: binary(fronts.direct),
        "binary": lambda: binary(fronts.plain.binary),
        "http": lambda: hive.connect(
            plain.host, plain.port, scheme="http", username="ann", password="x", auth="BASIC"
        ),
        "tls": lambda: pyhive_over_tls(fronts),
        "https": lambda: pyhive_over_https(fronts),
    }
    return ways[way]


@pytest.fixture(scope="module")
def pyhive_directly(fronts: Fronts) -> list[str]:
    return results(pyhive(fronts, "direct"))


@pytest.mark.parametrize("way", ["binary", "http", "tls", "https"])
def test_pyhive(fronts: Fronts, pyhive_directly: list[str], way: str) -> None:
    assert results(pyhive(fronts, way)) == pyhive_directly


# SQLAlchemy


def sqlalchemy_tells(url: str) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyHive's dialect is of SQLAlchemy 1
        engine = create_engine(url)
        answers: list[Any] = []
        with engine.connect() as connection:
            answers.append(connection.execute(text(TYPES)).fetchall())
            words = text("SELECT :a + 1, :b, :c")
            values = {"a": 41, "b": 'it\'s "żółć" :)', "c": None}
            answers.append(connection.execute(words, values).fetchall())
        inspector = inspect(engine)
        answers += [
            DATABASE in inspector.get_schema_names(),
            inspector.get_table_names(DATABASE),
            inspector.get_view_names(DATABASE),
            [
                (each["name"], str(each["type"]))
                for each in inspector.get_columns("types", DATABASE)
            ],
            inspector.has_table("types", DATABASE),
            inspector.get_indexes("parted", DATABASE),
        ]
        table = Table("types", MetaData(), schema=DATABASE, autoload_with=engine)
        with engine.connect() as connection:
            query = select(table.c.i, table.c.st).where(table.c.i == 1)
            answers.append(connection.execute(query).fetchall())
        engine.dispose()
    return [repr(each) for each in answers]


def test_sqlalchemy(fronts: Fronts) -> None:
    direct = sqlalchemy_tells(f"hive://ann@{fronts.direct}/default")
    assert sqlalchemy_tells(f"hive://ann@{fronts.plain.binary}/default") == direct
    assert sqlalchemy_tells(f"hive+http://ann:x@{fronts.plain.http}/default") == direct


# impyla


def impyla(fronts: Fronts, way: str) -> Connecting:
    endpoints = {
        "direct": fronts.direct,
        "binary": fronts.plain.binary,
        "http": fronts.plain.http,
        "tls": fronts.secure.binary,
        "https": fronts.secure.http,
    }
    options: dict[str, Any] = {"user": "ann", "password": "x", "auth_mechanism": "PLAIN"}
    if way in ("tls", "https"):
        options |= {"use_ssl": True, "ca_cert": str(fronts.ca)}
    if way in ("http", "https"):
        options |= {"use_http_transport": True, "http_path": "cliservice"}
    return lambda: impala.connect(endpoints[way].host, endpoints[way].port, **options)


@contextmanager
def impyla_cursor(fronts: Fronts, way: str) -> Iterator[Any]:
    with closing(impyla(fronts, way)()) as connection, closing(connection.cursor()) as cursor:
        yield cursor


@pytest.fixture(scope="module")
def impyla_directly(fronts: Fronts) -> list[str]:
    return results(impyla(fronts, "direct"))


@pytest.mark.parametrize("way", ["binary", "http", "tls", "https"])
def test_impyla(fronts: Fronts, impyla_directly: list[str], way: str) -> None:
    assert results(impyla(fronts, way)) == impyla_directly


def test_impyla_asks_for_metadata(fronts: Fronts) -> None:
    answers = []
    for way in ("direct", "binary", "http"):
        with impyla_cursor(fronts, way) as cursor:
            cursor.get_tables(database_name=DATABASE)
            tables = cursor.fetchall()
            cursor.get_table_schema("types", database_name=DATABASE)
            answers.append((tables, cursor.fetchall(), cursor.database_exists(DATABASE)))
    assert answers[1] == answers[0]
    assert answers[2] == answers[0]


def test_cancelling_over_http(fronts: Fronts) -> None:
    answers = []
    for way in ("direct", "binary", "http"):
        with impyla_cursor(fronts, way) as cursor:
            cursor.execute_async(SLEEP)
            assert cursor.is_executing()
            cursor.cancel_operation(reset_state=False)
            answers.append(cursor.status())
            cursor.execute("SELECT 1")
            answers.append(cursor.fetchall())
    assert answers[2:4] == answers[4:6] == answers[:2]
