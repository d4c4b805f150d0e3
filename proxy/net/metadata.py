"""GetTables and GetColumns, answered from memory where the answer is certain.

The tables come from the metastore's lists, which the views keep up to date. The cluster is still
asked for what it alone knows, the session's temporary and its server's global views, by the same
call for no database: that costs a few milliseconds, whatever the number of tables. Whether the
server lists tables in Spark 3.5's usual way is asked once a link, and again when its session has
changed. Whatever is not certain is left to the cluster.
"""

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from conf.errors import CausewayError
from proxy.errors import Rejected, WireError
from proxy.net.facts import Loader
from proxy.net.link import Link
from proxy.net.session import Session
from proxy.session.info import DBMS_VERSION
from proxy.session.local import Local
from proxy.session.metadata import Question, Row, question, usual
from proxy.wire import replies, results
from proxy.wire.binary import STRING, Struct
from proxy.wire.requests import (
    FetchResults,
    Handle,
    RemoteOperation,
    fetch_call,
    get_info_call,
    metadata_call,
    operation_call,
)
from proxy.wire.types import Orientation

VERSION = "3.5."
MAX_TEMPORARY = 1000  # rows of a cluster's own views
MAX_SETTINGS = 10_000
_IMPLEMENTATION = "spark.sql.catalogImplementation"


class Metadata:
    """One per server."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._usual: WeakKeyDictionary[Link, tuple[int, bool]] = WeakKeyDictionary()

    async def answer(
        self, name: str, arguments: Struct, session: Session, link: Link
    ) -> Local | None:
        """The whole result, when it is certain; None: the cluster has to say."""
        asked = question(name, arguments)
        if asked is None:
            return None
        listed = await self._loader.listed(asked.databases)
        if listed is None:
            return None
        try:
            if not await self._is_usual(link, session):
                return None
            schema, temporary = await _temporary(link, asked, session.state.protocol)
        except (CausewayError, Rejected):
            return None  # the cluster is to say it in its own words
        table = asked.answer(listed, temporary)
        return None if table is None else Local(table, schema=schema)

    async def _is_usual(self, link: Link, session: Session) -> bool:
        """Whether the link's session is of a Spark that lists tables as is known here."""
        changes = session.state.journal.changes
        told = self._usual.get(link)
        if told is None or told[0] != changes:
            told = self._usual[link] = (changes, await _learn(link, session.state.protocol))
        return told[1]


async def _learn(link: Link, protocol: int) -> bool:
    info = await link.call("GetInfo", get_info_call(link.session, DBMS_VERSION))
    if not replies.info_text(info).startswith(VERSION):
        return False
    settings = await _settings(link, protocol)
    return settings.get(_IMPLEMENTATION) == "hive" and usual(settings)


async def _settings(link: Link, protocol: int) -> Mapping[str, str]:
    """All that is set in the link's session, by whomever."""
    operation = await link.ping("SET", {})
    try:
        rows = await _fetched(link, operation, (STRING, STRING), MAX_SETTINGS, protocol)
    finally:
        link.close_operation(operation)
    return {str(key): str(value) for key, value in rows}


async def _temporary(link: Link, asked: Question, protocol: int) -> tuple[bytes, Sequence[Row]]:
    """The reply to GetResultSetMetadata, and what the cluster alone knows of."""
    request = metadata_call(asked.name, link.session, asked.temporary)
    operation = replies.started_operation(await link.call(asked.name, request))
    try:
        name = "GetResultSetMetadata"
        schema = await link.reply(name, operation_call(name, operation))
        if results.header(replies.read_result(schema, name)) != asked.described():
            raise WireError(f"{asked.name} has other columns.")
        rows = await _fetched(link, operation, asked.types, MAX_TEMPORARY, protocol)
    finally:
        link.close_operation(operation)
    return schema, rows


async def _fetched(
    link: Link, operation: RemoteOperation, types: Sequence[int], limit: int, protocol: int
) -> Sequence[Row]:
    """All rows. Raises WireError when there may be more than `limit` of them."""
    request = FetchResults(Handle(b"", b""), Orientation.NEXT, limit, 0)
    reply = await link.call("FetchResults", fetch_call(operation, request))
    rows = results.rows_in(reply, types, protocol)
    if len(rows) >= limit:
        raise WireError("More rows than are kept.")
    return rows
