"""Messages are written back as they were read; malformed bytes raise WireError."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from TCLIService import TCLIService, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from proxy.errors import WireError
from proxy.protocol.messages import decode_head, decode_message
from thriftcodec.values import (
    BOOL,
    CALL,
    I32,
    LIST,
    MAP,
    STRUCT,
    Items,
    Message,
    Pairs,
    Struct,
    Value,
)
from thriftcodec.writer import encode_message


def thrift_call(name: str, seqid: int, arguments: object) -> bytes:
    """A call as Apache Thrift's own Python library writes it."""
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer)
    protocol.writeMessageBegin(name, CALL, seqid)
    arguments.write(protocol)  # type: ignore[attr-defined]
    protocol.writeMessageEnd()
    return bytes(buffer.getvalue())


def execute(statement: str = "SELECT 1") -> bytes:
    identifier = ttypes.THandleIdentifier(guid=b"g" * 16, secret=b"s" * 16)
    request = ttypes.TExecuteStatementReq(
        sessionHandle=ttypes.TSessionHandle(identifier),
        statement=statement,
        confOverlay={"a": "1", "b": "2"},
        runAsync=True,
        queryTimeout=7,
    )
    return thrift_call("ExecuteStatement", 41, TCLIService.ExecuteStatement_args(request))


def column_reply() -> bytes:
    """A reply with every kind of container and number."""
    columns = [
        ttypes.TColumn(boolVal=ttypes.TBoolColumn([True, False], b"\0")),
        ttypes.TColumn(byteVal=ttypes.TByteColumn([-1, 2], b"\1")),
        ttypes.TColumn(i64Val=ttypes.TI64Column([2**62, -5], b"")),
        ttypes.TColumn(doubleVal=ttypes.TDoubleColumn([1.5, -0.0], b"")),
        ttypes.TColumn(stringVal=ttypes.TStringColumn(["é", ""], b"\2")),
    ]
    status = ttypes.TStatus(statusCode=0)
    rows = ttypes.TRowSet(startRowOffset=0, rows=[], columns=columns)
    response = ttypes.TFetchResultsResp(status=status, hasMoreRows=False, results=rows)
    return thrift_call("FetchResults", -3, TCLIService.FetchResults_result(response))


@pytest.mark.parametrize("data", [execute(), column_reply()], ids=["call", "reply"])
def test_messages_of_thrift_are_written_back_unchanged(data: bytes) -> None:
    assert encode_message(decode_message(data)) == data


def test_the_head_is_decoded() -> None:
    name, kind, seqid, start = decode_head(execute())
    assert (name, kind, seqid) == ("ExecuteStatement", CALL, 41)
    assert start == 4 + 4 + len("ExecuteStatement") + 4


@pytest.mark.parametrize("data", [execute(), column_reply()], ids=["call", "reply"])
def test_every_truncated_message_is_an_error(data: bytes) -> None:
    for end in range(len(data)):
        with pytest.raises(WireError):
            decode_message(data[:end])


def test_trailing_bytes_are_an_error() -> None:
    with pytest.raises(WireError, match="1 bytes after the end"):
        decode_message(execute() + b"\0")


@pytest.mark.parametrize(
    "body",
    [
        b"\x0f\0\1\x0b\x7f\xff\xff\xff",  # a list of two thousand million texts
        b"\x0f\0\1\x0b\xff\xff\xff\xff",  # a list of minus one
        b"\x0d\0\1\x0b\x0b\x7f\xff\xff\xff",  # a map as large
        b"\x0b\0\1\x7f\xff\xff\xff",  # a text as long
        b"\x0b\0\1\xff\xff\xff\xff",
        b"\x05\0\1\0",  # an unknown type
        b"\x0c\0\1" * 100,  # too deep
        b"\x0f\0\1\x0f\0\0\0\1" + b"\x0f\0\0\0\1" * 100,
    ],
)
def test_wrong_lengths_are_errors(body: bytes) -> None:
    head = execute()[: 4 + 4 + len("ExecuteStatement") + 4]
    with pytest.raises(WireError):
        decode_message(head + body)


def test_an_old_style_message_is_an_error() -> None:
    with pytest.raises(WireError, match="strict"):
        decode_message(b"\0\0\0\x04Ping\1\0\0\0\0\0")


@given(st.binary(max_size=300))
def test_any_bytes_give_a_message_or_a_wire_error(data: bytes) -> None:
    for candidate in (data, execute()[:40] + data):
        try:
            message = decode_message(candidate)
        except WireError:
            continue
        assert isinstance(message, Message)


@given(st.data())
def test_a_changed_byte_gives_a_message_or_a_wire_error(data: st.DataObject) -> None:
    original = bytearray(column_reply())
    at = data.draw(st.integers(0, len(original) - 1))
    original[at] = data.draw(st.integers(0, 255))
    with suppress(WireError):
        decode_message(bytes(original))


@pytest.mark.parametrize(
    "values",
    [
        Items(STRUCT, [Struct()] * 1000),
        Items(LIST, [Items(BOOL, [True] * 100)] * 10),
        Pairs(I32, BOOL, [(key, True) for key in range(1000)]),
        Struct(dict.fromkeys(range(1000), (BOOL, True))),
    ],
)
def test_the_number_of_values_is_bounded(values: Value) -> None:
    """A byte on the wire may take a hundred bytes in memory."""
    kind = {Items: LIST, Pairs: MAP, Struct: STRUCT}[type(values)]
    message = Message("Ping", CALL, 1, Struct({1: (kind, values)}))
    assert decode_message(encode_message(message), 1100) == message
    with pytest.raises(WireError, match="too many values"):
        decode_message(encode_message(message), 900)
