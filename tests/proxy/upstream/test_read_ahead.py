"""Batches that are requested ahead: the client gets the right rows, whatever it requests."""

import asyncio
import random
from collections.abc import Sequence

import pytest

from proxy.limits import Limits
from proxy.protocol.results import rows_in
from proxy.protocol.types import Orientation
from tests.proxy.fakes import Client, World, column_length, error_of, play, until
from thriftcodec.values import I32, I64, STRUCT, Struct

NEXT, PRIOR, FIRST = Orientation.NEXT, Orientation.PRIOR, Orientation.FIRST
ROWS = 100
_TEXT = 11
SQL = "SELECT numbers"
Ask = tuple[Orientation, int]


class Expected:
    """A Thrift Server's cursor in a result."""

    def __init__(self) -> None:
        self.start = self.position = 0

    def fetch(self, orientation: Orientation, limit: int) -> list[int]:
        if orientation is FIRST:
            self.position = 0
        elif orientation is PRIOR:
            self.position = max(0, self.start - limit)
        self.start, self.position = self.position, min(ROWS, self.position + limit)
        return list(range(self.start, self.position))


async def fetch(client: Client, operation: Struct, orientation: Orientation, limit: int) -> Struct:
    return await client.on("FetchResults", operation, orientation=orientation, rows=limit)


async def ask(client: Client, operation: Struct, limit: int) -> None:
    """Requests the next rows; `answer` reads the reply."""
    request = Struct({1: (STRUCT, operation), 2: (I32, NEXT), 3: (I64, limit)})
    await client.send("FetchResults", request)


async def answer(client: Client) -> Struct:
    result = (await client.receive()).body.get(0)
    assert isinstance(result, Struct)
    return result


def numbers(result: Struct) -> list[int]:
    assert error_of(result) is None, error_of(result)
    return [int(str(number)) for (number,) in rows_in(result, [_TEXT], 10)]


def fetches(world: World) -> int:
    return [call for _, call, _ in world.east.log].count("FetchResults")


async def started(world: World) -> tuple[Client, Struct]:
    world.east.counts[SQL] = ROWS
    world.east.numbered.add(SQL)
    client = await world.client()
    return client, await client.operation(SQL)


async def read_twice(world: World, limit: int) -> tuple[Client, Struct]:
    """Reads two batches of rows of 10 kB; a third batch has been requested ahead."""
    world.east.row = b"y" * 10_000
    world.east.counts[SQL] = 6 * limit
    client = await world.client()
    operation = await client.operation(SQL)
    for _ in range(2):
        assert column_length(await fetch(client, operation, NEXT, limit)) == limit
    await until(lambda: fetches(world) == 3)
    return client, operation


def _random_asks(seed: int) -> list[Ask]:
    chosen = random.Random(seed)
    asks: list[Ask] = []
    while len(asks) < 40:
        orientation = chosen.choice((NEXT, NEXT, NEXT, NEXT, NEXT, FIRST, PRIOR))
        limit = chosen.choice((5, 5, 5, 3, 8, 0))
        asks += [(orientation, limit)] * chosen.choice((1, 1, 2, 4))
    return asks


@pytest.mark.parametrize(
    "asks",
    [
        [(NEXT, 30)] * 5,
        [(NEXT, 10)] * 11,
        [(NEXT, 10)] * 4 + [(NEXT, 7)] * 3,
        [(NEXT, 10)] * 4 + [(NEXT, 25)] * 3 + [(NEXT, 10)],
        [(NEXT, 10)] * 3 + [(PRIOR, 10), (NEXT, 10), (PRIOR, 4), (NEXT, 10)],
        [(NEXT, 10)] * 3 + [(FIRST, 10)] + [(NEXT, 10)] * 12,
        [(FIRST, 10), (NEXT, 10), (NEXT, 0), (NEXT, 10)],
        *(_random_asks(seed) for seed in range(20)),
    ],
)
def test_the_client_gets_the_rows_that_the_cluster_would_return(asks: Sequence[Ask]) -> None:
    async def scenario(world: World) -> None:
        client, operation = await started(world)
        expected = Expected()
        read: list[int] = []
        for number, (orientation, limit) in enumerate(asks):
            wanted = expected.fetch(orientation, limit)
            read = numbers(await fetch(client, operation, orientation, limit))
            if len(read) < len(wanted):  # fewer are allowed; the cursor is then where they end
                expected.position = expected.start + len(read)
                wanted = wanted[: len(read)]
                assert read, "an empty batch is the end of a result"
            assert read == wanted, f"ask {number} of {asks}"

    play(scenario)


def test_after_two_full_batches_the_next_one_is_requested_ahead() -> None:
    async def scenario(world: World) -> None:
        client, operation = await started(world)
        for asked, seen in ((1, 1), (2, 3), (3, 4), (4, 5), (5, 5), (6, 6)):
            await fetch(client, operation, NEXT, 30)
            await until(lambda: fetches(world) == seen)  # noqa: B023
            assert asked <= seen
        assert column_length(await fetch(client, operation, FIRST, 50)) == 50

    play(scenario)


def test_a_session_goes_on_beside_an_unfetched_batch() -> None:
    async def scenario(world: World) -> None:
        client, operation = await read_twice(world, 5_000)  # 50 MB that wait
        assert await client.rows("SELECT other") == 1
        assert column_length(await fetch(client, operation, NEXT, 5_000)) == 5_000
        assert error_of(await client.on("CloseOperation", operation)) is None
        assert await client.rows("SELECT other") == 1
        await until(lambda: len(world.east.connections) == 1)

    play(scenario)


def test_a_slow_client_gets_its_batch_as_it_reads() -> None:
    async def scenario(world: World) -> None:
        client, operation = await read_twice(world, 3_000)
        await ask(client, operation, 3_000)
        await until(lambda: fetches(world) == 3)
        await asyncio.sleep(0.2)  # the client does not read, and no socket takes 30 MB
        assert fetches(world) == 3
        assert column_length(await answer(client)) == 3_000

    play(scenario)


def test_a_batch_in_transfer_is_delivered_after_its_operation_is_closed() -> None:
    async def scenario(world: World) -> None:
        client, operation = await read_twice(world, 3_000)
        await ask(client, operation, 3_000)
        other = await world.client()
        await asyncio.sleep(0.05)  # the client does not read
        assert error_of(await other.on("CloseOperation", operation)) is None
        assert column_length(await answer(client)) == 3_000
        other.close()
        assert await client.rows("SELECT other") == 1
        await until(lambda: len(world.east.connections) == 1)

    # none is kept: the batch behind it may be whole, an error of two words, and its connection good
    play(scenario, Limits(idle_connections=0))


def test_the_batch_of_a_client_that_disconnects_is_dropped() -> None:
    async def scenario(world: World) -> None:
        client, operation = await started(world)
        for _ in range(2):
            await fetch(client, operation, NEXT, 10)
        await until(lambda: fetches(world) == 3)
        client.close()
        await until(lambda: not world.east.sessions and not world.east.operations)

    play(scenario)


def test_a_batch_that_has_arrived_is_delivered_after_its_cluster_died() -> None:
    async def scenario(world: World) -> None:
        client, operation = await started(world)
        for _ in range(2):
            await fetch(client, operation, NEXT, 10)
        await until(lambda: fetches(world) == 3)
        await asyncio.sleep(0.3)  # and its reply is here
        await world.east.stop()
        assert numbers(await fetch(client, operation, NEXT, 10)) == list(range(20, 30))
        failure = error_of(await fetch(client, operation, NEXT, 10))
        assert failure is not None
        assert "Cluster east" in failure.message
        await world.east.start()
        assert await client.rows("SELECT other") == 1

    play(scenario)


def test_no_byte_of_an_incomplete_batch_is_sent_if_its_connection_broke_before() -> None:
    async def scenario(world: World) -> None:
        world.east.row = b"y" * 1_000
        world.east.counts[SQL] = 100
        client = await world.client()
        operation = await client.operation(SQL)
        await fetch(client, operation, NEXT, 10)
        await ask(client, operation, 10)
        world.east.drip = 100
        assert column_length(await answer(client)) == 10
        await until(lambda: fetches(world) == 3)
        await asyncio.sleep(0.02)  # some of the third is here
        await world.east.stop()
        failure = error_of(await fetch(client, operation, NEXT, 10))
        assert failure is not None
        assert "cluster east broke" in failure.message

    play(scenario)


def test_a_batch_that_does_not_arrive_is_an_error_and_is_not_requested_again() -> None:
    async def scenario(world: World) -> None:
        client, operation = await started(world)
        await fetch(client, operation, NEXT, 10)
        world.east.hangs_at = "FetchResults"
        await ask(client, operation, 10)
        await until(lambda: fetches(world) == 2)
        await world.east.stop()
        failure = error_of(await answer(client))
        assert failure is not None
        assert "broke" in failure.message
        assert fetches(world) == 2

    play(scenario)


def test_nothing_is_read_ahead_if_the_endpoint_has_no_spare_connection() -> None:
    async def scenario(world: World) -> None:
        client, operation = await started(world)
        for at in range(0, ROWS, 10):
            assert numbers(await fetch(client, operation, NEXT, 10)) == list(range(at, at + 10))
        assert fetches(world) == 10

    play(scenario, Limits(endpoint_connections=2))


def test_a_result_of_one_row_is_read_in_any_order() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        for asks, rows in (
            ([(NEXT, 1000), (NEXT, 1000)], [1, 0]),
            ([(FIRST, 1), (NEXT, 1)], [1, 0]),
            ([(NEXT, 0), (NEXT, 1), (NEXT, 1)], [0, 1, 0]),
            ([(PRIOR, 1), (NEXT, 1), (FIRST, 1)], [1, 0, 1]),
        ):
            operation = await client.operation("SELECT 1")
            got = [column_length(await fetch(client, operation, *ask)) for ask in asks]
            assert got == rows, asks
            await client.on("CloseOperation", operation)

    play(scenario)
