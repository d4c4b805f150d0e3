"""What a crowd leaves of connections to the metastore."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from conf.settings.security.metastore_login import MetastoreLogin
from conf.topology import Endpoint
from metastore.client import async_client
from metastore.client.async_client import ClientPool


class Counted:
    """In the place of an HmsClient."""

    opened = 0
    closings: threading.Semaphore

    def __init__(
        self, endpoints: Sequence[Endpoint], timeout: float, login: MetastoreLogin
    ) -> None:
        type(self).opened += 1

    def close(self) -> None:
        self.closings.release()


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> type[Counted]:
    class Mine(Counted):
        closings = threading.Semaphore(0)

    monkeypatch.setattr(async_client, "HmsClient", Mine)
    monkeypatch.setattr(async_client, "IDLE", 0.02)
    return Mine


async def crowd(pool: ClientPool, count: int) -> None:
    together = threading.Barrier(count)
    await asyncio.gather(*(pool.run(lambda _: together.wait()) for _ in range(count)))


def test_idle_connections_are_closed_except_one(counted: type[Counted]) -> None:
    async def scenario() -> None:
        pool = ClientPool([Endpoint("localhost", 1)], 1.0)
        await crowd(pool, 4)
        assert counted.opened == 4
        for _ in range(3):
            assert await asyncio.to_thread(counted.closings.acquire, timeout=30.0)
        await crowd(pool, 1)
        assert counted.opened == 4
        await crowd(pool, 2)
        assert counted.opened == 5
        pool.close()
        for _ in range(2):
            assert await asyncio.to_thread(counted.closings.acquire, timeout=30.0)
        assert not counted.closings.acquire(blocking=False)

    asyncio.run(scenario())
