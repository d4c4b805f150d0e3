"""Calls that are sent without waiting for replies, and facts that are invalidated during use."""

import pytest

from conf.catalog.tables import NotLoaded
from conf.names import TableRef
from tests.proxy.fakes import World, error_of, play, until


def _calls(world: World) -> list[str]:
    return [call for _, call, _ in world.east.log]


def test_close_operation_is_sent_with_the_next_statement() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        first = await client.operation("SELECT * FROM e")
        assert error_of(await client.on("CloseOperation", first)) is None
        assert "CloseOperation" not in _calls(world)
        await client.operation("SELECT * FROM e")
        calls = _calls(world)
        assert calls[calls.index("CloseOperation") - 1] == "ExecuteStatement"
        assert len(world.east.operations) == 1

    play(scenario)


def test_close_operation_is_sent_alone_after_a_moment() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        for _ in range(3):
            await client.on("CloseOperation", await client.operation("SHOW TABLES"))
        await until(lambda: not world.east.operations)

    play(scenario)


def test_a_schema_is_requested_before_the_client_requests_it() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        operation = await client.operation("SELECT * FROM e")
        asked = ["GetOperationStatus", "GetResultSetMetadata"]
        await until(lambda: _calls(world)[-2:] == asked)
        assert 2 in await client.on("GetResultSetMetadata", operation)
        assert _calls(world)[-2:] == asked

    play(scenario)


def test_a_reply_without_a_call_closes_the_connection() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("SELECT 1")
        for writer in world.east.connections:
            writer.write(b"\0\0\0\1x")
        await until(lambda: not world.east.connections)
        assert await client.rows("SELECT * FROM e") == 1

    play(scenario)


def test_a_schema_lost_with_the_connection_is_requested_again() -> None:
    async def scenario(world: World) -> None:
        world.east.dies_at = "GetResultSetMetadata"
        client = await world.client()
        operation = await client.operation("SELECT * FROM e")
        await until(lambda: not world.east.connections)
        world.east.dies_at = ""
        failure = error_of(await client.on("GetResultSetMetadata", operation))
        assert failure is not None
        assert failure.message.startswith("Invalid OperationHandle")
        assert await client.rows("SELECT * FROM e") == 1

    play(scenario)


@pytest.mark.parametrize(
    ("sql", "what"), [("USE sales", "database_exists"), ("DROP DATABASE sales CASCADE", "table")]
)
def test_facts_invalidated_during_their_use_are_loaded_again(sql: str, what: str) -> None:
    async def scenario(world: World) -> None:
        world.metastore.primaries["sales.w"] = world.east.name
        client, known = await world.client(), getattr(world.metastore, what)
        forgotten = []

        def forgetful(name: TableRef | str) -> object:
            if not forgotten and str(name).startswith("sales"):
                forgotten.append(name)
                raise NotLoaded(TableRef.parse("sales.w"))
            return known(name)

        setattr(world.metastore, what, forgetful)
        assert error_of(await client.execute(sql)) is None
        assert forgotten

    play(scenario)


def test_facts_that_are_always_invalidated_fail_the_statement_by_name() -> None:
    async def scenario(world: World) -> None:
        def forgetful(name: str) -> bool:
            raise NotLoaded(TableRef(name, ""))

        client = await world.client()
        world.metastore.database_exists = forgetful  # type: ignore[method-assign]
        failure = error_of(await client.execute("USE sales"))
        assert failure is not None
        assert failure.message.startswith("[CW210] Database sales keeps changing. Try again")

    play(scenario)
