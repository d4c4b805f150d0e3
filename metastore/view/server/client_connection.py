"""One client of one endpoint: reads calls, has them decided, carries the bytes."""

import asyncio
import logging
import uuid
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from dataclasses import replace

from conf.errors import CausewayError
from conf.names import ClusterName, TableRef
from metastore.client.object_spans import Shape
from metastore.errors import MetastoreDown, WireError
from metastore.view.call import Call, ref_of
from metastore.view.errors import FactsUnavailable, TooLarge, UnknownCluster, UnknownMethod
from metastore.view.inbound.admission import Admitted, admit
from metastore.view.inbound.hive4_compat import NEWER, is_unknown, newer_call, older_reply
from metastore.view.inbound.lookups import Asking, T, TableNow, table_in, table_question
from metastore.view.inbound.spark_writes import read_write
from metastore.view.inbound.version_updates import Context
from metastore.view.locations import ClusterView
from metastore.view.methods import Act, MethodSpec, spec_of
from metastore.view.outbound import replies
from metastore.view.outbound.locations_out import ReplyStream
from metastore.view.outbound.partition_specs import SpecStream, is_spec_call, plain_call
from metastore.view.server.direct_writes import DirectWriter
from metastore.view.server.requests import Requests
from metastore.view.server.shared import Shared
from metastore.view.server.upstream_connection import Upstream
from thriftcodec.errors import MalformedMessage
from thriftcodec.reader import read_struct
from thriftcodec.skip import read_message_header
from thriftcodec.values import Struct

log = logging.getLogger("causeway.view")
LONGEST_WAIT = 30.0  # seconds that causeway_changes may wait
USE_CLUSTER, CHANGES = "use_cluster", "causeway_changes"
TOUCHED, FORGET, SETTLE = "causeway_touched", "causeway_forget", "causeway_settle"
SPARK_WRITES = "causeway_write"
_OWN_METHODS = (USE_CLUSTER, CHANGES, TOUCHED, FORGET, SETTLE, SPARK_WRITES)
GOODBYE = "shutdown"  # fb303's, one way: a client says it before it closes, and nobody replies
_OWN = {name: MethodSpec(name, Act.RELAY, meta_exception=1) for name in (USE_CLUSTER, SPARK_WRITES)}


class Session:
    """The calls of one connection, one after the other."""

    def __init__(
        self,
        view: ClusterView,
        shared: Shared,
        requests: Requests,
        writer: asyncio.StreamWriter,
        upstream: Upstream,
    ) -> None:
        self._view = view
        self._home = view
        self._shared = shared
        self._requests = requests
        self._writer = writer
        self._upstream = upstream

    async def serve(self) -> None:
        """Until the client goes."""
        try:
            await self._serve()
        finally:
            self._shared.writes.lost(self)

    async def _serve(self) -> None:
        while (message := await self._requests.next()) is not None:
            if read_message_header(message)[1] == GOODBYE:
                return
            try:
                await self._handle(message)
            except (MetastoreDown, WireError, TooLarge):
                raise  # nothing sensible can follow on this connection: the client opens another
            except CausewayError as error:
                _, name, sequence, _ = read_message_header(message)
                spec = spec_of(name) or _OWN.get(name)
                if spec is None:
                    await self._send(replies.unknown_method(name, sequence, str(error)))
                else:
                    await self._send(replies.refusal(spec, name, sequence, str(error)))

    async def _handle(self, message: bytes) -> None:
        _, name, sequence, body = read_message_header(message)
        if name in _OWN_METHODS:
            await self._own_method(message, name, sequence, body)
            return
        view = self._view
        spec = spec_of(name)
        if spec is None:
            raise UnknownMethod(f"{name} is not a call that this view knows.")
        if spec.name != name:
            cluster, message = replies.taken_cluster(message)
            view = replace(self._known(cluster), aware=True)
            _, _, _, body = read_message_header(message)
        call = Call(spec, sequence, message, body)
        if call.spec.act is Act.RELAY:
            await self._relay(call, name, view)
        else:
            await self._mutate(call, name, view)
        self._upstream.note(spec.name, message)

    async def _relay(self, call: Call, name: str, view: ClusterView) -> None:
        place, partitions, now = call.spec.outbound, None, None
        if call.spec.name == "get_table" and self._shared.cache.on and len(call.tables()) == 1:
            await self._send(await self._kept_table(call, name, view))
            return
        if place is not None and place.shape is Shape.PARTITION:
            for database, table in call.named():
                now = await self._table_read(database, table, view)
                partitions = None if now is None else now.partitions
        if call.spec.name in NEWER and await self._is_newer(view):
            reply = await self._ask(call.data, view)
            own = ReplyStream(place, view).feed(reply)
            await self._send(replies.renamed(own, name))
        elif is_spec_call(call) and now is not None and (view.aware or not now.placement.uniform):
            await self._forward(plain_call(call), call, name, SpecStream(call, view, now))
        else:
            await self._forward(call.data, call, name, ReplyStream(place, view, partitions))

    async def _is_newer(self, view: ClusterView) -> bool:
        if self._shared.newer is None:
            await self._ask(table_question("", ""), view)
        return bool(self._shared.newer)

    async def _kept_table(self, call: Call, name: str, view: ClusterView) -> bytes:
        (table,) = call.tables()
        reply = await self._table_reply(table, call.data, view)
        own = ReplyStream(call.spec.outbound, view).feed(reply)
        return replies.renamed(own, name, call.sequence)

    async def _table_read(self, database: str, name: str, view: ClusterView) -> TableNow | None:
        """The table whose partitions are asked for, as it is before they are read."""
        question = table_question(database, name)
        if self._shared.cache.trusting:
            reply = await self._table_reply(ref_of(database, name), question, view)
        else:
            reply = await self._ask(question, view)
        return table_in(view, database, reply)

    async def _table_reply(self, table: TableRef, question: bytes, view: ClusterView) -> bytes:
        cache = self._shared.cache
        reply = cache.get(table)
        if reply is None:
            changes = cache.changes
            reply = await self._ask(question, view)
            cache.put(table, reply, changes)
        return reply

    async def _mutate(self, call: Call, name: str, view: ClusterView) -> None:
        context = Context(view, _new_id)
        async with AsyncExitStack() as stack:
            for lock in self._shared.locks(call.tables()):
                await stack.enter_async_context(lock)
            admitted = await self._admitted(call, context)
            ticket = self._shared.leftovers.intend(admitted.leftovers)
            table = admitted.table
            partitions = None if table is None else table.partitions
            stream = ReplyStream(call.spec.outbound, view, partitions)
            try:
                await self._upstream.send(admitted.request)
                pieces = [piece async for piece in self._upstream.replies(stream)]
                if admitted.after is not None and not stream.failed:
                    await self._afterwards(admitted.after(), view)
            finally:
                self._shared.changed(admitted.changed)
            self._shared.leftovers.settle(ticket, dropped=not stream.failed)
        reply = b"".join(pieces)
        await self._send(reply if name == call.spec.name else replies.renamed(reply, name))

    async def _admitted(self, call: Call, context: Context) -> Admitted:
        try:
            return await self._answered(admit(call, context), context.view)
        except BaseException:
            self._shared.changed(call.tables())  # some of what it asked for may be done
            raise

    async def _forward(self, request: bytes, call: Call, name: str, stream: ReplyStream) -> None:
        await self._upstream.send(request)
        first = name != call.spec.name or request is not call.data
        async for piece in self._upstream.replies(stream):
            await self._send(replies.renamed(piece, name) if first else piece)
            first = False

    async def _answered(self, questions: Asking[T], view: ClusterView) -> T:
        """Puts the questions to the metastore, one after the other."""
        try:
            question = next(questions)
            while True:
                question = questions.send(await self._ask(question, view))
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def _ask(self, question: bytes, view: ClusterView) -> bytes:
        """One question and the whole reply, from a metastore of any version."""
        name = read_message_header(question)[1]
        if name not in NEWER:
            return await self._upstream.ask(question, view)
        if not self._shared.newer:
            reply = await self._upstream.ask(question, view)
            self._shared.newer = is_unknown(reply)
            if not self._shared.newer:
                return reply
        return older_reply(await self._upstream.ask(newer_call(question), view), name)

    async def _afterwards(self, questions: Asking[None], view: ClusterView) -> None:
        try:
            await self._answered(questions, view)
        except FactsUnavailable as error:
            # The call itself is done; who remembers the table learns of it by the feed.
            log.warning("after a change: %s", error)

    async def _own_method(self, message: bytes, name: str, sequence: int, body: int) -> None:
        arguments, _ = read_struct(message, body)
        if name == USE_CLUSTER:
            cluster = str(arguments.get(1) or "")
            home = replace(self._home, aware=False)
            self._view = replace(self._known(cluster), aware=True) if cluster else home
            await self._send(replies.nothing(name, sequence))
        elif name in (FORGET, SETTLE):
            table = ref_of(str(arguments.get(1, "")), str(arguments.get(2, "")))
            if name == FORGET:
                self._shared.changed((table,))
            else:
                await self._shared.settled(table)
                await self._direct().settle(table)
            await self._send(replies.nothing(name, sequence))
        elif name == SPARK_WRITES:
            await self._direct().report(read_write(arguments))
            await self._send(replies.nothing(name, sequence))
        elif name == TOUCHED:
            news = self._shared.touched(_number(arguments, 1))
            await self._send(replies.changes(name, sequence, news))
        else:
            wait = min(max(_number(arguments, 2) / 1000, 0.0), LONGEST_WAIT)
            news = await self._shared.news(_number(arguments, 1), wait)
            await self._send(replies.changes(name, sequence, news))

    def _direct(self) -> DirectWriter:
        view = self._view

        def ask(questions: Asking[T]) -> Awaitable[T]:
            return self._answered(questions, view)

        return DirectWriter(ask, self._shared, Context(view, _new_id), self)

    def _known(self, cluster: str) -> ClusterView:
        if cluster not in self._view.topology:
            known = ", ".join(self._view.topology.clusters)
            raise UnknownCluster(f"No cluster {cluster!r} in hive.cluster.properties ({known}).")
        return replace(self._home, cluster=ClusterName(cluster))

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


def _new_id() -> str:
    return uuid.uuid4().hex


def _number(arguments: Struct, field: int) -> int:
    value = arguments.get(field, 0)
    if not isinstance(value, int):
        raise MalformedMessage("a number was expected")
    return value
