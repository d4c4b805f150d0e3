"""The end of a proxy: it waits for statements, and sends errors to its clients."""

import asyncio

import pytest

from proxy.errors import Stopping
from proxy.limits import Limits
from proxy.protocol.framing import client_negotiation
from proxy.protocol.messages import decode_message
from tests.proxy.fakes import Client, error_of, until
from tests.proxy.running import Site, play, refusal
from tests.proxy.web import web
from thriftcodec.values import EXCEPTION, STRING, STRUCT, Struct

OF_ANOTHER_WORKER = Struct({1: (STRUCT, Struct({1: (STRING, b"\1" * 16), 2: (STRING, b"s" * 16)}))})


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


@pytest.mark.slow
def test_finish_waits_for_the_fetch_after_a_synchronous_statement_that_took_long() -> None:
    """The client's last call is as old as the statement."""

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
        site.admin._limiter.closing_reason = str(Stopping())
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


def test_statements_that_run_at_the_end_of_finish_fail_with_the_reason() -> None:
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


@pytest.mark.slow
def test_idle_clients_receive_the_reason_as_their_next_reply() -> None:
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
    """PyHive and impyla use a connection for each call."""

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
    """The message that a client reads as the reply to its next call."""
    length = int.from_bytes(await client.reader.readexactly(4), "big")
    message = decode_message(await client.reader.readexactly(length))
    assert message.kind == EXCEPTION
    text = message.body.get(1)
    assert isinstance(text, bytes)
    return text.decode()
