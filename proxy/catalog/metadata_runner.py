"""GetSchemas, GetTables and GetColumns, answered from memory where the answer is certain.

Databases and tables come from the metastore's lists, which the views keep up to date. Only the
cluster knows the session's temporary views and its server's global views, so it is asked for them
by the same call for no database: that costs a few milliseconds, whatever the number of tables. It
is not asked where there can be none: for a pattern that does not mean the global ones, in a session
that made none.

Whether the server lists tables in Spark 3.5's usual way is learned from one session at each Thrift
Server, and is true of every plain session there: one that changed no setting which matters and has
no temporary views. A plain session need not be open in the cluster. The global views are asked for
in its user's session that is open there, so that a hundred new clients open one session, not a
hundred. Of any other session it is learned in the session itself, again after each change.

Metastore and cluster are asked at the same time: after a start each takes a while to answer its
first question. Whatever is not certain is left to the cluster.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary, WeakValueDictionary

from conf.errors import CausewayError
from conf.names import ClusterName, TableRef
from metastore.client.single_flight import SingleFlight
from proxy.catalog.metadata import SCHEMAS, MetadataQuestion, Row, question, usual
from proxy.catalog.server_info import DBMS_VERSION
from proxy.errors import ClusterLost, Rejected, WireError
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
MAX_TEMPORARY = 1000  # rows of a cluster's own views
MAX_SETTINGS = 10_000
_IMPLEMENTATION = "spark.sql.catalogimplementation"
_ONE_SESSION = "spark.sql.hive.thriftserver.singlesession"


@dataclass(frozen=True, slots=True)
class _Server:
    """A Thrift Server, or a session there when the user's session had changed so often.

    `usual`: it is of a Spark that lists tables as is known here. `shared`: others' temporary views
    are its own. `schemas` are its replies to GetResultSetMetadata, by protocol and call.
    """

    usual: bool
    shared: bool
    changes: int = 0
    schemas: dict[tuple[int, str], bytes] = field(default_factory=dict)


_Answer = tuple[bytes, Sequence[Row]]
"""A reply to GetResultSetMetadata, and rows that the cluster alone knows."""


_Crowd = tuple[ClusterName, str, int]
"""Cluster, user and protocol: sessions that may ask for each other."""


class Metadata:
    """One per server."""

    def __init__(self, loader: Loader, health: EndpointHealth) -> None:
        self._loader = loader
        self._health = health
        self._servers: WeakKeyDictionary[ClusterSession, _Server] = WeakKeyDictionary()
        self._helpers: WeakValueDictionary[_Crowd, UserSession] = WeakValueDictionary()
        self._opening: dict[_Crowd, asyncio.Future[None]] = {}
        self._answers: SingleFlight[_Shared, _Answer] = SingleFlight(
            lambda shared: asyncio.ensure_future(_temporary(shared))
        )

    async def answer(
        self, name: str, arguments: Struct, session: UserSession, cluster: ClusterName
    ) -> LocalResult | None:
        """The whole result, when it is certain; None: the cluster has to say."""
        asked = question(name, arguments)
        if asked is None or not self._loader.keeps_lists:
            return None
        if asked.name == SCHEMAS:
            return await self._schemas(asked, session, cluster)
        listed, from_cluster = await asyncio.gather(
            self._loader.listed(asked.databases), self._ask_cluster(asked, session, cluster)
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
        table = asked.answer(listed, temporary)
        return None if table is None else LocalResult(table, schema=schema)

    async def _schemas(
        self, asked: MetadataQuestion, session: UserSession, cluster: ClusterName
    ) -> LocalResult | None:
        databases, from_cluster = await asyncio.gather(
            self._loader.schemas(asked.databases), self._ask_cluster(asked, session, cluster)
        )
        if databases is None or from_cluster is None:
            return None
        access = session.state.access
        if access is not None:
            databases = list(filter(access.sees_database, databases))
        return LocalResult(asked.schemas(databases), schema=from_cluster[0])

    async def _ask_cluster(
        self, asked: MetadataQuestion, session: UserSession, cluster: ClusterName
    ) -> _Answer | None:
        """What describes the answer, and those of its rows that the cluster alone knows; None when
        it is to say all of it in its own words."""
        try:
            if _is_plain(session, cluster):
                return await self._ask_in_common(asked, session, cluster)
            return await self._ask_in_session(asked, session, cluster)
        except (CausewayError, Rejected):
            return None

    async def _ask_in_session(
        self, asked: MetadataQuestion, session: UserSession, cluster: ClusterName
    ) -> _Answer | None:
        upstream = await session.upstream(cluster)
        changes, protocol = session.state.journal.changes, session.state.protocol
        server = self._servers.get(upstream)
        if server is None or server.changes != changes:
            server = self._servers[upstream] = await _learn(upstream, protocol, changes)
        if not server.usual:
            return None
        own = bool(session.state.objects) or server.shared or not upstream.replay.understood
        schema = server.schemas.get((protocol, asked.name))
        if schema is not None and not own and not _means_global(asked):
            return schema, ()
        schema, rows = await _temporary(_shared(upstream, asked, protocol))
        server.schemas[protocol, asked.name] = schema
        return schema, rows

    async def _ask_in_common(
        self, asked: MetadataQuestion, session: UserSession, cluster: ClusterName
    ) -> _Answer | None:
        """For a session like any other of its server."""
        helper = await self._helper(session, cluster)
        server, protocol = self._known(helper), session.state.protocol
        if not server.usual:
            return None
        schema = server.schemas.get((protocol, asked.name))
        if schema is not None and not server.shared and not _means_global(asked):
            return schema, ()
        schema, rows = await self._answers.ask(_shared(helper, asked, protocol))
        server.schemas[protocol, asked.name] = schema
        return schema, rows

    async def _helper(self, session: UserSession, cluster: ClusterName) -> ClusterSession:
        """An open session of the user in the cluster, whose server is known: another one's at the
        same server, or the session's own, which is opened if there is none.

        Raises as `UserSession.upstream`, and Rejected.
        """
        crowd = cluster, session.state.user, session.state.protocol
        own, found = session.open_upstream(cluster), self._open_helper(crowd)
        if found is None and own is None and (opening := self._opening.get(crowd)) is not None:
            await asyncio.shield(opening)
            found = self._open_helper(crowd)
        if found is None or (own is not None and own.endpoint != found.endpoint):
            return await self._become_helper(crowd, session)
        return found

    async def _become_helper(self, crowd: _Crowd, session: UserSession) -> ClusterSession:
        opening = asyncio.get_running_loop().create_future()
        self._opening[crowd] = opening
        try:
            upstream = await session.upstream(crowd[0])
            condition = self._health.condition(upstream.endpoint)
            if not isinstance(condition.catalog, _Server):
                condition.catalog = await _learn(upstream, session.state.protocol)
            self._helpers[crowd] = session
            return upstream
        finally:
            opening.set_result(None)
            if self._opening.get(crowd) is opening:
                del self._opening[crowd]

    def _open_helper(self, crowd: _Crowd) -> ClusterSession | None:
        cluster, helper = crowd[0], self._helpers.get(crowd)
        upstream = None if helper is None else helper.open_upstream(cluster)
        if helper is None or upstream is None or not _is_plain(helper, cluster):
            return None
        return upstream if self._is_known(upstream) else None

    def _is_known(self, upstream: ClusterSession) -> bool:
        condition = self._health.condition(upstream.endpoint)
        return condition.up is not False and isinstance(condition.catalog, _Server)

    def _known(self, upstream: ClusterSession) -> _Server:
        server = self._health.condition(upstream.endpoint).catalog
        if not isinstance(server, _Server):
            raise ClusterLost(f"Cluster {upstream.cluster} may have been started again.")
        return server


@dataclass(frozen=True, slots=True)
class _Shared:
    """A call for the rows that the cluster alone knows. Equal ones of many sessions are one."""

    upstream: ClusterSession
    request: bytes
    protocol: int
    asked: MetadataQuestion = field(compare=False)


def _is_plain(session: UserSession, cluster: ClusterName) -> bool:
    """Whether the session lists what any other of its user lists at the same server."""
    state, upstream = session.state, session.open_upstream(cluster)
    if state.objects or not usual({**state.variables, **dict.fromkeys(state.unclear, "")}):
        return False
    return upstream is None or upstream.replay.understood


def _means_global(asked: MetadataQuestion) -> bool:
    """Whether global temporary views may be among the rows: any client may have made some."""
    return asked.name != SCHEMAS and asked.globally


async def _learn(upstream: ClusterSession, protocol: int, changes: int = 0) -> _Server:
    info = await upstream.call("GetInfo", get_info_call(upstream.session, DBMS_VERSION))
    if not replies.info_text(info).startswith(VERSION):
        return _Server(usual=False, shared=True, changes=changes)
    found = await session_settings(upstream, protocol)
    settings = {key.lower(): text for key, text in found.items()}
    is_usual = settings.get(_IMPLEMENTATION) == "hive" and usual(settings)
    is_shared = settings.get(_ONE_SESSION, "false").lower() != "false"
    return _Server(is_usual, is_shared, changes)


async def session_settings(upstream: ClusterSession, protocol: int) -> Mapping[str, str]:
    """All settings of the session in the cluster."""
    operation = await upstream.execute_to_end("SET", {})
    try:
        rows = await _fetched(upstream, operation, (STRING, STRING), MAX_SETTINGS, protocol)
    finally:
        upstream.close_operation(operation)
    return {str(key): str(value) for key, value in rows}


def _shared(upstream: ClusterSession, asked: MetadataQuestion, protocol: int) -> _Shared:
    request = metadata_call(asked.name, upstream.session, asked.temporary)
    return _Shared(upstream, request, protocol, asked)


async def _temporary(shared: _Shared) -> _Answer:
    upstream, asked = shared.upstream, shared.asked
    operation = replies.started_operation(await upstream.call(asked.name, shared.request))
    try:
        name = "GetResultSetMetadata"
        schema = await upstream.reply(name, operation_call(name, operation))
        if results.header(replies.read_result(schema, name)) != asked.described():
            raise WireError(f"{asked.name} has other columns.")
        rows = await _fetched(upstream, operation, asked.types, MAX_TEMPORARY, shared.protocol)
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
    """All rows. Raises WireError when there may be more than `limit` of them."""
    request = FetchResults(Handle(b"", b""), Orientation.NEXT, limit, 0)
    reply = await upstream.call("FetchResults", fetch_call(operation, request))
    rows = results.rows_in(reply, types, protocol)
    if len(rows) >= limit:
        raise WireError("More rows than are kept.")
    return rows
