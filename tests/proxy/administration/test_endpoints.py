"""Sessions and calls of Thrift Servers that are drained, dead, hanging or removed."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from proxy.errors import NotFound
from proxy.limits import Limits
from proxy.protocol.types import OperationState
from tests.proxy.fake_cluster import FakeCluster
from tests.proxy.fakes import error_of, until
from tests.proxy.running import Site, play, refusal, topology
from thriftcodec.values import I32, I64, STRUCT, Struct


def endpoint(site: Site, fake: FakeCluster) -> dict[str, Any]:
    (east, _) = site.admin.clusters()
    (result,) = (each for each in east["endpoints"] if each["endpoint"] == str(fake.endpoint))
    return dict(result)


def test_new_sessions_go_to_the_endpoint_with_the_least_load() -> None:
    async def scenario(site: Site) -> None:
        clients = [await site.client() for _ in range(4)]
        for client in clients:
            assert await client.rows("SELECT 1") == 1
        assert (len(site.one.sessions), len(site.two.sessions)) == (2, 2)

    play(scenario)


def test_a_drained_endpoint_takes_no_new_sessions_and_finishes_its_own() -> None:
    async def scenario(site: Site) -> None:
        site.one.sleeping.add("SELECT long")
        old = await site.client()
        operation = await old.operation("SELECT long", run_async=True)
        await until(lambda: len(site.one.operations) == 1)
        await site.admin.drain(str(site.one.endpoint))
        for _ in range(3):
            assert await (await site.client()).rows("SELECT 1") == 1
        assert (len(site.one.sessions), len(site.two.sessions)) == (1, 3)
        await old.on("CancelOperation", operation)
        assert await old.rows("SELECT 2") == 1
        assert "SELECT 2" in site.one.statements
        await site.admin.resume(str(site.one.endpoint))
        assert await (await site.client()).rows("SELECT 1") == 1
        assert len(site.one.sessions) == 2

    play(scenario)


def test_a_drained_cluster_is_refused_by_name_and_the_others_serve() -> None:
    async def scenario(site: Site) -> None:
        client = await site.client()
        await site.admin.drain("west")
        assert "[CW201] Cluster west is drained" in await refusal(client, "SELECT * FROM w")
        assert await client.rows("SELECT * FROM e") == 1
        (east, west) = site.admin.clusters()
        assert (east["drained"], west["drained"]) == (False, True)
        await site.admin.resume("west")
        assert await client.rows("SELECT * FROM w") == 1
        for what in ("north", "127.0.0.1:1"):
            with pytest.raises(NotFound):
                await site.admin.drain(what)

    play(scenario)


def test_a_dead_endpoint_is_avoided_until_it_answers_again() -> None:
    async def scenario(site: Site) -> None:
        client = await site.client()
        await client.operation("SET a=1")
        dead, other = sorted((site.one, site.two), key=lambda each: not each.statements)
        await dead.stop()
        assert await client.rows("SELECT 1") == 1
        assert other.statements == ["SET a=1", "SELECT 1"]
        assert endpoint(site, other)["sessions"] == 1
        assert endpoint(site, dead)["sessions"] == 0
        await until(lambda: endpoint(site, dead)["up"] is False)
        await dead.start()
        await until(lambda: endpoint(site, dead)["up"] is True)

    play(scenario, Limits(health_interval=0.02))


@pytest.mark.slow
def test_a_session_moves_from_an_endpoint_that_hangs() -> None:
    async def scenario(site: Site) -> None:
        client = await site.client()
        await client.on("CloseOperation", await client.operation("SET a=1"))
        hanging, other = sorted((site.one, site.two), key=lambda each: not each.statements)
        hanging.silent = True
        await until(lambda: endpoint(site, hanging)["up"] is False)
        assert await client.rows("SELECT 1") == 1
        assert other.statements == ["SET a=1", "SELECT 1"]

    play(scenario, Limits(health_interval=0.02, connect=1.0))


@pytest.mark.slow
def test_calls_to_a_server_that_hangs_end_in_time() -> None:
    """A running statement and a fetch end, although neither has a time limit of its own."""

    async def scenario(site: Site) -> None:
        client, other = await site.client(), await site.client()
        site.one.sleeping.add("SELECT long")
        site.two.sleeping.add("SELECT long")
        for each in (client, other):  # no other cluster may have it
            await each.operation("USE CLUSTER east")
        running = await client.operation("SELECT long", run_async=True)
        fetching = await other.operation("SELECT a")
        await other.on("GetResultSetMetadata", fetching)  # nothing is due any more
        await until(lambda: ("ann", "GetOperationStatus", "") in site.one.log + site.two.log)
        site.one.silent = site.two.silent = True
        failure = error_of(await other.on("FetchResults", fetching))
        assert failure is not None
        assert "[CW202] Cluster east has not answered for 1.5 s" in failure.message
        status = Struct()
        while status.get(2, OperationState.RUNNING) == OperationState.RUNNING:
            status = await client.on("GetOperationStatus", running)
        assert b"has not answered for 1.5 s" in status.get(5)
        site.one.silent = site.two.silent = False
        assert await client.rows("SELECT 1") == 1

    play(scenario, Limits(health_interval=0.02, connect=1.0, silence=1.5, linger=0.0))


@pytest.mark.slow
@pytest.mark.parametrize("slow", [0.0, 3.0])
def test_a_reply_that_stops_in_the_middle_ends_in_time(slow: float) -> None:
    """The connection is closed, because the client has a part of the reply. While a slow client
    has bytes to read it is left alone."""

    async def scenario(site: Site) -> None:
        for fake in (site.one, site.two):
            fake.row, fake.counts = b"y" * 10_000, {"SELECT many": 5_000}
        client = await site.client()
        operation = await client.operation("SELECT many")
        site.one.stalls_after = site.two.stalls_after = 30 << 20
        await client.send(
            "FetchResults", Struct({1: (STRUCT, operation), 2: (I32, 0), 3: (I64, 5_000)})
        )
        length = int.from_bytes(await client.reader.readexactly(4), "big")
        site.one.silent = site.two.silent = True
        await asyncio.sleep(slow)
        read = 0
        with suppress(ConnectionError):
            while piece := await client.reader.read(1 << 20):
                read += len(piece)
        assert 1 << 20 < read < length

    play(scenario, Limits(health_interval=0.02, connect=1.0, silence=1.5, linger=0.0))


@pytest.mark.slow
def test_calls_to_a_server_that_a_reload_removed_end_in_time() -> None:
    async def scenario(site: Site) -> None:
        client = await site.client()
        await client.operation("USE CLUSTER east")  # no other cluster may have it
        fetching = await client.operation("SELECT a")
        await client.on("GetResultSetMetadata", fetching)
        hanging, other = sorted((site.one, site.two), key=lambda each: not each.sessions)
        operating = replace(site.settings.operating, health_interval=0.02, health_timeout=1.5)
        left = topology(other, site.west)
        site.settings = replace(site.settings, topology=left, operating=operating)
        site.admin.reload()
        hanging.silent = True
        failure = error_of(await client.on("FetchResults", fetching))
        assert failure is not None
        assert "[CW202] Cluster east has not answered for 1.5 s" in failure.message

    play(scenario, Limits(health_interval=0.02, connect=1.0, close=1.0))


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["dies_at", "hangs_at"])
def test_opening_a_session_tries_the_next_endpoint(moment: str) -> None:
    async def scenario(site: Site) -> None:
        setattr(site.one, moment, "OpenSession")
        client = await site.client()
        assert await client.rows("SELECT 1") == 1
        assert site.two.statements == ["SELECT 1"]

    play(scenario, Limits(call=1.5, linger=0.0))


def test_a_statement_that_may_have_started_is_not_sent_again() -> None:
    async def scenario(site: Site) -> None:
        site.one.dies_at = "ExecuteStatement"
        client = await site.client()
        assert "[CW202]" in await refusal(client, "INSERT INTO e SELECT 1")
        assert site.one.statements == ["INSERT INTO e SELECT 1"]
        assert site.two.statements == []
        site.one.dies_at = ""
        assert await client.rows("SELECT 1") == 1

    play(scenario)
