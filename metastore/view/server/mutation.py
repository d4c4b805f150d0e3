"""Carries out calls that change objects: admits or refuses them, sends them to the metastore, and
adds the changed tables to the feeds."""

import logging
from collections.abc import Awaitable

from conf.write_ids import new_id
from metastore.view.call import Call
from metastore.view.errors import FactsUnavailable
from metastore.view.inbound.admission import Admitted, admit
from metastore.view.inbound.version_updates import Context
from metastore.view.locations import ClusterView
from metastore.view.lookups import Lookup, T
from metastore.view.outbound.locations_out import ReplyStream
from metastore.view.server.clients.upstream_connection import Upstream
from metastore.view.server.direct_writes import DirectWriter
from metastore.view.server.lookup_runner import LookupRunner
from metastore.view.server.removals import Removals
from metastore.view.server.shared import Shared

log = logging.getLogger("causeway.view")


class Mutation:
    """Carries out calls whose act is not `Act.RELAY`, for one client."""

    def __init__(self, upstream: Upstream, lookups: LookupRunner, shared: Shared) -> None:
        self._upstream = upstream
        self._lookups = lookups
        self._shared = shared

    async def reply(self, call: Call, view: ClusterView) -> bytes:
        """The whole reply. The tables are locked from the decision to the last change.

        Raises OutsidePrimary and the other refusals of `admit`, MetastoreDown, MalformedReply.
        """
        context = new_context(view)
        async with Removals(self._writer(context)) as removals:
            while (reply := await self._attempt(call, context, removals)) is None:
                await removals.mark()
        return reply

    async def _attempt(self, call: Call, context: Context, removals: Removals) -> bytes | None:
        """The reply, or None if tables have to be marked before the call may be sent."""
        view = context.view
        async with self._shared.locks.exclusive(call.tables()) as held:
            held.changed += call.tables()  # also if the call fails: a part of it may be done
            admitted = await self._admitted(call, context)
            if not await removals.may_be_sent(admitted.removed):
                return None
            entry = self._shared.orphans.begin(admitted.orphans)
            partitions = None if admitted.table is None else admitted.table.partitions
            stream = ReplyStream(call.spec.outbound, view, partitions, call.new_name)
            try:
                await self._upstream.send(admitted.request)
                pieces = [piece async for piece in self._upstream.replies(stream)]
                if admitted.after is not None and not stream.failed:
                    await self._afterwards(admitted.after(), view)
            finally:
                self._shared.changed(admitted.changed)
                held.changed += admitted.changed
            self._shared.orphans.end(entry, dropped=not stream.failed)
        return b"".join(pieces)

    async def _admitted(self, call: Call, context: Context) -> Admitted:
        try:
            return await self._lookups.run(admit(call, context), context.view)
        except BaseException:
            self._shared.changed(call.tables())  # the view may have changed facts already
            raise

    def _writer(self, context: Context) -> DirectWriter:
        def run(lookup: Lookup[T]) -> Awaitable[T]:
            return self._lookups.run(lookup, context.view)

        return DirectWriter(run, self._shared, context, self)

    async def _afterwards(self, lookup: Lookup[None], view: ClusterView) -> None:
        try:
            await self._lookups.run(lookup, view)
        except FactsUnavailable as error:
            # The call itself has succeeded, and the feed has the change.
            log.warning("the facts id of a changed table could not be renewed: %s", error)


def new_context(view: ClusterView) -> Context:
    """The context of one change."""
    return Context(view, new_id)
