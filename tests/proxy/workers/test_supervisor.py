"""Workers that do not start, and one that hangs."""

import asyncio
import sys
from pathlib import Path

import pytest

from proxy.errors import WorkerFailed
from proxy.workers.supervisor import Supervisor, WorkerConfig

_BEGINS = """
import pathlib, sys, time
sys.stdin.readline()
place = pathlib.Path(sys.argv[1])
with place.open("a") as lives:
    lives.write("x")
print('{"ready": true}', flush=True)
if len(place.read_text()) == 1:
    time.sleep(60)
for line in sys.stdin:
    number = line.split('"id": ')[1].split(",")[0]
    print('{"id": %s, "answer": {"status": "ok"}}' % number, flush=True)
"""


@pytest.mark.slow
def test_a_worker_that_hangs_is_restarted(tmp_path: Path) -> None:
    lives = tmp_path / "lives"

    async def main() -> None:
        argv = (sys.executable, "-c", _BEGINS, str(lives))
        supervisor = Supervisor(argv, 1, tmp_path, (0, 0), patience=0.2)
        await supervisor.start()
        watching = asyncio.ensure_future(supervisor.watch())
        async with asyncio.timeout(120):
            while lives.read_text() != "xx":  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            assert await supervisor.run_action("health") == {"status": "ok"}
        watching.cancel()
        await supervisor.end(0.1)
        assert lives.read_text() == "xx"

    asyncio.run(main())


_COUNTS = """
import pathlib, signal, sys, time
sys.stdin.readline()
place = pathlib.Path(sys.argv[1])
def on_signal(*_):
    with place.open("a") as file:
        file.write("h")
place.write_text("b")
while not place.with_name("go").exists():
    time.sleep(0.01)
signal.signal(signal.SIGHUP, on_signal)
print('{"ready": true}', flush=True)
sys.stdin.readline()
"""


def test_a_worker_that_is_starting_reloads_when_it_serves(tmp_path: Path) -> None:
    """A signal that comes before its handler would end the process."""
    result = tmp_path / "result"

    async def main() -> None:
        argv = (sys.executable, "-c", _COUNTS, str(result))
        supervisor = Supervisor(argv, 1, tmp_path, (0, 0))
        starting = asyncio.ensure_future(supervisor.start())
        async with asyncio.timeout(120):
            for text in ("b", "bh", "bhh"):
                while not result.exists() or result.read_text() != text:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                supervisor.reload()
                (tmp_path / "go").touch()
            await starting
        await supervisor.end(0.1)

    asyncio.run(main())


def test_a_worker_that_does_not_start_is_an_error(tmp_path: Path) -> None:
    async def main() -> None:
        argv = (sys.executable, "-c", "import sys; sys.exit(3)")
        supervisor = Supervisor(argv, 2, tmp_path, (0, 0))
        with pytest.raises(WorkerFailed, match="status 3"):
            await supervisor.start()

    asyncio.run(main())


def test_a_worker_config_round_trips(tmp_path: Path) -> None:
    brief = WorkerConfig(1, 2, tmp_path, b"k" * 32, (10000, 0))
    assert WorkerConfig.read(brief.line()) == brief
