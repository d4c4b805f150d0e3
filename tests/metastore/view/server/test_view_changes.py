"""Changes of tables through a view: what is refused, and what is left to sweep."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conf.names import TableRef
from conf.placement import Copy, Placement, read_placement, write_placement
from metastore.client.types import Partition, Table
from metastore.errors import MalformedReply, MetastoreRefused
from tests.metastore.view.server.view_calls import (
    AWAY,
    HOME,
    KEYS,
    REF,
    call,
    client,
    named,
    partition,
    placed,
    table,
)
from tests.metastore.writable import C1, C2, C3
from thriftcodec.values import BOOL, LIST, MAP, STRING, STRUCT, Items, Struct, string_map, strings


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
