"""After `up --hudi` the clusters serve Hudi tables through the proxy like any other."""

import socket
from collections.abc import Iterator

import pytest
from pyhive import hive

from cli.stack.plan import StackSpec
from cli.stack.stack import Stack, guard_jar
from cli.up import with_hudi
from conf.names import ClusterName
from conf.topology import Endpoint
from pipeline.incremental.errors import StorageFault
from tests.e2e.conftest import rows
from tests.e2e.hudi_spark import BUNDLES

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def hudi_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        proxy = Endpoint("127.0.0.1", probe.getsockname()[1])
    spec = StackSpec((ClusterName("c1"), ClusterName("c2")), proxy, guard=guard_jar())
    try:
        spec = with_hudi(spec, BUNDLES.parent)
    except StorageFault as fault:
        pytest.skip(f"no Hudi bundle: {fault}")
    with Stack(spec, tmp_path_factory.mktemp("hudi")) as running:
        yield running


def test_create_merge_select_and_changes(hudi_stack: Stack) -> None:
    proxy = hudi_stack.spec.proxy
    assert proxy is not None
    connection = hive.connect(proxy.host, proxy.port)
    cursor = connection.cursor()
    rows(
        cursor,
        "CREATE DATABASE lake",
        "CREATE TABLE lake.trips (id INT, v STRING, ts BIGINT) USING hudi "
        "TBLPROPERTIES (primaryKey = 'id', preCombineField = 'ts')",
        "INSERT INTO lake.trips VALUES (1, 'a', 1), (2, 'b', 1)",
        "MERGE INTO lake.trips t USING (SELECT 2 id, 'new' v, 2L ts) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )
    assert rows(cursor, "SELECT id, v FROM lake.trips ORDER BY id") == [(1, "a"), (2, "new")]
    first = rows(cursor, "SELECT min(_hoodie_commit_time) FROM lake.trips")[0][0]
    changes = rows(
        cursor,
        f"SELECT id FROM hudi_table_changes('lake.trips', 'latest_state', '{int(first) + 1}') "
        "WHERE v = 'new'",
    )
    assert changes == [(2,)]
    connection.close()
