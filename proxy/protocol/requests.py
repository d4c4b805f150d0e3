"""Decodes clients' calls into requests.

There is a request for every call of TCLIService that the Thrift Server has; any other is an
`UnknownCall`.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from proxy.errors import WireError
from proxy.protocol.types import Orientation
from thriftcodec.values import CALL, STRING, Items, Message, Pairs, Struct

_PIECE = 1 << 20  # bytes that are decoded at once


@dataclass(frozen=True, slots=True)
class Handle:
    """The two 16-byte halves of a session's or operation's handle. Both must match."""

    guid: bytes
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class OpenSession:
    protocol: int
    username: str | None
    configuration: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class CloseSession:
    session: Handle


@dataclass(frozen=True, slots=True)
class GetInfo:
    session: Handle
    info_type: int


@dataclass(frozen=True, slots=True)
class SetClientInfo:
    """Sets JDBC's properties of a client, such as ApplicationName."""

    session: Handle
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ExecuteStatement:
    """`overlay` is the configuration of this statement; `timeout` is in seconds, 0 means none."""

    session: Handle
    statement: str
    overlay: Mapping[str, str]
    run_async: bool
    timeout: int


@dataclass(frozen=True, slots=True)
class MetadataCall:
    """GetTables or a similar call; `arguments` has its request struct as it was sent."""

    session: Handle
    arguments: Struct


@dataclass(frozen=True, slots=True)
class DelegationTokenCall:
    """GetDelegationToken, CancelDelegationToken or RenewDelegationToken."""

    session: Handle


# In the calls about an operation, `kind` is the TOperationType in the client's handle.


@dataclass(frozen=True, slots=True)
class GetOperationStatus:
    operation: Handle
    kind: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class CancelOperation:
    operation: Handle
    kind: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class CloseOperation:
    operation: Handle
    kind: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class GetResultSetMetadata:
    operation: Handle
    kind: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class FetchResults:
    """`orientation` is a number of `Orientation`, or one that the protocol does not define."""

    operation: Handle
    orientation: int
    max_rows: int
    fetch_type: int
    kind: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class UnknownCall:
    """A method that the Thrift Server does not have."""


OperationCall = (
    GetOperationStatus | CancelOperation | CloseOperation | GetResultSetMetadata | FetchResults
)
Request = (
    OpenSession
    | CloseSession
    | GetInfo
    | SetClientInfo
    | ExecuteStatement
    | MetadataCall
    | DelegationTokenCall
    | OperationCall
    | UnknownCall
)


_OPERATION_CALLS: dict[str, Callable[[Handle, int], OperationCall]] = {
    "GetOperationStatus": GetOperationStatus,
    "CancelOperation": CancelOperation,
    "CloseOperation": CloseOperation,
    "GetResultSetMetadata": GetResultSetMetadata,
}
_NAMES = b"|".join(
    bytes((len(name),)) + name.encode() for name in (*_OPERATION_CALLS, "FetchResults")
)
# The bytes of a call: the message's head, the argument, the operation's handle with its identifier,
# and the other fields. A field begins with its wire type and its number.
_OPERATION_CALL = re.compile(
    rb"\x80\x01\0\x01\0\0\0(" + _NAMES + rb")(.{4})"
    rb"\x0c\0\x01\x0c\0\x01\x0c\0\x01"
    rb"\x0b\0\x01\0\0\0\x10(.{16})\x0b\0\x02\0\0\0\x10(.{16})\0"
    rb"\x08\0\x02(.{4})\x02\0\x03.(?:\x04\0\x04.{8})?\0"
    rb"(?:\x02\0\x02.|(?:\x08\0\x02(.{4}))?(?:\x0a\0\x03(.{8}))?(?:\x06\0\x04(.{2}))?)\0\0",
    re.DOTALL,
)


def handle_of(request: Request) -> Handle | None:
    """The handle of the request's session or operation; None for a request without one."""
    match request:
        case OpenSession() | UnknownCall():
            return None
        case GetOperationStatus() | CancelOperation() | CloseOperation():
            return request.operation
        case GetResultSetMetadata() | FetchResults():
            return request.operation
    return request.session


def read_request(message: Message) -> Request:
    """The request in a call. Raises WireError if a required field is absent or has another type."""
    reader = READERS.get(message.name)
    if reader is None:
        return UnknownCall()
    return reader(_struct(message.body, 1))


def decoded(raw: bytes) -> str:
    """The text of UTF-8 bytes; invalid ones become replacement characters, as in the Thrift Server.

    A long text is decoded in pieces, so that in a thread it holds the interpreter's lock for a
    short time only.
    """
    if len(raw) <= _PIECE:
        return raw.decode(errors="replace")
    pieces = getincrementaldecoder("utf-8")(errors="replace")
    view, end = memoryview(raw), len(raw)
    return "".join(
        pieces.decode(view[at : at + _PIECE], at + _PIECE >= end) for at in range(0, end, _PIECE)
    )


def read_operation_call(data: bytes | bytearray) -> tuple[Message, OperationCall] | None:
    """A call about an operation and its request, decoded by one regular expression, for speed.

    None for other calls, and for bytes that Thrift's libraries would write in another way;
    `read_request` decodes those.
    """
    match = _OPERATION_CALL.fullmatch(data)
    if match is None:
        return None
    counted_name, seqid, guid, secret, kind, orientation, rows, fetch_type = match.groups()
    name, handle = counted_name[1:].decode(), Handle(guid, secret)
    call = Message(name, CALL, _signed(seqid), Struct())
    if name != "FetchResults":
        return call, _OPERATION_CALLS[name](handle, _signed(kind))
    numbers = _signed(orientation), _signed(rows), _signed(fetch_type)
    return call, FetchResults(handle, *numbers, _signed(kind))


def _signed(data: bytes | None) -> int:
    return int.from_bytes(data or b"", "big", signed=True)


def texts_of(call: MetadataCall) -> list[str]:
    """The texts among a metadata call's arguments, in the order of their fields."""
    texts: list[str] = []
    for _, (_, value) in sorted(call.arguments.fields.items()):
        values = value if isinstance(value, Items) else [value]
        texts += [each.decode(errors="replace") for each in values if isinstance(each, bytes)]
    return texts


def handle_type(handle: Struct) -> int:
    """The TOperationType in an operation's handle."""
    return _integer(handle, 2, 0)


def _open_session(request: Struct) -> OpenSession:
    return OpenSession(_integer(request, 1, -1), _text_or_none(request, 2), _text_map(request, 4))


def _execute(request: Struct) -> ExecuteStatement:
    return ExecuteStatement(
        _handle(request),
        decoded(_bytes(request, 2)),
        _text_map(request, 3),
        bool(_integer(request, 4, 0)),
        _integer(request, 5, 0),
    )


def _fetch(request: Struct) -> FetchResults:
    return FetchResults(
        _handle(request),
        _integer(request, 2, Orientation.NEXT),
        _integer(request, 3, 0),
        _integer(request, 4, 0),
        handle_type(_struct(request, 1)),
    )


def _operation_reader(
    request_of: Callable[[Handle, int], OperationCall],
) -> Callable[[Struct], OperationCall]:
    return lambda request: request_of(_handle(request), handle_type(_struct(request, 1)))


_METADATA = (
    "GetTypeInfo",
    "GetCatalogs",
    "GetSchemas",
    "GetTables",
    "GetTableTypes",
    "GetColumns",
    "GetFunctions",
    "GetPrimaryKeys",
    "GetCrossReference",
)
READERS: dict[str, Callable[[Struct], Request]] = {
    "OpenSession": _open_session,
    "CloseSession": lambda request: CloseSession(_handle(request)),
    "GetInfo": lambda request: GetInfo(_handle(request), _integer(request, 2, -1)),
    "SetClientInfo": lambda request: SetClientInfo(_handle(request), _text_map(request, 2)),
    "ExecuteStatement": _execute,
    **{name: lambda request: MetadataCall(_handle(request), request) for name in _METADATA},
    **{
        name: lambda request: DelegationTokenCall(_handle(request))
        for name in ("GetDelegationToken", "CancelDelegationToken", "RenewDelegationToken")
    },
    **{name: _operation_reader(request_of) for name, request_of in _OPERATION_CALLS.items()},
    "FetchResults": _fetch,
}


def _struct(fields: Struct, field: int) -> Struct:
    value = fields.get(field)
    if not isinstance(value, Struct):
        raise WireError(f"Required field {field} is unset.")
    return value


def _bytes(fields: Struct, field: int) -> bytes:
    value = fields.get(field)
    if not isinstance(value, bytes):
        raise WireError(f"Required field {field} is unset.")
    return value


def _text(raw: bytes, name: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise WireError(f"The {name} is not UTF-8.") from error


def _text_or_none(fields: Struct, field: int) -> str | None:
    return _text(_bytes(fields, field), "user name") if field in fields else None


def _integer(fields: Struct, field: int, default: int) -> int:
    value = fields.get(field, default)
    if not isinstance(value, int):
        raise WireError(f"Field {field} is not a number.")
    return value


def _text_map(fields: Struct, field: int) -> dict[str, str]:
    value = fields.get(field, Pairs(STRING, STRING))
    if not isinstance(value, Pairs):
        raise WireError(f"Field {field} is not a map.")
    texts = {}
    for key, mapped in value.items():
        if not isinstance(key, bytes) or not isinstance(mapped, bytes):
            raise WireError(f"Field {field} is not a map of texts.")
        texts[_text(key, "configuration")] = _text(mapped, "configuration")
    return texts


def _handle(request: Struct) -> Handle:
    identifier = _struct(_struct(request, 1), 1)
    return Handle(_bytes(identifier, 1), _bytes(identifier, 2))
