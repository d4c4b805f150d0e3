"""Calls that Apache Thrift writes are read; the proxy's own calls are read by Apache Thrift."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from TCLIService import TCLIService, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from proxy.errors import WireError
from proxy.protocol import requests
from proxy.protocol.messages import decode_message
from proxy.protocol.requests import (
    MAX_KEPT,
    Handle,
    LastCall,
    RemoteOperation,
    RemoteSession,
    UnknownCall,
    read_request,
)
from thriftcodec.values import CALL, STRING, STRUCT, Message, Struct
from thriftcodec.writer import encode_head, encode_message

IDENTIFIER = ttypes.THandleIdentifier(guid=b"g" * 16, secret=b"s" * 16)
SESSION = ttypes.TSessionHandle(IDENTIFIER)
OPERATION = ttypes.TOperationHandle(IDENTIFIER, 4, True)
HANDLE = Handle(b"g" * 16, b"s" * 16)


def written(name: str, request: Any) -> Message:
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer)
    protocol.writeMessageBegin(name, CALL, 7)
    getattr(TCLIService, f"{name}_args")(request).write(protocol)
    return decode_message(bytes(buffer.getvalue()))


def read_by_thrift(data: bytes) -> Any:
    protocol = TBinaryProtocol(TMemoryBuffer(data))
    name, kind, seqid = protocol.readMessageBegin()
    assert (kind, seqid) == (CALL, 0)
    arguments = getattr(TCLIService, f"{name}_args")()
    arguments.read(protocol)
    return arguments.req


METADATA = {
    "GetTypeInfo": ttypes.TGetTypeInfoReq(SESSION),
    "GetCatalogs": ttypes.TGetCatalogsReq(SESSION),
    "GetSchemas": ttypes.TGetSchemasReq(SESSION, None, "d%"),
    "GetTables": ttypes.TGetTablesReq(SESSION, None, "d%", "t_", ["TABLE", "VIEW"]),
    "GetTableTypes": ttypes.TGetTableTypesReq(SESSION),
    "GetColumns": ttypes.TGetColumnsReq(SESSION, "", "d", "t", "%"),
    "GetFunctions": ttypes.TGetFunctionsReq(SESSION, None, None, "a%"),
    "GetPrimaryKeys": ttypes.TGetPrimaryKeysReq(SESSION, None, "d", "t"),
    "GetCrossReference": ttypes.TGetCrossReferenceReq(SESSION, None, "d", "t", None, "e", "u"),
}
TOKENS = {
    "GetDelegationToken": ttypes.TGetDelegationTokenReq(SESSION, "a", "b"),
    "CancelDelegationToken": ttypes.TCancelDelegationTokenReq(SESSION, "t"),
    "RenewDelegationToken": ttypes.TRenewDelegationTokenReq(SESSION, "t"),
}


def test_every_call_of_the_service_is_known() -> None:
    names = [name for name in vars(TCLIService.Iface) if name[0].isupper()]
    assert len(names) > 20
    unread = {name for name in names if name not in requests._READERS}
    assert unread == {"GetLog"}  # the Thrift Server does not have it either


def test_open_session() -> None:
    request = ttypes.TOpenSessionReq(5, "ann", "pw", {"use:database": "d", "set:hivevar:x": "é"})
    assert read_request(written("OpenSession", request)) == requests.OpenSession(
        5, "ann", {"use:database": "d", "set:hivevar:x": "é"}
    )
    assert read_request(written("OpenSession", ttypes.TOpenSessionReq(10))) == requests.OpenSession(
        10, None, {}
    )


def test_execute() -> None:
    request = ttypes.TExecuteStatementReq(SESSION, "SELECT 'é'", {"k": "v"}, True, 30)
    assert read_request(written("ExecuteStatement", request)) == requests.ExecuteStatement(
        HANDLE, "SELECT 'é'", {"k": "v"}, True, 30
    )


@pytest.mark.parametrize("name", METADATA)
def test_metadata_calls_are_relayed_with_another_session(name: str) -> None:
    request = read_request(written(name, METADATA[name]))
    assert isinstance(request, requests.MetadataCall)
    assert request.session == HANDLE
    other = ttypes.TSessionHandle(ttypes.THandleIdentifier(b"G" * 16, b"S" * 16))
    fields = written("CloseSession", ttypes.TCloseSessionReq(other)).body.get(1)
    assert isinstance(fields, Struct)
    handle = fields.get(1)
    assert isinstance(handle, Struct)
    sent = read_by_thrift(requests.metadata_call(name, RemoteSession(handle), request.arguments))
    expected = type(METADATA[name])(**{**vars(METADATA[name]), "sessionHandle": other})
    assert sent == expected


@pytest.mark.parametrize("name", TOKENS)
def test_delegation_tokens(name: str) -> None:
    assert read_request(written(name, TOKENS[name])) == requests.DelegationToken(HANDLE)


@pytest.mark.parametrize(
    ("name", "request_", "expected"),
    [
        ("CloseSession", ttypes.TCloseSessionReq(SESSION), requests.CloseSession(HANDLE)),
        ("GetInfo", ttypes.TGetInfoReq(SESSION, 17), requests.GetInfo(HANDLE, 17)),
        (
            "GetOperationStatus",
            ttypes.TGetOperationStatusReq(OPERATION, True),
            requests.GetOperationStatus(HANDLE),
        ),
        (
            "CancelOperation",
            ttypes.TCancelOperationReq(OPERATION),
            requests.CancelOperation(HANDLE),
        ),
        ("CloseOperation", ttypes.TCloseOperationReq(OPERATION), requests.CloseOperation(HANDLE)),
        (
            "GetResultSetMetadata",
            ttypes.TGetResultSetMetadataReq(OPERATION),
            requests.GetResultSetMetadata(HANDLE),
        ),
        (
            "FetchResults",
            ttypes.TFetchResultsReq(OPERATION, 4, 1000, 1),
            requests.FetchResults(HANDLE, 4, 1000, 1),
        ),
    ],
)
def test_calls_with_a_handle(name: str, request_: Any, expected: requests.Request) -> None:
    message = written(name, request_)
    assert read_request(message) == expected
    if name not in ("CloseSession", "GetInfo"):
        assert requests.operation_type(message) == 4


@pytest.mark.parametrize("name", ["GetLog", "CloseImpalaOperation", "GetQueryId", "Nonsense"])
def test_unknown_calls(name: str) -> None:
    assert read_request(Message(name, CALL, 1, Struct())) == requests.UnknownCall()


@pytest.mark.parametrize("name", requests._READERS)
def test_a_call_without_its_fields_is_a_wire_error(name: str) -> None:
    message = Message(
        name, CALL, 1, Struct() if name == "OpenSession" else Struct({1: (12, Struct())})
    )
    with pytest.raises(WireError):
        read_request(message)


@given(st.sampled_from(sorted(requests._READERS)), st.binary(max_size=120))
def test_any_bytes_give_a_request_or_a_wire_error(name: str, body: bytes) -> None:
    try:
        read_request(decode_message(encode_head(name, CALL, 1) + b"\x0c\0\1" + body))
    except WireError:
        return


REMOTE_SESSION = RemoteSession(Struct({1: (12, Struct({1: (11, b"g" * 16), 2: (11, b"s" * 16)}))}))
REMOTE_OPERATION = RemoteOperation(
    Struct({1: (12, Struct({1: (11, b"g" * 16), 2: (11, b"s" * 16)})), 2: (8, 4), 3: (2, True)})
)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            lambda: requests.open_session_call(9, "ann", {"set:hivevar:x": "1"}),
            ttypes.TOpenSessionReq(9, "ann", None, {"set:hivevar:x": "1"}),
        ),
        (
            lambda: requests.close_session_call(REMOTE_SESSION),
            ttypes.TCloseSessionReq(SESSION),
        ),
        (
            lambda: requests.execute_call(REMOTE_SESSION, "SELECT 1", {"a": "b"}, 3),
            ttypes.TExecuteStatementReq(SESSION, "SELECT 1", {"a": "b"}, True, 3),
        ),
        (
            lambda: requests.operation_call("CancelOperation", REMOTE_OPERATION),
            ttypes.TCancelOperationReq(OPERATION),
        ),
        (
            lambda: requests.fetch_call(REMOTE_OPERATION, requests.FetchResults(HANDLE, 0, 5, 1)),
            ttypes.TFetchResultsReq(OPERATION, 0, 5, 1),
        ),
        (
            lambda: requests.get_info_call(REMOTE_SESSION, 18),
            ttypes.TGetInfoReq(SESSION, 18),
        ),
    ],
)
def test_calls_to_clusters_are_read_by_thrift(call: Callable[[], bytes], expected: Any) -> None:
    assert read_by_thrift(call()) == expected


def test_secrets_are_not_in_the_repr() -> None:
    assert "ssss" not in repr(HANDLE)


def test_a_repeated_call_is_decoded_once() -> None:
    last = LastCall()
    first = call_of("FetchResults", 7)
    assert last.matching(first) is None
    assert last.matching(b"") is None
    message = decode_message(first)
    last.keep(first, message, read_request(message))
    matching = last.matching(call_of("FetchResults", -8))
    assert matching is not None
    assert matching[0].seqid == -8
    assert (matching[0].name, matching[0].body) == (message.name, message.body)
    assert matching[1] == read_request(message)
    others = [call_of("FetchResults", 7)[:-1], call_of("CloseOperation", 7), first + b"\0"]
    changed = [
        first[:at] + bytes((first[at] ^ 1,)) + first[at + 1 :]
        for at in range(len(first))
        if not 20 <= at < 24
    ]
    assert [last.matching(data) for data in others + changed] == [None] * len(others + changed)


def test_a_long_call_is_not_remembered() -> None:
    last = LastCall()
    message = Message(
        "GetInfo", CALL, 1, Struct({1: (STRUCT, Struct({9: (STRING, bytes(MAX_KEPT))}))})
    )
    last.keep(encode_message(message), message, UnknownCall())
    assert last.matching(encode_message(message)) is None


def call_of(name: str, seqid: int) -> bytes:
    operation = Struct({1: (STRUCT, Struct({1: (STRING, b"g" * 16), 2: (STRING, b"s" * 16)}))})
    return encode_message(
        Message(name, CALL, seqid, Struct({1: (STRUCT, Struct({1: (STRUCT, operation)}))}))
    )
