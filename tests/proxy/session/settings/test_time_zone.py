"""A session has one time zone in all clusters."""

import pytest

from tests.proxy.fakes import World, error_of, play

ASKED = "SET spark.sql.session.timeZone"
IN_EAST = f"{ASKED}=Asia/Tokyo"


def test_the_time_zone_of_the_first_cluster_is_set_where_another_one_is_the_default() -> None:
    async def scenario(world: World) -> None:
        world.east.zone, world.west.zone = "Asia/Tokyo", "Etc/UTC"
        for _ in range(2):  # each endpoint is asked once
            client = await world.client()
            for sql in ("SELECT 2", "SELECT * FROM w", "SELECT * FROM w"):
                await client.operation(sql)
        assert world.east.statements == [ASKED, "SELECT 2", "SELECT 2"]
        session = [IN_EAST, "SELECT * FROM w", "SELECT * FROM w"]
        assert world.west.statements == [ASKED, *session, *session]

    play(scenario)


def test_no_time_zone_is_set_in_clusters_that_agree_or_after_a_choice() -> None:
    async def scenario(world: World) -> None:
        world.east.zone = world.west.zone = "Etc/UTC"
        client = await world.client()
        await client.operation("SELECT 2")
        await client.operation("SELECT * FROM w")
        assert world.west.statements == [ASKED, "SELECT * FROM w"]
        world.west.zone = "Asia/Tokyo"
        client = await world.client(opened=False)
        await client.open(5, **{"set__hiveconf__spark.sql.session.timeZone": "Europe/Paris"})
        await client.operation("SELECT * FROM w")
        assert world.west.statements == [ASKED, "SELECT * FROM w", "SELECT * FROM w"]

    play(scenario)


@pytest.mark.parametrize("statement", ["SET TIME ZONE LOCAL", "RESET", f"RE{ASKED}"])
def test_a_time_zone_that_is_left_to_the_server_is_read_there(statement: str) -> None:
    async def scenario(world: World) -> None:
        world.east.zone = "Asia/Tokyo"
        client = await world.client()
        await client.operation(statement)
        await client.operation("SELECT * FROM w")
        repeated = [IN_EAST] if "LOCAL" in statement else [IN_EAST, statement, IN_EAST]
        assert world.west.statements == [*repeated, "SELECT * FROM w"]

    play(scenario)


def test_a_set_fails_if_the_server_returns_no_time_zone() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        failure = error_of(await client.execute("SET TIME ZONE LOCAL"))
        assert failure is not None
        assert "does not say which time zone" in failure.message
        await client.operation("SELECT 2")

    play(scenario)
