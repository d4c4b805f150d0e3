"""A cluster's rows on their way to a client: their beginning is looked at, the rest is not."""

from proxy.errors import ClusterLost
from proxy.protocol import replies, results
from proxy.protocol.messages import decode_message
from proxy.protocol.requests import FetchResults
from proxy.protocol.row_count import rows_in
from proxy.protocol.types import COLUMNS_SINCE, FETCH_LOG
from proxy.server.client_connection import ClientConnection
from proxy.upstream.remote_result import RemoteResult
from thriftcodec.values import Message, Struct


async def relay_rows(
    client: ClientConnection,
    call: Message,
    request: FetchResults,
    remote: RemoteResult,
    protocol: int,
) -> tuple[int, int | None]:
    """Carries the reply to a fetch: its bytes, and its rows where it says how many.

    Raises ClusterLost, LimitReached.
    """
    begun, sent, rows = False, 0, None

    def first(length: int, data: bytes) -> bytes:
        nonlocal begun, sent, rows
        rows = rows_in(data)
        if not rows and length == len(data) and protocol >= COLUMNS_SINCE:
            data = _with_a_column(data)
            length = len(data)
        data = replies.with_head(data, call.name, call.seqid)
        begun, sent = True, length
        remote.delivered |= request.fetch_type != FETCH_LOG
        return client.wrap(length) + data

    try:
        await remote.reader.relay(request, first, client, lambda: rows)
        await client.drain()
    except ClusterLost:
        if begun:
            client.abort()  # half a reply cannot be taken back
        raise
    return sent, rows


def _with_a_column(data: bytes) -> bytes:
    """A small FetchResults reply; one without columns is given an empty one."""
    message = decode_message(data)
    body = message.body.get(0)
    if not isinstance(body, Struct):
        return data
    cured = results.with_empty_column(body)
    return data if cured is None else replies.reply(message.name, message.seqid, cured)
