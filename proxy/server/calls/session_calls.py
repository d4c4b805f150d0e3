"""Answers calls about a session: OpenSession, CloseSession, GetInfo and SetClientInfo."""

import asyncio

from conf.errors import CausewayError
from proxy.auth.impersonation.impersonation_client import impersonated_user
from proxy.catalog import server_info
from proxy.errors import ClusterDown, Failure, ThriftServerError, WireError
from proxy.protocol import replies
from proxy.protocol.requests import CloseSession, GetInfo, Handle, OpenSession, SetClientInfo
from proxy.protocol.status import failure_of
from proxy.protocol.types import NEWEST_PROTOCOL
from proxy.server.client_connection import ClientConnection
from proxy.server.server_state import ServerState
from proxy.session.handles import new_handle, no_such_session
from proxy.session.own_settings import apply_opening, cannot_open
from proxy.session.session import USE_DATABASE, SessionState
from proxy.session.user_session import UserSession
from thriftcodec.values import Struct

_APPLICATION, _MAX_APPLICATION = "ApplicationName", 128  # JDBC's property; its characters kept


class SessionCalls:
    """Answers the calls about sessions of one client's connection."""

    def __init__(self, server: ServerState, client: ClientConnection) -> None:
        self._server = server
        self._client = client
        self._opened: dict[bytes, UserSession] = {}

    def find(self, handle: Handle) -> UserSession:
        """The session with this handle; resets its idle time. Raises ThriftServerError."""
        session = self._server.sessions.find(handle, self._client.owner)
        if session is None:
            raise no_such_session(handle)
        session.touch()
        return session

    async def open(self, request: OpenSession) -> Struct:
        """The reply, which has an error if the session is refused. Raises WireError."""
        protocol = min(request.protocol, NEWEST_PROTOCOL)
        if protocol < 0:
            raise WireError("Required field 'client_protocol' is unset.")
        client, configuration = self._client, request.configuration
        user = client.user or request.username or "anonymous"
        try:
            session_user = await impersonated_user(
                self._server.identity, user, configuration, client.do_as, client.peer
            )
            state = SessionState.opened(
                session_user,
                protocol,
                configuration,
                self._server.topology,
                self._server.router.settings.restrictions,
                self._server.router.access.of(session_user),
            )
            apply_opening(state)
            session = UserSession(
                new_handle(self._server.peers.number),
                state,
                self._server.pool,
                self._server.sole_server,
                self._client.peer,
                user,
                self._server.functions,
                self._server.caches,
            )
            self._server.admit(session, self._client.owner)
            try:
                await self._check_opening(session)
            except BaseException:
                await self._server.close(session)
                raise
        except (ThriftServerError, CausewayError) as error:
            failure = error.failure if isinstance(error, ThriftServerError) else failure_of(error)
            self._server.observer.refused(user, client.peer, failure)
            return replies.session_refused(protocol, failure)
        self._server.observer.opened(session)
        if not self._client.sessions_outlive:
            self._opened[session.handle.guid] = session
        return replies.session_opened(protocol, session.handle)

    async def _check_opening(self, session: UserSession) -> None:
        """Raises ThriftServerError if the session's database does not exist."""
        if session.sole_server is not None:
            await session.upstream(session.sole_server.name)  # the server checks the database
            return
        database = session.state.configuration.get(USE_DATABASE)
        if database and not await self._server.router.database_exists(database.lower()):
            raise ThriftServerError(cannot_open(database))

    async def close(self, request: CloseSession) -> Struct:
        """Closes the session; returns the reply. Raises ThriftServerError."""
        session = self._server.sessions.find(request.session, self._client.owner)
        if session is None:
            raise ThriftServerError(Failure("Session does not exist!"))
        self._opened.pop(request.session.guid, None)
        await asyncio.shield(self._server.group.create_task(self._server.close(session)))
        return replies.succeeded()

    async def close_all(self) -> None:
        """Closes the sessions that end with the connection."""
        sessions = list(self._opened.values())
        self._opened.clear()
        await asyncio.gather(*(self._server.close(session) for session in sessions))

    async def info(self, request: GetInfo) -> Struct:
        """The reply to GetInfo. Connection pools test their connections with this call
        (`Connection.isValid`), so a session in which no statement can run receives an error.

        Raises Stopping, ClusterDown, ClusterLost.
        """
        session, kind = self.find(request.session), request.info_type
        self._server.check_not_stopping()
        try:
            session.check_usable()
        except ClusterDown:
            if not await self._server.any_cluster_answers(kind, session):
                raise
        if kind in server_info.CLUSTER_KINDS:
            reply = await self._server.cluster_info(kind, session)
            if reply is not None:
                return reply
        return replies.info(server_info.answer(kind, self._client.user or ""))

    def set_client_info(self, request: SetClientInfo) -> Struct:
        session = self.find(request.session)
        session.application = request.properties.get(_APPLICATION, "")[:_MAX_APPLICATION]
        self._server.observer.client_info(session)
        return replies.succeeded()
