"""The first inputs of the corpora: real calls and replies, in the form of each target.

python -m tests.fuzz.seeds
"""

from collections.abc import Iterator

from metastore.client.types import Database, Partition, Table
from proxy.errors import Failure
from proxy.protocol import replies, results
from proxy.protocol.cluster_calls import (
    RemoteOperation,
    RemoteSession,
    close_session_call,
    execute_call,
    fetch_call,
    get_info_call,
    open_session_call,
    operation_call,
)
from proxy.protocol.forwarding import PeerInbound, forwarded_call
from proxy.protocol.framing import client_negotiation
from proxy.protocol.replies import Status
from proxy.protocol.requests import FetchResults, Handle
from proxy.protocol.types import OperationState
from tests.fuzz.__main__ import CORPUS
from tests.fuzz.targets import ANN, COOKIES, NOW, TARGETS
from tests.fuzz.view_targets import FORGED, REPLIES, TABLE
from thriftcodec.values import (
    BOOL,
    I32,
    I64,
    LIST,
    MAP,
    STRING,
    STRUCT,
    Items,
    Struct,
    string_map,
    strings,
)
from thriftcodec.writer import call_bytes

_HANDLE = Handle(bytes(16), b"s" * 16)
_FIELDS = Struct({1: (STRUCT, Struct({1: (STRING, _HANDLE.guid), 2: (STRING, _HANDLE.secret)}))})
_SESSION = RemoteSession(_FIELDS)
_OPERATION = RemoteOperation(Struct({**_FIELDS.fields, 2: (I32, 0), 3: (BOOL, True)}))
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
    table = results.ResultTable(("a", "b"), (("x", "y"), ("z", "w")))
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


_WRAPPED = (b"!abc!", b"!!", b"!0123456789!")
_STATEMENTS = (
    "SELECT x, `y` FROM a JOIN e.a USING (x) WHERE x = ${y} -- note",
    "WITH c AS (SELECT * FROM p WHERE ds = '2020-01-01' AND hr IN (0, 11)) SELECT k FROM c",
    "INSERT OVERWRITE TABLE p PARTITION (ds = '1', hr) SELECT k, v, 1 FROM d.v2",
    "FROM a INSERT INTO b SELECT x, 1 INSERT INTO q SELECT * LIMIT 1",
    "SET spark.my.password = 's3cret'",
    "ALTER TABLE d.p PARTITION (ds='1') COPY c1 TO c2",
    "EXPLAIN CLUSTER SELECT count(*) FROM a LATERAL VIEW explode(array(1)) t AS n",
    "USE CLUSTER `c1`",
    "CREATE TABLE t (a INT) OPTIONS (password 'x') AS SELECT CAST(x AS MAP<STRING, INT>) FROM a",
    "MERGE INTO a USING b ON a.x = b.x WHEN MATCHED THEN DELETE",
)


_Fields = dict[int, tuple[int, object]]


def requests() -> list[bytes]:
    """Requests to a view."""
    named: _Fields = {1: (STRING, "d"), 2: (STRING, "t")}
    table = Table.make(TABLE.ref, [("a", "int")])
    table.parameters = {FORGED: "x", "y": "z"}
    part = Partition.make(TABLE, ["1"], "", {FORGED: "x"}).struct
    parts = (LIST, Items(STRUCT, [part]))
    of_parts = (STRUCT, Struct({**named, 3: parts}))
    values = (LIST, strings(["1"]))
    spec = Struct({**named, 5: (STRUCT, Struct({1: parts}))})
    made: dict[str, _Fields] = {
        "get_table": named,
        "get_table_on_cluster": {**named, 100: (STRING, "c2")},
        "create_table": {1: (STRUCT, table.struct)},
        "alter_table": {**named, 3: (STRUCT, table.struct)},
        "drop_table": named,
        "add_partitions": {1: parts},
        "add_partitions_req": {1: of_parts},
        "add_partitions_pspec": {1: (LIST, Items(STRUCT, [spec]))},
        "alter_partitions": {**named, 3: parts},
        "drop_partition": {**named, 3: values},
        "exchange_partition": {
            1: (MAP, string_map({"ds": "1"})),
            2: named[1],
            3: named[2],
        },
        "get_partitions_pspec": named,
        "use_cluster": {1: (STRING, "c2")},
        "causeway_changes": {1: (I64, 5), 2: (I64, 5)},
        "fire_listener_event": {1: (STRUCT, Struct({3: named[1], 4: named[2], 5: values}))},
        "create_database": {1: (STRUCT, Database.make("n", "hdfs://c2/n").struct)},
    }
    return [call_bytes(name, 1, Struct(fields)) for name, fields in made.items()]


def seeds() -> Iterator[tuple[str, bytes]]:
    for call in calls():
        yield "thrift", call
        yield "message_end", b"\x07" + call
        yield "unframed", b"\x07" + call + call
        framed = len(call).to_bytes(4, "big") + call
        yield "sasl", b"\x1f" + client_negotiation("ann", "pw") + framed
        inner = forwarded_call("ann", "10.0.0.1", call)
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
    yield (
        "security_layer",
        b"\5" + b"".join(bytes((0, 0, 0, len(each))) + each for each in _WRAPPED),
    )
    for message in requests():
        yield "view_request", b"\x05" + message
    for which, message in enumerate(REPLIES.values()):
        yield "view_reply", bytes((which * 8 + which % 8,)) + message
    yield "cookie", COOKIES.header(ANN, NOW).encode()
    yield "patterns", b"sales%|_\\_x\n%a.*\nc_%\nsales"
    for sql in _STATEMENTS:
        yield "statement", sql.encode()
    yield "token", (_TOKEN + "A" * 86).encode()
    yield "keys", b'{"keys":[{"kty":"EC","crv":"P-256","kid":"k","x":"AA","y":"AA"}]}'


def main() -> None:
    for target in TARGETS:
        folder = CORPUS / target
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("seed*"):
            old.unlink()
        mine = [data for name, data in seeds() if name == target]
        for number, data in enumerate(mine):
            (folder / f"seed{number:02d}").write_bytes(data)


if __name__ == "__main__":
    main()
