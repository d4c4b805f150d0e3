"""Pings that are asked again."""

import asyncio
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
import uvloop

from proxy.errors import Failure
from proxy.limits import Limits
from proxy.protocol.replies import failed, operation_started, read_started, reply
from proxy.protocol.requests import ExecuteStatement, Handle, RemoteOperation
from proxy.protocol.types import Orientation
from proxy.upstream.early import EarlyPing, LastPing
from proxy.upstream.upstream_session import Link
from tests.proxy.fakes import Client, FakeCluster, World, column_length, play, until

SCHEMA = "GetResultSetMetadata"
REPLY = reply("ExecuteStatement", 0, operation_started(Handle(bytes(16), bytes(16)), 0, True))
FAILED = reply("ExecuteStatement", 0, failed(Failure("no")))
REQUEST = ExecuteStatement(Handle(b"s", b"s"), "SELECT 1", {}, False, 0)


async def ping(client: Client) -> None:
    """As PyHive does it."""
    operation = await client.operation("SELECT 1")
    assert 2 in await client.on(SCHEMA, operation)
    assert column_length(await client.on("FetchResults", operation)) == 1
    await client.on("CloseOperation", operation)


def asked(cluster: FakeCluster, name: str) -> list[str]:
    return [text for _, call, text in cluster.log if call == name]


def test_a_ping_asked_again_is_run_again_and_its_schema_and_row_are_known() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        for _ in range(5):
            await ping(client)
        await until(lambda: not world.east.operations)
        assert asked(world.east, "ExecuteStatement") == ["SELECT 1"] * 5
        assert len(asked(world.east, "FetchResults")) == 1
        assert len(asked(world.east, SCHEMA)) == 1

    play(scenario)


def test_a_session_that_changed_asks_for_the_schema_and_the_row_anew() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await ping(client)
        await client.rows("SET spark.sql.ansi.enabled=true")
        schemas, rows = len(asked(world.east, SCHEMA)), len(asked(world.east, "FetchResults"))
        await ping(client)
        await ping(client)
        assert len(asked(world.east, SCHEMA)) == schemas + 1
        assert len(asked(world.east, "FetchResults")) == rows + 1

    play(scenario)


NEXT, PRIOR, FIRST = Orientation.NEXT, Orientation.PRIOR, Orientation.FIRST


@pytest.mark.parametrize(
    "asks",
    [
        [(NEXT, 10)] * 3,
        [(NEXT, 1), (NEXT, 1), (NEXT, 10)],
        [(NEXT, 0), (NEXT, 10), (NEXT, 0), (NEXT, 10)],
        [(NEXT, 10), (FIRST, 10), (NEXT, 10)],
        [(NEXT, 10), (PRIOR, 10), (NEXT, 10)],
        [(FIRST, 10), (NEXT, 10)],
        [(PRIOR, 10), (NEXT, 10)],
    ],
)
def test_a_known_row_is_read_as_one_that_the_cluster_gives(
    asks: Sequence[tuple[Orientation, int]],
) -> None:
    async def read(client: Client) -> list[int]:
        operation = await client.operation("SELECT 1")
        return [
            column_length(
                await client.on("FetchResults", operation, orientation=orientation, rows=limit)
            )
            for orientation, limit in asks
        ]

    async def scenario(world: World) -> None:
        client = await world.client()
        first = await read(client)
        await ping(client)
        assert [await read(client) for _ in range(2)] == [first] * 2

    play(scenario)


def test_what_was_sent_too_early_is_closed_and_the_ping_runs_where_it_belongs() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await ping(client)
        await client.rows("USE CLUSTER west")
        await ping(client)
        await ping(client)
        assert asked(world.west, "ExecuteStatement") == ["SELECT 1"] * 2
        assert asked(world.east, "ExecuteStatement") == ["SELECT 1"] * 2
        await until(lambda: not world.east.operations)
        assert len(asked(world.east, "CloseOperation")) == 2

    play(scenario)


def test_a_bound_is_not_passed_by() -> None:
    async def scenario(world: World) -> None:
        world.east.sleeping.add("SELECT long")
        first, second = await world.client(), await world.client()
        await ping(first)
        await until(lambda: not world.east.operations)
        await second.operation("SELECT long", run_async=True)
        await until(lambda: "SELECT long" in world.east.statements)
        failed = await first.execute("SELECT 1")
        assert "[CW207]" in str(failed)
        assert asked(world.east, "ExecuteStatement") == ["SELECT 1", "SELECT long"]

    play(scenario, Limits(statements_per_user=1))


def test_a_connection_that_broke_meanwhile_is_the_pings_error_and_the_session_goes_on() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await ping(client)
        world.east.dies_at = "ExecuteStatement"
        assert "[CW" in str(await client.execute("SELECT 1"))
        world.east.dies_at = ""
        await ping(client)

    play(scenario)


class _Begun:
    """A link that keeps what it is given."""

    def __init__(self, begins: bool = True) -> None:
        self.begins = begins
        self.heard: Callable[[bytes | None], None] = lambda reply: None
        self.closed: list[RemoteOperation] = []

    def begin(self, call: bytes, heard: Callable[[bytes | None], None]) -> bool:
        self.heard = heard
        return self.begins

    async def started(self, reply: asyncio.Future[bytes | None]) -> Any:
        return SimpleNamespace(fields=await reply)

    def close_operation(self, operation: RemoteOperation) -> None:
        self.closed.append(operation)


def _sent(begun: _Begun) -> tuple[EarlyPing, Link]:
    link = cast(Link, begun)
    return EarlyPing(LastPing(REQUEST, 0, link, b"call")), link


def test_it_is_for_who_would_send_the_same_on_the_same_link() -> None:
    async def scenario() -> None:
        begun = _Begun()
        early, link = _sent(begun)
        assert await early.started(cast(Link, _Begun()), b"call") is None
        assert await early.started(link, b"another") is None
        waiting = asyncio.ensure_future(early.started(link, b"call"))
        await asyncio.sleep(0)
        begun.heard(b"reply")
        assert cast(RemoteOperation, await waiting).fields == b"reply"
        assert begun.closed == []

    uvloop.run(scenario())


@pytest.mark.parametrize("cancelled", [False, True])
def test_what_nobody_waits_for_is_closed(cancelled: bool) -> None:
    async def scenario() -> None:
        begun = _Begun()
        early, link = _sent(begun)
        if cancelled:
            waiting = asyncio.ensure_future(early.started(link, b"call"))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
        begun.heard(REPLY)
        assert begun.closed == [read_started(REPLY)]
        assert await early.started(link, b"call") is None

    uvloop.run(scenario())


def test_what_could_not_be_sent_or_was_lost_has_to_be_sent() -> None:
    async def scenario() -> None:
        early, link = _sent(_Begun(begins=False))
        assert await early.started(link, b"call") is None
        begun = _Begun()
        early, link = _sent(begun)
        begun.heard(None)
        assert await early.started(link, b"call") is None
        assert begun.closed == []

    uvloop.run(scenario())


@pytest.mark.parametrize("claimed", [False, True])
@pytest.mark.parametrize("reply", [REPLY, FAILED, b"no reply", None])
def test_who_waits_is_answered_once_it_is_wanted_and_has_ended(
    claimed: bool, reply: bytes | None
) -> None:
    async def scenario() -> None:
        begun, answers = _Begun(), []
        early, link = _sent(begun)
        early.answer = lambda: answers.append(True)
        if claimed:
            waiting = asyncio.ensure_future(early.started(link, b"call"))
            await asyncio.sleep(0)
        begun.heard(reply)
        expected = claimed and reply == REPLY
        assert early.answered is expected
        assert answers == [True] * expected
        if claimed:
            await waiting

    uvloop.run(scenario())


def test_who_does_not_wait_any_more_is_not_answered() -> None:
    async def scenario() -> None:
        begun, answers = _Begun(), []
        early, link = _sent(begun)
        early.answer = lambda: answers.append(True)
        waiting = asyncio.ensure_future(early.started(link, b"call"))
        await asyncio.sleep(0)
        assert not early.waits_no_more()
        begun.heard(REPLY)
        await waiting
        assert answers == []
        assert not early.waits_no_more()

    uvloop.run(scenario())
