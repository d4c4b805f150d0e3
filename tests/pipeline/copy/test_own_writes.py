"""Writes of the pipeline, and the secondary copies of what they change."""

from dataclasses import replace
from typing import Any, cast

import pytest

from conf.names import ClusterName, TableRef
from conf.placement import Copy, Placement, read_partition_placement, read_placement
from metastore.client.types import Partition, Table
from metastore.errors import MetastoreDown
from metastore.placement.placement_store import PlacementStore
from pipeline.copy.own_writes import after_write, end_left_writes, partition_write
from tests.pipeline.copy.fakes import Effects, FakeMetastore

T, C1, C2 = TableRef("d", "t"), ClusterName("c1"), ClusterName("c2")
ONE, TWO = "ds=1", "ds=2"


@pytest.fixture
def metastore() -> FakeMetastore:
    """A partitioned table with two partitions."""
    made = FakeMetastore(Effects())
    table = Table.make(T, (), location="file:///t", partition_keys=(("ds", "string"),))
    made.add_table(table)
    for name in (ONE, TWO):
        made.parts[T][name] = Partition.make(table, [name[-1]], f"file:///t/{name}", {})
    return made


def _facts(metastore: FakeMetastore) -> PlacementStore:
    return PlacementStore(cast(Any, metastore), C1)


def _copied(placed: Placement) -> Placement:
    return placed.with_copy(Copy(C2, "file:///c2", placed.version))


def _fresh(metastore: FakeMetastore) -> dict[str, bool]:
    table = read_placement(metastore.tables[T].parameters, C1)
    found = {}
    for name, part in metastore.parts[T].items():
        placement = read_partition_placement(part.parameters, table, name)
        found[name] = any(placement.is_fresh(each) for each in placement.copies)
    return found


def test_a_table_without_facts_gets_none(metastore: FakeMetastore) -> None:
    with partition_write(cast(Any, metastore), T, [ONE], changes=True, by="x"):
        pass
    assert metastore.tables[T].parameters == {}
    assert after_write({"a": "b"}) == {"a": "b"}


@pytest.mark.parametrize("fails", [False, True])
def test_copies_of_the_partitions_are_stale_from_the_begin_on(
    metastore: FakeMetastore, fails: bool
) -> None:
    facts = _facts(metastore)
    facts.change_partitions(T, [ONE, TWO], lambda _, old: _copied(old))
    before = read_placement(metastore.tables[T].parameters, C1).facts
    assert _fresh(metastore) == {ONE: True, TWO: True}
    try:
        with partition_write(cast(Any, metastore), T, [ONE], changes=True, by="x"):
            assert _fresh(metastore) == {ONE: False, TWO: True}
            if fails:
                raise MetastoreDown("no answer")
    except MetastoreDown:
        assert fails
    assert _fresh(metastore) == {ONE: False, TWO: True}
    after = read_placement(metastore.tables[T].parameters, C1)
    assert not after.open
    assert after.facts != before, "caches read the partitions again"


def test_new_partitions_end_no_copies_of_others(metastore: FakeMetastore) -> None:
    _facts(metastore).change_partitions(T, [TWO], lambda _, old: _copied(old))
    before = dict(metastore.tables[T].parameters)
    with partition_write(cast(Any, metastore), T, [ONE], changes=False, by="x"):
        pass
    assert metastore.tables[T].parameters == before


@pytest.mark.parametrize("changes", [False, True])
def test_a_copy_of_the_whole_table_is_stale_after_any_write(
    metastore: FakeMetastore, changes: bool
) -> None:
    facts = _facts(metastore)
    facts.change_table(T, lambda old: _copied(replace(old, exceptions=frozenset())))
    with partition_write(cast(Any, metastore), T, [ONE], changes=changes, by="x"):
        pass
    _, after = facts.table(T)
    assert not any(after.is_fresh(each) for each in after.copies)
    assert not after.open


def test_the_mark_of_a_dead_run_ends_with_the_next_run_for_its_partitions(
    metastore: FakeMetastore,
) -> None:
    facts = _facts(metastore)
    facts.change_partitions(T, [ONE, TWO], lambda _, old: _copied(old))
    facts.open_write(T, "statement", [ONE], 0, "proxy")
    for kill in ([ONE], [ONE, TWO]):
        write = partition_write(cast(Any, metastore), T, kill, changes=True, by="x")
        write.__enter__()  # and no more: the process is gone
    end_left_writes(cast(Any, metastore), T, [ONE])
    left = read_placement(metastore.tables[T].parameters, C1).open
    names = {each.partitions for each in left if each.id != "statement"}
    assert len(left) == 2
    assert names == {frozenset({ONE, TWO})}, "its other partitions are not known to be written"
    end_left_writes(cast(Any, metastore), T, [ONE, TWO, "ds=3"])
    (other,) = read_placement(metastore.tables[T].parameters, C1).open
    assert other.id == "statement"
    facts.close_write(T, "statement", [ONE])
    assert _fresh(metastore) == {ONE: False, TWO: False}


def test_one_alter_makes_copies_of_replaced_data_stale() -> None:
    placed = _copied(Placement(C1))
    parameters = {"causeway.primary": "c1", "causeway.write": "0"}
    after = read_placement(after_write(parameters), C1)
    assert not after.is_fresh(placed.copies[0])
