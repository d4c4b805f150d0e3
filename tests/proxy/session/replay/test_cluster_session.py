"""A session's changes are repeated in its sessions in other clusters, over real sockets."""

from tests.proxy.fakes import EAST, WEST, World, error_of, play, until
from thriftcodec.values import STRUCT, Struct


def test_use_is_answered_from_the_catalog_and_repeated_in_clusters() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("USE sales")
        assert world.east.log == world.west.log == []
        failure = error_of(await client.execute("USE nosuch"))
        assert failure is not None
        assert (failure.sqlstate, failure.vendor) == ("42704", 0)
        await client.operation("SELECT * FROM w")
        assert world.west.statements == ["USE sales", "SELECT * FROM w"]

    play(scenario)


def test_a_sessions_changes_are_repeated_once_and_in_order() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        statements = ["SET a=1", "CREATE TEMPORARY VIEW v AS SELECT * FROM default.w", "USE sales"]
        for each in statements:
            await client.operation(each)
        await client.operation("SELECT * FROM v")
        assert world.west.statements[-1] == "SELECT * FROM v"
        await client.operation("USE CLUSTER east")
        await client.operation("SELECT 1")
        assert world.east.statements == [*statements, "SELECT 1"]
        await client.operation("SELECT 2")
        assert world.east.statements == [*statements, "SELECT 1", "SELECT 2"]

    play(scenario)


def test_a_view_that_a_cluster_cannot_make_fails_only_statements_that_use_it() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        view = "CREATE TEMPORARY VIEW v AS SELECT 1 AS one"
        world.west.fails[view] = "Error running query: no such path"
        await client.operation(view)
        await client.operation("USE CLUSTER west")
        assert await client.rows("SELECT * FROM w") == 1
        failure = error_of(await client.execute("SELECT * FROM v"))
        assert failure is not None
        assert "[CW203] Cluster west cannot repeat" in failure.message
        assert "no such path" in failure.message
        await client.operation("USE CLUSTER")
        assert await client.rows("SELECT * FROM v") == 1
        await client.operation("DROP VIEW v")
        assert await client.rows("SELECT * FROM w") == 1
        assert world.west.statements == [view, "SELECT * FROM w", "SELECT * FROM w"]

    play(scenario)


def test_a_setting_that_a_cluster_cannot_repeat_fails_every_statement_there() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.west.fails["SET a=1"] = "Error running query: no such setting"
        await client.operation("SET a=1")
        failure = error_of(await client.execute("SELECT * FROM w"))
        assert failure is not None
        assert "[CW203] Cluster west cannot repeat 'SET a=1'" in failure.message
        assert await client.rows("SELECT 1") == 1
        await client.operation("SET a=2")
        assert await client.rows("SELECT * FROM w") == 1

    play(scenario)


def test_a_table_that_changed_since_it_was_read_is_analysed_again() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        for version in (1, 1, 2, 2):
            world.metastore.versions["default.w"] = version
            await client.operation("SELECT * FROM w")
        read, refresh = "SELECT * FROM w", "REFRESH TABLE `default`.`w`"
        assert world.west.statements == [read, read, refresh, read, read]

    play(scenario)


def test_the_cache_is_cleared_before_a_cached_table_is_read_in_another_version() -> None:
    async def scenario(world: World) -> None:
        first, other = await world.client(), await world.client()
        await first.operation("CACHE TABLE w")
        await other.operation("SELECT * FROM w")
        world.metastore.versions["default.w"] = 2
        await other.operation("SELECT 1 FROM w")
        late = await world.client()
        await late.operation("SELECT * FROM w")
        assert world.west.statements == [
            *("CACHE TABLE w", "SELECT * FROM w"),
            *("CLEAR CACHE", "REFRESH TABLE `default`.`w`", "SELECT 1 FROM w"),
            "SELECT * FROM w",
        ]

    play(scenario)


def test_a_session_that_a_cluster_closed_is_opened_again() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("SET a=1")
        await client.operation("SELECT 1")
        world.east.sessions.clear()
        assert await client.rows("SELECT 1") == 1
        assert world.east.statements[-2:] == ["SET a=1", "SELECT 1"]

    play(scenario)


def test_a_change_with_an_unknown_end_drops_the_clusters_session() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("SET a=1")
        world.east.sleeping.add("SET b=1")
        operation = await client.operation("SET b=1", run_async=True)
        await until(lambda: "SET b=1" in world.east.statements)
        await client.on("CancelOperation", operation)
        await client.operation("SELECT 1")
        assert world.east.statements == ["SET a=1", "SET b=1", "SET a=1", "SELECT 1"]

    play(scenario)


def test_a_statement_that_fails_changes_no_session() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        world.east.fails["SET a=1"] = "Error running query: no"
        assert error_of(await client.execute("SET a=1")) is not None
        assert error_of(await client.execute("USE nosuch")) is not None
        await client.operation("SELECT * FROM w")
        assert world.west.statements == ["SELECT * FROM w"]

    play(scenario)


def test_tables_are_listed_in_the_home_of_temporary_tables() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        asked = Struct({1: (STRUCT, client.session)})
        for sql in (
            "USE CLUSTER west",
            "CACHE TABLE mine AS SELECT 1 AS one",
            "USE CLUSTER",
        ):
            await client.operation(sql)
        assert error_of(await client.call("GetTables", asked)) is None
        assert [call for _, call, _ in world.east.log] == []
        await client.operation("DROP VIEW mine")
        assert error_of(await client.call("GetTables", asked)) is None
        assert "GetTables" in [call for _, call, _ in world.east.log]

    play(scenario)


def test_an_object_dropped_in_its_home_is_dropped_elsewhere() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        made = "CREATE TEMPORARY VIEW v AS SELECT 1 AS one"
        files = "CREATE OR REPLACE TEMPORARY VIEW v USING parquet OPTIONS (path '/p')"
        for sql in (
            made,
            "USE CLUSTER west",
            "SELECT 2",
            files,
            "DROP VIEW v",
            "USE CLUSTER east",
        ):
            await client.operation(sql)
        await client.operation("SELECT 3")
        assert world.west.statements == [made, "SELECT 2", files, "DROP VIEW v"]
        gone = ["CREATE OR REPLACE TEMPORARY VIEW `v` AS SELECT 1", "DROP VIEW `v`"]
        assert world.east.statements == [made, *gone, "SELECT 3"]

    play(scenario)


def test_a_replaced_function_is_looked_up_again() -> None:
    async def scenario(world: World) -> None:
        client, other = await world.client(), await world.client("bob")
        for each in (client, other):
            await each.operation("SELECT f(1)")
        replaced = "CREATE OR REPLACE FUNCTION default.f AS 'a.B'"
        await client.operation(replaced)
        await client.operation("SELECT f(2)")
        world.east.fails["REFRESH FUNCTION `default`.`f`"] = "Cannot load class a.B"
        await other.operation("SELECT f(3)")
        sessions = len(world.east.protocols)
        assert world.east.statements == [
            *("SELECT f(1)", "SELECT f(1)", replaced, "SELECT f(2)"),
            *("REFRESH FUNCTION `default`.`f`", "SELECT f(3)"),
        ]
        assert sessions == 3, "the other session was opened again"

    play(scenario)


def test_a_refreshed_table_is_refreshed_in_every_cluster() -> None:
    async def scenario(world: World) -> None:
        client = await world.client()
        await client.operation("SELECT * FROM w")
        world.metastore.primaries["default.w"] = EAST
        await client.operation("REFRESH TABLE w")
        world.metastore.primaries["default.w"] = WEST
        await client.operation("SELECT * FROM w")
        assert world.east.statements == ["REFRESH TABLE w"]
        refreshed = "REFRESH TABLE `default`.`w`"
        assert world.west.statements == ["SELECT * FROM w", refreshed, "SELECT * FROM w"]

    play(scenario)
