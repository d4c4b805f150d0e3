"""Encodes replies to clients, and decodes replies of clusters."""

from dataclasses import dataclass

from proxy.errors import Failure, WireError
from proxy.protocol.cluster_calls import RemoteOperation, RemoteSession
from proxy.protocol.messages import decode_head, decode_message
from proxy.protocol.requests import Handle, handle_type
from proxy.protocol.status import SUCCESS, read_operation_failure, read_status, status_of
from proxy.protocol.types import OperationState
from thriftcodec.values import (
    BOOL,
    EXCEPTION,
    I32,
    I64,
    MAP,
    REPLY,
    STRING,
    STRUCT,
    Encoded,
    Message,
    Pairs,
    Struct,
)
from thriftcodec.writer import encode_head, encode_message


@dataclass(frozen=True, slots=True)
class Status:
    """An operation's state. `failure` is set in state ERROR."""

    state: OperationState
    failure: Failure | None = None


def reply(name: str, seqid: int, result: Struct) -> bytes:
    """A whole reply message."""
    return encode_message(Message(name, REPLY, seqid, Struct({0: (STRUCT, result)})))


def application_exception(name: str, seqid: int, text: str, kind: int) -> bytes:
    """A TApplicationException."""
    body = Struct({1: (STRING, text.encode()), 2: (I32, kind)})
    return encode_message(Message(name, EXCEPTION, seqid, body))


def failed(failure: Failure) -> Struct:
    """The result of a failed call, for calls whose other fields are optional."""
    return Struct({1: (STRUCT, status_of(failure))})


def succeeded() -> Struct:
    """The result of a call that returns only a status."""
    return Struct({1: (STRUCT, SUCCESS)})


def session_opened(protocol: int, handle: Handle) -> Struct:
    return Struct(
        {
            1: (STRUCT, SUCCESS),
            2: (I32, protocol),
            3: (STRUCT, _session_handle(handle)),
            4: (MAP, Pairs(STRING, STRING, [])),
        }
    )


def session_refused(protocol: int, failure: Failure) -> Struct:
    return Struct({1: (STRUCT, status_of(failure)), 2: (I32, protocol)})


def info(value: str | int) -> Struct:
    """GetInfoResp with a text or a number."""
    union: Struct = (
        Struct({1: (STRING, value.encode())})
        if isinstance(value, str)
        else Struct({6: (I64, value)})
    )
    return Struct({1: (STRUCT, SUCCESS), 2: (STRUCT, union)})


def operation_started(handle: Handle, kind: int, has_result_set: bool) -> Struct:
    identifier = Struct({1: (STRING, handle.guid), 2: (STRING, handle.secret)})
    operation = Struct({1: (STRUCT, identifier), 2: (I32, kind), 3: (BOOL, has_result_set)})
    return Struct({1: (STRUCT, SUCCESS), 2: (STRUCT, operation)})


def operation_status(status: Status, has_result_set: bool) -> Struct:
    """GetOperationStatusResp.

    In state FINISHED it has `hasResultSet`, which the Thrift Server never sends: without it
    hive-jdbc 4 polls the status before every row.
    """
    result = Struct({1: (STRUCT, SUCCESS), 2: (I32, int(status.state))})
    if status.failure is not None:
        if status.failure.sqlstate is not None:
            result.set(3, STRING, status.failure.sqlstate.encode())
        result.set(4, I32, status.failure.vendor)
        result.set(5, STRING, status.failure.message.encode(errors="replace"))
    if status.state is OperationState.FINISHED:
        result.set(9, BOOL, has_result_set)
    return result


def _session_handle(handle: Handle) -> Struct:
    identifier = Struct({1: (STRING, handle.guid), 2: (STRING, handle.secret)})
    return Struct({1: (STRUCT, identifier)})


# Replies of clusters


def read_result(data: bytes, name: str) -> Struct:
    """The result struct in a cluster's reply to the call `name`.

    Raises WireError for any other message, also for a TApplicationException.
    """
    message = decode_message(data)
    if message.kind == EXCEPTION:
        text = message.body.get(1, b"")
        reason = text.decode(errors="replace") if isinstance(text, bytes) else ""
        raise WireError(f"{name}: {reason}")
    result = message.body.get(0)
    if message.kind != REPLY or message.name != name or not isinstance(result, Struct):
        raise WireError(f"Not a reply to {name}.")
    return result


def result_failure(result: Struct) -> Failure | None:
    """The failure in a result's status; None for a success. Raises WireError without a status."""
    status = result.get(1)
    if not isinstance(status, Struct):
        raise WireError("A reply without a status.")
    return read_status(status)


def opened_session(result: Struct) -> RemoteSession:
    return RemoteSession(_handle_field(result, 3))


def info_text(result: Struct) -> str:
    """The text in a GetInfo reply; empty if the value is a number."""
    union = result.get(2)
    text = union.get(1, b"") if isinstance(union, Struct) else b""
    return text.decode(errors="replace") if isinstance(text, bytes) else ""


def started_operation(result: Struct) -> RemoteOperation:
    return RemoteOperation(_handle_field(result, 2))


def operation_kind(result: Struct) -> int:
    """The TOperationType of a started operation."""
    return handle_type(_handle_field(result, 2))


def read_started(data: bytes) -> RemoteOperation | Failure:
    """The operation that ExecuteStatement started, or its failure. Raises WireError.

    All successes are equal except for the bytes of the handle, which need no decoding.
    """
    if len(data) == _STARTED_LENGTH and data.startswith(_STARTED) and data.endswith(_STOPS):
        return RemoteOperation(Encoded(data[len(_STARTED) : 1 - len(_STOPS)]))
    result = read_result(data, "ExecuteStatement")
    return result_failure(result) or started_operation(result)


def read_operation_status(result: Struct) -> Status:
    """The state in a GetOperationStatus reply whose status is a success."""
    value = result.get(2)
    if not isinstance(value, int):
        raise WireError("An operation status without a state.")
    try:
        state = OperationState(value)
    except ValueError as error:
        raise WireError(f"Unknown operation state {value}.") from error
    failure = read_operation_failure(result) if state is OperationState.ERROR else None
    return Status(state, failure)


def with_handle(result: Struct, handle: Handle) -> Struct:
    """A started operation's result, with Causeway's handle in place of the cluster's."""
    identifier = Struct({1: (STRING, handle.guid), 2: (STRING, handle.secret)})
    operation = Struct({**_handle_field(result, 2).fields, 1: (STRUCT, identifier)})
    return Struct({**result.fields, 2: (STRUCT, operation)})


def with_head(data: bytes, name: str, seqid: int) -> bytes:
    """A cluster's reply with the client's sequence number. At most its head is decoded."""
    head = encode_head(name, REPLY, seqid)
    if len(data) > len(head) and data.startswith(head[:-4]):
        return head + data[len(head) :]
    _, kind, _, body = decode_head(data)
    return encode_head(name, kind, seqid) + data[body:]


_STARTED = reply("ExecuteStatement", 0, Struct({1: (STRUCT, SUCCESS), 2: (STRUCT, Encoded(b""))}))[
    :-2
]
_STOPS = b"\0\0\0"  # the stop bytes of the handle, the result and the message
_STARTED_LENGTH = len(
    reply("ExecuteStatement", 0, operation_started(Handle(bytes(16), bytes(16)), 0, True))
)


def _handle_field(result: Struct, field: int) -> Struct:
    value = result.get(field)
    if not isinstance(value, Struct):
        raise WireError("A reply without a handle.")
    return value
