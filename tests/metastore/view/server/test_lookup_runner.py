"""A metastore that has lost `get_table`, as Hive 4's, to old clients and to ourselves."""

from collections.abc import Iterator
from typing import Any

import pytest

from conf.names import TableRef
from conf.placement import Copy, Placement, read_placement
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Partition, Table
from metastore.errors import MetastoreRefused, NoSuchObject
from metastore.placement.placement_store import PlacementStore
from tests.metastore.view.server.view_calls import AWAY, HOME, KEYS, REF, call, named, placed, table
from tests.metastore.writable import C1, C2, WritableMetastore, views
from thriftcodec.values import LIST, STRING, STRUCT, Struct, strings

LOST = ("get_table", "get_table_objects_by_name")


class Newer(WritableMetastore):
    def answer(self, method: str, arguments: Struct) -> Any:
        if method in LOST:
            raise AttributeError(method)  # answered as an unknown method
        return super().answer(method, arguments)

    def _get_table_req(self, arguments: Struct) -> tuple[int, Any]:
        table = self.tables[self._ref(arguments.get(1))]
        return STRUCT, Struct({1: (STRUCT, table)})

    def _get_table_objects_by_name_req(self, arguments: Struct) -> tuple[int, Any]:
        kind, found = self._get_table_objects_by_name(arguments.get(1))
        return STRUCT, Struct({1: (kind, found)})


@pytest.fixture
def hms() -> Iterator[Newer]:
    fake = Newer()
    yield fake
    fake.stop()


def test_our_own_client_reads_tables(hms: Newer) -> None:
    hms.add(table(placed()))
    with HmsClient((hms.endpoint,), 60.0) as client:
        assert client.get_table(REF).location == HOME
        assert [each.ref for each in client.get_tables("default", ["t", "gone"])] == [REF]
        with pytest.raises(NoSuchObject):
            client.get_table(TableRef("default", "gone"))
        PlacementStore(client, C1).open_write(REF, "w", None, 0, "me")
    assert read_placement(Table(hms.tables[REF]).parameters, C1).writing


def test_a_first_call_for_several_tables_uses_the_newer_form(hms: Newer) -> None:
    hms.add(table(placed()))
    with HmsClient((hms.endpoint,), 60.0) as client:
        assert [each.ref for each in client.get_tables("default", ["t"])] == [REF]


@pytest.mark.parametrize("cache", [0.0, 60.0])
def test_old_clients_read_a_table(hms: Newer, cache: float) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))
    with views(hms, cache=cache) as view, HmsClient((view[C2],), 60.0) as two:
        for _ in range(2):
            assert two.get_table(REF).location == AWAY
        assert not two._newer
        with pytest.raises(NoSuchObject):
            two.get_table(TableRef("default", "gone"))


def test_old_clients_read_several_tables(hms: Newer) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))
    asked = {1: (STRING, "default"), 2: (LIST, strings(["t", "gone"]))}
    with views(hms) as view:
        for _ in range(2):
            found = call(view[C2], "get_table_objects_by_name", asked)
            assert [Table(each).location for each in found] == [AWAY]
            by_cluster = asked | {100: (STRING, C1)}
            (one,) = call(view[C2], "get_table_objects_by_name_on_cluster", by_cluster)
            assert Table(one).location == HOME


def test_the_view_s_own_calls_use_the_newer_form(hms: Newer) -> None:
    hms.add(table(placed(), KEYS), ("ds=1", placed(Copy(C2, AWAY, "0/0"))))
    with views(hms) as view:
        (found,) = call(view[C2], "get_partitions", named())
        assert Partition(found).location == AWAY
        with HmsClient((view[C2],), 60.0) as two, pytest.raises(MetastoreRefused, match="CW350"):
            two.drop_table(REF)
        with HmsClient((view[C1],), 60.0) as one:
            one.alter_table(REF, table({"k": "v"}, KEYS))
    stored = Table(hms.tables[REF]).parameters
    assert stored["k"] == "v"
    assert read_placement(stored, C1).primary == Placement(C1).primary
