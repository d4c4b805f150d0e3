"""The view against a metastore in memory, through sockets."""

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from conf.names import TableRef
from conf.placement import Copy, Placement, read_placement, write_placement
from conf.settings.security.metastore_login import MetastoreLogin
from conf.settings.settings import Writers
from conf.topology import Endpoint, Topology
from metastore.client.changes.view_sync import ViewSync
from metastore.client.connection import Connection
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Database, Partition, Table
from metastore.errors import MalformedReply, MetastoreRefused
from metastore.placement.placement_store import PlacementStore
from metastore.view.methods import CLUSTER_FIELD
from tests.metastore.writable import C1, C2, C3, TOPOLOGY, WritableMetastore, views
from tests.proxy.certificates import made
from thriftcodec.values import (
    BOOL,
    I32,
    LIST,
    MAP,
    SET,
    STRING,
    STRUCT,
    Items,
    Struct,
    string_map,
    strings,
)
from thriftcodec.writer import call_bytes

REF = TableRef("default", "t")
HOME, AWAY = "hdfs://c1:8020/warehouse/t", "hdfs://c2:8020/copies/t"
KEYS = [("ds", "string")]


@pytest.fixture
def left(tmp_path: Path) -> Path:
    return tmp_path / "leftovers"


@pytest.fixture
def view(hms: WritableMetastore, left: Path) -> Iterator[Mapping[str, Endpoint]]:
    with views(hms, left) as listening:
        yield listening


_opened: list[HmsClient] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _opened:
        _opened.pop().close()


def client(endpoint: Endpoint) -> HmsClient:
    """Lives as long as the test."""
    _opened.append(HmsClient((endpoint,), timeout=60.0))
    return _opened[-1]


def call(endpoint: Endpoint, method: str, fields: dict[int, Any], meta: int = 1) -> Any:
    connection = Connection(endpoint, 60.0)
    try:
        return connection.call(method, Struct(fields), {meta: "MetaException"}, 60.0)
    finally:
        connection.close()


def placed(*copies: Copy, primary: str = C1, **more: Any) -> dict[str, str]:
    return write_placement(Placement(primary, copies=copies, **more))


def iceberg(metadata: str) -> dict[str, str]:
    """A table with this metadata file, and a copy in c2 of the one that is named 5.json."""
    return {
        **placed(Copy(C2, AWAY, "0", metadata=f"{AWAY}/metadata/5.json")),
        "previous_metadata_location": f"{HOME}/metadata/0.json",
        "table_type": "ICEBERG",
        "metadata_location": metadata,
        "x": "y",
    }


def table(parameters: Mapping[str, str], keys: list[tuple[str, str]] | None = None) -> Table:
    made = Table.make(REF, [("a", "int")], location=HOME, partition_keys=keys or [])
    made.parameters = dict(parameters)
    return made


def partition(endpoint: Endpoint, name: str = "ds=1") -> Partition:
    """A partition of the table, as a single one."""
    return Partition(call(endpoint, "get_partition_by_name", named((STRING, name))))


def named(*fields: Any) -> dict[int, Any]:
    return dict(enumerate([(STRING, "default"), (STRING, "t"), *fields], 1))


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


class TestAlter:
    def test_an_old_client_cannot_wipe_or_forge_facts(self, hms, view) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        sent = table({"causeway.primary": "c2", "causeway.extra": "x", "k": "v"})
        client(view[C1]).alter_table(REF, sent)
        stored = Table(hms.tables[REF]).parameters
        assert stored["causeway.primary"] == "c1"
        assert "causeway.extra" not in stored
        assert stored["k"] == "v"
        assert read_placement(stored, C1).copies == (Copy(C2, AWAY, "0"),)

    def test_it_makes_copies_stale(self, hms, view) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        client(view[C1]).alter_table(REF, table({}))
        assert read_placement(Table(hms.tables[REF]).parameters, C1).replicas().stale == {C2}
        assert client(view[C2]).get_table(REF).location == HOME

    def test_an_open_write_stays_open(self, hms, view) -> None:
        before = Placement(C1, copies=(Copy(C2, AWAY, "0"),)).opened("w")
        hms.add(table(write_placement(before)))
        client(view[C1]).alter_table(REF, table({}))
        assert read_placement(Table(hms.tables[REF]).parameters, C1) == before

    def test_unknown_fields_survive(self, hms, view) -> None:
        hms.add(table(placed()))
        sent = table({"k": "v"})
        sent.struct.set(77, STRING, "future")
        sent.storage.struct.set(78, LIST, strings(["x"]))
        skewed = Struct({3: (MAP, string_map({"a": "b"}))})
        sent.storage.struct.set(11, STRUCT, skewed)
        client(view[C1]).alter_table(REF, sent)
        stored = Table(hms.tables[REF])
        assert stored.struct.get(77) == "future"
        assert list(stored.storage.struct.get(78)) == ["x"]
        assert stored.storage.struct.get(11) == skewed

    def test_partitions_of_a_partitioned_table_stay_fresh(self, hms, view) -> None:
        hms.add(table(placed(), KEYS), ("ds=1", placed(Copy(C2, AWAY, "0/0"))))
        client(view[C1]).alter_table(REF, table({"comment": "x"}, KEYS))
        assert partition(view[C2]).location == AWAY

    def test_a_partition_for_itself(self, hms, view) -> None:
        copies = [placed(Copy(C2, f"{AWAY}/{number}", "0/0")) for number in (1, 2)]
        hms.add(table(placed(), KEYS), ("ds=1", copies[0]), ("ds=2", copies[1]))
        facts = read_placement(Table(hms.tables[REF]).parameters, C1).facts
        sent = Partition.make(table({}, KEYS), ["1"], AWAY + "/1", {"rows": "5"})
        client(view[C1]).alter_partitions(REF, [sent])
        stored = Partition(hms.partitions[REF]["ds=1"])
        assert stored.parameters["rows"] == "5"
        assert stored.location == HOME + "/ds=1"  # the copy's place was mapped back
        got = list(client(view[C2]).get_all_partitions(REF))
        assert [each.location for each in got] == [HOME + "/ds=1", AWAY + "/2"]
        assert read_placement(Table(hms.tables[REF]).parameters, C1).facts != facts

    def test_in_a_uniform_table_the_table_s_id_changes(self, hms, view) -> None:
        hms.add(table(placed(exceptions=frozenset()), KEYS), ("ds=1", {}))
        sent = Partition.make(table({}, KEYS), ["1"], HOME + "/ds=1", {})
        client(view[C1]).alter_partitions(REF, [sent])
        now = read_placement(Table(hms.tables[REF]).parameters, C1)
        assert now.uniform
        assert now.write != "0"
        assert Partition(hms.partitions[REF]["ds=1"]).parameters == {}

    def test_a_table_copied_as_a_whole_has_its_copy_while_it_is_uniform(self, hms, view) -> None:
        copy = Copy(C2, AWAY, "0")
        hms.add(table(placed(copy, exceptions=frozenset()), KEYS), ("ds=1", {}))
        assert client(view[C2]).get_table(REF).location == AWAY
        client(view[C1]).alter_table(REF, table({"last_commit_time_sync": "1"}, KEYS))
        assert read_placement(Table(hms.tables[REF]).parameters, C1).replicas().stale == {C2}
        assert client(view[C2]).get_table(REF).location == HOME
        hms.add(table(placed(copy), KEYS))
        assert client(view[C2]).get_table(REF).location == HOME

    def test_a_renamed_table_keeps_facts_and_folder(self, hms, view) -> None:
        away = "hdfs://c2:8020/warehouse/t"
        made = table(placed(primary=C2))
        made.location = away
        made.storage.serde.parameters = {"path": away}
        hms.add(made)
        sent = client(view[C2]).get_table(REF)
        sent.set_text(1, "u")
        sent.storage.serde.parameters = {"path": "hdfs://c2:8020/warehouse/u"}
        client(view[C2]).alter_table(REF, sent)
        stored = Table(hms.tables[TableRef("default", "u")])
        assert stored.storage.serde.parameters["path"] == away
        assert stored.parameters["causeway.primary"] == "c2"

    def test_a_renamed_partition_keeps_its_facts(self, hms, view) -> None:
        hms.add(table(placed(), KEYS), ("ds=1", placed(Copy(C2, AWAY, "0/0"))))
        sent = Partition.make(table({}, KEYS), ["2"], HOME + "/ds=1", {})
        fields = named((LIST, strings(["1"])), (STRUCT, sent.struct))
        call(view[C1], "rename_partition", fields, 2)
        stored = Partition(hms.partitions[REF]["ds=2"]).parameters
        assert read_placement(stored, C1).copies == (Copy(C2, AWAY, "0/0"),)

    def test_a_renamed_partition_with_facts_is_named_as_an_exception(self, hms, view) -> None:
        facts = placed(Copy(C2, AWAY, "0/0"))
        hms.add(table(placed(exceptions=frozenset({"ds=1"})), KEYS), ("ds=1", facts), ("ds=5", {}))
        for old, new in (("1", "2"), ("5", "6")):
            sent = Partition.make(table({}, KEYS), [new], f"{HOME}/ds={old}", {})
            fields = named((LIST, strings([old])), (STRUCT, sent.struct))
            call(view[C1], "rename_partition", fields, 2)
        now = read_placement(Table(hms.tables[REF]).parameters, C1)
        assert now.exceptions == {"ds=1", "ds=2"}

    def test_partitions_added_bring_no_facts(self, hms, view) -> None:
        hms.add(table(placed(), KEYS))
        sent = Partition.make(table({}, KEYS), ["1"], HOME, {"causeway.primary": "c2", "k": "v"})
        client(view[C1]).add_partitions(REF, [sent])
        assert Partition(hms.partitions[REF]["ds=1"]).parameters == {"k": "v"}

    def test_an_insert_event_makes_copies_stale(self, hms, view) -> None:
        hms.add(table(placed(), KEYS), ("ds=1", placed(Copy(C2, AWAY, "0/0"))))
        event = Struct({3: (STRING, "default"), 4: (STRING, "t"), 5: (LIST, strings(["1"]))})
        call(view[C1], "fire_listener_event", {1: (STRUCT, event)})
        assert partition(view[C2]).location == HOME + "/ds=1"


class TestRefusals:
    """DC-M4: every change outside the primary."""

    PART = Partition.make(table({}, KEYS), ["1"], HOME + "/ds=1", {}).struct
    CALLS: Mapping[str, dict[int, Any]] = {
        "alter_table": named((STRUCT, table({}, KEYS).struct)),
        "alter_table_with_environment_context": named((STRUCT, table({}, KEYS).struct)),
        "drop_table": named((BOOL, 1)),
        "drop_table_with_environment_context": named((BOOL, 1)),
        "add_partitions_req": {
            1: (STRUCT, Struct(named((LIST, Items(STRUCT, [PART])), (BOOL, 0))))
        },
        "alter_partitions_with_environment_context": named((LIST, Items(STRUCT, [PART]))),
        "alter_partition": named((STRUCT, PART)),
        "rename_partition": named((LIST, strings(["1"])), (STRUCT, PART)),
        "drop_partition_by_name": named((STRING, "ds=1"), (BOOL, 1)),
        "drop_partition": named((LIST, strings(["1"])), (BOOL, 1)),
        "append_partition": named((LIST, strings(["9"]))),
        "delete_table_column_statistics": named((STRING, "a")),
        "drop_database": {1: (STRING, "default"), 2: (BOOL, 1), 3: (BOOL, 1)},
        "add_index": {
            1: (STRUCT, Struct({3: (STRING, "default"), 4: (STRING, "t")})),
            2: (STRUCT, table({}).struct),
        },
    }

    COMMIT_FAILED = (
        "The table has been modified. The parameter value for key 'metadata_location' is"
    )

    @pytest.mark.parametrize("method", ["alter_table", "alter_table_with_environment_context"])
    def test_a_commit_of_iceberg_is_told_in_words_that_make_it_a_definite_failure(
        self, hms, view, method: str
    ) -> None:
        at = {"table_type": "ICEBERG", "metadata_location": "hdfs://c1:8020/warehouse/t/m/1.json"}
        hms.add(table({**placed(), **at}))
        commit = table({**at, "metadata_location": "hdfs://c1:8020/warehouse/t/m/2.json"})
        with pytest.raises(MetastoreRefused, match=f"CW350.* is c1, .*{self.COMMIT_FAILED}"):
            call(view[C2], method, named((STRUCT, commit.struct)), 2)
        assert hms.calls[method] == 0
        with pytest.raises(MetastoreRefused, match="CW350") as refused:
            call(view[C2], method, named((STRUCT, table({}).struct)), 2)
        assert self.COMMIT_FAILED not in str(refused.value)

    @pytest.mark.parametrize("method", CALLS)
    def test_of_the_table(self, hms, view, method: str) -> None:
        hms.add(table(placed(), KEYS), ("ds=1", {}))
        before = (repr(hms.tables), repr(hms.partitions))
        with pytest.raises(MetastoreRefused, match=r"CW350.* is c1, .*cluster c2"):
            call(view[C2], method, self.CALLS[method], self._meta(method))
        assert (repr(hms.tables), repr(hms.partitions)) == before
        assert hms.calls[method] == 0

    @pytest.mark.parametrize(
        "method", ["alter_partitions", "drop_partition", "drop_partitions_req"]
    )
    def test_a_call_that_names_nothing_is_the_metastore_s_to_answer(
        self, hms, view, method: str
    ) -> None:
        with pytest.raises((MetastoreRefused, MalformedReply)):
            call(view[C2], method, {})
        assert client(view[C2]).get_all_databases() == ["default"]

    def test_a_partition_is_its_own_primary_s_alone(self, hms, view) -> None:
        """DC-R10: in a table of another cluster."""
        hms.add(table(placed(), KEYS), ("ds=1", placed(primary=C2)), ("ds=2", {}))
        client(view[C2]).alter_partitions(REF, [Partition(self.PART)])
        with pytest.raises(MetastoreRefused, match=r"CW350.*partition ds=1 .* is c2"):
            client(view[C1]).alter_partitions(REF, [Partition(self.PART)])
        for name in ("ds=2", "ds=9"):  # the table's, there or not
            other = Partition.make(table({}, KEYS), [name[3:]], HOME, {})
            with pytest.raises(MetastoreRefused, match="CW350"):
                client(view[C2]).alter_partitions(REF, [Partition(self.PART), other])
            with pytest.raises(MetastoreRefused, match="CW350"):
                client(view[C2]).add_partitions(REF, [other])
            with pytest.raises(MetastoreRefused, match="CW350"):
                client(view[C2]).drop_partition(REF, name)
        client(view[C2]).drop_partition(REF, "ds=1")
        assert list(hms.partitions[REF]) == ["ds=2"]

    @pytest.mark.parametrize(
        "method",
        [name for name in CALLS if "partition" in name and not name.startswith(("a", "delete"))]
        + ["alter_partition", "drop_table", "drop_database"],
    )
    def test_of_one_partition(self, hms, view, method: str) -> None:
        hms.add(table(placed(primary=C2), KEYS), ("ds=1", placed(primary=C1)))
        with pytest.raises(MetastoreRefused, match=r"CW350.*partition ds=1 .* is c1"):
            call(view[C2], method, self.CALLS[method], self._meta(method))
        assert hms.calls[method] == 0

    def test_of_partitions_that_would_move(self, hms, view) -> None:
        other = TableRef("default", "u")
        target = table(placed(Copy(C3, AWAY, "0"), exceptions=frozenset()), KEYS)
        target.set_text(1, "u")
        hms.add(table(placed(), KEYS), ("ds=1", placed(primary=C2)), ("ds=2", {}))
        hms.add(target)
        names = [(STRING, "default"), (STRING, "t"), (STRING, "default"), (STRING, "u")]
        for value in ("1", ""):
            spec = (MAP, string_map({"ds": value}))
            with pytest.raises(MetastoreRefused, match=r"CW350.*ds=1"):
                call(view[C1], "exchange_partitions", dict(enumerate([spec, *names], 1)))
        hms.partitions[REF].pop("ds=1")
        spec = (MAP, string_map({"ds": "2"}))
        call(view[C1], "exchange_partitions", dict(enumerate([spec, *names], 1)))
        assert list(hms.partitions[other]) == ["ds=2"]
        now = read_placement(Table(hms.tables[other]).parameters, C1)
        assert (now.uniform, now.copies) == (False, ())

    def test_a_call_without_metaexception_is_refused_too(self, hms, view) -> None:
        hms.add(table(placed()))
        event = Struct({3: (STRING, "default"), 4: (STRING, "t")})
        with pytest.raises(MetastoreRefused, match="CW350"):
            call(view[C2], "fire_listener_event", {1: (STRUCT, event)})

    def test_unknown_methods_by_name(self, view) -> None:
        with pytest.raises(MetastoreRefused, match=r"CW351.*no_such_call"):
            call(view[C2], "no_such_call", {})

    def test_the_connection_lives_on(self, hms, view) -> None:
        hms.add(table(placed()))
        with client(view[C2]) as one:
            with pytest.raises(MetastoreRefused):
                one.alter_table(REF, table({}))
            assert one.get_table(REF).ref == REF
            assert len(one.get_all_databases()) == 1

    def test_views_and_missing_tables_have_no_primary(self, hms, view) -> None:
        made = table({})
        made.set_text(12, "VIRTUAL_VIEW")
        hms.add(made)
        client(view[C2]).drop_table(REF)
        with pytest.raises(MetastoreRefused, match="not found"):
            client(view[C2]).drop_table(REF)

    @staticmethod
    def _meta(method: str) -> int:
        from metastore.view.methods import methods

        return methods()[method].meta_exception or 1


class TestLeftovers:
    def test_a_dropped_table_s_copies_are_recorded(self, hms, view, left: Path) -> None:
        hms.add(
            table(placed(), KEYS),
            ("ds=1", placed(Copy(C2, AWAY + "/1", "0/0"))),
            ("ds=2", placed(Copy(C3, AWAY + "/2", "old"))),
        )
        client(view[C1]).drop_table(REF)
        first, second = map(json.loads, left.read_text().splitlines())
        assert first["left"] == [
            {"what": "default.t@ds=1", "cluster": "c2", "location": AWAY + "/1"},
            {"what": "default.t@ds=2", "cluster": "c3", "location": AWAY + "/2"},
        ]
        assert second == {"id": first["id"], "dropped": True}

    def test_a_refused_drop_is_recorded_as_such(self, hms, view, left: Path) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        hms.before = lambda method: hms.tables.clear() if method == "drop_table" else None
        with pytest.raises(MetastoreRefused):
            call(view[C1], "drop_table", named((BOOL, 1)), 1)
        assert json.loads(left.read_text().splitlines()[1])["dropped"] is False

    def test_partitions_by_name_and_by_expression(self, hms, view, left: Path) -> None:
        hms.add(
            table(placed(), KEYS),
            ("ds=1", placed(Copy(C2, AWAY + "/1", "0/0"))),
            ("ds=2", placed(Copy(C2, AWAY + "/2", "0/0"))),
        )
        expression = Struct({1: (STRING, "ds=2")})
        parts = Struct({1: (LIST, strings(["ds=1"])), 2: (LIST, Items(STRUCT, [expression]))})
        call(view[C1], "drop_partitions_req", {1: (STRUCT, Struct(named((STRUCT, parts))))})
        recorded = json.loads(left.read_text().splitlines()[0])["left"]
        assert [each["what"] for each in recorded] == ["default.t@ds=1", "default.t@ds=2"]
        assert hms.partitions[REF] == {}


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

    def test_and_is_refused_elsewhere(self, hms, view) -> None:
        hms.add(table(placed()))
        fields = named((BOOL, 1)) | {CLUSTER_FIELD: (STRING, C2)}
        with pytest.raises(MetastoreRefused, match="CW350"):
            call(view[C1], "drop_table_on_cluster", fields, 2)


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
        while _opened:
            _opened.pop().close()
        end = time.monotonic() + 30
        while hms.open_connections and time.monotonic() < end:
            time.sleep(0.01)
        assert not hms.open_connections
