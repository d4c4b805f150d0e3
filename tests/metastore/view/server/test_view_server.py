"""What a view hands out and creates, its feed of changes, its memory, and its connections."""

import socket
import ssl
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conf.placement import Copy, Placement, read_placement, write_placement
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.settings import Writers
from conf.topology import Endpoint, Topology
from metastore.client.changes.view_sync import ViewSync
from metastore.client.connection import Connection
from metastore.client.types import Database, Partition, Table
from metastore.errors import MalformedReply, MetastoreRefused
from metastore.placement.placement_store import PlacementStore
from metastore.view.methods import CLUSTER_FIELD
from tests.metastore.view.server.view_calls import (
    AWAY,
    HOME,
    KEYS,
    REF,
    call,
    client,
    close_clients,
    iceberg,
    named,
    placed,
    table,
)
from tests.metastore.writable import C1, C2, C3, TOPOLOGY, WritableMetastore, views
from tests.proxy.certificates import made
from thriftcodec.values import I32, LIST, STRING, STRUCT, Items, Struct
from thriftcodec.writer import call_bytes


class TestOut:
    def test_a_fresh_copy_is_handed_out_in_its_cluster_alone(self, hms, view) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        assert client(view[C2]).get_table(REF).location == AWAY
        assert client(view[C1]).get_table(REF).location == HOME
        assert client(view[C3]).get_table(REF).location == HOME
        assert client(view["default"]).get_table(REF).location == HOME

    def test_a_stale_copy_is_not(self, hms, view) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"), write="1")))
        assert client(view[C2]).get_table(REF).location == HOME

    def test_nor_one_while_a_write_is_open(self, hms, view) -> None:
        placement = Placement(C1, copies=(Copy(C2, AWAY, "0"),)).opened("w")
        hms.add(table(write_placement(placement)))
        assert client(view[C2]).get_table(REF).location == HOME

    def test_a_copy_of_iceberg_has_metadata_of_its_own(self, hms, view) -> None:
        hms.add(table(iceberg(f"{HOME}/metadata/5.json")))
        before = client(view["default"]).get_table(REF)
        assert client(view[C1]).get_table(REF).parameters == before.parameters
        got = client(view[C2]).get_table(REF)
        assert got.location == AWAY
        assert got.parameters == {
            "table_type": "ICEBERG", "metadata_location": f"{AWAY}/metadata/5.json", "x": "y",
        }  # fmt: skip
        named_call = named() | {CLUSTER_FIELD: (STRING, C2)}
        aware = Table(call(view[C3], "get_table_on_cluster", named_call)).parameters
        assert aware["metadata_location"] == f"{AWAY}/metadata/5.json"
        assert "previous_metadata_location" not in aware

    def test_a_copy_of_other_metadata_is_not_read(self, hms, view) -> None:
        """As after a commit in the metastore itself, which leaves no mark."""
        parameters = iceberg(f"{HOME}/metadata/6.json")
        hms.add(table(parameters))
        got = client(view[C2]).get_table(REF)
        assert got.location == HOME
        assert got.parameters["metadata_location"] == f"{HOME}/metadata/6.json"
        assert got.parameters["previous_metadata_location"] == f"{HOME}/metadata/0.json"

    def test_unreadable_facts_give_the_primary(self, hms, view) -> None:
        hms.add(table({"causeway.copy.c2": "nonsense"}))
        assert client(view[C2]).get_table(REF).location == HOME

    def test_the_serde_path_goes_with_the_location(self, hms, view) -> None:
        made = table(placed(Copy(C2, AWAY, "0")))
        made.storage.serde.parameters = {"path": HOME, "x": "y"}
        made.location = "hdfs://c1:8020/warehouse/t-__PLACEHOLDER__"
        hms.add(made)
        got = client(view[C2]).get_table(REF)
        assert got.storage.serde.parameters == {"path": AWAY, "x": "y"}
        assert got.location == "hdfs://c1:8020/warehouse/t-__PLACEHOLDER__"

    @pytest.mark.parametrize(
        "method", ["get_partitions", "get_partitions_by_filter", "get_partitions_with_auth"]
    )
    def test_each_partition_for_itself(self, hms, view, method: str) -> None:
        hms.add(
            table(placed(), KEYS),
            ("ds=1", placed(Copy(C2, AWAY + "/1", "0/0"))),
            ("ds=2", placed(Copy(C2, AWAY + "/2", "0/0"), write="1")),
            ("ds=3", placed(Copy(C3, AWAY + "/3", "0/0"))),
            ("ds=4", {}),
        )
        got = call(view[C2], method, named())
        places = [Partition(each).location for each in got]
        assert places == [AWAY + "/1", HOME + "/ds=2", HOME + "/ds=3", HOME + "/ds=4"]

    @pytest.mark.parametrize("method", ["get_partitions_pspec", "get_part_specs_by_filter"])
    def test_partition_specs_come_as_lists_where_there_are_copies(
        self, hms, view, method: str
    ) -> None:
        """The shared form has one storage descriptor for all."""
        copied = placed(Copy(C2, AWAY + "/1", "0/0"))
        hms.add(table(placed(), KEYS), ("ds=1", copied), ("ds=2", {}))
        fields = named((STRING, "ds > 0"), (I32, -1)) if "filter" in method else named((I32, 70000))
        (spec,) = call(view[C2], method, fields)
        assert [spec.get(number) for number in (1, 2, 3, 4)] == ["default", "t", HOME, None]
        places = [Partition(each).location for each in spec.get(5).get(1)]
        assert places == [AWAY + "/1", HOME + "/ds=2"]
        with pytest.raises(MetastoreRefused):
            call(view[C2], method, {1: (STRING, "default"), 2: (STRING, "gone")})

    def test_partition_specs_of_a_uniform_table_pass_as_they_are(self, hms, view) -> None:
        hms.add(table(placed(exceptions=frozenset()), KEYS), ("ds=1", {}))
        shared = Struct({4: (STRUCT, Struct({9: (STRING, "whatever")}))})
        hms.answers["get_partitions_pspec"] = lambda _: (LIST, Items(STRUCT, [shared]))
        assert list(call(view[C2], "get_partitions_pspec", named((I32, -1)))) == [shared]

    def test_a_table_s_write_covers_the_partitions_that_it_names(self, hms, view) -> None:
        placement = Placement(C1).opened("w", ["ds=1"])
        hms.add(
            table(write_placement(placement), KEYS),
            ("ds=1", placed(Copy(C2, AWAY + "/1", "0/0"))),
            ("ds=2", placed(Copy(C2, AWAY + "/2", "0/0"))),
        )
        got = list(client(view[C2]).get_all_partitions(REF))
        assert [each.location for each in got] == [HOME + "/ds=1", AWAY + "/2"]

    def test_databases_lie_in_the_cluster_s_own_warehouse(self, view) -> None:
        assert client(view[C2]).get_database("default").location == "hdfs://c2:8020/warehouse"
        assert client(view[C1]).get_database("default").location == "hdfs://c1:8020/warehouse"

    def test_many_partitions_come_in_pieces(self, hms, view) -> None:
        facts = placed(Copy(C2, AWAY, "0/0"))
        rows = [(f"ds={number}", facts if number % 2 else {}) for number in range(2_000)]
        hms.add(table(placed(), KEYS), *rows)
        got = call(view[C2], "get_partitions", named())
        assert len(got) == 2_000
        assert sum(Partition(each).location == AWAY for each in got) == 1_000


class TestCreate:
    def test_a_new_table_belongs_to_the_endpoint_s_cluster_and_warehouse(self, hms, view) -> None:
        made = table({"causeway.primary": "c3", "causeway.copy.c1": "x", "k": "v"})
        made.storage.struct.fields.pop(2)
        client(view[C2]).create_table(made)
        stored = Table(hms.tables[REF])
        assert stored.parameters == {"k": "v", "causeway.primary": "c2"}
        assert stored.location == "hdfs://c2:8020/warehouse/t"

    def test_spark_s_path_becomes_the_location(self, hms, view) -> None:
        made = table({})
        made.storage.struct.fields.pop(2)
        made.storage.serde.parameters = {"path": "hdfs://c2:8020/warehouse/elsewhere"}
        client(view[C2]).create_table(made)
        assert Table(hms.tables[REF]).location == "hdfs://c2:8020/warehouse/elsewhere"

    def test_a_view_has_no_cluster(self, hms, view) -> None:
        made = table({"causeway.primary": "c3"})
        made.set_text(12, "VIRTUAL_VIEW")
        client(view[C2]).create_table(made)
        assert Table(hms.tables[REF]).parameters == {}

    def test_a_partitioned_one_promises_uniform_partitions(self, hms, view) -> None:
        client(view[C1]).create_table(table({}, KEYS))
        assert read_placement(Table(hms.tables[REF]).parameters, C1).uniform

    def test_databases_are_kept_under_the_default_cluster(self, hms, view) -> None:
        client(view[C2]).create_database(Database.make("d", "hdfs://c2:8020/warehouse/d.db"))
        assert hms.places["d"] == "hdfs://c1:8020/warehouse/d.db"
        assert client(view[C3]).get_database("d").location == "hdfs://c3:8020/warehouse/d.db"


class TestFeed:
    def test_changes_are_reported_at_once(self, hms, view) -> None:
        hms.add(table(placed()))
        with client(view[C2]) as follower, client(view[C1]) as writer:
            start = follower.changes(0, 0)
            assert start.everything
            assert follower.changes(start.position, 0).tables == ()
            writer.alter_table(REF, table({}))
            changes = follower.changes(start.position, 60.0)
            assert (changes.tables, changes.everything) == (("default.t",), False)

    def test_changes_of_other_clients_can_be_asked_for(self, view) -> None:
        with client(view[C2]) as follower:
            start = follower.changes(0, 0).position
            call(view[C1], "causeway_forget", named())
            assert follower.changes(start, 0).tables == ("default.t",)


class TestNoClusters:
    def test_everything_passes(self, hms) -> None:
        """DC-N1: also what the view does not know, and parameters of any name."""
        hms.add(table({"causeway.primary": "x"}))
        with views(hms, topology=Topology()) as listening:
            endpoint = listening["default"]
            sent = table({"causeway.primary": "y"})
            client(endpoint).alter_table(REF, sent)
            assert Table(hms.tables[REF]).parameters == {"causeway.primary": "y"}
            with pytest.raises(MetastoreRefused, match="Invalid method name"):
                call(endpoint, "no_such_call", {})


class TestCache:
    def test_a_second_read_makes_no_call_until_a_change(self, hms) -> None:
        hms.add(table(placed()))
        with views(hms, cache=60.0) as view, client(view[C1]) as one, client(view[C2]) as two:
            assert one.get_table(REF) == two.get_table(REF) == one.get_table(REF)
            assert hms.calls["get_table"] == 1
            one.alter_table(REF, table({"k": "v"}))
            asked = hms.calls["get_table"]
            assert two.get_table(REF).parameters["k"] == "v"
            assert hms.calls["get_table"] == asked + 1

    def test_tables_with_copies_or_writes_are_always_read(self, hms) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        with views(hms, cache=60.0) as view, client(view[C2]) as two:
            assert two.get_table(REF).location == AWAY
            # Written past the views:
            Table(hms.tables[REF]).parameters = placed(Copy(C2, AWAY, "0"), write="1")
            assert two.get_table(REF).location == HOME

    def test_where_all_use_the_views_they_are_kept_until_a_client_settles(self, hms) -> None:
        hms.add(table(placed(), KEYS), ("ds=1", placed(Copy(C2, AWAY, "0/0"))))
        how = {"cache": 60.0, "writers": Writers.VIEWS}
        with views(hms, **how) as view, client(view[C2]) as two:
            for _ in range(3):
                assert [Partition(each).location for each in self._read(view[C2])] == [AWAY]
            assert hms.calls["get_table"] == 1
            with ViewSync(view.values(), 60.0) as sync, client(hms.endpoint) as direct:
                PlacementStore(direct, C1, sync).open_write(REF, "w", None, 0, "proxy")
            assert [Partition(each).location for each in self._read(view[C2])] != [AWAY]
            assert "causeway.open.w" in two.get_table(REF).struct.get(10)  # of hidden facts

    def _read(self, endpoint: Endpoint) -> Any:
        return call(endpoint, "get_partitions", named())


def test_garbage_ends_the_connection_alone(hms, view) -> None:
    with socket.create_connection((view[C1].host, view[C1].port), timeout=60.0) as peer:
        peer.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert peer.recv(10) == b""
    assert client(view[C1]).get_all_databases() == ["default"]


def test_a_lost_metastore_ends_the_client_s_connection_too(hms, view) -> None:
    """So that it opens another, as it would with the metastore itself."""
    connection = Connection(view[C1], 60.0)
    assert connection.call("get_all_databases", Struct(), {}, 60.0) == ["default"]
    hms.drop_connections()
    with pytest.raises((OSError, MalformedReply)):
        connection.call("get_all_databases", Struct(), {}, 60.0)
    connection.close()
    assert client(view[C1]).get_all_databases() == ["default"]


def test_a_slow_call_does_not_block_others(hms, view) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def slowly(method: str) -> None:
        if method == "get_all_functions":
            asked.set()
            go_on.wait(60)

    hms.before = slowly
    slow = socket.create_connection((view[C1].host, view[C1].port), timeout=60.0)
    slow.sendall(call_bytes("get_all_functions", 1, Struct()))
    assert asked.wait(60)
    assert client(view[C1]).get_all_databases() == ["default"]
    go_on.set()
    slow.close()


def test_a_client_that_says_goodbye_leaves_nothing_open(
    hms: WritableMetastore, view: Mapping[str, Endpoint]
) -> None:
    """Hive's client ends with `shutdown`, to which there is no reply to wait for."""
    with socket.create_connection((view[C1].host, view[C1].port), timeout=60.0) as peer:
        peer.sendall(call_bytes("shutdown", 1, Struct({})))
        assert peer.recv(1) == b""


@pytest.mark.parametrize("has_clusters", [True, False])
def test_a_metastore_over_tls(hms: WritableMetastore, tmp_path: Path, has_clusters: bool) -> None:
    """And its connection ends with the client's, also where bytes are relayed unchanged."""
    certificate = made()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.pem(tmp_path / "server.pem"))
    hms.use_tls(context)
    hms.add(table({}))
    login = MetastoreLogin(tls=True, truststore=tmp_path / "server.pem")
    topology = TOPOLOGY if has_clusters else Topology()
    with views(hms, topology=topology, login=login) as listening:
        for name in topology.clusters or ("default",):
            assert client(listening[name]).get_table(REF).location == HOME
        close_clients()
        end = time.monotonic() + 30
        while hms.open_connections and time.monotonic() < end:
            time.sleep(0.01)
        assert not hms.open_connections
