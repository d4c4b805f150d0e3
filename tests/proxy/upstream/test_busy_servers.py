"""Statements for which a Thrift Server has no thread wait for their turn, in order."""

import asyncio

import pytest

from conf.topology import Endpoint
from proxy.errors import Failure, ThriftServerError
from proxy.limits import Limits
from proxy.protocol.types import OperationState
from proxy.upstream.busy_servers import BusyServers, ThreadPlace
from tests.proxy.fake_cluster import BUSY, FakeOperation
from tests.proxy.fakes import World, error_of, play, until

REFUSED = ThriftServerError(Failure(BUSY))
HERE, THERE = Endpoint("here", 1), Endpoint("there", 1)
LONG, SECOND, THIRD = (f"SELECT {each} FROM e" for each in ("1", "2", "3"))


def test_the_first_refused_statement_is_called_first_and_once() -> None:
    async def run(group: asyncio.TaskGroup) -> None:
        servers = BusyServers()
        first, second = servers.take(HERE, REFUSED), servers.take(HERE, REFUSED)
        other = servers.take(THERE, REFUSED)
        assert [each.ahead for each in (first, second, other)] == [0, 1, 0]
        turns = [group.create_task(each.turn(60)) for each in (second, first, other)]
        await asyncio.sleep(0)
        servers.ended(HERE)
        servers.ended(HERE)
        await asyncio.gather(*turns[:2])
        assert not turns[2].done()
        again = group.create_task(first.turn(60))  # refused once more, it keeps its place
        late = group.create_task(second.turn(60))
        await asyncio.sleep(0)
        servers.ended(HERE)
        await again
        assert not late.done()
        second.leave()
        await late
        first.leave()
        first.leave()
        assert servers.waiting == 1
        other.leave()
        await turns[2]
        assert servers.waiting == 0

    async def grouped() -> None:
        async with asyncio.TaskGroup() as group:
            await run(group)

    asyncio.run(grouped())


def test_while_others_wait_only_the_one_that_was_called_is_sent() -> None:
    async def run() -> None:
        servers = BusyServers()
        assert servers.refusal(HERE, None) is None
        place = servers.take(HERE, REFUSED)
        assert servers.refusal(HERE, None) is servers.refusal(HERE, place) is REFUSED
        assert servers.refusal(THERE, None) is None
        async with asyncio.TaskGroup() as group:
            group.create_task(place.turn(60))
            await asyncio.sleep(0)
            servers.ended(HERE)
        assert servers.refusal(HERE, place) is None
        assert servers.refusal(HERE, None) is REFUSED
        place.accepted()
        assert servers.refusal(HERE, None) is None

    asyncio.run(run())


@pytest.mark.slow
@pytest.mark.parametrize("is_accepted", [True, False])
def test_a_trial_that_the_server_accepts_is_followed_by_the_next(is_accepted: bool) -> None:
    async def run() -> None:
        servers = BusyServers()
        first, second = servers.take(HERE, REFUSED), servers.take(HERE, REFUSED)
        async with asyncio.TaskGroup() as group:
            late = group.create_task(second.turn(60))
            await first.turn(60)  # the first trial, after a second
            assert not late.done()
            if is_accepted:
                first.accepted()
            else:
                first.leave()  # the call goes on to the next one
        assert second.is_called

    asyncio.run(run())


@pytest.mark.slow
def test_a_thread_may_be_freed_by_others() -> None:
    async def run() -> None:
        servers = BusyServers()
        place = servers.take(HERE, REFUSED)
        await place.turn(60)
        await place.turn(60)
        place.leave()

    asyncio.run(run())


def running(world: World) -> dict[str, FakeOperation]:
    """The statements that run in east."""
    return {each.sql: each for each in world.east.operations.values() if not each.changed.is_set()}


def test_a_synchronous_client_never_learns_that_its_server_was_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused, take = [], BusyServers.take

    def taken(self: BusyServers, endpoint: Endpoint, refusal: ThriftServerError) -> ThreadPlace:
        refused.append(endpoint)
        return take(self, endpoint, refusal)

    monkeypatch.setattr(BusyServers, "take", taken)

    async def scenario(world: World) -> None:
        world.east.threads = 1
        world.east.sleeping |= {LONG, SECOND, THIRD}
        clients = [await world.client() for _ in range(3)]
        async with asyncio.TaskGroup() as group:
            asked = []
            for client, sql in zip(clients, (LONG, SECOND, THIRD), strict=True):
                asked.append(group.create_task(client.execute(sql)))
                if sql == LONG:
                    await until(lambda: LONG in world.east.statements)
                elif sql == SECOND:
                    await until(lambda: refused)  # the proxy knows that the server is busy
            for sql in (LONG, SECOND, THIRD):
                await until(lambda sql=sql: sql in running(world))
                world.east.end(running(world)[sql])
        assert world.east.statements.count(THIRD) == 1  # it waited without being refused
        assert [error_of(each.result()) for each in asked] == [None] * 3

    play(scenario)


def test_a_client_that_polls_sees_that_its_statement_waits_and_may_cancel_it() -> None:
    async def scenario(world: World) -> None:
        world.east.threads = 1
        world.east.sleeping.add(LONG)
        client, other = await world.client(), await world.client()
        await client.operation(LONG, run_async=True)
        await until(lambda: LONG in world.east.statements)
        operation = await other.operation(SECOND, run_async=True)
        await until(lambda: SECOND in world.east.statements)
        assert await other.state(operation) == OperationState.RUNNING
        await other.on("CancelOperation", operation)
        world.east.end(running(world)[LONG])
        assert await client.rows(THIRD) == 1
        assert world.east.statements.count(SECOND) == 1

    play(scenario)


def test_after_its_time_the_client_gets_the_error_of_the_server() -> None:
    async def scenario(world: World) -> None:
        world.east.threads = 0
        client = await world.client()
        failure = error_of(await client.execute(LONG))
        assert failure is not None
        assert failure.message == BUSY

    play(scenario, Limits(thread_wait=0.3))
