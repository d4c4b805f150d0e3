"""A statement or metadata call in a cluster, and the result that the cluster keeps of it."""

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from itertools import repeat

from conf.errors import CausewayError
from proxy.errors import ClusterLost, Rejected
from proxy.protocol.cluster_calls import RemoteOperation, operation_call
from proxy.protocol.types import ENDS
from proxy.upstream.read_ahead import ReadAhead
from proxy.upstream.upstream_connection import PipelinedCall, release
from proxy.upstream.upstream_session import UpstreamSession

_log = logging.getLogger(__name__)
# Seconds between attempts to learn an end: a server may have to be started again.
LEARNING_PAUSES = (0.1, 0.5, 2.0, 5.0, 10.0, *repeat(15.0, 20))


@dataclass(slots=True)
class RemoteResult:
    """A result that a cluster keeps. `schema` is its reply to GetResultSetMetadata, once known:
    before the end of a statement it may be a false one. `delivered`: its client has at least a part
    of a reply with rows.
    """

    upstream: UpstreamSession
    operation: RemoteOperation
    reader: ReadAhead
    schema: bytes | None = None
    delivered: bool = False
    _asked: asyncio.Future[bytes | None] | None = None

    @classmethod
    def of(
        cls, upstream: UpstreamSession, operation: RemoteOperation, may_run_ahead: bool
    ) -> "RemoteResult":
        return cls(upstream, operation, ReadAhead(upstream, operation, may_run_ahead))

    def schema_call(self) -> PipelinedCall:
        """The call that asks for the schema; `learn_schema` is for when its time has come."""
        self._asked = asyncio.get_running_loop().create_future()
        request = operation_call("GetResultSetMetadata", self.operation)
        return PipelinedCall(request, partial(release, self._asked))

    async def learn_schema(self) -> bytes:
        """What was asked last, or is asked now. Raises ClusterLost, LimitReached."""
        if self.schema is None and self._asked is not None:
            self.schema = await self.upstream.pipelined_reply(self._asked)
        if self.schema is None:
            name = "GetResultSetMetadata"
            self.schema = await self.upstream.reply(name, operation_call(name, self.operation))
        return self.schema

    async def cancel(self) -> None:
        """Asks the cluster; one that does not answer has ended it or will be found out."""
        try:
            await self.upstream.cancel(self.operation)
        except (CausewayError, Rejected) as error:
            _log.info("cancelling in %s: %s", self.upstream.cluster, error)

    def close(self) -> None:
        """Has it closed."""
        self.reader.stop()
        self.upstream.close_operation(self.operation)

    async def learn_end(self) -> bool:
        """Whether the operation has certainly ended, asked patiently after a connection broke."""
        for pause in LEARNING_PAUSES:
            await asyncio.sleep(pause)
            try:
                if (await self.upstream.poll(self.operation)).state in ENDS:
                    return True
                await self.cancel()
            except Rejected:
                return True  # the handle is gone, and with it what it stood for
            except ClusterLost:
                continue
        return False
