"""GetSchemas, GetTables and GetColumns, answered from memory where the answer is certain.

Databases and tables come from the metastore's lists, which the views keep up to date. The cluster
is still asked for what it alone knows, the session's temporary and its server's global views, by
the same call for no database: that costs a few milliseconds, whatever the number of tables. It is
not asked where there can be none: for a pattern that does not mean the global ones, in a session
that made none. Whether the server lists tables in Spark 3.5's usual way is asked once for each
session in a cluster, and again when the session has changed. Whatever is not certain is left to the
cluster.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from conf.errors import CausewayError
from proxy.catalog.metadata import SCHEMAS, MetadataQuestion, Row, question, usual
from proxy.catalog.server_info import DBMS_VERSION
from proxy.errors import Rejected, WireError
from proxy.protocol import replies, results
from proxy.protocol.requests import (
    FetchResults,
    Handle,
    RemoteOperation,
    fetch_call,
    get_info_call,
    metadata_call,
    operation_call,
)
from proxy.protocol.types import Orientation
from proxy.session.cluster_session import ClusterSession
from proxy.session.local_result import LocalResult
from proxy.session.user_session import UserSession
from proxy.statement.statement_router import Loader
from thriftcodec.values import STRING, Struct

VERSION = "3.5."
MAX_TEMPORARY = 1000  # rows of a cluster's own views
MAX_SETTINGS = 10_000
_IMPLEMENTATION = "spark.sql.catalogimplementation"
_ONE_SESSION = "spark.sql.hive.thriftserver.singlesession"


@dataclass(frozen=True, slots=True)
class _Server:
    """What a session in a cluster was like when the user's session had changed so often.

    `usual`: it is of a Spark that lists tables as is known here. `shared`: others' temporary views
    are its own. `schemas` are its replies to GetResultSetMetadata, by the call that they describe.
    """

    changes: int
    usual: bool
    shared: bool
    schemas: dict[str, bytes] = field(default_factory=dict)


class Metadata:
    """One per server."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._servers: WeakKeyDictionary[ClusterSession, _Server] = WeakKeyDictionary()

    async def answer(
        self, name: str, arguments: Struct, session: UserSession, upstream: ClusterSession
    ) -> LocalResult | None:
        """The whole result, when it is certain; None: the cluster has to say."""
        asked = question(name, arguments)
        if asked is None:
            return None
        if asked.name == SCHEMAS:
            return await self._schemas(asked, session, upstream)
        listed = await self._loader.listed(asked.databases)
        from_cluster = None if listed is None else await self._ask_cluster(asked, session, upstream)
        if listed is None or from_cluster is None:
            return None
        schema, temporary = from_cluster
        table = asked.answer(listed, temporary)
        return None if table is None else LocalResult(table, schema=schema)

    async def _schemas(
        self, asked: MetadataQuestion, session: UserSession, upstream: ClusterSession
    ) -> LocalResult | None:
        databases = await self._loader.schemas(asked.databases)
        from_cluster = (
            None if databases is None else await self._ask_cluster(asked, session, upstream)
        )
        if databases is None or from_cluster is None:
            return None
        return LocalResult(asked.schemas(databases), schema=from_cluster[0])

    async def _ask_cluster(
        self, asked: MetadataQuestion, session: UserSession, upstream: ClusterSession
    ) -> tuple[bytes, Sequence[Row]] | None:
        """What describes the answer, and those of its rows that the cluster alone knows; None when
        it is to say all of it in its own words."""
        try:
            server = await self._server(upstream, session)
            if not server.usual:
                return None
            schema = server.schemas.get(asked.name)
            if schema is not None and not _may_have_views(asked, session, upstream, server):
                return schema, ()
            schema, rows = await _temporary(upstream, asked, session.state.protocol)
        except (CausewayError, Rejected):
            return None
        server.schemas[asked.name] = schema
        return schema, rows

    async def _server(self, upstream: ClusterSession, session: UserSession) -> _Server:
        changes = session.state.journal.changes
        server = self._servers.get(upstream)
        if server is None or server.changes != changes:
            server = self._servers[upstream] = await _learn(
                upstream, session.state.protocol, changes
            )
        return server


def _may_have_views(
    asked: MetadataQuestion, session: UserSession, upstream: ClusterSession, server: _Server
) -> bool:
    """Whether temporary views may be among the rows: anybody may have made global ones."""
    if asked.name == SCHEMAS:
        return False
    own = bool(session.state.objects)
    return asked.globally or own or server.shared or not upstream.replay.understood


async def _learn(upstream: ClusterSession, protocol: int, changes: int) -> _Server:
    info = await upstream.call("GetInfo", get_info_call(upstream.session, DBMS_VERSION))
    if not replies.info_text(info).startswith(VERSION):
        return _Server(changes, usual=False, shared=True)
    settings = {key.lower(): text for key, text in (await _settings(upstream, protocol)).items()}
    is_usual = settings.get(_IMPLEMENTATION) == "hive" and usual(settings)
    return _Server(changes, is_usual, settings.get(_ONE_SESSION, "false").lower() != "false")


async def _settings(upstream: ClusterSession, protocol: int) -> Mapping[str, str]:
    """All settings of the session in the cluster."""
    operation = await upstream.execute_to_end("SET", {})
    try:
        rows = await _fetched(upstream, operation, (STRING, STRING), MAX_SETTINGS, protocol)
    finally:
        upstream.close_operation(operation)
    return {str(key): str(value) for key, value in rows}


async def _temporary(
    upstream: ClusterSession, asked: MetadataQuestion, protocol: int
) -> tuple[bytes, Sequence[Row]]:
    """The reply to GetResultSetMetadata, and what the cluster alone knows of."""
    request = metadata_call(asked.name, upstream.session, asked.temporary)
    operation = replies.started_operation(await upstream.call(asked.name, request))
    try:
        name = "GetResultSetMetadata"
        schema = await upstream.reply(name, operation_call(name, operation))
        if results.header(replies.read_result(schema, name)) != asked.described():
            raise WireError(f"{asked.name} has other columns.")
        rows = await _fetched(upstream, operation, asked.types, MAX_TEMPORARY, protocol)
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
