"""Statements that the console runs through a real proxy, with Thrift Servers of a few lines."""

import asyncio

import pytest

from conf.settings.settings import Settings
from conf.topology import Endpoint
from console.errors import Refused
from console.sources import sql_client
from console.sources.sql_client import MAX_ROWS, RunState, SqlClient, SqlRun
from tests.console.fake_sources import settings_of
from tests.proxy.running import Site, play

PATIENCE = 60.0  # seconds; nothing here takes one


def client_of(site: Site) -> SqlClient:
    settings: Settings = settings_of(console__sql=str(site.endpoint))
    return SqlClient(settings)


async def ended(run: SqlRun) -> SqlRun:
    async with asyncio.timeout(PATIENCE):
        while run.ended is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return run


async def began(site: Site, sql: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while sql not in site.one.statements + site.two.statements:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def is_cancelled(site: Site) -> bool:
    return any(call == "CancelOperation" for _, call, _ in site.one.log + site.two.log)


def test_a_statement_runs_as_the_user_and_its_rows_are_read() -> None:
    async def scenario(site: Site) -> None:
        run = await ended(client_of(site).start("ann", "SELECT x"))
        assert (run.state, run.error) == (RunState.FINISHED, "")
        assert len(run.columns) == 1
        assert len(run.rows) == 1
        assert not run.more
        log = site.one.log + site.two.log
        assert ("ann", "ExecuteStatement", "SELECT x") in log

    play(scenario)


def test_no_more_rows_than_the_bound_are_kept() -> None:
    async def scenario(site: Site) -> None:
        for each in (site.one, site.two):
            each.counts["SELECT many"] = MAX_ROWS + 5
        run = await ended(client_of(site).start("ann", "SELECT many"))
        assert (len(run.rows), run.more) == (MAX_ROWS, True)

    play(scenario)


def test_a_failure_has_the_words_of_the_cluster() -> None:
    async def scenario(site: Site) -> None:
        for each in (site.one, site.two):
            each.fails["SELECT y"] = "no such column"
        run = await ended(client_of(site).start("ann", "SELECT y"))
        assert run.state is RunState.FAILED
        assert "no such column" in run.error

    play(scenario)


def test_a_cancelled_run_is_cancelled_in_the_cluster() -> None:
    async def scenario(site: Site) -> None:
        for each in (site.one, site.two):
            each.sleeping.add("SELECT slow FROM e")
        client = client_of(site)
        run = client.start("ann", "SELECT slow FROM e")
        await began(site, "SELECT slow FROM e")
        client.cancel(run)
        assert (await ended(run)).state is RunState.CANCELLED
        async with asyncio.timeout(PATIENCE):
            while not is_cancelled(site):  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    play(scenario)


def test_a_run_has_a_limit_of_time() -> None:
    async def scenario(site: Site) -> None:
        for each in (site.one, site.two):
            each.sleeping.add("SELECT slow FROM e")
        run = await ended(client_of(site).start("ann", "SELECT slow FROM e", limit=0.3))
        assert run.state is RunState.FAILED
        assert "more than 0.3 s" in run.error

    play(scenario)


def test_a_proxy_that_is_down_fails_the_run() -> None:
    async def main() -> None:
        client = SqlClient(settings_of(console__sql="127.0.0.1:1"))
        run = await ended(client.start("ann", "SELECT 1"))
        assert run.state is RunState.FAILED
        assert run.error

    asyncio.run(main())


def test_runs_are_bounded_and_belong_to_their_user() -> None:
    async def scenario(site: Site) -> None:
        site.one.sleeping.add("SELECT slow FROM e")
        site.two.sleeping.add("SELECT slow FROM e")
        client = client_of(site)
        runs = [client.start("ann", "SELECT slow FROM e") for _ in range(sql_client.AT_ONCE)]
        with pytest.raises(Refused, match="wait for one to end"):
            client.start("ann", "SELECT slow FROM e")
        assert client.run(runs[0].name, "ann") is runs[0]
        assert client.run(runs[0].name, "bob") is None
        await client.close()
        assert all(each.state is RunState.CANCELLED for each in runs)

    play(scenario)


def test_a_proxy_that_listens_everywhere_is_asked_on_loopback() -> None:
    settings = settings_of(hive__server2__thrift__bind__host="0.0.0.0")
    assert SqlClient(settings)._endpoint == Endpoint("127.0.0.1", 10000)
