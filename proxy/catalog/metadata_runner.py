"""GetSchemas, GetTables and GetColumns, answered from memory where the answer is certain.

Databases and tables come from the metastore's lists, which the views keep up to date. Only the
cluster has the session's temporary views and its server's global temporary views. They are read
from it by the same call, for no database, which takes a few milliseconds for any number of tables.
This call is left out if there can be no such views: if the session has made none and the pattern
does not match the database of global views.

An answer is certain only if the Thrift Server lists tables as Spark 3.5 does by default. This is
read from one session at each server, and holds for every plain session there. A plain session has
changed no setting that matters and has no temporary views; it need not be open in the cluster. For
it, global views are read in an open session of the same user (the helper), so that a hundred new
clients open one session, not a hundred. For a session that is not plain, all of this is read in the
session itself, again after each change.

Metastore and cluster are called at the same time, because the first answer of each after a start
takes a while. Calls without a certain answer are left to the cluster.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary, WeakValueDictionary

from conf.errors import CausewayError
from conf.names import ClusterName, TableRef
from metastore.client.single_flight import SingleFlight
from proxy.catalog.metadata import SCHEMAS, MetadataRequest, Row, lists_as_usual, metadata_request
from proxy.catalog.server_info import DBMS_VERSION
from proxy.errors import ClusterLost, ThriftServerError, WireError
from proxy.protocol import replies, results
from proxy.protocol.cluster_calls import (
    RemoteOperation,
    fetch_call,
    get_info_call,
    metadata_call,
    operation_call,
)
from proxy.protocol.requests import FetchResults, Handle
from proxy.protocol.types import Orientation
from proxy.session.local_result import LocalResult
from proxy.session.replay.cluster_session import ClusterSession
from proxy.session.user_session import UserSession
from proxy.statement.metastore_access import Loader
from proxy.upstream.endpoint_health import EndpointHealth
from thriftcodec.values import STRING, Struct

VERSION = "3.5."
MAX_TEMPORARY = 1000  # rows for temporary views
MAX_SETTINGS = 10_000
_IMPLEMENTATION = "spark.sql.catalogimplementation"
_ONE_SESSION = "spark.sql.hive.thriftserver.singlesession"


@dataclass(frozen=True, slots=True)
class _ServerCatalog:
    """How a Thrift Server lists tables in plain sessions, or in one session after its user's
    session has changed `changes` times.

    `usual`: it lists tables as Spark 3.5 does by default. `shared`: all sessions share their
    temporary views. `schemas` are its replies to GetResultSetMetadata, by protocol and call.
    """

    usual: bool
    shared: bool
    changes: int = 0
    schemas: dict[tuple[int, str], bytes] = field(default_factory=dict)


_Answer = tuple[bytes, Sequence[Row]]
"""A reply to GetResultSetMetadata, and the rows of temporary views."""


_HelperKey = tuple[ClusterName, str, int]
"""Cluster, user and protocol: sessions with the same key may use one helper."""


class MetadataAnswers:
    """Answers metadata calls; there is one for all clients of the process."""

    def __init__(self, loader: Loader, health: EndpointHealth) -> None:
        self._loader = loader
        self._health = health
        self._servers: WeakKeyDictionary[ClusterSession, _ServerCatalog] = WeakKeyDictionary()
        self._helpers: WeakValueDictionary[_HelperKey, UserSession] = WeakValueDictionary()
        self._opening: dict[_HelperKey, asyncio.Future[None]] = {}
        self._answers: SingleFlight[_TemporaryCall, _Answer] = SingleFlight(
            lambda call: asyncio.ensure_future(_temporary_rows(call))
        )

    async def answer(
        self, name: str, arguments: Struct, session: UserSession, cluster: ClusterName
    ) -> LocalResult | None:
        """The whole result if it is certain; None if the cluster has to answer."""
        request = metadata_request(name, arguments)
        if request is None or not self._loader.keeps_lists:
            return None
        if request.name == SCHEMAS:
            return await self._schemas(request, session, cluster)
        listed, from_cluster = await asyncio.gather(
            self._loader.listed(request.databases), self._cluster_answer(request, session, cluster)
        )
        if listed is None or from_cluster is None:
            return None
        schema, temporary = from_cluster
        access = session.state.access
        if access is not None:
            listed = [
                (db, [each for each in tables if access.sees_table(TableRef(db, each.name))])
                for db, tables in listed
            ]
        table = request.answer(listed, temporary)
        return None if table is None else LocalResult(table, schema=schema)

    async def _schemas(
        self, request: MetadataRequest, session: UserSession, cluster: ClusterName
    ) -> LocalResult | None:
        databases, from_cluster = await asyncio.gather(
            self._loader.schemas(request.databases), self._cluster_answer(request, session, cluster)
        )
        if databases is None or from_cluster is None:
            return None
        access = session.state.access
        if access is not None:
            databases = list(filter(access.sees_database, databases))
        return LocalResult(request.schemas(databases), schema=from_cluster[0])

    async def _cluster_answer(
        self, request: MetadataRequest, session: UserSession, cluster: ClusterName
    ) -> _Answer | None:
        """The schema of the answer and its rows of temporary views, from the cluster; None if the
        cluster has to give the whole answer."""
        try:
            if _is_plain(session, cluster):
                return await self._answer_by_helper(request, session, cluster)
            return await self._answer_in_session(request, session, cluster)
        except (CausewayError, ThriftServerError):
            return None

    async def _answer_in_session(
        self, request: MetadataRequest, session: UserSession, cluster: ClusterName
    ) -> _Answer | None:
        """The answer for a session that is not plain."""
        upstream = await session.upstream(cluster)
        changes, protocol = session.state.journal.changes, session.state.protocol
        server = self._servers.get(upstream)
        if server is None or server.changes != changes:
            server = self._servers[upstream] = await _read_catalog(upstream, protocol, changes)
        if not server.usual:
            return None
        may_have_views = (
            bool(session.state.objects) or server.shared or not upstream.replay.understood
        )
        schema = server.schemas.get((protocol, request.name))
        if schema is not None and not may_have_views and not _includes_global(request):
            return schema, ()
        schema, rows = await _temporary_rows(_temporary_call(upstream, request, protocol))
        server.schemas[protocol, request.name] = schema
        return schema, rows

    async def _answer_by_helper(
        self, request: MetadataRequest, session: UserSession, cluster: ClusterName
    ) -> _Answer | None:
        """The answer for a plain session."""
        helper = await self._helper(session, cluster)
        server, protocol = self._catalog(helper), session.state.protocol
        if not server.usual:
            return None
        schema = server.schemas.get((protocol, request.name))
        if schema is not None and not server.shared and not _includes_global(request):
            return schema, ()
        schema, rows = await self._answers.ask(_temporary_call(helper, request, protocol))
        server.schemas[protocol, request.name] = schema
        return schema, rows

    async def _helper(self, session: UserSession, cluster: ClusterName) -> ClusterSession:
        """An open session of the user in the cluster, at a server whose catalog was read.

        It belongs to another session of the user, or to this one, for which it is opened if needed.
        If this session is open in the cluster, the helper is at the same server. Raises a
        CausewayError, ThriftServerError.
        """
        key = cluster, session.state.user, session.state.protocol
        own, helper = session.open_upstream(cluster), self._open_helper(key)
        if helper is None and own is None and (opening := self._opening.get(key)) is not None:
            await asyncio.shield(opening)
            helper = self._open_helper(key)
        if helper is None or (own is not None and own.endpoint != helper.endpoint):
            return await self._become_helper(key, session)
        return helper

    async def _become_helper(self, key: _HelperKey, session: UserSession) -> ClusterSession:
        """Makes the session the helper of its key, and opens it in the cluster if needed."""
        opening = asyncio.get_running_loop().create_future()
        self._opening[key] = opening
        try:
            upstream = await session.upstream(key[0])
            condition = self._health.condition(upstream.endpoint)
            if not isinstance(condition.catalog, _ServerCatalog):
                condition.catalog = await _read_catalog(upstream, session.state.protocol)
            self._helpers[key] = session
            return upstream
        finally:
            opening.set_result(None)
            if self._opening.get(key) is opening:
                del self._opening[key]

    def _open_helper(self, key: _HelperKey) -> ClusterSession | None:
        cluster, helper = key[0], self._helpers.get(key)
        upstream = None if helper is None else helper.open_upstream(cluster)
        if helper is None or upstream is None or not _is_plain(helper, cluster):
            return None
        return upstream if self._has_catalog(upstream) else None

    def _has_catalog(self, upstream: ClusterSession) -> bool:
        condition = self._health.condition(upstream.endpoint)
        return condition.up is not False and isinstance(condition.catalog, _ServerCatalog)

    def _catalog(self, upstream: ClusterSession) -> _ServerCatalog:
        server = self._health.condition(upstream.endpoint).catalog
        if not isinstance(server, _ServerCatalog):
            raise ClusterLost(f"Cluster {upstream.cluster} may have been started again.")
        return server


@dataclass(frozen=True, slots=True)
class _TemporaryCall:
    """A call for the rows of temporary views. Equal calls of several sessions are sent once."""

    upstream: ClusterSession
    data: bytes
    protocol: int
    request: MetadataRequest = field(compare=False)


def _is_plain(session: UserSession, cluster: ClusterName) -> bool:
    """Whether the session is plain: it lists the same as other sessions of its user there."""
    state, upstream = session.state, session.open_upstream(cluster)
    if state.objects or not lists_as_usual({**state.variables, **dict.fromkeys(state.unclear, "")}):
        return False
    return upstream is None or upstream.replay.understood


def _includes_global(request: MetadataRequest) -> bool:
    """Whether the rows may include global temporary views, which any client may have made."""
    return request.name != SCHEMAS and request.globally


async def _read_catalog(
    upstream: ClusterSession, protocol: int, changes: int = 0
) -> _ServerCatalog:
    info = await upstream.call("GetInfo", get_info_call(upstream.session, DBMS_VERSION))
    if not replies.info_text(info).startswith(VERSION):
        return _ServerCatalog(usual=False, shared=True, changes=changes)
    original = await session_settings(upstream, protocol)
    settings = {key.lower(): text for key, text in original.items()}
    is_usual = settings.get(_IMPLEMENTATION) == "hive" and lists_as_usual(settings)
    is_shared = settings.get(_ONE_SESSION, "false").lower() != "false"
    return _ServerCatalog(is_usual, is_shared, changes)


async def session_settings(upstream: ClusterSession, protocol: int) -> Mapping[str, str]:
    """All settings of the session in the cluster."""
    operation = await upstream.execute_to_end("SET", {})
    try:
        rows = await _fetched(upstream, operation, (STRING, STRING), MAX_SETTINGS, protocol)
    finally:
        upstream.close_operation(operation)
    return {str(key): str(value) for key, value in rows}


def _temporary_call(
    upstream: ClusterSession, request: MetadataRequest, protocol: int
) -> _TemporaryCall:
    data = metadata_call(request.name, upstream.session, request.temporary)
    return _TemporaryCall(upstream, data, protocol, request)


async def _temporary_rows(call: _TemporaryCall) -> _Answer:
    upstream, request = call.upstream, call.request
    operation = replies.started_operation(await upstream.call(request.name, call.data))
    try:
        name = "GetResultSetMetadata"
        schema = await upstream.reply(name, operation_call(name, operation))
        if results.header(replies.read_result(schema, name)) != request.described():
            raise WireError(f"{request.name} has other columns.")
        rows = await _fetched(upstream, operation, request.types, MAX_TEMPORARY, call.protocol)
    finally:
        upstream.close_operation(operation)
    return schema, rows


async def _fetched(
    upstream: ClusterSession,
    operation: RemoteOperation,
    types: Sequence[int],
    limit: int,
    protocol: int,
) -> Sequence[Row]:
    """All rows of the result. Raises WireError if there may be more than `limit`."""
    request = FetchResults(Handle(b"", b""), Orientation.NEXT, limit, 0)
    reply = await upstream.call("FetchResults", fetch_call(operation, request))
    rows = results.rows_in(reply, types, protocol)
    if len(rows) >= limit:
        raise WireError("More rows than are kept.")
    return rows
