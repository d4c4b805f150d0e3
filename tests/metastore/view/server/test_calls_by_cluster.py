"""Calls to a view that name a cluster, and the structures that they show."""

import pytest

from conf.placement import Copy, read_placement
from metastore.client.connection import Connection
from metastore.client.types import Table
from metastore.errors import MetastoreRefused
from metastore.view.methods import CLUSTER_FIELD
from tests.metastore.view.server.view_calls import (
    AWAY,
    HOME,
    KEYS,
    REF,
    call,
    client,
    iceberg,
    named,
    partition,
    placed,
    table,
)
from tests.metastore.writable import C1, C2, C3
from thriftcodec.values import BOOL, LIST, SET, STRING, STRUCT, Items, Struct


class TestByCluster:
    """DC-A1, DC-A2, DC-S1: calls that name a cluster, and the structures that they show."""

    def test_on_cluster_equals_use_cluster_then_the_call(self, hms, view) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        extended = named() | {CLUSTER_FIELD: (STRING, C2)}
        by_call = call(view[C1], "get_table_on_cluster", extended)
        connection = Connection(view[C1], 60.0)
        connection.call("use_cluster", Struct({1: (STRING, C2)}), {}, 60.0)
        by_session = connection.call("get_table", Struct(named()), {}, 60.0)
        assert by_call == by_session
        assert Table(by_call).location == AWAY
        connection.call("use_cluster", Struct({1: (STRING, "")}), {}, 60.0)
        back = connection.call("get_table", Struct(named()), {}, 60.0)
        assert Table(back).location == HOME
        assert back == call(view["default"], "get_table", named())
        connection.close()

    def test_the_document_s_structures(self, hms, view) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"), Copy(C3, AWAY + "3", "old"))))
        got = call(view[C1], "get_table_on_cluster", named() | {CLUSTER_FIELD: (STRING, C2)})
        storage = Table(got).storage.struct
        primary = {number: value for number, (_, value) in storage.get(101).fields.items()}
        assert primary == {1: "c1", 2: HOME, 3: 1, 4: "0"}
        second = [[each.get(n) for n in (1, 2, 3)] for each in storage.get(102)]
        assert second == [["c2", AWAY, 1], ["c3", AWAY + "3", 0]]

    def test_old_clients_do_not_get_the_new_fields(self, hms, view) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        assert set(client(view[C2]).get_table(REF).storage.struct.fields) <= set(range(13))

    def test_an_unknown_cluster_leaves_the_session_as_it_was(self, hms, view) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        connection = Connection(view[C2], 60.0)
        with pytest.raises(MetastoreRefused, match="CW352"):
            connection.call("use_cluster", Struct({1: (STRING, "c9")}), {1: "MetaException"}, 60.0)
        assert Table(connection.call("get_table", Struct(named()), {}, 60.0)).location == AWAY
        connection.close()

    def test_a_copy_is_registered_by_the_api(self, hms, view) -> None:
        """DC-P1: distcp, then the metadata by the Thrift API."""
        hms.add(table(placed()))
        got = Table(call(view[C1], "get_table_on_cluster", named() | {CLUSTER_FIELD: (STRING, C1)}))
        copy = Struct({1: (STRING, C2), 2: (STRING, AWAY)})
        got.storage.struct.set(102, SET, Items(STRUCT, [copy]))
        fields = named((STRUCT, got.struct)) | {CLUSTER_FIELD: (STRING, C1)}
        call(view[C3], "alter_table_on_cluster", fields, 2)
        assert client(view[C2]).get_table(REF).location == AWAY

    @pytest.mark.parametrize(
        "parameters", [{"table_type": "ICEBERG"}, {"spark.sql.sources.provider": "iceberg"}]
    )
    def test_no_copy_of_an_open_table_format_is_registered(
        self, hms, view, parameters: dict[str, str]
    ) -> None:
        hms.add(table({**placed(), **parameters}))
        got = Table(call(view[C1], "get_table_on_cluster", named() | {CLUSTER_FIELD: (STRING, C1)}))
        fields = named((STRUCT, got.struct)) | {CLUSTER_FIELD: (STRING, C1)}
        call(view[C1], "alter_table_on_cluster", fields, 2)  # without a copy
        copy = Struct({1: (STRING, C2), 2: (STRING, AWAY)})
        got = Table(call(view[C1], "get_table_on_cluster", named() | {CLUSTER_FIELD: (STRING, C1)}))
        got.storage.struct.set(102, SET, Items(STRUCT, [copy]))
        fields = named((STRUCT, got.struct)) | {CLUSTER_FIELD: (STRING, C1)}
        with pytest.raises(MetastoreRefused, match=r"CW357.* is a table of Iceberg"):
            call(view[C3], "alter_table_on_cluster", fields, 2)
        assert read_placement(Table(hms.tables[REF]).parameters, C1).copies == ()

    def test_copies_of_iceberg_stay_as_they_are(self, hms, view) -> None:
        hms.add(table(iceberg(f"{HOME}/metadata/5.json")))
        before = Table(hms.tables[REF]).parameters["causeway.copy.c2"]
        got = Table(call(view[C1], "get_table_on_cluster", named() | {CLUSTER_FIELD: (STRING, C1)}))
        fields = named((STRUCT, got.struct)) | {CLUSTER_FIELD: (STRING, C1)}
        call(view[C1], "alter_table_on_cluster", fields, 2)
        assert Table(hms.tables[REF]).parameters["causeway.copy.c2"] == before
        got.parameters = {**got.parameters, "metadata_location": f"{HOME}/metadata/6.json"}
        call(view[C1], "alter_table_on_cluster", named((STRUCT, got.struct)) | {
            CLUSTER_FIELD: (STRING, C1)
        }, 2)  # fmt: skip
        assert client(view[C2]).get_table(REF).location == HOME

    def test_a_partition_with_copies_from_a_client_becomes_an_exception(self, hms, view) -> None:
        hms.add(table(placed(exceptions=frozenset()), KEYS), ("ds=1", {}), ("ds=2", {}))
        sent = partition(view[C1])
        copy = Struct({1: (STRING, C2), 2: (STRING, AWAY)})
        sent.storage.struct.set(102, SET, Items(STRUCT, [copy]))
        fields = named((LIST, Items(STRUCT, [sent.struct]))) | {CLUSTER_FIELD: (STRING, C1)}
        call(view[C1], "alter_partitions_with_environment_context_on_cluster", fields, 2)
        assert read_placement(Table(hms.tables[REF]).parameters, C1).exceptions == {"ds=1"}
        assert partition(view[C2]).location == AWAY

    def test_a_copy_is_not_published_over_a_newer_write(self, hms, view) -> None:
        hms.add(table(placed()))
        got = Table(call(view[C1], "get_table_on_cluster", named() | {CLUSTER_FIELD: (STRING, C1)}))
        client(view[C1]).alter_table(REF, table({}))
        fields = named((STRUCT, got.struct)) | {CLUSTER_FIELD: (STRING, C1)}
        with pytest.raises(MetastoreRefused, match="CW355"):
            call(view[C1], "alter_table_on_cluster", fields, 2)

    def test_a_copy_from_a_client_is_refused_outside_the_primary(self, hms, view) -> None:
        hms.add(table(placed()))
        fields = named((BOOL, 1)) | {CLUSTER_FIELD: (STRING, C2)}
        with pytest.raises(MetastoreRefused, match="CW350"):
            call(view[C1], "drop_table_on_cluster", fields, 2)
