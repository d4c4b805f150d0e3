"""GetInfo, which connection pools use to find out whether a session still works."""

import asyncio

import pytest

from proxy.limits import Limits
from tests.proxy.fakes import Client, World, error_of, play
from thriftcodec.values import I32, STRUCT, Struct


def test_get_info() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        for kind, value in ((18, b"Fake 1"), (18, b"Fake 1"), (47, b"ann"), (30, 128), (99, 0)):
            result = await client.call(
                "GetInfo", Struct({1: (STRUCT, client.session), 2: (I32, kind)})
            )
            ((_, info),) = result.get(2).fields.values()
            assert info == value
        assert [call for _, call, _ in world.east.log] == ["GetInfo"]
        await world.east.stop()
        result = await client.call("GetInfo", Struct({1: (STRUCT, client.session), 2: (I32, 17)}))
        assert error_of(result) is None

    play(scenario)


def test_get_info_fails_for_a_session_that_is_gone() -> None:
    async def scenario(world: World) -> None:
        ann, bob = await world.client(), await world.client("bob")
        for kind in (17, 30):
            assert error_of(await ann.info(kind)) is None
        await ann.call("CloseSession", Struct({1: (STRUCT, ann.session)}))
        for kind in (17, 30):
            failure = error_of(await ann.info(kind))
            assert failure is not None
            assert failure.message.startswith("Invalid SessionHandle")
        ann.session = bob.session
        assert error_of(await ann.info()) is not None, "another user's session"

    play(scenario)


def test_get_info_fails_once_the_upstream_closed_the_session() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        assert error_of(await client.info()) is None
        await world.east.stop()
        failure = error_of(await client.info())
        assert failure is not None
        assert failure.sqlstate == "08006"

    play(scenario, in_use=False)


def test_get_info_of_an_upstream_that_needs_a_session() -> None:
    """Hive's own HiveServer2 answers only with a session; a failure is not cached."""

    async def scenario(world: World) -> None:
        world.east.checks_sessions = True
        client = await world.client()
        assert (await client.info(18)).get(2) == Struct({1: (11, b"Fake 1")})
        assert error_of(await (await world.client("bob")).info()) is None

    play(scenario, in_use=False)


def test_get_info_fails_while_no_cluster_of_the_session_is_up() -> None:
    async def scenario(world: World) -> None:
        limited, free = await world.client(), await world.client()
        await limited.operation("USE CLUSTER west")
        await world.west.stop()
        await until_down(limited, "08001")
        assert error_of(await free.info()) is None, "it may use the other cluster"
        await world.east.stop()
        await until_down(free, "08001")
        await world.west.start()
        while error_of(await limited.info()) is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    play(scenario, Limits(health_interval=0.02))


def test_get_info_works_in_a_cluster_that_came_up_after_its_last_health_check() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("USE CLUSTER west")
        await world.west.stop()
        with pytest.raises(AssertionError, match="CW201"):
            await client.operation("SELECT 1")
        assert error_of(await client.info()) is not None
        await world.west.start()
        assert error_of(await client.info()) is None

    play(scenario, Limits(health_interval=600.0))


async def until_down(client: Client, sqlstate: str) -> None:
    while (failure := error_of(await client.info())) is None:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert failure.sqlstate == sqlstate
