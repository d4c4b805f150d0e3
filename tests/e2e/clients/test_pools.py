"""HikariCP before a proxy of its own: it lends no dead connection and leaks none, another server
takes over at the same address, and idle clients of a server that ends receive the reason.
"""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from bench.results.jdbc import compiled
from cli.stack.java import find_java
from cli.stack.stack import Stack, spark_home
from tests.e2e.conftest import rows
from tests.e2e.operations.proxy_site import Site, until

pytestmark = pytest.mark.e2e
_UNTESTED = 0.6  # seconds; HikariCP tests a connection that was idle for half a second


@pytest.fixture
def site(stack: Stack, tmp_path: Path) -> Iterator[Site]:
    with ExitStack() as exits:
        running = Site(stack, tmp_path, exits, forwarded=False)
        running.start()
        yield running


class Pool:
    """A Java program with a pool of connections, and with one connection of its own."""

    def __init__(self, site: Site, exits: ExitStack) -> None:
        jars = f"{spark_home()}/jars/*"
        compiled(Path(__file__).with_name("PoolTalk.java"), site.folder, jars)
        words = [str(find_java()), "-Xmx256m", "-cp", f"{site.folder}:{jars}", "PoolTalk"]
        log = exits.enter_context((site.folder / "pool.log").open("w"))
        self._process = subprocess.Popen(
            [*words, f"jdbc:hive2://{site.listen}/"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        exits.enter_context(self._process)
        exits.callback(self._process.kill)

    def send(self, line: str) -> str:
        """Sends the program a line and returns its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().rstrip("\n")


@pytest.fixture
def pool(site: Site) -> Iterator[Pool]:
    with ExitStack() as exits:
        try:
            yield Pool(site, exits)
        except LookupError as error:
            pytest.skip(f"HikariCP: {error}")


def _sessions(site: Site) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = site.get_admin("sessions")
    return found


def test_a_pool_lends_no_dead_connection_and_leaks_none(site: Site, pool: Pool) -> None:
    assert [pool.send("pool") for _ in range(5)] == ["42"] * 5
    until(lambda: len(_sessions(site)) == 3)
    for each in _sessions(site):
        site.admin("kill", each["session"])
    assert _sessions(site) == []
    time.sleep(_UNTESTED)
    assert [pool.send("pool") for _ in range(5)] == ["42"] * 5
    assert "Invalid SessionHandle" in pool.send("own")
    until(lambda: len(_sessions(site)) == 2)
    assert pool.send("end") == "closed"
    until(lambda: _sessions(site) == [])


def test_another_server_takes_over_and_idle_clients_get_the_reason(site: Site, pool: Pool) -> None:
    idle = site.connect().cursor()
    assert rows(idle, "SELECT 1") == [(1,)]
    assert pool.send("pool") == pool.send("own") == "42"
    assert site.proxy is not None
    site.proxy.send_signal(signal.SIGTERM)
    assert site.proxy.wait(30) == 0
    with pytest.raises(TApplicationException, match="CW215"):
        idle.execute("SELECT 1")
    assert "[CW215] Causeway is about to end" in pool.send("own")
    site.start()
    time.sleep(_UNTESTED)
    assert [pool.send("pool") for _ in range(3)] == ["42"] * 3
