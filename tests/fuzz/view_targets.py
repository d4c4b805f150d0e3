"""Properties that must hold for any bytes that a metastore view receives, from either side.

The session is the real one, on a metastore that always has the same table and believes all.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any, cast

from conf.errors import CausewayError
from conf.names import ClusterName, TableRef
from conf.placement import Copy, Placement, write_placement
from conf.settings.view_limits import ViewLimits
from conf.topology import Cluster, Topology
from metastore.client.types import Changes, Database, Partition, Table
from metastore.view.call import Call
from metastore.view.locations import ClusterView
from metastore.view.methods import Act, methods, spec_of
from metastore.view.outbound.locations_out import PartitionsOf, ReplyStream
from metastore.view.server.clients.client_connection import ClientConnection
from metastore.view.server.clients.client_limits import ClientSlot
from metastore.view.server.clients.requests import Requests
from metastore.view.server.clients.upstream_connection import Upstream
from metastore.view.server.orphans_store import OrphanLog
from metastore.view.server.reply_cache import TableCache
from metastore.view.server.shared import Shared
from thriftcodec.errors import MalformedMessage
from thriftcodec.message_end import MessageEnd
from thriftcodec.skip import read_message_header
from thriftcodec.values import LIST, REPLY, STRUCT, VERSION_1, Items, Struct, strings
from thriftcodec.writer import call_bytes

_LOOP = asyncio.new_event_loop()
FORGED = "causeway.forged"  # a fact that a client sends along: none may reach the metastore
C1, C2 = ClusterName("c1"), ClusterName("c2")
_TOPOLOGY = Topology({name: Cluster(name, f"hdfs://{name}", ()) for name in (C1, C2)}, default=C1)
_KEYS = ("ds",)
_OURS = write_placement(Placement(C1, copies=(Copy(C2, "hdfs://c2/copy", "0/0"),)))
TABLE = Table.make(
    TableRef("d", "t"), [("a", "int")], location="hdfs://c1/t", partition_keys=[("ds", "string")]
)
TABLE.parameters = _OURS
PARTITION = Partition.make(TABLE, ["1"], "hdfs://c1/t/ds=1", _OURS)
_PARTITIONS = Items(STRUCT, [PARTITION.struct])


def reply_of(method: str, result: Struct) -> bytes:
    message = bytearray(call_bytes(method, 7, result))
    message[:4] = (VERSION_1 | REPLY).to_bytes(4, "big")
    return bytes(message)


_RESULTS = {
    "get_table": Struct({0: (STRUCT, TABLE.struct)}),
    "get_table_objects_by_name": Struct({0: (LIST, Items(STRUCT, [TABLE.struct]))}),
    "get_all_tables": Struct({0: (LIST, strings(["t"]))}),
    "get_database": Struct({0: (STRUCT, Database.make("d", "hdfs://c1/d.db").struct)}),
    "get_partition_names": Struct({0: (LIST, strings(["ds=1"]))}),
    "get_partitions": Struct({0: (LIST, _PARTITIONS)}),
    "get_partitions_by_names": Struct({0: (LIST, _PARTITIONS)}),
    "get_partitions_by_expr": Struct({0: (STRUCT, Struct({1: (LIST, _PARTITIONS)}))}),
}
REPLIES = {name: reply_of(name, result) for name, result in _RESULTS.items()}


def view_request(data: bytes) -> None:
    """The end of a request is the same however it is cut. A request ends with a reply or an error
    of the view, and no cluster fact from a client reaches the metastore."""
    whole = _messages(iter((data[1:],)))
    assert _messages(_pieces(data)) == whole
    with suppress(CausewayError, MalformedMessage):
        _LOOP.run_until_complete(_serve(data))


def view_reply(data: bytes) -> None:
    """The relayed reply of a metastore is the same however its bytes are cut."""
    which, rest = (data[0] if data else 0), data[1:]
    name, aware = _LISTED[which & 3], bool(which & 4)
    longest = max(1, len(rest) // (1 + (which >> 3)))  # one piece to 32
    pieces = (rest[at : at + longest] for at in range(0, len(rest), longest))
    assert _sent_on(name, aware, pieces) == _sent_on(name, aware, iter((rest,)))


_LISTED = ("get_partitions", "get_table", "get_partitions_by_expr", "get_partitions_pspec")


def _sent_on(name: str, aware: bool, pieces: Iterator[bytes]) -> bytes | None:
    """The relayed bytes; None for bytes that are no reply, of which a part may have been sent."""
    view = ClusterView(C2, _TOPOLOGY, aware)
    stream = ReplyStream(methods()[name].outbound, view, PartitionsOf(Placement(C1), _KEYS))
    sent = b""
    try:
        for piece in pieces:
            if not stream.done:
                sent += stream.feed(piece)
    except (CausewayError, MalformedMessage):
        return None
    return sent if stream.done else None


def _messages(pieces: Iterator[bytes]) -> list[bytes]:
    """The complete messages before the first invalid one."""
    found: list[bytes] = []
    buffer, finder = b"", MessageEnd()
    with suppress(MalformedMessage):
        for piece in pieces:
            while (end := finder.feed(piece)) is not None:
                found.append(buffer + piece[:end])
                buffer, piece, finder = b"", piece[end:], MessageEnd()
            buffer += piece
    return found


async def _serve(data: bytes) -> None:
    shared = _Shared(OrphanLog(None), TableCache(1.0 if data[:1] > b"\x7f" else 0.0, True))
    shared.newer = False
    shared.ready.set()
    view = ClusterView(C1, _TOPOLOGY)
    reader = cast(asyncio.StreamReader, _Reader(data))
    writer = cast(asyncio.StreamWriter, _Writer())
    upstream = cast(Upstream, _Metastore())
    slot = ClientSlot("127.0.0.1", lambda: None)
    requests = Requests(reader, ViewLimits(), slot, upstream)
    await ClientConnection(view, shared, requests, writer, upstream).serve()


class _Shared(Shared):
    """Never waits for changes."""

    async def changes_after(self, since: int, wait: float) -> Changes:
        return await super().changes_after(since, 0.0)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._pieces = _pieces(data)

    async def read(self, most: int) -> bytes:
        return next(self._pieces, b"")


class _Writer:
    def write(self, data: bytes) -> None:
        pass

    async def drain(self) -> None:
        pass


class _Metastore:
    """The metastore behind the view."""

    def __init__(self) -> None:
        self._reply = b""

    def note(self, method: str, request: bytes) -> None:
        pass

    def rest(self) -> None:
        pass

    async def send(self, data: bytes) -> None:
        assert MessageEnd().feed(data) == len(data)
        _, name, sequence, body = read_message_header(data)
        spec = spec_of(name)
        assert spec is not None
        if spec.act is not Act.RELAY:
            call = Call(spec, sequence, data, body)
            for found in (each for place in spec.inbound for each in call.objects_at(place)):
                assert FORGED not in found.facts
        self._reply = REPLIES.get(name) or reply_of(name, Struct())

    async def replies(self, stream: ReplyStream) -> AsyncIterator[bytes]:
        yield stream.feed(self._reply)

    async def exchange(self, request: bytes, view: ClusterView) -> bytes:
        await self.send(request)
        stream: Any = ReplyStream(None, view)
        return b"".join([piece async for piece in self.replies(stream)])


def _pieces(data: bytes) -> Iterator[bytes]:
    """The bytes after the first in pieces. The first byte is the position of eight single-byte
    pieces."""
    at, body = (data[0] if data else 0), data[1:]
    cuts = sorted({0, *(min(each, len(body)) for each in range(at, at + 9)), len(body)})
    return (body[start:end] for start, end in pairwise(cuts))
