"""The facts that are read when the first session is opened at a server."""

import pytest
import uvloop

from conf.topology import Cluster
from proxy.errors import ClusterDown
from proxy.limits import Limits
from proxy.protocol.types import NEWEST_PROTOCOL
from proxy.upstream.upstream_pool import UpstreamPool
from proxy.upstream.upstream_session import UpstreamSession
from tests.proxy.fake_cluster import FakeCluster
from tests.proxy.fakes import EAST


def opened(dbms: str | None, claims: bool = True) -> FakeCluster:
    """The server after a session was opened and closed there."""
    fake = FakeCluster(EAST)
    fake.dbms, fake.checks = dbms, True

    async def scenario() -> None:
        await fake.start()
        pool = UpstreamPool(Limits())
        cluster = Cluster(EAST, "file:/e", (fake.endpoint,))
        try:
            for _ in range(2):
                session = await UpstreamSession.open(
                    pool, cluster, "ann", NEWEST_PROTOCOL, {}, claims=claims
                )
                assert session.checked is claims
                await session.close()
        finally:
            pool.close()
            await fake.stop()

    uvloop.run(scenario())
    return fake


@pytest.mark.parametrize("dbms", ["Spark SQL", None])
def test_facts_are_read_once_for_each_server(dbms: str | None) -> None:
    calls = [call for _, call, _ in opened(dbms).log]
    assert calls.count("GetInfo") == 1
    assert calls.count("OpenSession") == 2


def test_hives_own_server_is_refused_and_keeps_no_session() -> None:
    fake = FakeCluster(EAST)
    fake.dbms = "Apache Hive"

    async def scenario() -> None:
        await fake.start()
        pool = UpstreamPool(Limits())
        cluster = Cluster(EAST, "file:/e", (fake.endpoint,))
        why = rf"Cluster east cannot be used: the server at {fake.endpoint} is Apache Hive"
        try:
            with pytest.raises(ClusterDown, match=why):
                await UpstreamSession.open(pool, cluster, "ann", NEWEST_PROTOCOL, {}, claims=True)
            assert not fake.sessions
        finally:
            pool.close()
            await fake.stop()

    uvloop.run(scenario())


def test_without_clusters_the_server_may_be_hive() -> None:
    calls = [call for _, call, _ in opened("Apache Hive", claims=False).log]
    assert "GetInfo" not in calls
