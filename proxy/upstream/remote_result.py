"""An operation in a cluster and its result, which stays there until the operation is closed."""

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from itertools import repeat

from conf.errors import CausewayError
from proxy.errors import ClusterLost, ThriftServerError
from proxy.protocol.cluster_calls import RemoteOperation, operation_call
from proxy.protocol.types import ENDS
from proxy.upstream.read_ahead import ReadAhead
from proxy.upstream.upstream_connection import PipelinedCall, release
from proxy.upstream.upstream_session import UpstreamSession

_log = logging.getLogger(__name__)
# Seconds between attempts to learn an operation's end, long enough for a restart of the server.
LEARNING_PAUSES = (0.1, 0.5, 2.0, 5.0, 10.0, *repeat(15.0, 20))


@dataclass(slots=True)
class RemoteResult:
    """A result that is in a cluster. `schema` is the cluster's reply to GetResultSetMetadata; None:
    not known yet. `delivered`: the client has received at least a part of a reply with rows."""

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
        """A call for the schema, to be sent without waiting; `learn_schema` waits for its reply. It
        must be sent after the statement's end: before that a server may return a wrong schema."""
        self._asked = asyncio.get_running_loop().create_future()
        request = operation_call("GetResultSetMetadata", self.operation)
        return PipelinedCall(request, partial(release, self._asked))

    async def learn_schema(self) -> bytes:
        """The schema: by the reply to `schema_call`, or by a call of its own. Raises ClusterLost,
        LimitReached."""
        if self.schema is None and self._asked is not None:
            self.schema = await self.upstream.pipelined_reply(self._asked)
        if self.schema is None:
            name = "GetResultSetMetadata"
            self.schema = await self.upstream.reply(name, operation_call(name, self.operation))
        return self.schema

    async def cancel(self) -> None:
        """Cancels the operation. An error is only logged: the cluster has ended the operation, or
        the next call to it fails, too."""
        try:
            await self.upstream.cancel(self.operation)
        except (CausewayError, ThriftServerError) as error:
            _log.info("cancelling in %s: %s", self.upstream.cluster, error)

    def close(self) -> None:
        """Stops reading, and closes the operation in the cluster without waiting for it."""
        self.reader.stop()
        self.upstream.close_operation(self.operation)

    async def learn_end(self) -> bool:
        """Polls and cancels the operation after its connection broke, for some minutes. Returns
        whether it has certainly ended."""
        for pause in LEARNING_PAUSES:
            await asyncio.sleep(pause)
            try:
                if (await self.upstream.poll(self.operation)).state in ENDS:
                    return True
                await self.cancel()
            except ThriftServerError:
                return True  # the server has no such operation: it ended with its session
            except ClusterLost:
                continue
        return False
