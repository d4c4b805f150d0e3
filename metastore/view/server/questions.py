"""The view's own calls to the metastore, over the connection of a client.

They are made with the client's permissions, because the client called `set_ugi` on that connection.
"""

from conf.names import TableRef
from metastore.view.call import ref_of
from metastore.view.inbound.hive4_compat import NEWER, is_unknown, newer_call, older_reply
from metastore.view.locations import ClusterView
from metastore.view.lookups import Asking, T, TableNow, table_in, table_question
from metastore.view.server.clients.upstream_connection import Upstream
from metastore.view.server.shared import Shared
from thriftcodec.skip import read_message_header


class Questions:
    """Calls a metastore of any version. Calls that Hive 4 does not have are made in their newer
    form."""

    def __init__(self, upstream: Upstream, shared: Shared) -> None:
        self._upstream = upstream
        self._shared = shared

    async def answer(self, questions: Asking[T], view: ClusterView) -> T:
        """Makes the calls that a lookup yields, one after the other, and returns its result.

        Raises MetastoreDown, and what the lookup raises.
        """
        try:
            question = next(questions)
            while True:
                question = questions.send(await self.ask(question, view))
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def ask(self, question: bytes, view: ClusterView) -> bytes:
        """The whole reply to one call. Raises MetastoreDown."""
        name = read_message_header(question)[1]
        if name not in NEWER:
            return await self._upstream.ask(question, view)
        if not self._shared.newer:
            reply = await self._upstream.ask(question, view)
            self._shared.newer = is_unknown(reply)
            if not self._shared.newer:
                return reply
        return older_reply(await self._upstream.ask(newer_call(question), view), name)

    async def is_newer(self, view: ClusterView) -> bool:
        """Whether the metastore is Hive 4's."""
        if self._shared.newer is None:
            await self.ask(table_question("", ""), view)
        return bool(self._shared.newer)

    async def table(self, database: str, name: str, view: ClusterView) -> TableNow | None:
        """The table as it is now, or None if it does not exist."""
        question = table_question(database, name)
        if self._shared.cache.trusting:
            reply = await self.table_reply(ref_of(database, name), question, view)
        else:
            reply = await self.ask(question, view)
        return table_in(view, database, reply)

    async def table_reply(self, table: TableRef, question: bytes, view: ClusterView) -> bytes:
        """The reply to `get_table`, from the cache if it is there.

        A locked table is not read from the cache: another process may have changed it and not yet
        reported the change here.
        """
        cache = self._shared.cache
        reply = None if self._shared.locks.local.is_locked(table) else cache.get(table)
        if reply is None:
            changes = cache.changes
            reply = await self.ask(question, view)
            cache.put(table, reply, changes)
        return reply
