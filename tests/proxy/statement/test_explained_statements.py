"""EXPLAIN CLUSTER and SHOW COPIES through the proxy."""

from conf.placement import Copy, Placement
from conf.write_ids import new_id, with_time
from tests.proxy.fakes import EAST, WEST, World, error_of, play


def test_explain_cluster_of_our_own_statements() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        assert await client.rows("EXPLAIN CLUSTER USE CLUSTER west") == 1
        assert await client.rows("SHOW CURRENT CLUSTER") == 1
        assert world.east.log == world.west.log == []

    play(scenario)


def test_explain_cluster_runs_nothing() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        assert await client.rows("EXPLAIN CLUSTER INSERT INTO w SELECT * FROM w") == 1
        assert await client.rows("EXPLAIN CLUSTER EXTENDED INSERT INTO w SELECT * FROM e") == 4
        assert await client.rows("EXPLAIN CLUSTER EXTENDED SHOW CLUSTERS") == 0
        assert world.west.log == world.east.log == []
        assert world.metastore.log == []

    play(scenario)


def test_copies_are_shown() -> None:
    stale = Copy(WEST, "file:/w", "old", {"missed": with_time(new_id(), 100.0), "bytes": 7})

    async def scenario(world: World) -> None:
        world.metastore.copied["default.e"] = Placement(EAST, "new", (stale,))
        client = await world.client()
        assert await client.rows("SHOW COPIES") == 2  # of e in both clusters; w has no copies
        assert await client.rows("SHOW COPIES IN default") == 2
        assert await client.rows("SHOW COPIES OF w") == 1
        missing = error_of(await client.execute("SHOW COPIES OF sales.missing"))
        assert missing is not None
        assert "CW303" in missing.message
        unknown = error_of(await client.execute("SHOW COPIES IN nowhere"))
        assert unknown is not None
        assert "SCHEMA_NOT_FOUND" in unknown.message
        assert world.west.log == world.east.log == []

    play(scenario)
