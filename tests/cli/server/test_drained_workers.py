"""SIGTERM drains all workers: running statements end, or are told the reason."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.cli.server.served import Served, play
from tests.proxy.fakes import error_of, until
from thriftcodec.values import Struct

pytestmark = pytest.mark.slow


def test_statements_that_run_at_the_end_of_the_drain_time_have_the_reason(tmp_path: Path) -> None:
    """The supervisor leaves its workers the time to give it."""

    async def scenario(there: Served) -> None:
        there.cluster.sleeping.add("SELECT long")
        clients = await there.one_of_each("ann")
        executing = [asyncio.ensure_future(each.execute("SELECT long")) for each in clients]
        await until(lambda: len(there.cluster.operations) == 2)
        there.process.terminate()
        for failure in map(error_of, await asyncio.gather(*executing)):
            assert failure is not None
            assert failure.message.startswith("[CW215]")
        assert await there.process.wait() == 0

    play(tmp_path, scenario, drain="500ms")


def test_sigterm_waits_for_running_statements(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        there.cluster.sleeping.add("SELECT long")
        client, _ = await there.one_of_each("ann")
        await client.send(
            "ExecuteStatement",
            Struct({1: (12, client.session), 2: (11, b"SELECT long"), 4: (2, False)}),
        )
        await until(lambda: "SELECT long" in there.cluster.statements)
        there.process.terminate()
        await asyncio.sleep(0.3)
        assert there.process.returncode is None
        for each in there.cluster.operations.values():
            there.cluster.end(each)
        assert error_of((await client.receive()).body.get(0)) is None  # type: ignore[arg-type]
        assert await there.process.wait() == 0

    play(tmp_path, scenario)


def test_after_a_reload_sigterm_waits_for_as_long_as_that_has_said(tmp_path: Path) -> None:
    """So does the supervisor, which would end its workers 3.3 s after SIGTERM without it."""

    async def scenario(there: Served) -> None:
        conf, log = tmp_path / "causeway.toml", tmp_path / "log"
        conf.write_text(conf.read_text().replace('"300ms"', '"1m"') + 'log.level = "debug"\n')
        there.process.send_signal(signal.SIGHUP)
        await until(lambda: log.read_text().count("settings reloaded: ") == 2)
        there.cluster.sleeping.add("SELECT long")
        client, _ = await there.one_of_each("ann")
        executing = asyncio.ensure_future(client.execute("SELECT long"))
        await until(lambda: len(there.cluster.operations) == 1)
        there.process.terminate()
        await asyncio.sleep(4.5)
        for each in there.cluster.operations.values():
            there.cluster.end(each)
        assert error_of(await executing) is None
        client.close()
        assert await there.process.wait() == 0

    play(tmp_path, scenario, drain="300ms")
