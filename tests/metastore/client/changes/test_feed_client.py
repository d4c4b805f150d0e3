"""A view is asked what changed; whatever it answers instead, nothing is certain."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from conf.topology import Endpoint
from metastore.client.changes.feed_client import FeedClient
from tests.metastore.writable import C1, WritableMetastore
from thriftcodec.values import EXCEPTION, REPLY, STRING, Message, Struct
from thriftcodec.writer import encode_message

_TOUCHED = "causeway_touched"


def test_a_connection_that_closed_is_opened_again(view) -> None:
    async def scenario() -> None:
        feed = FeedClient(view[C1], 60.0)
        first = await feed.changes()
        assert first is not None
        assert first.everything
        assert feed.feed
        second = await feed.changes()
        feed.close()
        assert feed.feed == ""
        third = await feed.changes()
        assert second == third
        assert not third.everything
        feed.close()

    asyncio.run(scenario())


def test_a_metastore_that_is_no_view_has_no_answer(hms: WritableMetastore) -> None:
    async def scenario() -> None:
        feed = FeedClient(hms.endpoint, 60.0)
        assert await feed.changes() is None
        assert feed.feed == ""

    asyncio.run(scenario())


def test_nothing_listens() -> None:
    async def scenario() -> None:
        server = await asyncio.start_server(_never, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        assert await FeedClient(Endpoint("127.0.0.1", port), 60.0).changes() is None

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 400 Bad Request",
        encode_message(Message(_TOUCHED, REPLY, 1, Struct())),
        encode_message(Message(_TOUCHED, REPLY, 2, Struct())),
        encode_message(Message("get_table", REPLY, 1, Struct())),
        encode_message(Message(_TOUCHED, EXCEPTION, 1, Struct({1: (STRING, "no")}))),
    ],
)
def test_another_reply_is_no_answer(reply: bytes) -> None:
    _with_server(lambda reader, writer: _say(writer, reply), _no_answer)


def test_the_end_of_the_connection_is_no_answer() -> None:
    _with_server(lambda reader, writer: _close(writer), _no_answer)


def test_after_a_time_out_the_next_calls_do_not_wait() -> None:
    async def scenario(feed: FeedClient) -> None:
        assert await feed.changes() is None
        async with asyncio.timeout(0.2):
            assert await feed.changes() is None

    _with_server(_never, scenario, 0.4)


def test_an_answer_after_the_call_was_cancelled_is_not_taken_for_the_next() -> None:
    """The next call goes over another connection."""
    connections = []

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(await reader.read(1))

    async def scenario(feed: FeedClient) -> None:
        for number in (1, 2):
            call = asyncio.ensure_future(feed.changes())
            while len(connections) < number:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

    _with_server(silent, scenario)


async def _no_answer(feed: FeedClient) -> None:
    async with asyncio.timeout(60.0):
        assert await feed.changes() is None
    assert feed.feed == ""


async def _never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Reads, and never answers."""


async def _say(writer: asyncio.StreamWriter, reply: bytes) -> None:
    writer.write(reply)
    await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()


Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


def _with_server(
    client: Client,
    scenario: Callable[[FeedClient], Coroutine[Any, Any, None]],
    timeout: float = 60.0,
) -> None:
    """Runs the scenario with a feed at a server that treats its clients so."""

    clients = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        clients.append(asyncio.current_task())
        try:
            await client(reader, writer)
            await reader.read()
        finally:
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            feed = FeedClient(Endpoint("127.0.0.1", server.sockets[0].getsockname()[1]), timeout)
            await scenario(feed)
            feed.close()
            await asyncio.gather(*filter(None, clients))

    asyncio.run(main())
