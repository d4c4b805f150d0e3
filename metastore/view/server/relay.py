"""Carries out calls that change no object of a cluster: sends them on unchanged, and puts the
cluster's own locations into their replies."""

from collections.abc import AsyncIterator

from metastore.client.object_spans import Shape
from metastore.view.call import Call
from metastore.view.locations import ClusterView
from metastore.view.lookups import TableNow
from metastore.view.outbound.locations_out import ReplyStream
from metastore.view.outbound.partition_specs import SpecStream, is_spec_call, plain_call
from metastore.view.server.clients.upstream_connection import Upstream
from metastore.view.server.lookup_runner import LookupRunner


class Relay:
    """Sends calls with `Act.RELAY` on, for one client."""

    def __init__(self, upstream: Upstream, lookups: LookupRunner) -> None:
        self._upstream = upstream
        self._lookups = lookups

    async def reply(self, call: Call, view: ClusterView) -> AsyncIterator[bytes]:
        """The reply in pieces. Raises MetastoreDown, MalformedReply, MessageTooLarge."""
        whole = await self._lookups.whole_reply(call, view)
        if whole is not None:
            stream = ReplyStream(call.spec.outbound, view, None, call.new_name, call.sequence)
            yield stream.feed(whole)
            return
        table = await self._table_of_partitions(call, view)
        if is_spec_call(call) and table is not None and (view.aware or not table.placement.uniform):
            request = plain_call(call)
            stream = SpecStream(call, view, table.partitions, table.location)
        else:
            request = call.data
            partitions = None if table is None else table.partitions
            stream = ReplyStream(call.spec.outbound, view, partitions, call.new_name)
        await self._upstream.send(request)
        async for piece in self._upstream.replies(stream):
            yield piece

    async def _table_of_partitions(self, call: Call, view: ClusterView) -> TableNow | None:
        """The table whose partitions the call reads, read before them; None for other calls."""
        place, table = call.spec.outbound, None
        if place is not None and place.shape is Shape.PARTITION:
            for database, name in call.name_pairs():
                table = await self._lookups.table(database, name, view)
        return table
