"""What the corpora began with: real calls and replies, in the form that each target takes.

python -m tests.fuzz.seeds
"""

from collections.abc import Iterator

from proxy.errors import Failure
from proxy.wire import replies, results
from proxy.wire.binary import BOOL, I32, STRING, STRUCT
from proxy.wire.framing import client_negotiation
from proxy.wire.peering import PeerInbound, introduced
from proxy.wire.replies import Status
from proxy.wire.requests import (
    FetchResults,
    Handle,
    RemoteOperation,
    RemoteSession,
    close_session_call,
    execute_call,
    fetch_call,
    get_info_call,
    open_session_call,
    operation_call,
)
from proxy.wire.types import OperationState
from tests.fuzz.__main__ import CORPUS

_HANDLE = Handle(bytes(16), b"s" * 16)
_FIELDS = {1: (STRUCT, {1: (STRING, _HANDLE.guid), 2: (STRING, _HANDLE.secret)})}
_SESSION = RemoteSession(_FIELDS)
_OPERATION = RemoteOperation({**_FIELDS, 2: (I32, 0), 3: (BOOL, True)})
_TOKEN = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ.eyJzdWIiOiJhbm4iLCJleHAiOjQ4MDAwMDAwMDB9."


def calls() -> list[bytes]:
    return [
        open_session_call(9, "ann", {"use:database": "sales", "set:hiveconf:a": "b"}),
        execute_call(_SESSION, "SELECT 1", {"a": "b"}, 5),
        fetch_call(_OPERATION, FetchResults(_HANDLE, 0, 1000, 0)),
        operation_call("GetOperationStatus", _OPERATION),
        get_info_call(_SESSION, 17),
        close_session_call(_SESSION),
    ]


def answers() -> list[bytes]:
    table = results.Table(("a", "b"), (("x", "y"), ("z", "w")))
    failure = Failure("no", "42000", 7)
    return [
        replies.reply("OpenSession", 1, replies.session_opened(9, _HANDLE)),
        replies.reply("ExecuteStatement", 2, replies.operation_started(_HANDLE, 0, True)),
        replies.reply("ExecuteStatement", 2, replies.failed(failure)),
        replies.reply(
            "GetOperationStatus",
            3,
            replies.operation_status(Status(OperationState.ERROR, failure), True),
        ),
        replies.reply("FetchResults", 4, results.fetch_reply(table, 0, 10, 9)),
        replies.reply("FetchResults", 4, results.fetch_reply(table, 0, 10, 4)),
        replies.application_exception("GetInfo", 5, "no", 1),
    ]


def seeds() -> Iterator[tuple[str, bytes]]:
    for call in calls():
        yield "thrift", call
        yield "bare", b"\x07" + call
        yield "unframed", b"\x07" + call + call
        framed = len(call).to_bytes(4, "big") + call
        yield "sasl", b"\x1f" + client_negotiation("ann", "pw") + framed
        inner = introduced("ann", "10.0.0.1", call)
        yield "peer", b"\x03" + PeerInbound().wrap(len(inner)) + inner
        head = (
            f"POST /cliservice HTTP/1.1\r\nAuthorization: Basic YTpi\r\nContent-Length: {len(call)}"
        )
        yield "http", b"\x40" + head.encode() + b"\r\n\r\n" + call
    for answer in answers():
        yield "thrift", answer
        yield "reply", answer
    chunked = b"POST /cliservice?doAs=bob HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    yield (
        "http",
        b"\x10" + chunked + b"5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.0\r\nCookie: a=b\r\n\r\n",
    )
    yield "sasl", b"\x04\1\0\0\0\6GSSAPI\2\0\0\0\3abc\2\0\0\0\2x!\0\0\0\1m"
    yield "token", (_TOKEN + "A" * 86).encode()
    yield "keys", b'{"keys":[{"kty":"EC","crv":"P-256","kid":"k","x":"AA","y":"AA"}]}'


def main() -> None:
    for number, (target, data) in enumerate(seeds()):
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"seed{number:03d}").write_bytes(data)


if __name__ == "__main__":
    main()
