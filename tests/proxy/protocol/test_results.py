"""The proxy's replies are read by Apache Thrift; clusters' replies are read by the proxy."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from TCLIService import TCLIService, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from proxy.errors import ClusterDown, Failure, WireError
from proxy.protocol import replies, results
from proxy.protocol.cluster_calls import RemoteOperation, operation_call
from proxy.protocol.messages import decode_message
from proxy.protocol.replies import Status
from proxy.protocol.requests import Handle
from proxy.protocol.results import NO_ROWS, ResultTable
from proxy.protocol.status import SUCCESS, as_synchronous, failure_of
from proxy.protocol.types import OperationState
from thriftcodec.values import (
    BOOL,
    BYTE,
    DOUBLE,
    I16,
    I32,
    LIST,
    REPLY,
    STRING,
    STRUCT,
    Items,
    Struct,
)

HANDLE = Handle(b"g" * 16, b"s" * 16)
TABLE = ResultTable(("a", "b"), (("1", None), ("é", "x"), (None, "")))


def by_thrift(name: str, result: Struct) -> Any:
    protocol = TBinaryProtocol(TMemoryBuffer(replies.reply(name, 9, result)))
    assert protocol.readMessageBegin() == (name, REPLY, 9)
    read = getattr(TCLIService, f"{name}_result")()
    read.read(protocol)
    return read.success


def by_us(name: str, response: Any) -> bytes:
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer)
    protocol.writeMessageBegin(name, REPLY, 0)
    getattr(TCLIService, f"{name}_result")(response).write(protocol)
    return bytes(buffer.getvalue())


def columns_of(response: Any) -> list[list[str | None]]:
    found = []
    for column in response.results.columns:
        values, nulls = column.stringVal.values, column.stringVal.nulls
        found.append(
            [
                None if number // 8 < len(nulls) and nulls[number // 8] >> number % 8 & 1 else each
                for number, each in enumerate(values)
            ]
        )
    return found


def test_columns() -> None:
    response = by_thrift("FetchResults", results.fetch_reply(TABLE, 0, 10, 5))
    assert response.status.statusCode == 0
    assert response.hasMoreRows is False
    assert columns_of(response) == [["1", "é", None], [None, "x", ""]]


def test_pages_of_rows() -> None:
    response = by_thrift("FetchResults", results.fetch_reply(TABLE, 1, 1, 10))
    assert response.results.startRowOffset == 1
    assert columns_of(response) == [["é"], ["x"]]
    response = by_thrift("FetchResults", results.fetch_reply(TABLE, 3, 10, 10))
    assert columns_of(response) == [[], []]


def test_rows_before_version_6() -> None:
    response = by_thrift("FetchResults", results.fetch_reply(TABLE, 0, 10, 4))
    assert response.results.columns is None
    read = [[value.stringVal.value for value in row.colVals] for row in response.results.rows]
    assert read == [["1", None], ["é", "x"], [None, ""]]


@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=30))
def test_nulls(values: list[str | None]) -> None:
    texts = tuple((each,) for each in values)
    texts = tuple((None if t[0] is None else t[0].encode(errors="ignore").decode(),) for t in texts)
    response = by_thrift("FetchResults", results.fetch_reply(ResultTable(("a",), texts), 0, 100, 5))
    assert columns_of(response) == [[each[0] for each in texts]]


def test_metadata() -> None:
    schema = by_thrift("GetResultSetMetadata", results.metadata_reply(TABLE)).schema
    assert [(each.columnName, each.position) for each in schema.columns] == [("a", 0), ("b", 1)]
    assert {each.typeDesc.types[0].primitiveEntry.type for each in schema.columns} == {
        ttypes.TTypeId.STRING_TYPE
    }


def fetched(**row_set: Any) -> Struct:
    rows = ttypes.TRowSet(startRowOffset=0, rows=[], **row_set)
    response = ttypes.TFetchResultsResp(ttypes.TStatus(0), False, rows)
    return replies.read_result(by_us("FetchResults", response), "FetchResults")


@pytest.mark.parametrize("row_set", [{}, {"columns": []}])
def test_a_row_set_without_columns_gets_an_empty_one(row_set: dict[str, Any]) -> None:
    cured = results.with_empty_column(fetched(**row_set))
    assert cured is not None
    assert columns_of(by_thrift("FetchResults", cured)) == [[]]


def test_other_row_sets_stay_unchanged() -> None:
    column = ttypes.TColumn(i32Val=ttypes.TI32Column([1], b""))
    assert results.with_empty_column(fetched(columns=[column])) is None
    failed = ttypes.TFetchResultsResp(ttypes.TStatus(3, errorMessage="no"))
    reply = replies.read_result(by_us("FetchResults", failed), "FetchResults")
    assert results.with_empty_column(reply) is None


def test_session_and_operation_replies() -> None:
    opened = by_thrift("OpenSession", replies.session_opened(9, HANDLE))
    assert opened.serverProtocolVersion == 9
    assert opened.configuration == {}
    assert opened.sessionHandle.sessionId.guid == HANDLE.guid
    refused = by_thrift("OpenSession", replies.session_refused(9, Failure("no", "42000", 3)))
    assert (refused.status.statusCode, refused.status.errorMessage) == (3, "no")
    started = by_thrift("ExecuteStatement", replies.operation_started(HANDLE, 0, True))
    assert started.operationHandle.hasResultSet is True
    assert started.operationHandle.operationId.secret == HANDLE.secret


def test_finished_says_that_there_is_a_result_set() -> None:
    status = Status(OperationState.FINISHED)
    response = by_thrift("GetOperationStatus", replies.operation_status(status, True))
    assert (response.operationState, response.hasResultSet) == (2, True)
    running = Status(OperationState.RUNNING)
    response = by_thrift("GetOperationStatus", replies.operation_status(running, True))
    assert (response.operationState, response.hasResultSet) == (1, None)


def test_an_operations_failure() -> None:
    status = Status(OperationState.ERROR, Failure("bad", "42P01", 4))
    response = by_thrift("GetOperationStatus", replies.operation_status(status, True))
    assert (response.operationState, response.sqlState, response.errorCode) == (5, "42P01", 4)
    assert response.errorMessage == "bad"
    back = replies.read_operation_status(
        replies.read_result(by_us("GetOperationStatus", response), "GetOperationStatus")
    )
    assert back == status


def test_causeways_errors_have_code_sqlstate_and_hint() -> None:
    failure = failure_of(ClusterDown("Cluster west is down."))
    assert failure.message.startswith("[CW201] Cluster west is down. The session goes on")
    assert (failure.sqlstate, failure.vendor) == ("08001", 201)


PREFIX = "org.apache.hive.service.cli.HiveSQLException: "
STACK = (
    "\n\tat org.apache.spark.sql.hive.thriftserver.HiveThriftServerErrors$.runningQueryError(H.s:4)"
    "\n\tat org.apache.hive.service.cli.operation.Operation.run(O.java:1)\nCaused by: x\n"
)


@pytest.mark.parametrize(
    "text",
    [
        "Error running query: [PARSE_SYNTAX_ERROR] x\n\n== SQL ==\nSELEC 1\n^^^\n",
        "Error running query: Job aborted: java.lang.X: no\n\tat org.apache.spark.Y.z(Y:1)\n\n"
        "Driver stacktrace:",
    ],
)
def test_a_synchronous_client_receives_the_text_without_the_stack(text: str) -> None:
    failure = as_synchronous(Failure(PREFIX + text + STACK, "42601", 0))
    assert failure == Failure(text, "42601", 0)


def test_texts_of_causeways_errors_stay_unchanged() -> None:
    failure = Failure("[CW104] No cluster has all inputs.", "0A000", 104)
    assert as_synchronous(failure) == failure


def test_the_head_is_replaced_and_the_rest_stays() -> None:
    data = replies.reply("FetchResults", 5, results.fetch_reply(NO_ROWS, 0, 1, 5))
    patched = replies.with_head(data, "FetchResults", 77)
    assert len(patched) == len(data)
    assert decode_message(patched).seqid == 77
    assert decode_message(patched).body == decode_message(data).body


def test_an_incomplete_head_is_a_wire_error() -> None:
    data = replies.reply("FetchResults", 5, Struct())
    whole = data.index(b"FetchResults") + len(b"FetchResults") + 4
    assert replies.with_head(data[:whole], "FetchResults", 5) == data[:whole]
    for length in range(whole):
        with pytest.raises(WireError):
            replies.with_head(data[:length], "FetchResults", 5)


def test_malformed_replies_are_wire_errors() -> None:
    data = replies.reply("FetchResults", 5, Struct())
    with pytest.raises(WireError):
        replies.read_result(data, "CloseSession")
    refused = replies.application_exception("GetLog", 1, "Invalid method name: 'GetLog'", 1)
    with pytest.raises(WireError, match="Invalid method name"):
        replies.read_result(refused, "GetLog")
    with pytest.raises(WireError):
        replies.result_failure(Struct())
    with pytest.raises(WireError):
        replies.started_operation(Struct())
    with pytest.raises(WireError):
        replies.read_operation_status(Struct({2: (8, 99)}))


def test_a_started_operations_handle_is_sent_back_unchanged() -> None:
    handle = Struct(
        {
            1: (STRUCT, Struct({1: (STRING, b"g" * 16), 2: (STRING, b"s" * 16)})),
            2: (I32, 0),
            3: (BOOL, True),
        }
    )
    warned = Struct({1: (I32, 1), 2: (LIST, Items(STRING, [b"careful"]))})
    for result in (
        replies.operation_started(Handle(b"g" * 16, b"s" * 16), 0, True),
        Struct({1: (STRUCT, SUCCESS), 2: (STRUCT, Struct({**handle.fields, 4: (DOUBLE, 7.0)}))}),
        Struct({1: (STRUCT, warned), 2: (STRUCT, handle)}),
    ):
        data = replies.reply("ExecuteStatement", 0, result)
        started = replies.read_started(data)
        assert isinstance(started, RemoteOperation)
        expected = replies.started_operation(replies.read_result(data, "ExecuteStatement"))
        for name in ("CloseOperation", "GetOperationStatus"):
            assert operation_call(name, started) == operation_call(name, expected)
    refused = replies.failed(Failure("no such thing", "42P01"))
    assert replies.read_started(replies.reply("ExecuteStatement", 0, refused)) == Failure(
        "no such thing", "42P01"
    )
    for other in (
        replies.reply("CloseSession", 0, replies.succeeded()),
        replies.reply("ExecuteStatement", 0, replies.succeeded()),
        replies.reply("ExecuteStatement", 0, Struct())[:-1],
    ):
        with pytest.raises(WireError):
            replies.read_started(other)


TYPES = (BYTE, I16, I32, STRING)
_NAMES = ("byteVal", "i16Val", "i32Val", "stringVal")
TYPED = ResultTable(
    ("a", "b", "c", "d"),
    ((-6, 5, 4, "x"), (None, None, None, None), (1, 300, 70_000, "")),
    TYPES,
)


@pytest.mark.parametrize("protocol", [0, 5, 9])
def test_typed_columns_are_read_by_thrift_and_by_the_proxy(protocol: int) -> None:
    found = by_thrift("FetchResults", results.fetch_reply(TYPED, 0, 10, protocol))
    row_set = replies.read_result(by_us("FetchResults", found), "FetchResults")
    assert results.rows_in(row_set, TYPES, protocol) == list(TYPED.rows)
    if protocol < 5:
        first = [
            getattr(each, name)
            for each, name in zip(found.results.rows[2].colVals, _NAMES, strict=True)
        ]
        assert [each.value for each in first] == [1, 300, 70_000, ""]
    else:
        typed = [
            getattr(each, name) for each, name in zip(found.results.columns, _NAMES, strict=True)
        ]
        assert [each.values[0] for each in typed] == [-6, 5, 4, "x"]
        assert [each.nulls for each in typed] == [b"\2"] * 4


def test_the_schema_contains_the_types_of_typed_columns() -> None:
    reply = results.metadata_reply(TYPED)
    assert results.header(reply) == [("a", 1), ("b", 2), ("c", 3), ("d", 7)]


@pytest.mark.parametrize("protocol", [0, 9])
@pytest.mark.parametrize("types", [(STRING,) * 4, TYPES[:3], (*TYPES, I32)])
def test_rows_of_other_types_are_wire_errors(protocol: int, types: tuple[int, ...]) -> None:
    with pytest.raises(WireError):
        results.rows_in(results.fetch_reply(TYPED, 0, 10, protocol), types, protocol)
