"""More statements at a time than a Thrift Server has threads for wait in Causeway."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest
from pyhive import hive
from pyhive.exc import OperationalError

from cli.stack.plan import StackSpec
from cli.stack.stack import Stack, free_ports
from conf.names import ClusterName
from tests.e2e.conftest import C1, rows, server

pytestmark = pytest.mark.e2e
CLIENTS = 6  # statements; the server accepts two: one runs, one waits in its queue
POOL = "spark.hadoop.hive.server2.async.exec"
PLACES = {f"{POOL}.threads": "2", f"{POOL}.wait.queue.size": "1"}  # a thread checks sessions
LONG = "SELECT max(hash(a.id, b.id)) > {0} FROM range(6000) a CROSS JOIN range(6000) b"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(
        StackSpec((C1,), free_ports(1)[0], spark=PLACES), tmp_path_factory.mktemp("busy")
    ) as running:
        yield running


def test_directly_asynchronous_statements_are_refused(stack: Stack) -> None:
    with ExitStack() as exits:
        first, second, third = (exits.enter_context(connected(stack, C1)) for _ in range(3))
        first.cursor().execute(LONG.format(1), async_=True)
        second.cursor().execute(LONG.format(2), async_=True)
        with pytest.raises(OperationalError, match="background threadpool cannot accept"):
            third.cursor().execute(LONG.format(3), async_=True)


def test_through_causeway_all_clients_get_their_rows(stack: Stack) -> None:
    def ask(number: int) -> list[tuple[bool]]:
        with connected(stack, None) as connection:
            return rows(connection.cursor(), LONG.format(number))

    with ThreadPoolExecutor(CLIENTS) as threads:
        assert list(threads.map(ask, range(CLIENTS))) == [[(True,)]] * CLIENTS
    log = stack.layout.log("proxy").read_text()
    assert log.count(f"waits for a thread of {C1}") >= CLIENTS - 2


def connected(stack: Stack, cluster: ClusterName | None) -> closing[hive.Connection]:
    endpoint = server(stack, cluster)
    return closing(hive.connect(endpoint.host, endpoint.port))
