"""The objects of closed sessions are freed at once, without a garbage collection: old objects are
seldom collected (`cli.server.garbage`)."""

import asyncio
import gc
from collections import Counter

from proxy.session.operation import Operation
from proxy.session.user_session import UserSession
from proxy.statement.statement_runner import StatementRunner
from proxy.upstream.upstream_connection import UpstreamConnection
from proxy.upstream.upstream_session import UpstreamSession
from tests.proxy.fakes import World, error_of, play, until

SESSIONS = 20
KINDS = (UserSession, Operation, StatementRunner, UpstreamSession, UpstreamConnection)


def alive() -> Counter[type]:
    return Counter(type(each) for each in gc.get_objects() if isinstance(each, KINDS))


def test_closed_sessions_leave_no_cycles() -> None:
    async def use(world: World, number: int) -> None:
        client = await world.client(f"user{number}")
        for each in ("SELECT 1", "CREATE TEMPORARY VIEW v AS SELECT * FROM e", "SELECT * FROM v"):
            assert error_of(await client.execute(each)) is None
        assert await client.rows("SELECT * FROM e") == 1
        assert error_of(await client.execute("no statement")) is not None
        client.writer.close()

    async def scenario(world: World) -> None:
        await use(world, SESSIONS)
        gc.collect()
        before = alive()
        gc.disable()
        try:
            for number in range(SESSIONS):
                await use(world, number)
            async with asyncio.timeout(120):
                await until(lambda: (alive() - before).total() < SESSIONS)
        except TimeoutError:
            raise AssertionError(f"these are not freed: {alive() - before}") from None
        finally:
            gc.enable()

    play(scenario)
