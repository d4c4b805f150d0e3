"""The client against a metastore in memory: losslessness, batches, fail-over, bounded waits."""

import socket
import threading
from collections.abc import Iterator

import pytest

from conf.names import TableRef
from conf.topology import Endpoint
from metastore.client.metastore_client import HmsClient
from metastore.client.partition_decoder import PartitionFacts
from metastore.client.types import Table
from metastore.errors import MetastoreDown, MetastoreRefused, NoSuchObject
from tests.metastore.fake import FakeMetastore
from thriftcodec.values import DOUBLE, I64, SET, STRUCT, Items, Struct

REF = TableRef("default", "t")
NOBODY = Endpoint("127.0.0.1", 1)


def _table() -> Table:
    return Table.make(REF, [("id", "int")], location="file:/w/t", partition_keys=[("ds", "string")])


@pytest.fixture
def client(metastore: FakeMetastore) -> Iterator[HmsClient]:
    with HmsClient([metastore.endpoint], 60) as made:
        yield made


@pytest.fixture
def silent() -> Iterator[Endpoint]:
    """Accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield Endpoint("127.0.0.1", listener.getsockname()[1])


def test_an_alter_sends_back_all_that_it_got(metastore: FakeMetastore, client: HmsClient) -> None:
    table = _table()
    table.struct.set(77, STRUCT, Struct({5: (DOUBLE, 1.5)}))
    table.storage.struct.set(78, SET, Items(I64, [1, 2]))
    metastore.add(table)
    read = client.get_table(REF)
    read.parameters = {**read.parameters, "note": "é\udcff"}
    client.alter_table(REF, read)
    stored = Table(metastore.tables[REF])
    assert stored.parameters == {"note": "é\udcff"}
    assert stored.struct.get(77) == table.struct.get(77)
    assert stored.storage.struct.get(78) == [1, 2]


def test_partitions_come_in_batches(metastore: FakeMetastore, client: HmsClient) -> None:
    parameters = {"causeway.primary": "C1", "numRows": "7"}
    names = [f"ds={number}" for number in range(2500)]
    metastore.add(_table(), *((name, parameters) for name in names))
    facts = list(client.get_partition_facts(REF, client.get_partition_names(REF)))
    assert metastore.calls["get_partitions_by_names"] == 3
    assert len(facts) == 2500
    assert facts[7] == PartitionFacts(("7",), "file:/w/t/ds=7", {"causeway.primary": "C1"})
    whole = list(client.get_partitions(REF, names))
    assert [each.values[0] for each in whole] == [str(number) for number in range(2500)]
    assert whole[0].parameters == parameters


def test_a_missing_table(client: HmsClient) -> None:
    with pytest.raises(NoSuchObject, match="table not found"):
        client.get_table(REF)
    with pytest.raises(MetastoreRefused, match="Invalid method name"):
        client.drop_database("x")
    assert client.get_all_databases() == ["default"]  # the connection goes on


def test_a_dead_address_is_passed_over(metastore: FakeMetastore) -> None:
    with HmsClient([NOBODY, metastore.endpoint], 60) as client:
        assert client.get_all_databases() == ["default"]


@pytest.mark.slow
def test_a_read_moves_on_from_a_silent_address(metastore: FakeMetastore, silent: Endpoint) -> None:
    with HmsClient([silent, metastore.endpoint], 2.0) as client:
        assert client.get_all_databases() == ["default"]


def test_a_change_is_sent_once(metastore: FakeMetastore, silent: Endpoint) -> None:
    metastore.add(_table())
    with HmsClient([silent, metastore.endpoint], 0.2) as client, pytest.raises(MetastoreDown):
        client.alter_table(REF, _table())
    assert metastore.calls["alter_table_with_environment_context"] == 0


def test_no_address_answers(silent: Endpoint) -> None:
    with HmsClient([silent, NOBODY], 0.2) as client, pytest.raises(MetastoreDown):
        client.get_all_databases()
    with pytest.raises(MetastoreDown, match="no metastore address"):
        HmsClient([])


def test_a_closed_connection_is_replaced(metastore: FakeMetastore, client: HmsClient) -> None:
    metastore.add(_table())
    client.get_all_databases()
    metastore.drop_connections()
    client.alter_table(REF, _table())
    assert metastore.calls["alter_table_with_environment_context"] == 1


def test_a_reply_in_drops_is_read(metastore: FakeMetastore) -> None:
    metastore.add(_table(), *((f"ds={number}", {}) for number in range(50)))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        relay = threading.Thread(target=_trickle, args=(listener, metastore.endpoint))
        relay.start()
        with HmsClient([Endpoint("127.0.0.1", listener.getsockname()[1])], 30) as client:
            values = [each.values for each in client.get_partition_facts(REF, ["ds=3", "ds=4"])]
        relay.join()
    assert values == [("3",), ("4",)]


def _trickle(listener: socket.socket, target: Endpoint) -> None:
    near, _ = listener.accept()
    with near, socket.create_connection((target.host, target.port)) as far:
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while call := near.recv(1 << 16):
            far.sendall(call)
            reply = bytearray(far.recv(1 << 20))
            for byte in reply:
                near.sendall(bytes([byte]))
