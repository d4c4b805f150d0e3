"""The view's own calls to the metastore, over the connection of a client.

They are made with the client's permissions, because the client called `set_ugi` on that connection.

Older clients and the view itself call `get_table` and `get_table_objects_by_name`. Since Hive 2.3
each also has a newer form, `.._req`, with one request and one result, and Hive 4 has only this
form. So these calls are made in the newer form if the metastore does not have the older one.
"""

from conf.names import TableRef
from metastore.view.call import Call, ref_of
from metastore.view.locations import ClusterView
from metastore.view.lookups import Lookup, T, TableNow, table_in, table_request
from metastore.view.server.clients.upstream_connection import Upstream
from metastore.view.server.shared import Shared
from thriftcodec.reader import read_struct
from thriftcodec.skip import find_values, read_message_header, skip_value
from thriftcodec.values import CALL, EXCEPTION, REPLY, STRUCT, UNKNOWN_METHOD_CODE
from thriftcodec.writer import encode_head

_NEWER = {
    "get_table": "get_table_req",
    "get_table_objects_by_name": "get_table_objects_by_name_req",
}
_REQUEST = bytes((STRUCT, 0, 1))  # the header of a newer form's only argument
_END = b"\0"  # of a struct


class LookupRunner:
    """Calls a metastore of any version, for one client."""

    def __init__(self, upstream: Upstream, shared: Shared) -> None:
        self._upstream = upstream
        self._shared = shared

    async def run(self, lookup: Lookup[T], view: ClusterView) -> T:
        """Makes the calls that a lookup yields, one after the other, and returns its result.

        Raises MetastoreDown, and what the lookup raises.
        """
        try:
            request = next(lookup)
            while True:
                request = lookup.send(await self.exchange(request, view))
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def exchange(self, request: bytes, view: ClusterView) -> bytes:
        """The whole reply to one call. Raises MetastoreDown."""
        _, name, sequence, at = read_message_header(request)
        if name not in _NEWER:
            return await self._upstream.exchange(request, view)
        if not self._shared.newer:
            reply = await self._upstream.exchange(request, view)
            self._shared.newer = _is_unknown(reply)
            if not self._shared.newer:
                return reply
        # The arguments of the older form have the same fields as the newer form's request.
        newer = encode_head(_NEWER[name], CALL, sequence) + _REQUEST + request[at:] + _END
        return _older_reply(await self._upstream.exchange(newer, view), name)

    async def whole_reply(self, call: Call, view: ClusterView) -> bytes | None:
        """The reply to a client's call that is answered from the cache, or made in its newer form;
        None for any other call, which can be sent as it is."""
        name = call.spec.name
        if name == "get_table" and self._shared.cache.on and len(tables := call.tables()) == 1:
            return await self._table_reply(tables[0], call.data, view)
        if name in _NEWER and await self._is_newer(view):
            return await self.exchange(call.data, view)
        return None

    async def table(self, database: str, name: str, view: ClusterView) -> TableNow | None:
        """The table as it is now, or None if it does not exist."""
        request = table_request(database, name)
        if self._shared.cache.trusting:
            reply = await self._table_reply(ref_of(database, name), request, view)
        else:
            reply = await self.exchange(request, view)
        return table_in(view, database, reply)

    async def _is_newer(self, view: ClusterView) -> bool:
        """Whether the metastore is Hive 4's."""
        if self._shared.newer is None:
            await self.exchange(table_request("", ""), view)
        return bool(self._shared.newer)

    async def _table_reply(self, table: TableRef, request: bytes, view: ClusterView) -> bytes:
        """The reply to `get_table`, from the cache if it is there.

        A locked table is not read from the cache: another process may have changed it and not yet
        reported the change here.
        """
        cache = self._shared.cache
        reply = None if self._shared.locks.local.is_locked(table) else cache.get(table)
        if reply is None:
            changes = cache.changes
            reply = await self.exchange(request, view)
            cache.put(table, reply, changes)
        return reply


def _is_unknown(reply: bytes) -> bool:
    """Whether the reply says that the metastore does not have the call."""
    kind, _, _, at = read_message_header(reply)
    return kind == EXCEPTION and read_struct(reply, at)[0].get(2) == UNKNOWN_METHOD_CODE


def _older_reply(reply: bytes, name: str) -> bytes:
    """The reply to a newer form as a reply to `name`. Both declare the same exceptions."""
    kind, _, sequence, at = read_message_header(reply)
    head = encode_head(name, kind, sequence)
    if kind == REPLY:
        for start, inner in find_values(reply, at, (0, 1)):
            value = reply[start : skip_value(reply, start, inner)]
            return head + bytes((inner, 0, 0)) + value + _END
    return head + reply[at:]
