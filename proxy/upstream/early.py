"""A ping that its session has asked before is sent before it is looked at: the cluster works on it
while we find out where it has to run, which nearly always is where it ran last.

A literal reads nothing and does nothing. So nobody is harmed when the decision is another: what was
sent too early is closed, and the ping asked again where it belongs.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from proxy.errors import WireError
from proxy.protocol.replies import read_result, read_started, result_failure
from proxy.protocol.requests import ExecuteStatement, RemoteOperation
from proxy.protocol.row_count import rows_in
from proxy.statement.operation import Remote
from proxy.upstream.upstream_connection import Aside
from proxy.upstream.upstream_session import Link


@dataclass(slots=True)
class LastPing:
    """The last ping of a session: what its client asked, and what was said to the cluster.

    `changes` is how often the session had been changed, by what its journal knows. `schema` and
    `row` are the cluster's replies to GetResultSetMetadata and FetchResults, once known: of a
    literal they are the same each time.
    """

    request: ExecuteStatement
    changes: int
    link: Link
    call: bytes
    schema: bytes | None = None
    row: bytes | None = None

    def is_same(self, request: ExecuteStatement, changes: int) -> bool:
        """Whether that means what this did."""
        return self.changes == changes and self.request == request and self.link.replay.understood

    def tell(self, remote: Remote) -> None:
        """What is known, to one of these that has begun."""
        remote.schema = self.schema
        if self.row is not None:
            remote.reader.know_only_row(self.row)

    def unknown(self, remote: Remote) -> list[Aside]:
        """The calls by which one of these that has ended tells the rest."""
        asides = []
        if self.schema is None:
            asides.append(remote.ask_schema(self._keep_schema))
        if self.row is None:
            asides.append(remote.reader.ask_only_row(self._keep_row))
        return asides

    def _keep_schema(self, reply: bytes) -> None:
        """What the cluster said; not when it is that something went wrong."""
        with suppress(WireError):
            if result_failure(read_result(reply, "GetResultSetMetadata")) is None:
                self.schema = reply

    def _keep_row(self, reply: bytes) -> None:
        """What the cluster said; not when it is that something went wrong."""
        if rows_in(reply) == 1:
            self.row = reply


class EarlyPing:
    """`LastPing` on its way again. Nobody has to want it: what is not claimed is closed.

    `answer` tells a client that waits for its end that it has ended: done as soon as that is heard
    of one that is claimed, and `answered` then.
    """

    def __init__(self, ping: LastPing) -> None:
        self.ping = ping
        self.answer: Callable[[], None] | None = None
        self.answered = False
        self._reply: asyncio.Future[bytes | None] | None = None
        self._over = not ping.link.begin(ping.call, self._heard)

    async def started(self, link: Link, call: bytes) -> RemoteOperation | None:
        """The operation, for who would send that; None when it has to be sent.

        Raises as `Link.call`.
        """
        if self._over or link is not self.ping.link or call != self.ping.call:
            return None
        self._reply = asyncio.get_running_loop().create_future()
        return await link.started(self._reply)

    def waits_no_more(self) -> bool:
        """The client was answered, which this tells, or is not to be from here."""
        self.answer = None
        return self.answered

    def _heard(self, reply: bytes | None) -> None:
        self._over = True
        started = None if reply is None else _operation(reply)
        if self._reply is not None and not self._reply.done():
            if started is not None and self.answer is not None:
                self.answer()
                self.answered = True
            self._reply.set_result(reply)
        elif started is not None:
            self.ping.link.close_operation(started)


def _operation(reply: bytes) -> RemoteOperation | None:
    """What was started; None when nothing was."""
    with suppress(WireError):
        told = read_started(reply)
        return told if isinstance(told, RemoteOperation) else None
    return None
