"""The metastore as the console reads it: bounded, and of this moment."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from conf.names import ClusterName, TableRef
from console.errors import SourceDown
from console.sources import metastore_client
from console.sources.metastore_client import MetastoreClient, NoSuchTable
from metastore.client.types import Table
from tests.console.fake_sources import settings_of
from tests.metastore.fake import FakeMetastore

COPY = '{"location": "file:/west/t", "of": "%s"}'


@pytest.fixture
def metastore() -> Iterator[FakeMetastore]:
    fake = FakeMetastore()
    yield fake
    fake.stop()


def add(
    metastore: FakeMetastore, name: str, *partitions: tuple[str, dict[str, str]], **more: Any
) -> None:
    keys = [("ds", "string")] if partitions else []
    parameters = {"causeway.primary": "east", "causeway.write": "1"} | more.pop("parameters", {})
    table = Table.make(
        TableRef("default", name),
        [("id", "int")],
        location=f"file:/east/{name}",
        partition_keys=keys,
        parameters=parameters,
        **more,
    )
    metastore.add(table, *partitions)


def run(metastore: FakeMetastore, *calls: str, **arguments: Any) -> list[Any]:
    """The results of calls of one client."""
    uris = f"thrift://{metastore.endpoint}"

    async def asked() -> list[Any]:
        client = MetastoreClient(settings_of(hive__metastore__uris=uris))
        try:
            return [await getattr(client, call)(**arguments) for call in calls]
        finally:
            await client.close()

    return asyncio.run(asked())


def test_tables_have_their_copies_and_views_are_left_out(metastore: FakeMetastore) -> None:
    add(metastore, "orders", parameters={"causeway.copy.west": COPY % "1"})
    add(metastore, "items")
    add(metastore, "seen", kind="VIRTUAL_VIEW")
    add(metastore, "parted", ("ds=1", {"causeway.copy.west": COPY % "1/0"}), ("ds=2", {}))
    [found] = run(metastore, "tables")
    assert [str(each.table) for each in found.tables] == [
        "default.items",
        "default.orders",
        "default.parted",
    ]
    assert (found.total, found.complete) == (3, True)
    assert found.clusters == ("east", "west")
    states = [[bool(p.copies) for p in each.objects] for each in found.tables]
    assert states == [[False], [True], [True, False]]


def test_tables_are_found_by_a_part_of_their_names(metastore: FakeMetastore) -> None:
    add(metastore, "orders")
    add(metastore, "items")
    [found] = run(metastore, "tables", search="ORDER")
    assert [each.table.name for each in found.tables] == ["orders"]
    [none] = run(metastore, "tables", database="default", search="x")
    assert (none.tables, none.total) == ((), 0)


def test_a_table_with_many_partitions_is_named_and_not_read(
    metastore: FakeMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metastore_client, "MAX_PARTITIONS", 2)
    add(metastore, "big", *((f"ds={number}", {}) for number in range(3)))
    add(metastore, "small", ("ds=1", {}), ("ds=2", {}))
    [found] = run(metastore, "tables")
    assert found.many == (TableRef("default", "big"),)
    assert [each.table.name for each in found.tables] == ["small"]
    assert found.complete


def test_of_many_tables_only_the_first_are_read(
    metastore: FakeMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metastore_client, "MAX_TABLES", 2)
    for name in "abc":
        add(metastore, name)
    [found] = run(metastore, "tables")
    assert ([each.table.name for each in found.tables], found.total) == (["a", "b"], 3)
    assert not found.complete


def test_facts_that_cannot_be_read_are_named(metastore: FakeMetastore) -> None:
    add(metastore, "bad", parameters={"causeway.copy.west": "{"})
    add(metastore, "good")
    [found] = run(metastore, "tables")
    assert [str(ref) for ref, _ in found.broken] == ["default.bad"]
    assert "causeway.copy.west" in found.broken[0][1]
    assert [each.table.name for each in found.tables] == ["good"]


def test_a_table_has_the_states_of_all_its_partitions(metastore: FakeMetastore) -> None:
    fresh, stale = {"causeway.copy.west": COPY % "1/0"}, {"causeway.copy.west": COPY % "0/0"}
    add(metastore, "parted", ("ds=10", fresh), ("ds=9", stale), ("ds=11", {}))
    [found] = run(metastore, "table", ref=TableRef("default", "parted"))
    assert found.states is not None
    assert found.states.names == ["ds=9", "ds=10", "ds=11"]
    west = [found.states.kinds[group][1].value for group in found.states.groups]
    assert west == ["stale", "fresh", "absent"]
    counted = {each.cluster: each for each in found.sums}
    assert counted[ClusterName("west")].stale == 1
    assert found.location == "file:/east/parted"


def test_answers_are_shared_for_a_moment(metastore: FakeMetastore) -> None:
    add(metastore, "orders")
    first, second = run(metastore, "tables", "tables")
    assert first is second


def test_a_table_that_is_not_there_and_a_metastore_that_is_down(metastore: FakeMetastore) -> None:
    with pytest.raises(NoSuchTable):
        run(metastore, "table", ref=TableRef("default", "none"))
    metastore.stop()
    with pytest.raises(SourceDown, match="the metastore"):
        run(metastore, "tables")
