"""Calls that Apache Thrift writes are read."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from TCLIService import TCLIService, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from proxy.errors import WireError
from proxy.protocol import requests
from proxy.protocol.cluster_calls import RemoteSession, metadata_call
from proxy.protocol.messages import decode_message
from proxy.protocol.requests import read_request
from tests.fuzz.targets import thrift
from tests.proxy.protocol.thrift_handles import (
    HANDLE,
    IDENTIFIER,
    OPERATION,
    SESSION,
    read_by_thrift,
)
from thriftcodec.values import CALL, Message, Struct
from thriftcodec.writer import encode_head, encode_message


def written(name: str, request: Any) -> Message:
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer)
    protocol.writeMessageBegin(name, CALL, 7)
    getattr(TCLIService, f"{name}_args")(request).write(protocol)
    return decode_message(bytes(buffer.getvalue()))


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
    unread = {name for name in names if name not in requests.READERS}
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
    sent = read_by_thrift(metadata_call(name, RemoteSession(handle), request.arguments))
    expected = type(METADATA[name])(**{**vars(METADATA[name]), "sessionHandle": other})
    assert sent == expected


@pytest.mark.parametrize("name", TOKENS)
def test_delegation_tokens(name: str) -> None:
    assert read_request(written(name, TOKENS[name])) == requests.DelegationTokenCall(HANDLE)


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
        assert read_request(message).kind == 4


@pytest.mark.parametrize("name", ["GetLog", "CloseImpalaOperation", "GetQueryId", "Nonsense"])
def test_unknown_calls(name: str) -> None:
    assert read_request(Message(name, CALL, 1, Struct())) == requests.UnknownCall()


@pytest.mark.parametrize("name", requests.READERS)
def test_a_call_without_its_fields_is_a_wire_error(name: str) -> None:
    message = Message(
        name, CALL, 1, Struct() if name == "OpenSession" else Struct({1: (12, Struct())})
    )
    with pytest.raises(WireError):
        read_request(message)


@given(st.sampled_from(sorted(requests.READERS)), st.binary(max_size=120))
def test_any_bytes_give_a_request_or_a_wire_error(name: str, body: bytes) -> None:
    try:
        read_request(decode_message(encode_head(name, CALL, 1) + b"\x0c\0\1" + body))
    except WireError:
        return


def test_secrets_are_not_in_the_repr() -> None:
    assert "ssss" not in repr(HANDLE)


OPERATIONS = {
    "GetOperationStatus": [
        ttypes.TGetOperationStatusReq(OPERATION),
        ttypes.TGetOperationStatusReq(OPERATION, True),
    ],
    "CancelOperation": [ttypes.TCancelOperationReq(OPERATION)],
    "CloseOperation": [ttypes.TCloseOperationReq(OPERATION)],
    "GetResultSetMetadata": [ttypes.TGetResultSetMetadataReq(OPERATION)],
    "FetchResults": [
        ttypes.TFetchResultsReq(OPERATION, 4, 1 << 40, 1),
        ttypes.TFetchResultsReq(OPERATION, 0, -1),
        ttypes.TFetchResultsReq(ttypes.TOperationHandle(IDENTIFIER, 0, False, 2.5), 1, 7, 0),
    ],
}
READ = [(name, each) for name, several in OPERATIONS.items() for each in several]


@pytest.mark.parametrize(("name", "request_"), READ)
def test_an_operations_call_is_read_in_one_step(name: str, request_: Any) -> None:
    for seqid in (0, 7, -8):
        _, message = _written(name, request_, seqid)
        read = requests.read_operation_call(encode_message(message))
        assert read is not None
        assert (read[0].name, read[0].seqid) == (name, seqid)
        assert repr(read[1]) == repr(read_request(message))


@pytest.mark.parametrize(("name", "request_"), READ)
def test_calls_with_a_changed_byte_are_read_the_same_in_both_ways(name: str, request_: Any) -> None:
    data, _ = _written(name, request_, 7)
    for at in range(len(data)):
        for byte in {data[at] ^ 1, data[at] ^ 0x80, 0, 2, 8, 10, 11}:
            thrift(data[:at] + bytes((byte,)) + data[at + 1 :])
    thrift(data[:-1])
    thrift(data + b"\0")


def test_other_calls_are_not_read_in_one_step() -> None:
    data, _ = _written("CloseSession", ttypes.TCloseSessionReq(SESSION), 7)
    assert requests.read_operation_call(data) is None


def _written(name: str, request: Any, seqid: int) -> tuple[bytes, Message]:
    message = written(name, request)
    data = encode_message(Message(name, CALL, seqid, message.body))
    return data, decode_message(data)
