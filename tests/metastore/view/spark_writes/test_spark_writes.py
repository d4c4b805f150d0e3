"""`causeway_write`: the guard's call before and after Spark writes ends the copies of all that the
write may touch (D10, D15)."""

from collections.abc import Mapping, Sequence

import pytest

from conf.names import TableRef
from conf.placement import Copy, read_placement
from conf.topology import Endpoint
from metastore.client.changes.view_sync import ViewSync
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Partition, Table
from metastore.errors import MetastoreRefused
from metastore.placement.placement_store import PlacementStore
from tests.metastore.view.server.view_calls import AWAY, HOME, KEYS, REF, placed, table
from tests.metastore.view.spark_writes.copied_tables import OTHER, days, fresh
from tests.metastore.writable import C1, C2, C3
from thriftcodec.values import LIST, MAP, STRING, Struct, string_map, strings


def write(
    endpoint: Endpoint,
    ref: TableRef | None = None,
    spec: Mapping[str, str] | None = None,
    paths: Sequence[str] = (),
    marks: Sequence[str] = (),
) -> None:
    arguments = Struct({3: (MAP, string_map(spec or {}))})
    if ref is not None:
        arguments.set(1, STRING, ref.db)
        arguments.set(2, STRING, ref.name)
    arguments.set(4, LIST, strings(paths))
    arguments.set(5, LIST, strings(marks))
    with HmsClient((endpoint,), 60.0) as client:
        client.call("causeway_write", arguments)


def test_a_write_of_a_table_ends_its_copies(hms, view) -> None:
    hms.add(table(placed(Copy(C2, AWAY, "0"))))
    assert fresh(hms)
    write(view[C1], REF, paths=[HOME])
    assert not fresh(hms)


def test_a_write_of_a_partition_ends_the_copies_of_that_one(hms, view) -> None:
    days(hms, 1, 2)
    before = read_placement(Table(hms.tables[REF]).parameters, C1).facts
    write(view[C1], REF, {"DS": "1"}, [HOME])
    assert (fresh(hms, "1"), fresh(hms, "2")) == (False, True)
    assert read_placement(Table(hms.tables[REF]).parameters, C1).facts != before


@pytest.mark.parametrize("exceptions", [True, False])
def test_a_dynamic_write_ends_all_with_one_alter(hms, view, exceptions: bool) -> None:
    days(hms, 1, 2, exceptions=exceptions)
    write(view[C1], REF, {}, [HOME])
    assert not fresh(hms, "1")
    assert not fresh(hms, "2")
    assert hms.calls["alter_partitions_with_environment_context"] == 0


def test_a_value_that_may_be_spelled_otherwise_ends_all(hms, view) -> None:
    made = table(placed(exceptions=frozenset({"ds=1"})), [("ds", "int")])
    hms.add(made, ("ds=1", placed(Copy(C2, AWAY, "0/0"))))
    write(view[C1], REF, {"ds": "01"})
    assert not fresh(hms, "1")


def test_a_write_ends_the_copy_of_the_whole_table(hms, view) -> None:
    """A Hudi table, which is copied as a whole."""
    hms.add(table(placed(Copy(C2, AWAY, "0"), exceptions=frozenset()), KEYS), ("ds=1", {}))
    write(view[C1], REF, {"ds": "1"})
    assert not fresh(hms)


class TestMarks:
    """A mark of another partition, or of a proxy that died, is not the write's own."""

    def test_of_another_partition(self, hms, view) -> None:
        days(hms, 1, 2)
        with HmsClient((hms.endpoint,), 60.0) as client:
            PlacementStore(client, C1).open_write(REF, "other", ["ds=1"], 0, "proxy")
        write(view[C1], REF, {"ds": "2"})
        with HmsClient((hms.endpoint,), 60.0) as client:
            PlacementStore(client, C1).close_write(REF, "other", ["ds=1"])
        assert not fresh(hms, "2")

    def test_of_a_dead_proxy_ends_no_more_than_it_wrote(self, hms, view) -> None:
        days(hms, 1, 2)
        with HmsClient((hms.endpoint,), 60.0) as client:
            facts = PlacementStore(client, C1)
            facts.open_write(REF, "dead", ["ds=1"], 0, "proxy")
            write(view[C1], REF, {"ds": "1"})
            facts.change_table(REF, lambda old: old.closed("dead", "unused"))
        assert not fresh(hms, "1")

    def test_its_own_mark_makes_the_call_cheap(self, hms, view) -> None:
        days(hms, 1)
        with HmsClient((hms.endpoint,), 60.0) as client:
            PlacementStore(client, C1).open_write(REF, "own", ["ds=1"], 0, "proxy")
            alters = sum(count for name, count in hms.calls.items() if name.startswith("alter"))
            write(view[C1], REF, {"ds": "1"}, marks=["own"])
            after = sum(count for name, count in hms.calls.items() if name.startswith("alter"))
            assert after == alters
            PlacementStore(client, C1).close_write(REF, "own", ["ds=1"])
        assert not fresh(hms, "1")

    def test_its_own_mark_names_a_partition_with_a_number_as_key(self, hms, view) -> None:
        made = table(placed(exceptions=frozenset({"ds=1", "ds=2"})), [("ds", "int")])
        copies = [(f"ds={n}", placed(Copy(C2, f"{AWAY}/{n}", "0/0"))) for n in (1, 2)]
        hms.add(made, *copies)
        with HmsClient((hms.endpoint,), 60.0) as client:
            PlacementStore(client, C1).open_write(REF, "own", ["ds=1"], 0, "proxy")
            write(view[C1], REF, {"ds": "01"}, marks=["own"])
            PlacementStore(client, C1).close_write(REF, "own", ["ds=1"])
        assert (fresh(hms, "1"), fresh(hms, "2")) == (False, True)

    def test_its_own_mark_of_one_partition_does_not_cover_all(self, hms, view) -> None:
        days(hms, 1, 2)
        with HmsClient((hms.endpoint,), 60.0) as client:
            PlacementStore(client, C1).open_write(REF, "own", ["ds=1"], 0, "proxy")
            write(view[C1], REF, {}, marks=["own"])
            PlacementStore(client, C1).close_write(REF, "own", ["ds=1"])
        assert not fresh(hms, "2")


class TestPaths:
    @pytest.mark.parametrize(
        "path",
        [
            HOME,
            f"{HOME}/",
            f"{HOME}/part-0",
            "hdfs://c1:8020/warehouse",
            "hdfs://C1/warehouse/./t",
            "webhdfs://c1.example.org:9870/warehouse/x/../t/sub",
        ],
    )
    def test_at_under_or_above_a_table_end_its_copies(self, hms, view, path: str) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        write(view[C1], paths=[path])
        assert not fresh(hms)

    @pytest.mark.parametrize(
        "path", ["hdfs://c1:8020/warehouse/t2", "hdfs://c1:8020/w", "s3a://b/warehouse/t"]
    )
    def test_elsewhere_leave_them(self, hms, view, path: str) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        write(view[C1], paths=[path])
        assert fresh(hms)

    def test_in_the_folder_of_a_table_of_iceberg_leave_its_copies(self, hms, view) -> None:
        """Only a commit makes a file a part of the table, and it has metadata of another name."""
        copy = Copy(C2, AWAY, "0", metadata=f"{AWAY}/metadata/5.json")
        hms.add(table({**placed(copy), "metadata_location": f"{HOME}/metadata/5.json"}))
        write(view[C1], paths=[f"{HOME}/data"])
        assert fresh(hms)
        write(view[C1], REF)
        assert not fresh(hms)

    def test_of_a_second_table_on_the_folder_end_the_first_ones(self, hms, view) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        alias = table(placed())
        alias.set_text(1, "other")
        hms.add(alias)
        write(view[C1], OTHER, paths=[HOME])
        assert not fresh(hms)

    def test_in_a_partition_end_the_copies_of_that_one(self, hms, view) -> None:
        days(hms, 1, 2)
        write(view[C1], paths=[f"{HOME}/ds=1"])
        assert (fresh(hms, "1"), fresh(hms, "2")) == (False, True)
        write(view[C1], paths=[HOME])
        assert not fresh(hms, "2")

    def test_in_a_partition_that_lies_elsewhere(self, hms, view) -> None:
        days(hms, 1, 2)
        Partition(hms.partitions[REF]["ds=1"]).location = "hdfs://c1:8020/elsewhere"
        write(view[C1], paths=["hdfs://c1:8020/elsewhere/file"])
        assert (fresh(hms, "1"), fresh(hms, "2")) == (False, True)

    def test_in_a_table_with_more_copies_than_it_can_name_end_all(self, hms, view) -> None:
        days(hms, 1, 2, exceptions=False)
        write(view[C1], paths=[f"{HOME}/ds=1"])
        assert not fresh(hms, "1")

    def test_in_the_folder_of_a_copy_are_refused(self, hms, view) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        with pytest.raises(MetastoreRefused, match=r"CW350.*copy of table default\.t"):
            write(view[C2], paths=[f"{AWAY}/x"])
        assert fresh(hms)

    def test_in_a_partition_of_another_primary_are_refused(self, hms, view) -> None:
        hms.add(table(placed(exceptions=frozenset({"ds=1"})), KEYS))
        facts = placed(Copy(C3, "hdfs://c3:8020/x", "0/0"), primary=C2)
        hms.add(Table(hms.tables[REF]), ("ds=1", facts))
        with pytest.raises(MetastoreRefused, match=r"CW350.*partition ds=1"):
            write(view[C1], paths=[f"{HOME}/ds=1"])

    def test_by_the_primary_in_another_clusters_folder_of_the_same_name(self, hms, view) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        write(view[C2], paths=["hdfs://c2:8020/warehouse/t"])
        assert fresh(hms)


class TestIndex:
    def test_knows_a_copy_that_is_published_later(self, hms, view) -> None:
        hms.add(table(placed()))
        write(view[C1], paths=["hdfs://c1:8020/x"])
        with ViewSync([view[C1]], 60.0) as sync, HmsClient((hms.endpoint,), 60.0) as client:
            facts = PlacementStore(client, C1, sync)
            facts.change_table(REF, lambda old: old.with_copy(Copy(C2, AWAY, old.version)))
        assert fresh(hms)
        write(view[C1], paths=[f"{HOME}/x"])
        assert not fresh(hms)

    def test_paths_of_no_object_need_no_call(self, hms, view) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        write(view[C1], paths=["hdfs://c1:8020/x"])
        before = sum(hms.calls.values())
        write(view[C1], paths=["hdfs://c1:8020/x"])
        assert sum(hms.calls.values()) == before

    def test_survives_a_table_with_unreadable_facts(self, hms, view) -> None:
        broken = table({"causeway.copy.c2": "?"})
        broken.set_text(1, "other")
        hms.add(broken)
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        write(view[C1], paths=[HOME])
        assert not fresh(hms)

    def test_follows_a_renamed_table(self, hms, view) -> None:
        days(hms, 1)
        write(view[C1], paths=["hdfs://c1:8020/x"])
        with HmsClient((view[C1],), 60.0) as client:
            sent = client.get_table(REF)
            sent.set_text(1, "other")
            client.alter_table(REF, sent)
        hms.partitions[OTHER] = hms.partitions.get(OTHER) or hms.partitions.pop(REF)
        write(view[C1], paths=[f"{HOME}/ds=1"])
        assert not fresh(hms, "1", OTHER)

    def test_forgets_a_dropped_database(self, hms, view) -> None:
        hms.add(table(placed(Copy(C2, AWAY, "0"))))
        write(view[C1], paths=["hdfs://c1:8020/x"])
        with HmsClient((view[C1],), 60.0) as client:
            client.drop_database("default", cascade=True)
        write(view[C1], paths=[HOME])
