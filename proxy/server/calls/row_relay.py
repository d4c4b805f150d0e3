"""Relays a cluster's rows to a client. Only the first bytes of a reply are read."""

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
    """Relays the reply to a fetch; returns its length in bytes, and its rows if they are known.

    Raises ClusterLost, LimitReached.
    """
    reply_begun, sent, rows = False, 0, None

    def first(length: int, data: bytes) -> bytes:
        nonlocal reply_begun, sent, rows
        rows = rows_in(data)
        if not rows and length == len(data) and protocol >= COLUMNS_SINCE:
            data = _with_a_column(data)
            length = len(data)
        data = replies.with_head(data, call.name, call.seqid)
        reply_begun, sent = True, length
        remote.delivered |= request.fetch_type != FETCH_LOG
        return client.wrap(length) + data

    try:
        await remote.reader.relay(request, first, client, lambda: rows)
        await client.drain()
    except ClusterLost:
        if reply_begun:
            client.abort()  # it has received a part of the reply
        raise
    return sent, rows


def _with_a_column(data: bytes) -> bytes:
    """The FetchResults reply, with an empty column added if it has no columns."""
    message = decode_message(data)
    result = message.body.get(0)
    if not isinstance(result, Struct):
        return data
    with_column = results.with_empty_column(result)
    return data if with_column is None else replies.reply(message.name, message.seqid, with_column)
