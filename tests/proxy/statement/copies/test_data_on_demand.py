"""`SET causeway.fetch.missing`: a query that no cluster can run runs after copies were made for it.
Over real sockets and fake clusters; the copies are a fake."""

import asyncio
from typing import Any

from cli.errors import CopyFailed
from conf.names import ClusterName, TableRef
from conf.settings.security.restrictions import SessionRestrictions
from metastore.errors import MetastoreDown
from proxy.protocol.types import OperationState
from proxy.statement.copies.copier import CopyOrder
from proxy.statement.other_tables import MOST, lacking
from tests.proxy.fakes import FakeMetastore, World, error_of, play, until
from tests.proxy.statement.copies.fake_copier import FakeCopier

JOIN = "SELECT * FROM e JOIN w"
EAST, WEST = ClusterName("east"), ClusterName("west")
SET = "SET causeway.fetch.missing=1GB"


def on_demand(scenario: Any, limit: int = 1 << 30) -> None:
    copier = FakeCopier(progress=(5, 9))

    async def with_copier(world: World) -> None:
        def copied(order: CopyOrder) -> None:
            world.metastore.fresh[str(order.table)] = ClusterName(order.target)

        copier.on_copied = copied
        await scenario(world, copier)

    play(with_copier, restrictions=SessionRestrictions(fetch_limit=limit), copier=copier)


def test_a_refused_query_runs_when_its_copy_is_there_and_the_next_one_at_once() -> None:
    async def scenario(world: World, copier: FakeCopier) -> None:
        client = await world.client()
        refused = error_of(await client.execute(JOIN))
        assert refused is not None
        assert "causeway.fetch.missing" not in refused.message
        await client.operation(SET)
        operation = await client.operation(JOIN, run_async=True)
        await until(lambda: bool(copier.begun))
        assert copier.ways == ["default.w 0 west east"]
        assert copier.bounds[0][0] == 1 << 30
        assert await client.state(operation) == OperationState.RUNNING
        assert await client.log(operation) == [
            "Copying default.w from west to east, which no cluster has together with the other"
            " inputs.",
            "5 bytes of 9 bytes are sent.",
        ]
        assert await client.log(operation) == []
        copier.ends.set()
        await until(lambda: JOIN in world.east.statements)
        assert await client.rows(JOIN) == 1
        assert len(copier.begun) == 1
        assert "forget default.w" in world.metastore.log

    on_demand(scenario)


def test_copies_go_to_the_cluster_with_most_of_the_database() -> None:
    async def scenario(world: World, copier: FakeCopier) -> None:
        copier.ends.set()
        world.metastore.primaries |= {"default.more": WEST, "default.less": EAST, "sales.x": EAST}
        world.metastore.sizes |= {"default.e": 5, "default.w": 4, "default.more": 10}
        world.metastore.sizes |= {"default.less": 8, "sales.x": 99}
        client = await world.client()
        await client.operation(SET)
        assert await client.rows(JOIN) == 1
        assert copier.ways == ["default.e 0 east west"]

    on_demand(scenario)


def test_a_metastore_that_does_not_answer_about_other_tables_stops_no_query() -> None:
    class Down(FakeMetastore):
        async def tables_in(self, database: str) -> list[TableRef]:
            raise MetastoreDown("it is down")

    metastore = Down()
    tables = {TableRef("default", "e")}
    assert asyncio.run(lacking(tables, metastore, metastore, (EAST, WEST))) == {}


def test_a_database_of_very_many_tables_is_left_out() -> None:
    metastore = FakeMetastore({f"default.t{n}": WEST for n in range(MOST + 1)})
    metastore.sizes = dict.fromkeys(metastore.primaries, 1)
    metastore.loaded = set(map(TableRef.parse, metastore.primaries))
    tables = {TableRef("default", "t0")}
    found = asyncio.run(lacking(tables, metastore, metastore, (EAST, WEST)))
    assert found == {EAST: 0, WEST: 0}
    del metastore.primaries["default.t1"]
    found = asyncio.run(lacking(tables, metastore, metastore, (EAST, WEST)))
    assert found == {EAST: MOST - 1, WEST: 0}


def test_open_session_may_set_it() -> None:
    """As by a JDBC URL with `?causeway.fetch.missing=1GB`."""

    async def scenario(world: World, copier: FakeCopier) -> None:
        copier.ends.set()
        client = await world.client(opened=False)
        opening = {"set__hiveconf__causeway.fetch.missing": "1GB"}
        assert error_of(await client.open(**opening)) is None
        assert await client.rows(JOIN) == 1
        opening = {"set__hiveconf__causeway.fetch.missing": "2GB"}
        failure = error_of(await (await world.client(opened=False)).open(**opening))
        assert failure is not None
        assert failure.message.startswith("[CW230]")

    on_demand(scenario)


def test_a_cancelled_query_ends_its_copy() -> None:
    async def scenario(world: World, copier: FakeCopier) -> None:
        client = await world.client()
        await client.operation(SET)
        operation = await client.operation(JOIN, run_async=True)
        await until(lambda: bool(copier.begun))
        await client.on("CancelOperation", operation)
        assert await client.state(operation) == OperationState.CANCELED
        await until(lambda: copier.cancelled == 1)
        assert JOIN not in world.east.statements

    on_demand(scenario)


def test_a_cancelled_copy_statement_ends_its_copy() -> None:
    async def scenario(world: World, copier: FakeCopier) -> None:
        client = await world.client()
        operation = await client.operation("ALTER TABLE w COPY west TO east", run_async=True)
        await until(lambda: bool(copier.begun))
        await client.on("CancelOperation", operation)
        await until(lambda: copier.cancelled == 1)
        assert await client.state(operation) == OperationState.CANCELED

    on_demand(scenario)


def test_a_copy_that_fails_is_the_querys_error() -> None:
    async def scenario(world: World, copier: FakeCopier) -> None:
        copier.failures = [CopyFailed("[CW614] It is too large.")]
        copier.ends.set()
        client = await world.client()
        await client.operation(SET)
        failure = error_of(await client.execute(JOIN))
        assert failure is not None
        assert "[CW614] It is too large." in failure.message
        assert await client.rows("SELECT * FROM e") == 1

    on_demand(scenario)


def test_users_may_ask_for_as_much_as_the_operator_allows() -> None:
    async def scenario(world: World, copier: FakeCopier) -> None:
        client = await world.client()
        failure = error_of(await client.execute(SET))
        assert failure is not None
        assert failure.message.startswith(
            "[CW230] causeway.fetch.missing: at most 100.0 MB are copied for a query here"
        )
        assert error_of(await client.execute("SET causeway.fetch.missing=100000000")) is None
        failure = error_of(await client.execute("SET causeway.fetch.missing=much"))
        assert failure is not None
        assert failure.message.startswith("[CW209]")
        await client.operation("SET causeway.fetch.missing=0")
        failure = error_of(await client.execute(JOIN))
        assert failure is not None
        assert failure.message.startswith("[CW104]")
        assert copier.begun == []
        await client.operation("SET causeway.fetch.missing=1")
        explained = await client.operation(f"EXPLAIN CLUSTER {JOIN}")
        assert await client.state(explained) == OperationState.FINISHED
        assert copier.begun == []

    on_demand(scenario, limit=100_000_000)


def test_nothing_is_copied_where_the_operator_allows_nothing() -> None:
    async def scenario(world: World, copier: FakeCopier) -> None:
        failure = error_of(await (await world.client()).execute(SET))
        assert failure is not None
        assert "nothing is copied for a query here" in failure.message
        assert world.east.statements == []

    on_demand(scenario, limit=0)
