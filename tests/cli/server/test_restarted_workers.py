"""Workers that die are started again, with the settings and the admission of the others."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from conf.errors import BadSetting
from conf.settings.load import load
from tests.cli.server.served import Served, play
from tests.proxy.fakes import error_of, until

pytestmark = pytest.mark.slow


def test_killed_workers_lose_nothing_of_the_history_that_was_written(tmp_path: Path) -> None:
    """The supervisor reads what the workers wrote, also of results that were never closed."""

    async def scenario(there: Served) -> None:
        one, other = await there.one_of_each("ann")
        await one.operation("SELECT 0")
        while not (await there.ask("GET /v1/history"))["statements"]:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        for number in range(1, 6):
            await one.operation(f"SELECT {number}")
            await other.operation(f"SELECT {number}0")
        while len((await there.ask("GET /v1/history"))["statements"]) < 11:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        for pid in there.workers():
            os.kill(pid, signal.SIGKILL)
        page = await there.ask("GET /v1/history")
        texts = [each["text"] for each in page["statements"]]
        ones, tens = range(6), range(10, 60, 10)
        assert sorted(texts) == sorted(f"SELECT {number}" for number in (*ones, *tens))
        assert {each["state"] for each in page["statements"]} == {"FINISHED"}

    play(tmp_path, scenario, more=f'history.store = "{tmp_path}/history.db"\n')


def test_a_killed_worker_loses_its_sessions_and_is_restarted(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        one, other = await there.one_of_each("ann")
        before = there.workers()
        operation = await other.operation("SELECT a")
        os.kill(before[1], signal.SIGKILL)
        await until(lambda: other.reader.at_eof())
        failure = error_of(await one.on("FetchResults", operation))
        assert failure is not None
        assert failure.message.startswith("Invalid OperationHandle")
        assert await one.rows("SELECT b") == 1
        found = 0
        for number in range(100):
            found = len(await there.one_of_each(f"bob{number}"))
            if found == 2:
                break
            await asyncio.sleep(0.1)
        assert found == 2

    play(tmp_path, scenario)


def test_a_restarted_worker_keeps_what_is_drained(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        place = f"/v1/endpoints/{there.cluster.endpoint}"
        assert await there.ask(f"POST {place}/drain") == {"drained": 2}
        before = there.workers()
        os.kill(before[1], signal.SIGKILL)
        await until(lambda: len(set(there.workers()) - {before[1]}) == 2)
        await there.ask("GET /v1/clusters")  # until both can answer
        refused = 0
        while refused < 20:
            failure = error_of(await (await there.client()).open())
            refused = refused + 1 if failure and "drained" in failure.message else 0
        assert await there.ask(f"POST {place}/resume") == {"resumed": 2}
        assert len(await there.one_of_each("bob")) == 2

    play(tmp_path, scenario)


def test_a_restarted_worker_keeps_users_out(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        assert len(await there.one_of_each("bob")) == 2
        assert (await there.ask("POST /v1/users/Bob/block"))["closed"] >= 2
        before = there.workers()
        os.kill(before[1], signal.SIGKILL)
        await until(lambda: len(set(there.workers()) - {before[1]}) == 2)
        shown = await there.ask("GET /v1/admission")  # once both can answer
        assert shown == {"maintenance": None, "blocked": ["Bob"]}
        refused = 0
        while refused < 20:
            failure = error_of(await (await there.client("bob")).open())
            assert failure is None or "CW217" in failure.message
            refused = refused + 1 if failure else 0

    play(tmp_path, scenario)


def test_an_invalid_settings_file_changes_nothing(tmp_path: Path) -> None:
    """Reloading is refused, and a worker that is started again is as it was before."""
    conf = tmp_path / "causeway.toml"

    async def scenario(there: Served) -> None:
        one, other = await there.one_of_each("ann")
        good = conf.read_text().replace("per.user = 6", "per.user = 1")
        conf.write_text(good)
        assert (await there.ask("POST /v1/reload"))["changed"] == [
            "hive.server2.limit.connections.per.user"
        ]
        conf.write_text(good + "proxy.drain.timout = '1s'\n")
        there.process.send_signal(signal.SIGHUP)
        printed = f"{conf}: proxy.drain.timout: no such setting; proxy.drain.timeout was meant?"
        assert printed in (await there.ask("POST /v1/reload"))["error"]
        assert await one.rows("SELECT a") == 1
        before = there.workers()
        for worker in before:
            os.kill(worker, signal.SIGKILL)
        await until(lambda: one.reader.at_eof() and other.reader.at_eof())
        await until(lambda: len(set(there.workers()) - set(before)) == 2)
        while await there.ask("GET /v1/sessions") != []:  # noqa: ASYNC110
            await asyncio.sleep(0.1)  # until both can answer
        for number in (0, 1):
            failure = error_of(await (await there.client("bob")).open())
            assert bool(failure and "has 1 sessions" in failure.message) is bool(number)

    play(tmp_path, scenario)
    with pytest.raises(BadSetting, match=f"{conf}: proxy.drain.timout: no such setting"):
        load(conf)


def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    async def scenario(there: Served) -> None:
        workers = there.workers()
        assert len(workers) == 2
        there.process.kill()
        await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))

    play(tmp_path, scenario)
