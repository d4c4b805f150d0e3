"""Answers metadata calls, such as GetTables, from memory or from a cluster."""

import time

from conf.names import ClusterName
from proxy.catalog.metadata import METADATA_KINDS
from proxy.errors import ClusterDown, SessionGone
from proxy.protocol import replies
from proxy.protocol.cluster_calls import metadata_call
from proxy.protocol.requests import MetadataCall, texts_of
from proxy.protocol.types import OperationState
from proxy.server.client_connection import ClientConnection
from proxy.server.server_state import ServerState
from proxy.session.operation import Operation
from proxy.session.user_session import UserSession
from proxy.statement.machine.access_checks import check_list
from proxy.upstream.remote_result import RemoteResult
from thriftcodec.values import Struct


class MetadataCalls:
    """The metadata calls of one client's connection."""

    def __init__(self, server: ServerState, client: ClientConnection) -> None:
        self._server = server
        self._client = client

    async def answer(self, name: str, request: MetadataCall, session: UserSession) -> Struct:
        """The reply, with the handle of an operation. Raises ThriftServerError, CausewayError."""
        began = time.perf_counter()
        self._server.check_not_stopping()
        try:
            with session.answering:
                cluster = self._cluster(session)
                try:
                    return await self._result(session, cluster, name, request)
                except (SessionGone, ClusterDown) as error:
                    next_cluster = self._cluster(session)
                    if isinstance(error, ClusterDown) and next_cluster == cluster:
                        raise
                    return await self._result(session, next_cluster, name, request)
        finally:
            seconds, observer = time.perf_counter() - began, self._server.observer
            observer.metadata(session, name, texts_of(request), seconds)

    def _cluster(self, session: UserSession) -> ClusterName:
        """The cluster of a metadata call (DC-A1): the pinned one; else the only cluster that has
        temporary objects of the session, since these are listed, too; else the default cluster, or
        another one while that is down (D11)."""
        if session.sole_server is not None:
            return session.sole_server.name
        state = session.state
        homes = set(state.objects.listed_homes().values())
        only = homes.pop() if len(homes) == 1 else None
        return state.pinned or only or self._server.pool.health.first_up(state.topology)

    async def _result(
        self, session: UserSession, cluster: ClusterName, name: str, request: MetadataCall
    ) -> Struct:
        local = None
        if session.sole_server is None:
            local = await self._server.metadata.answer(name, request.arguments, session, cluster)
        if local is not None:
            operation = self._new_operation(session, METADATA_KINDS[name])
            operation.result = local
            operation.becomes(OperationState.FINISHED)
            return replies.operation_started(operation.handle, operation.kind, True)
        if name in METADATA_KINDS:
            check_list(session.state)
        upstream = await session.upstream(cluster)
        result = await upstream.call(name, metadata_call(name, upstream.session, request.arguments))
        remote = replies.started_operation(result)
        operation = self._new_operation(session, replies.operation_kind(result))
        operation.result = RemoteResult.of(upstream, remote, may_run_ahead=False)
        operation.becomes(OperationState.FINISHED)
        return replies.with_handle(result, operation.handle)

    def _new_operation(self, session: UserSession, kind: int) -> Operation:
        return self._server.new_operation(session, self._client.owner, kind)
