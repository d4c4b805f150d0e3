"""The methods that the view adds to the metastore's service (docs/guide/metastore-view.md)."""

from collections.abc import Awaitable, Callable

from metastore.view.call import Request, ref_of
from metastore.view.locks.lock_calls import LockCalls
from metastore.view.locks.peer_client import LOCK, UNLOCK
from metastore.view.lookups import Lookup, T
from metastore.view.methods import Act, MethodSpec
from metastore.view.outbound import replies
from metastore.view.server.clients.client_view import ClientView
from metastore.view.server.direct_writes import DirectWriter
from metastore.view.server.lookup_runner import LookupRunner
from metastore.view.server.mutation import new_context
from metastore.view.server.shared import Shared
from metastore.view.spark_writes.spark_writes import read_write
from thriftcodec.errors import MalformedMessage
from thriftcodec.reader import read_struct
from thriftcodec.values import Struct

LONGEST_WAIT = 30.0  # seconds that causeway_changes may wait
USE_CLUSTER, SPARK_WRITES = "use_cluster", "causeway_write"
CHANGES, TOUCHED = "causeway_changes", "causeway_touched"
FORGET, SETTLE = "causeway_forget", "causeway_settle"
NAMES = frozenset((USE_CLUSTER, CHANGES, TOUCHED, FORGET, SETTLE, SPARK_WRITES, LOCK, UNLOCK))
REFUSABLE = {
    name: MethodSpec(name, Act.RELAY, meta_exception=1) for name in (USE_CLUSTER, SPARK_WRITES)
}
"""The methods that declare a MetaException. The others fail with the protocol's error."""


class OwnMethods:
    """Answers the view's own methods, for one client."""

    def __init__(
        self,
        view: ClientView,
        lookups: LookupRunner,
        shared: Shared,
        is_gone: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_gone` says whether the client has closed the connection."""
        self._view = view
        self._lookups = lookups
        self._shared = shared
        self._remote_lock = LockCalls(shared.locks, is_gone)

    async def reply(self, request: Request) -> bytes:
        """The whole reply. Raises NoSuchCluster, OutsidePrimary, FactsUnavailable,
        MalformedMessage, MetastoreDown.
        """
        arguments, _ = read_struct(request.data, request.body)
        if request.name in (CHANGES, TOUCHED):
            since = _number(arguments, 1)
            if request.name == TOUCHED:
                changes = self._shared.touched(since)
            else:
                wait = min(max(_number(arguments, 2) / 1000, 0.0), LONGEST_WAIT)
                changes = await self._shared.changes_after(since, wait)
            return replies.changes(request.name, request.sequence, changes)
        if request.name == LOCK:
            process = await self._remote_lock.take(arguments)
            return replies.one_text(request.name, request.sequence, process)
        if request.name == UNLOCK:
            self._remote_lock.release(arguments)
        elif request.name == USE_CLUSTER:
            self._view.use(str(arguments.get(1) or ""))
        elif request.name == SPARK_WRITES:
            await self._direct_writer().report(read_write(arguments))
        else:
            table = ref_of(str(arguments.get(1, "")), str(arguments.get(2, "")))
            if request.name == FORGET:
                self._shared.changed((table,))
            else:
                owner = str(arguments.get(3) or "")
                await self._shared.settled(table, owner)
                await self._direct_writer(owner).settle(table)
        return replies.nothing(request.name, request.sequence)

    def client_lost(self) -> None:
        """The client's connection has ended: its locks are kept for a moment, and its writes count
        as silent."""
        self._shared.writes.lost(self)
        self._remote_lock.lost()

    def _direct_writer(self, owner: str = "") -> DirectWriter:
        view = self._view.current

        def run(lookup: Lookup[T]) -> Awaitable[T]:
            return self._lookups.run(lookup, view)

        return DirectWriter(run, self._shared, new_context(view), self, owner)


def _number(arguments: Struct, field: int) -> int:
    value = arguments.get(field, 0)
    if not isinstance(value, int):
        raise MalformedMessage("a number was expected")
    return value
