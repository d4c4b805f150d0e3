"""Carries out calls that change no object of a cluster: sends them on unchanged, and puts the
cluster's own locations into their replies."""

from collections.abc import AsyncIterator

from metastore.client.object_spans import Shape
from metastore.view.call import Call
from metastore.view.inbound.hive4_compat import NEWER
from metastore.view.locations import ClusterView
from metastore.view.lookups import TableNow
from metastore.view.outbound import replies
from metastore.view.outbound.locations_out import ReplyStream
from metastore.view.outbound.partition_specs import SpecStream, is_spec_call, plain_call
from metastore.view.server.clients.upstream_connection import Upstream
from metastore.view.server.questions import Questions
from metastore.view.server.shared import Shared


class Relay:
    """Sends calls with `Act.RELAY` on, for one client."""

    def __init__(self, upstream: Upstream, questions: Questions, shared: Shared) -> None:
        self._upstream = upstream
        self._questions = questions
        self._shared = shared

    async def reply(self, call: Call, view: ClusterView) -> AsyncIterator[bytes]:
        """The reply in pieces. Raises MetastoreDown, MalformedReply, MessageTooLarge."""
        if call.spec.name == "get_table" and self._shared.cache.on and len(call.tables()) == 1:
            yield await self._cached_table(call, view)
            return
        table = await self._table_of_partitions(call, view)
        if call.spec.name in NEWER and await self._questions.is_newer(view):
            whole = await self._questions.ask(call.data, view)
            yield replies.renamed(
                ReplyStream(call.spec.outbound, view).feed(whole), call.reply_name
            )
            return
        request, stream = _translation(call, table, view)
        await self._upstream.send(request)
        renamed = call.cluster is not None or request is not call.data
        async for piece in self._upstream.replies(stream):
            yield replies.renamed(piece, call.reply_name) if renamed else piece
            renamed = False  # the name is in the first piece

    async def _cached_table(self, call: Call, view: ClusterView) -> bytes:
        (table,) = call.tables()
        reply = await self._questions.table_reply(table, call.data, view)
        translated = ReplyStream(call.spec.outbound, view).feed(reply)
        return replies.renamed(translated, call.reply_name, call.sequence)

    async def _table_of_partitions(self, call: Call, view: ClusterView) -> TableNow | None:
        """The table whose partitions the call reads, read before them; None for other calls."""
        place, table = call.spec.outbound, None
        if place is not None and place.shape is Shape.PARTITION:
            for database, name in call.named():
                table = await self._questions.table(database, name, view)
        return table


def _translation(
    call: Call, table: TableNow | None, view: ClusterView
) -> tuple[bytes, ReplyStream]:
    """The request to the metastore, and the stream that turns its reply into the client's."""
    if is_spec_call(call) and table is not None and (view.aware or not table.placement.uniform):
        return plain_call(call), SpecStream(call, view, table.partitions, table.location)
    partitions = None if table is None else table.partitions
    return call.data, ReplyStream(call.spec.outbound, view, partitions)
