"""Encodes calls to clusters.

All calls have the sequence number 0, since a server answers a connection's calls in order.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from proxy.protocol.requests import FetchResults
from thriftcodec.values import (
    BOOL,
    CALL,
    I16,
    I32,
    I64,
    MAP,
    STRING,
    STRUCT,
    Encoded,
    Message,
    Pairs,
    Struct,
)
from thriftcodec.writer import encode_message


@dataclass(frozen=True, slots=True)
class RemoteOperation:
    """A cluster's handle of an operation. It is sent back unchanged."""

    fields: Struct | Encoded


@dataclass(frozen=True, slots=True)
class RemoteSession:
    """A cluster's handle of a session."""

    fields: Struct


DBMS_NAME = 17  # a kind of GetInfo
# Enough for GetInfo, which the Thrift Server answers without a check of the session.
NO_SESSION = RemoteSession(
    Struct({1: (STRUCT, Struct({1: (STRING, bytes(16)), 2: (STRING, bytes(16))}))})
)


def open_session_call(protocol: int, user: str, configuration: Mapping[str, str]) -> bytes:
    pairs = Pairs(
        STRING, STRING, [(key.encode(), value.encode()) for key, value in configuration.items()]
    )
    return _call(
        "OpenSession", Struct({1: (I32, protocol), 2: (STRING, user.encode()), 4: (MAP, pairs)})
    )


def close_session_call(session: RemoteSession) -> bytes:
    return _call("CloseSession", Struct({1: (STRUCT, session.fields)}))


def execute_call(
    session: RemoteSession,
    statement: str,
    overlay: Mapping[str, str],
    timeout: int,
    run_async: bool = True,
) -> bytes:
    """ExecuteStatement, with `overlay` as its configuration and `timeout` in seconds.

    A synchronous statement cannot be cancelled, so `run_async` is False only for statements that
    end at once.
    """
    pairs = Pairs(
        STRING, STRING, [(key.encode(), value.encode()) for key, value in overlay.items()]
    )
    return _call(
        "ExecuteStatement",
        Struct(
            {
                1: (STRUCT, session.fields),
                2: (STRING, statement.encode()),
                3: (MAP, pairs),
                4: (BOOL, run_async),
                5: (I64, timeout),
            }
        ),
    )


def metadata_call(name: str, session: RemoteSession, arguments: Struct) -> bytes:
    return _call(name, Struct({**arguments.fields, 1: (STRUCT, session.fields)}))


def operation_call(name: str, operation: RemoteOperation) -> bytes:
    """A call with only a handle: GetOperationStatus, CancelOperation, CloseOperation or
    GetResultSetMetadata."""
    return _call(name, Struct({1: (STRUCT, operation.fields)}))


def fetch_call(operation: RemoteOperation, request: FetchResults) -> bytes:
    return _call(
        "FetchResults",
        Struct(
            {
                1: (STRUCT, operation.fields),
                2: (I32, request.orientation),
                3: (I64, request.max_rows),
                4: (I16, request.fetch_type),
            }
        ),
    )


def get_info_call(session: RemoteSession, info_type: int) -> bytes:
    return _call("GetInfo", Struct({1: (STRUCT, session.fields), 2: (I32, info_type)}))


def _call(name: str, request: Struct) -> bytes:
    return encode_message(Message(name, CALL, 0, Struct({1: (STRUCT, request)})))
