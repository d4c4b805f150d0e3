"""Administration: drained and lost endpoints, killed sessions, reloaded settings, finishing."""

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conf.errors import BadSetting
from conf.names import ClusterName, TableRef
from conf.settings.operating import Operating
from conf.topology import Endpoint
from proxy.errors import NoSuchThing, Stopping, UnknownCluster
from proxy.limits import Limits
from proxy.operations.metrics import text
from proxy.protocol.framing import client_negotiation
from proxy.protocol.messages import decode_message
from proxy.protocol.types import OperationState
from tests.proxy.fake_cluster import FakeCluster
from tests.proxy.fakes import Client, error_of, until
from tests.proxy.running import Site, play, topology
from tests.proxy.web import web
from thriftcodec.values import EXCEPTION, I32, I64, STRING, STRUCT, Struct

OF_ANOTHER_WORKER = Struct({1: (STRUCT, Struct({1: (STRING, b"\1" * 16), 2: (STRING, b"s" * 16)}))})


async def refusal(client: Client, sql: str = "SELECT 1") -> str:
    failure = error_of(await client.execute(sql))
    return failure.message if failure is not None else ""


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
            with pytest.raises(NoSuchThing):
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


def test_calls_to_a_server_that_hangs_end_in_time() -> None:
    """The statement that runs there and the fetch, though no call has a limit of its own."""

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


@pytest.mark.parametrize("slow", [0.0, 3.0])
def test_a_reply_that_stops_in_its_midst_ends_in_time(slow: float) -> None:
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


def test_sessions_and_statements_are_listed_and_killed() -> None:
    async def scenario(site: Site) -> None:
        site.one.sleeping.add("SELECT 'x' AS password FROM e")
        client = await site.client()
        await client.operation("SELECT 'x' AS password FROM e", run_async=True)
        await until(lambda: site.admin.statements()[0]["state"] != "PENDING")
        assert len(site.one.operations) == 1
        (statement,) = site.admin.statements()
        assert statement["reads"] == ("default.e",)
        assert (statement["rule"], statement["cluster"]) == ("inputs", "east")
        assert statement["because"] == "east is a primary cluster of an input and has them all"
        (considered,) = statement["considered"]
        assert considered == {"cluster": "east", "rule": "inputs", "chosen": True, "obstacles": []}
        assert (statement["user"], statement["address"]) == ("ann", "127.0.0.1")
        assert statement["state"] == "RUNNING"
        (session,) = site.admin.sessions()
        assert session["clusters"] == {"east": str(site.one.endpoint)}
        assert (session["running"], session["operations"]) == (1, 1)
        assert await site.admin.kill_statement(statement["statement"]) == {"killed": 1}
        await until(lambda: site.admin.statements()[0]["state"] == "CANCELED")
        assert await site.admin.kill_statement(statement["statement"]) == {"killed": 0}
        assert await client.rows("SELECT 1") == 1
        assert await site.admin.kill_session(session["session"]) == {"killed": 1}
        assert site.admin.sessions() == []
        assert "Invalid SessionHandle" in await refusal(client)
        await until(lambda: not site.one.sessions)
        assert await site.admin.kill_session(session["session"]) == {"killed": 0}

    play(scenario)


def test_a_blocked_user_has_no_sessions_and_opens_none() -> None:
    async def scenario(site: Site) -> None:
        site.one.sleeping.add("SELECT * FROM e")
        client, other = await site.client(), await site.client("bob")
        await client.operation("SELECT * FROM e", run_async=True)
        await until(lambda: len(site.one.operations) == 1)
        assert await site.admin.block("ANN") == {"closed": 1}
        assert "Invalid SessionHandle" in await refusal(client)
        assert [each["user"] for each in site.admin.sessions()] == ["bob"]
        failure = error_of(await client.open())
        assert failure is not None
        assert "[CW217] The user ann is blocked." in failure.message
        assert await other.rows("SELECT 1") == 1
        assert site.admin.admission() == {"maintenance": None, "blocked": ["ANN"]}
        assert await site.admin.unblock("ann") == {"unblocked": 1}
        assert error_of(await client.open()) is None
        with pytest.raises(NoSuchThing, match="'ann' is not blocked"):
            await site.admin.unblock("ann")

    play(scenario)


def test_in_maintenance_what_runs_goes_on_and_nothing_else_begins() -> None:
    async def scenario(site: Site) -> None:
        client = await site.client()
        running = await client.operation("SELECT * FROM e", run_async=True)
        assert "running" in await site.admin.begin_maintenance("Back at noon.")
        assert "[CW218] No new statements are accepted: Back at noon." in await refusal(client)
        await client.on("FetchResults", running)
        assert error_of(await client.open()) is None
        assert site.admin.admission()["maintenance"] == "Back at noon."
        await site.admin.end_maintenance("-")
        assert await refusal(client) == ""

    play(scenario)


def test_metrics_count_statements_errors_and_rows() -> None:
    async def scenario(site: Site) -> None:
        site.one.fails["SELECT * FROM w"] = "no"
        client = await site.client()
        assert await client.rows("SELECT * FROM e") == 1
        await client.execute("SELECT * FROM e JOIN w")
        site.metastore.lagging = {(TableRef("default", "e"), ClusterName("west")): None}
        result = text(site.admin.samples()).splitlines()
        assert 'causeway_copy_lag_seconds{cluster="west",table="default.e"} 0.0' in result
        assert 'causeway_decisions_total{cluster="east",rule="inputs"} 1.0' in result
        assert 'causeway_errors_total{code="CW104"} 1.0' in result
        assert 'causeway_statements_total{state="FINISHED"} 1.0' in result
        assert 'causeway_phase_seconds_count{phase="execute"} 1.0' in result
        assert "causeway_sent_rows_total 1.0" in result
        assert "causeway_sessions 1.0" in result
        assert (
            f'causeway_endpoint_up{{cluster="east",endpoint="{site.one.endpoint}"}} 1.0' in result
        )

    play(scenario)


def test_reload_changes_clusters_and_limits_under_open_sessions() -> None:
    async def scenario(site: Site) -> None:
        client = await site.client()
        assert await client.rows("SELECT 1") == 1
        assert len(site.one.sessions) == 1
        site.settings = replace(
            site.settings,
            topology=topology(site.two, site.west),
            operating=replace(site.settings.operating, sessions_per_user=2),
            listen=Endpoint("127.0.0.1", 7),
        )
        result = site.admin.reload()
        assert result["changed"] == [
            "JobTracker of east",
            "hive.server2.limit.connections.per.user",
        ]
        assert result["restart"] == ["hive.server2.thrift.bind.host and hive.server2.thrift.port"]
        assert await client.rows("SELECT 2") == 1
        assert "SELECT 2" in site.one.statements  # a session stays where it is
        assert await (await site.client()).rows("SELECT 3") == 1
        assert site.two.statements == ["SELECT 3"]
        third = await site.client(opened=False)
        failure = error_of(await third.open())
        assert failure is not None
        assert "[CW207]" in failure.message
        site.settings = replace(site.settings, topology=topology(site.two))
        assert site.admin.reload()["changed"] == ["west removed"]
        assert "[CW201] There is no cluster west" in await refusal(client, "SELECT * FROM w")

    play(scenario)


def test_a_reload_of_unreadable_settings_changes_nothing() -> None:
    async def scenario(site: Site) -> None:
        site.unreadable = BadSetting("no")
        with pytest.raises(BadSetting):
            site.admin.reload()
        site.admin.reload_at_signal()
        assert await (await site.client()).rows("SELECT * FROM w") == 1

    play(scenario)


def test_finish_waits_for_statements_and_their_results() -> None:
    async def scenario(site: Site) -> None:
        site.one.sleeping.add("SELECT long")
        client = await site.client()
        operation = await client.operation("SELECT long", run_async=True)
        await until(lambda: len(site.one.operations) == 1)
        idle = await site.client("bob")
        finishing = asyncio.ensure_future(site.admin.finish())
        await asyncio.sleep(0.02)
        assert site.admin.health() == {"status": "stopping"}
        assert "[CW215]" in await refusal(idle)
        with pytest.raises(OSError):  # noqa: PT011
            await asyncio.open_connection("127.0.0.1", site.endpoint.port)
        (running,) = site.one.operations.values()
        site.one.end(running)
        while error_of(await client.on("FetchResults", operation)) is not None:
            await client.on("GetOperationStatus", operation)
        assert not finishing.done()
        await client.on("CloseOperation", operation)
        await finishing

    play(scenario, Limits(drain=15.0))


def test_finish_waits_for_the_fetch_after_a_synchronous_statement_that_took_long() -> None:
    """Its client's last call is as old as the statement."""

    async def scenario(site: Site) -> None:
        site.one.sleeping.add("SELECT long")
        client = await site.client()
        executing = asyncio.ensure_future(client.operation("SELECT long"))
        await until(lambda: len(site.one.operations) == 1)
        finishing = asyncio.ensure_future(site.admin.finish())
        await asyncio.sleep(5.1)  # longer than a client may take from a reply to its next call
        (running,) = site.one.operations.values()
        site.one.end(running)
        operation = await executing
        await asyncio.sleep(0.3)
        assert not finishing.done()
        assert error_of(await client.on("FetchResults", operation)) is None
        await client.on("CloseOperation", operation)
        await finishing

    play(scenario, Limits(drain=15.0))


def test_a_client_that_connects_during_finish_is_refused() -> None:
    async def scenario(site: Site) -> None:
        client, running = await site.client(opened=False), await site.client("bob")
        site.admin._limiter.closed = str(Stopping())
        reader, writer = await asyncio.open_connection("127.0.0.1", site.endpoint.port)
        writer.write(client_negotiation("ann", "pw"))
        result = await reader.read()
        writer.transport.abort()
        assert result[5:].startswith(b"[CW215] Causeway is about to end.")
        site.one.sleeping.add("SELECT long")
        await running.operation("SELECT long", run_async=True)
        finishing = asyncio.ensure_future(site.admin.finish())
        await until(lambda: site.admin.health() == {"status": "stopping"})
        for call in (client.open, running.info):
            failure = error_of(await call())
            assert failure is not None
            assert "[CW215]" in failure.message
        await finishing

    play(scenario, Limits(drain=0.2))


def test_statements_that_run_at_the_end_of_finish_have_its_reason() -> None:
    async def scenario(site: Site) -> None:
        site.one.sleeping.add("SELECT long")
        site.two.sleeping.add("SELECT long")
        waiting, polling = await site.client(), await site.client("bob")
        await polling.operation("SELECT long", run_async=True)
        executing = asyncio.ensure_future(waiting.execute("SELECT long"))
        await until(lambda: len(site.one.operations | site.two.operations) == 2)
        began = asyncio.get_running_loop().time()
        finishing = asyncio.ensure_future(site.admin.finish())
        failure = error_of(await executing)
        assert asyncio.get_running_loop().time() - began >= 0.1
        assert failure is not None
        assert (failure.sqlstate, failure.message[:7]) == ("57P01", "[CW215]")
        assert "[CW215]" in await farewell(waiting)
        await finishing
        assert not site.one.operations
        assert not site.two.operations

    play(scenario, Limits(drain=0.1))


def test_idle_clients_have_the_reason_before_their_next_call() -> None:
    async def scenario(site: Site) -> None:
        client, newcomer = await site.client(), await site.client(opened=False)
        assert await client.rows("SELECT 1") == 1
        await site.admin.finish()
        for each in (client, newcomer):
            assert "[CW215] Causeway is about to end" in await farewell(each)
            assert await each.reader.read() == b""
        assert site.admin.sessions() == []

    play(scenario, Limits(drain=5.0))


def test_clients_over_http_fetch_their_results_during_finish() -> None:
    """Each call may come over a connection of its own: PyHive's and impyla's do."""

    async def scenario(site: Site) -> None:
        site.one.sleeping.add("SELECT long")
        async with web(site.http) as idle, web(site.http) as client:
            await idle.open()
            await client.open()
            operation = await client.operation("SELECT long", run_async=True)
            await until(lambda: len(site.one.operations) == 1)
            finishing = asyncio.ensure_future(site.admin.finish())
            await until(lambda: site.admin.health() == {"status": "stopping"})
            async with web(site.http) as again:
                again.session = idle.session
                assert "[CW215]" in await refusal(again)
                again.session = OF_ANOTHER_WORKER
                assert "[CW215]" in await refusal(again)
                failure = error_of(await again.open())
                assert failure is not None
                assert failure.sqlstate == "57P01"
            (running,) = site.one.operations.values()
            site.one.end(running)
            async with web(site.http) as again:
                while error_of(await again.on("FetchResults", operation)) is not None:
                    await again.on("GetOperationStatus", operation)
            async with web(site.http) as again:
                await again.on("CloseOperation", operation)
            await finishing
            assert await idle.reader.read() == b""
        with pytest.raises(OSError):  # noqa: PT011
            await asyncio.open_connection("127.0.0.1", site.http.port)

    play(scenario, Limits(drain=15.0))


async def farewell(client: Client) -> str:
    """The message that a client finds where it looks for the reply to its next call."""
    length = int.from_bytes(await client.reader.readexactly(4), "big")
    message = decode_message(await client.reader.readexactly(length))
    assert message.kind == EXCEPTION
    text = message.body.get(1)
    assert isinstance(text, bytes)
    return text.decode()


def test_an_explained_primary_has_the_size_of_its_statistics() -> None:
    async def scenario(site: Site) -> None:
        site.metastore.sizes = {"default.e": 18_388}
        found = await site.admin.ask("explain", "sql=SELECT+*+FROM+e+JOIN+w")
        sizes = {(each["table"], each["cluster"]): each["bytes"] for each in found["tables"]}
        assert sizes == {
            ("default.e", "east"): 18_388,
            ("default.e", "west"): None,
            ("default.w", "east"): None,
            ("default.w", "west"): None,
        }

    play(scenario)


def test_a_statement_is_explained_without_running_it() -> None:
    async def scenario(site: Site) -> None:
        found = await site.admin.ask("explain", "sql=SELECT+*+FROM+e+JOIN+w")
        assert (found["decision"], found["code"]) == ("refuse", "CW104")
        assert [(each["cluster"], each["rule"]) for each in found["considered"]] == [
            ("east", "inputs"),
            ("west", "inputs"),
        ]
        ((obstacle,), _) = (each["obstacles"] for each in found["considered"])
        assert (obstacle["table"], obstacle["kind"]) == ("default.w", "absent")
        states = {(each["table"], each["cluster"]): each["state"] for each in found["tables"]}
        assert states == {
            ("default.e", "east"): "primary",
            ("default.e", "west"): "absent",
            ("default.w", "east"): "absent",
            ("default.w", "west"): "primary",
        }
        pinned = await site.admin.ask(
            "explain", "sql=SELECT+*+FROM+e&cluster=west&database=default"
        )
        assert pinned["code"] == "CW105"
        own = await site.admin.ask("explain", "sql=SHOW+CLUSTERS")
        assert (own["decision"], own["tables"]) == ("answer", [])
        with pytest.raises(NoSuchThing):
            await site.admin.ask("explain", "")
        with pytest.raises(UnknownCluster):
            await site.admin.ask("explain", "sql=SELECT+1&cluster=north")
        assert json.loads(json.dumps(found))["reads"] == ["default.e", "default.w"]
        assert site.one.log == site.two.log == site.west.log == []
        assert site.admin.statements() == []

    play(scenario)


def test_the_lengths_of_queues_are_metrics(tmp_path: Path) -> None:
    async def scenario(site: Site) -> None:
        for number in range(2):
            sql = f"INSERT INTO default.w SELECT {number}"
            site.west.sleeping.add(sql)
            client = await site.client()
            await client.operation(sql, run_async=True)
        waiting = ("causeway_queue", ("write",), 1)
        await until(lambda: waiting in site.admin.samples())
        samples = site.admin.samples()
        queues = {labels[0] for name, labels, _ in samples if name == "causeway_queue"}
        assert queues == {"write", "statement", "server", "analysis", "audit", "history"}
        opening = [value for name, _, value in samples if name == "causeway_endpoint_opening"]
        assert opening == [0, 0, 0]

    store = str(tmp_path / "history.db")
    play(scenario, operating=Operating(audit_file=tmp_path / "audit", history_store=store))
