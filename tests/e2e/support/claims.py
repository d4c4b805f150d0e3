"""Statements with a claim of the test, as a client of a Thrift Server may send them."""

import json
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from pyhive import hive
from TCLIService import ttypes

from conf.topology import Endpoint
from router.claim import KEY
from tests.e2e.conftest import rows

DAYS = [(1, "mon"), (2, "tue"), (3, "wed")]
"""The rows of a table of `days_statements`."""


def execute_claimed(connection: hive.Connection, statement: str, **claim: Any) -> Any:
    """Sends a statement with a claim. Returns Thrift's response."""
    overlay = {KEY: json.dumps({"v": 1, **claim})}
    request = ttypes.TExecuteStatementReq(
        connection.sessionHandle, statement, overlay, runAsync=False
    )
    return connection.client.ExecuteStatement(request)


def run_claimed(connection: hive.Connection, statement: str, **claim: Any) -> list[tuple[Any, ...]]:
    """Runs a statement with a claim and returns its rows. Raises OperationalError."""
    response = execute_claimed(connection, statement, **claim)
    hive._check_status(response)
    cursor = connection.cursor()
    cursor._reset_state()
    cursor._state = cursor._STATE_RUNNING
    cursor._operationHandle = response.operationHandle
    return rows(cursor)


def days_statements(table: str, format: str) -> tuple[str, str]:
    """The statements that make a table of three days: one of Spark's own, or of Hive's."""
    columns = "(id INT) PARTITIONED BY (day STRING) STORED AS ORC"
    if format == "parquet":
        columns = "(id INT, day STRING) USING parquet PARTITIONED BY (day)"
    values = ", ".join(map(str, DAYS))
    return f"CREATE TABLE {table} {columns}", f"INSERT INTO {table} VALUES {values}"


def refused_directly(
    endpoint: Endpoint, query: str, settings: Sequence[str] = (), **claim: Any
) -> str:
    """A Thrift Server's error for a statement with a claim, by default one that reads nothing."""
    with closing(hive.connect(endpoint.host, endpoint.port)) as connection:
        for each in settings:
            connection.cursor().execute(each)
        message: str = execute_claimed(connection, query, **claim).status.errorMessage
        return message
