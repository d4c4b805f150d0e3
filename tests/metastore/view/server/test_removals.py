"""Calls by which the metastore deletes or moves a folder end the copies of all other tables in it
or around it, from before the call until after it (D10, D15)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from conf.names import TableRef
from conf.placement import Copy, Placement, read_placement, write_placement
from conf.topology import Endpoint
from metastore.client.changes.view_sync import ViewSync
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Partition, Table
from metastore.errors import MetastoreDown, MetastoreRefused
from metastore.placement.placement_store import PlacementStore
from tests.metastore.view.server.view_calls import AWAY, HOME, KEYS, REF, call, named, placed
from tests.metastore.view.spark_writes.copied_tables import OTHER, days, fresh
from tests.metastore.writable import C1, C2, WritableMetastore, views
from thriftcodec.values import BOOL, LIST, STRING, STRUCT, Struct, strings

SHARED = ["hdfs://c1:8020/warehouse/t", f"{HOME}/inner", "hdfs://c1/warehouse"]
"""The folder of the other table: the same, in it, around it."""


@pytest.fixture
def view(hms: WritableMetastore) -> Iterator[Mapping[str, Endpoint]]:
    with views(hms) as listening:
        yield listening


def made(ref: TableRef, location: str, facts: Mapping[str, str], keys: Any = ()) -> Table:
    table = Table.make(ref, [("a", "int")], location=location, partition_keys=list(keys))
    table.parameters = dict(facts)
    return table


def other(hms: WritableMetastore, location: str = HOME) -> None:
    """A table with a copy."""
    hms.add(made(OTHER, location, placed(Copy(C2, AWAY, "0"))))


def partitioned(hms: WritableMetastore) -> None:
    hms.add(made(REF, HOME, placed(), KEYS), ("ds=1", {}))


def partition() -> Struct:
    table = made(REF, HOME, {}, KEYS)
    return Partition.make(table, ["2"], f"{HOME}/ds=2", {}).struct


def renamed(view: Endpoint) -> None:
    with HmsClient((view,), 60.0) as client:
        sent = client.get_table(REF)
        sent.set_text(1, "new")
        client.alter_table(REF, sent)


def exchanged(view: Endpoint) -> None:
    names = ["default", "t", "default", "target"]
    fields: dict[int, Any] = {number: (STRING, name) for number, name in enumerate(names, 2)}
    call(view, "exchange_partitions", fields, 1)


def drop_request(deletes: int) -> Struct:
    parts = Struct({1: (LIST, strings(["ds=1"]))})
    fields = {1: (STRING, "default"), 2: (STRING, "t"), 3: (STRUCT, parts), 4: (BOOL, deletes)}
    return Struct(fields)


Change = Callable[[Endpoint], Any]
OF_TABLE: dict[str, Change] = {
    "drop_table": lambda view: call(view, "drop_table", named((BOOL, 1)), 1),
    "drop_table_with_environment_context": lambda view: call(
        view, "drop_table_with_environment_context", named((BOOL, 1)), 1
    ),
    "alter_table_with_environment_context": renamed,
    "truncate_table": lambda view: call(view, "truncate_table", named((LIST, strings([]))), 1),
    "drop_database": lambda view: call(
        view, "drop_database", {1: (STRING, "default"), 2: (BOOL, 1), 3: (BOOL, 1)}, 3
    ),
}
OF_PARTITION: dict[str, Change] = {
    "drop_partition_by_name": lambda view: call(
        view, "drop_partition_by_name", named((STRING, "ds=1"), (BOOL, 1)), 2
    ),
    "drop_partitions_req": lambda view: call(
        view, "drop_partitions_req", {1: (STRUCT, drop_request(1))}, 2
    ),
    "rename_partition": lambda view: call(
        view, "rename_partition", named((LIST, strings(["1"])), (STRUCT, partition())), 2
    ),
    "exchange_partitions": exchanged,
    "truncate_table": lambda view: call(
        view, "truncate_table", named((LIST, strings(["ds=1"]))), 1
    ),
}
KEEPING: dict[str, Change] = {
    "drop_table": lambda view: call(view, "drop_table", named((BOOL, 0)), 1),
    "drop_partition_by_name": lambda view: call(
        view, "drop_partition_by_name", named((STRING, "ds=1"), (BOOL, 0)), 2
    ),
    "drop_partitions_req": lambda view: call(
        view, "drop_partitions_req", {1: (STRUCT, drop_request(0))}, 2
    ),
}


class Watched:
    """Whether the other table's copy was fresh when the metastore got a call."""

    def __init__(self, hms: WritableMetastore, method: str, ref: TableRef = OTHER) -> None:
        self.fresh: list[bool] = []

        def before(called: str) -> None:
            if called == method and not self.fresh:
                self.fresh.append(fresh(hms, ref=ref))

        hms.before = before


@pytest.mark.parametrize("location", SHARED)
@pytest.mark.parametrize("method", [name for name in OF_TABLE if name != "drop_database"])
def test_of_a_table(hms, view, method: str, location: str) -> None:
    hms.add(made(REF, HOME, placed()))
    other(hms, location)
    if method.startswith("alter"):
        renamed_while(hms, view)
    else:
        watched = Watched(hms, method)
        OF_TABLE[method](view[C1])
        assert watched.fresh == [False]
    assert not fresh(hms, ref=OTHER)
    assert not read_placement(Table(hms.tables[OTHER]).parameters, C1).open


def renamed_while(hms, view) -> None:
    """The rename comes after the mark, by the same method."""
    seen = []
    new = TableRef("default", "new")
    alter = hms.answer_of("alter_table_with_environment_context")

    def altered(arguments: Struct) -> None:
        if Table(arguments.get(3)).ref == new:
            seen.append(fresh(hms, ref=OTHER))
        alter(arguments)

    hms.answers["alter_table_with_environment_context"] = altered
    renamed(view[C1])
    assert seen == [False]


@pytest.mark.parametrize("method", OF_PARTITION)
def test_of_a_partition(hms, view, method: str) -> None:
    partitioned(hms)
    hms.add(made(TableRef("default", "target"), "hdfs://c1:8020/warehouse/target", placed(), KEYS))
    other(hms, f"{HOME}/ds=1")
    watched = Watched(hms, method)
    OF_PARTITION[method](view[C1])
    assert watched.fresh == [False]
    assert not fresh(hms, ref=OTHER)


def test_of_a_database_ends_the_copies_of_other_databases(hms, view) -> None:
    outside = TableRef("more", "x")
    hms.databases.add("more")
    hms.add(made(REF, HOME, placed()))
    hms.add(made(outside, f"{HOME}/x", placed(Copy(C2, AWAY, "0"))))
    watched = Watched(hms, "drop_database", outside)
    OF_TABLE["drop_database"](view[C1])
    assert watched.fresh == [False]
    assert not fresh(hms, ref=outside)


@pytest.mark.parametrize("location", ["hdfs://c1:8020/elsewhere", f"{HOME}/../../elsewhere"])
def test_of_a_partition_that_lies_outside_of_the_dropped_table(hms, view, location: str) -> None:
    partitioned(hms)
    Partition(hms.partitions[REF]["ds=1"]).location = location
    other(hms, "hdfs://c1:8020/elsewhere")
    OF_TABLE["drop_table"](view[C1])
    assert not fresh(hms, ref=OTHER)


def test_of_a_partition_around_another_one_of_its_table(hms, view) -> None:
    days(hms, 1, 2)
    Partition(hms.partitions[REF]["ds=2"]).location = f"{HOME}/ds=1/inner"
    OF_PARTITION["drop_partition_by_name"](view[C1])
    assert not fresh(hms, "2")


@pytest.mark.parametrize("method", KEEPING)
def test_without_files_leaves_them(hms, view, method: str) -> None:
    partitioned(hms)
    other(hms)
    KEEPING[method](view[C1])
    assert fresh(hms, ref=OTHER)


@pytest.mark.parametrize("purge", [False, True])
def test_of_an_external_table_only_if_it_is_purged(hms, view, purge: bool) -> None:
    table = made(REF, HOME, placed())
    table.set_text(12, "EXTERNAL_TABLE")
    more = {"external.table.purge": "true"} if purge else {}
    table.parameters = {**table.parameters, "EXTERNAL": "TRUE", **more}
    hms.add(table)
    other(hms)
    OF_TABLE["drop_table"](view[C1])
    assert fresh(hms, ref=OTHER) is not purge


def test_of_a_folder_beside_leaves_them(hms, view) -> None:
    hms.add(made(REF, HOME, placed(Copy(C2, f"{AWAY}/t", "0"))))
    other(hms, f"{HOME}2")
    OF_TABLE["drop_table"](view[C1])
    assert fresh(hms, ref=OTHER)
    assert hms.calls["alter_table_with_environment_context"] == 0


def test_of_a_folder_of_another_cluster_is_refused(hms, view) -> None:
    hms.add(made(REF, HOME, placed()))
    facts = Placement(C2, copies=(Copy(C1, f"{HOME}/copy", "0"),))
    hms.add(made(OTHER, "hdfs://c2:8020/warehouse/other", write_placement(facts)))
    with pytest.raises(MetastoreRefused, match=r"CW350.*copy of table default\.other"):
        OF_TABLE["drop_table"](view[C1])
    assert REF in hms.tables
    assert not read_placement(Table(hms.tables[OTHER]).parameters, C1).open


def test_a_copy_that_is_published_meanwhile_ends(hms, view) -> None:
    hms.add(made(REF, HOME, placed()))
    hms.add(made(OTHER, HOME, placed()))
    seen = []

    def before(called: str) -> None:
        if called != "drop_table":
            return
        with ViewSync([view[C1]], 60.0) as sync, HmsClient((hms.endpoint,), 60.0) as client:
            facts = PlacementStore(client, C1, sync)
            facts.change_table(OTHER, lambda old: old.with_copy(Copy(C2, AWAY, old.version)))
        seen.append(fresh(hms, ref=OTHER))

    hms.before = before
    OF_TABLE["drop_table"](view[C1])
    assert seen == [False]
    assert not fresh(hms, ref=OTHER)


def test_costs_one_small_call_if_no_table_shares_the_folder(hms, view) -> None:
    other(hms, "hdfs://c1:8020/x")
    hms.add(made(REF, HOME, placed()))
    OF_TABLE["drop_table"](view[C1])
    hms.add(made(REF, HOME, placed()))
    before = hms.calls.copy()
    OF_TABLE["drop_table"](view[C1])
    made_calls = hms.calls - before
    assert made_calls == {"get_table": 1, "drop_table": 1, "get_table_objects_by_name": 1}


def test_of_a_lost_metastore_leaves_the_marks(hms, view) -> None:
    """It may still delete."""
    hms.add(made(REF, HOME, placed()))
    other(hms)
    hms.before = lambda called: hms.drop_connections() if called == "drop_table" else None
    with pytest.raises((MetastoreDown, OSError)):
        OF_TABLE["drop_table"](view[C1])
    assert not fresh(hms, ref=OTHER)
    assert read_placement(Table(hms.tables[OTHER]).parameters, C1).open


@pytest.mark.parametrize("outside", [False, True])
def test_of_a_truncated_external_table(hms, view, outside: bool) -> None:
    """Hive's metastore deletes the files of external tables, too, when it truncates."""
    partitioned(hms)
    table = Table(hms.tables[REF])
    table.set_text(12, "EXTERNAL_TABLE")
    table.parameters = {**table.parameters, "EXTERNAL": "TRUE"}
    elsewhere = "hdfs://c1:8020/elsewhere"
    Partition(hms.partitions[REF]["ds=1"]).location = elsewhere
    other(hms, elsewhere if outside else HOME)
    OF_TABLE["truncate_table"](view[C1])
    assert not fresh(hms, ref=OTHER)
