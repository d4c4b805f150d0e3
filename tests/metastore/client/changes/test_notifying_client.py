"""The views know a change of the metastore before its command continues."""

import socket
from collections.abc import Iterator

import pytest

from conf.names import TableRef
from conf.settings.settings import Settings
from conf.topology import Endpoint
from metastore.client.calls import CALLS
from metastore.client.changes.notifying_client import NotifyingClient, notifying_client
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Database, Partition, Table
from metastore.errors import MetastoreDown, NoSuchObject
from tests.metastore.view.server.view_calls import KEYS, REF, table
from tests.metastore.writable import C1, C2, TOPOLOGY, WritableMetastore, views


@pytest.fixture
def hms() -> Iterator[WritableMetastore]:
    fake = WritableMetastore()
    fake.add(table({}, KEYS), ("ds=1", {}))
    yield fake
    fake.stop()


OTHER = TableRef("default", "other")
WHOLE = TableRef("default", "*")


def _renamed(client: HmsClient) -> None:
    client.alter_table(REF, Table.make(OTHER, [("a", "int")]))


def _new_partition(client: HmsClient) -> None:
    client.add_partitions(REF, [Partition.make(table({}, KEYS), ["2"], "hdfs://c1:8020/x", {})])


def _altered_partition(client: HmsClient) -> None:
    client.alter_partitions(REF, client.get_partitions(REF, ["ds=1"]))


CHANGES = {
    "create_table": (lambda client: client.create_table(Table.make(OTHER, ())), [OTHER]),
    "alter_table_with_environment_context": (_renamed, [REF, OTHER]),
    "drop_table_with_environment_context": (lambda client: client.drop_table(REF), [REF]),
    "add_partitions_req": (_new_partition, [REF]),
    "alter_partitions_with_environment_context": (_altered_partition, [REF]),
    "drop_partition_by_name_with_environment_context": (
        lambda client: client.drop_partition(REF, "ds=1"),
        [REF],
    ),
    "drop_partitions_req": (lambda client: client.drop_partitions(REF, ["ds=1"]), [REF]),
    "create_database": (
        lambda client: client.create_database(Database.make("new", "hdfs://c1:8020/new")),
        [TableRef("new", "*")],
    ),
    "alter_database": (
        lambda client: client.alter_database("default", Database.make("default", "file:/x")),
        [WHOLE],
    ),
    "drop_database": (lambda client: client.drop_database("default", cascade=True), [WHOLE]),
}


def test_every_call_that_changes_something_has_a_case() -> None:
    assert CHANGES.keys() == {name for name, spec in CALLS.items() if not spec.reads}


@pytest.mark.parametrize("method", CHANGES)
def test_a_change_is_reported_to_the_views(hms: WritableMetastore, method: str) -> None:
    notified: list[TableRef] = []
    change, expected = CHANGES[method]
    with NotifyingClient((hms.endpoint,), 5.0, notified.append) as client:
        client.get_table(REF)
        assert notified == []
        change(client)  # type: ignore[no-untyped-call]
    assert hms.calls[method] == 1
    assert notified == expected


def test_a_failed_change_is_reported_to_the_views(hms: WritableMetastore) -> None:
    notified: list[TableRef] = []
    with (
        NotifyingClient((hms.endpoint,), 5.0, notified.append) as client,
        pytest.raises(NoSuchObject),
    ):
        client.drop_table(OTHER)
    assert notified == [OTHER]


def test_the_views_report_the_change(hms: WritableMetastore) -> None:
    with views(hms) as view:
        settings = Settings(TOPOLOGY, (hms.endpoint,), views={C1: (view[C1],), C2: (view[C2],)})
        with notifying_client(settings) as client, HmsClient((view[C2],), 60.0) as asking:
            before = asking.touched(0).position
            client.alter_table(REF, client.get_table(REF))
            assert asking.touched(before).tables == (str(REF),)


def test_a_hanging_view_is_reported(hms: WritableMetastore) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        view = {C1: (Endpoint("127.0.0.1", silent.getsockname()[1]),)}
        settings = Settings(TOPOLOGY, (hms.endpoint,), views=view, metastore_timeout=0.3)
        with (
            notifying_client(settings) as client,
            pytest.raises(MetastoreDown, match="causeway_settle"),
        ):
            client.drop_table(REF)


def test_a_view_that_does_not_run_need_not_be_notified(hms: WritableMetastore) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        view = {C1: (Endpoint("127.0.0.1", gone.getsockname()[1]),)}
    settings = Settings(TOPOLOGY, (hms.endpoint,), views=view)
    with notifying_client(settings) as client:
        client.drop_table(REF)
