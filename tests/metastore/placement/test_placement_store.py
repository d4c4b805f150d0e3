"""Changing facts where another process may write in between."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from conf.names import ClusterName, TableRef
from conf.placement import (
    Copy,
    Placement,
    read_partition_placement,
    read_placement,
    write_placement,
)
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Partition, Table
from metastore.errors import ChangedMeanwhile, UnreadableFacts
from metastore.placement import placement_store
from metastore.placement.placement_store import ATTEMPTS, PlacementStore, table_lock
from tests.metastore.fake import FakeMetastore

C1, C2, C3 = (ClusterName(name) for name in ("C1", "C2", "C3"))
REF = TableRef("default", "t")


def _table(parameters: dict[str, str] | None = None, *, parted: bool = False) -> Table:
    keys = [("ds", "string")] if parted else []
    return Table.make(REF, [("id", "int")], partition_keys=keys, parameters=parameters)


@pytest.fixture
def facts(metastore: FakeMetastore) -> Iterator[PlacementStore]:
    with HmsClient([metastore.endpoint], 60) as client:
        yield PlacementStore(client, C1)


def _stored(metastore: FakeMetastore) -> Placement:
    return read_placement(Table(metastore.tables[REF]).parameters, C1)


def _copy(cluster: ClusterName, of: str = "0") -> Copy:
    return Copy(cluster, f"file:/{cluster}", of)


def test_a_change_that_another_process_overwrote_is_made_again(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    metastore.add(_table({"comment": "x"}))
    overwritten = []

    def overwrite(method: str) -> None:
        """Spark sends back the parameters that it read before our mark was there."""
        written = metastore.calls["alter_table_with_environment_context"]
        if method == "get_table" and written and not overwritten:
            overwritten.append(Table(metastore.tables[REF]).parameters)
            Table(metastore.tables[REF]).parameters = {"comment": "y"}

    metastore.before = overwrite
    facts.open_write(REF, "a", None, 0, "me")
    assert overwritten
    assert _stored(metastore).writing
    assert Table(metastore.tables[REF]).parameters["comment"] == "y"


def test_a_change_that_never_holds_is_given_up(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    metastore.add(_table())

    def overwrite(method: str) -> None:
        Table(metastore.tables[REF]).parameters = {}

    metastore.before = overwrite
    with pytest.raises(ChangedMeanwhile):
        facts.open_write(REF, "a", None, 0, "me")
    assert metastore.calls["alter_table_with_environment_context"] == ATTEMPTS


def test_a_change_that_exists_writes_nothing(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    metastore.add(_table())
    facts.change_table(REF, lambda old: old.with_copy(_copy(C3)).with_copy(_copy(C2)))
    before = metastore.calls["alter_table_with_environment_context"]
    facts.change_table(REF, lambda old: old.with_copy(_copy(C2)))
    assert metastore.calls["alter_table_with_environment_context"] == before == 1


def test_a_table_is_no_longer_uniform_before_a_partition_gets_a_copy(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    metastore.add(_table({"causeway.partitions": "uniform"}, parted=True), ("ds=1", {}))

    def look(method: str) -> None:
        if method == "alter_partitions_with_environment_context":
            assert not _stored(metastore).uniform

    metastore.before = look
    changed = facts.change_partitions(
        REF, ["ds=1", "ds=9"], lambda _, old: old.with_copy(_copy(C2, old.version))
    )
    assert changed == 1
    own = Partition(metastore.partitions[REF]["ds=1"]).parameters
    assert read_placement(own, C1).copies == (_copy(C2, "0/0"),)


def test_a_partition_is_named_as_an_exception_before_it_gets_a_copy(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    metastore.add(_table({"causeway.partitions": '["ds=0"]'}, parted=True), ("ds=1", {}))

    def look(method: str) -> None:
        if method == "alter_partitions_with_environment_context":
            assert _stored(metastore).exceptions == {"ds=0", "ds=1"}

    metastore.before = look
    facts.change_partitions(REF, ["ds=1"], lambda _, old: old.with_copy(_copy(C2, old.version)))
    assert metastore.calls["alter_partitions_with_environment_context"] == 1


def test_a_table_with_too_many_exceptions_to_name_names_none(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    metastore.add(_table({"causeway.partitions": "uniform"}, parted=True), ("ds=1", {}))
    names = ["ds=1", *(f"ds=never-{day:08}" for day in range(1000))]
    facts.change_partitions(REF, names, lambda _, old: old.with_copy(_copy(C2, old.version)))
    assert _stored(metastore).exceptions is None
    facts.change_partitions(REF, ["ds=1"], lambda _, old: old.without_copy(C2))
    assert _stored(metastore).exceptions is None


def test_exceptions_without_facts_are_removed_from_a_full_list(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    old = [f"ds={number:04}{'x' * 100}" for number in range(74)]
    copied = write_placement(Placement(C1).with_copy(_copy(C2, "0/0")))
    table = _table(write_placement(Placement(C1, exceptions=frozenset(old))), parted=True)
    metastore.add(table, (old[0], copied), (old[1], {}), *((f"ds={n}", {}) for n in range(9)))
    names = [f"ds={n}" for n in range(9)]
    facts.change_partitions(REF, names, lambda _, now: now.with_copy(_copy(C2, now.version)))
    assert _stored(metastore).exceptions == {*names, *old}, "there is room"
    more = f"ds={'y' * 200}"
    facts.change_partitions(REF, [more], lambda _, now: now)
    assert _stored(metastore).exceptions == {*names, old[0], more}


def test_facts_of_partitions_renew_the_tables_id(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    metastore.add(_table(parted=True), ("ds=1", {}))
    ids = [_stored(metastore).facts]
    for of in ("0/0", "0/1"):
        facts.change_partitions(REF, ["ds=1"], lambda _, old, of=of: old.with_copy(_copy(C2, of)))
        ids.append(_stored(metastore).facts)
    assert len(set(ids)) == 3


def test_a_write_that_crosses_a_change_leaves_no_fresh_copy(
    metastore: FakeMetastore, facts: PlacementStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our alter sends back the id that the partition had before the write ended, in a process that
    has no locks."""
    monkeypatch.setattr(placement_store, "table_lock", lambda _: nullcontext())
    own = write_placement(Placement(C1).with_copy(_copy(C2, "0/0")))
    metastore.add(_table(parted=True), ("ds=1", own))
    crossing = []

    def write(method: str) -> None:
        if method == "alter_partitions_with_environment_context" and not crossing:
            crossing.append(method)
            with HmsClient([metastore.endpoint], 60) as client:
                other = PlacementStore(client, C1)
                other.open_write(REF, "w", ["ds=1"], 0, "other")
                other.close_write(REF, "w", ["ds=1"])

    metastore.before = write
    with pytest.raises(ChangedMeanwhile):
        facts.change_partitions(REF, ["ds=1"], lambda _, old: old.with_copy(_copy(C3, old.version)))
    assert crossing
    table = _stored(metastore)
    parameters = Partition(metastore.partitions[REF]["ds=1"]).parameters
    replicas = read_partition_placement(parameters, table, "ds=1").replicas()
    assert replicas.fresh == frozenset()


def test_the_end_of_a_write_with_a_missing_mark(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    metastore.add(_table(write_placement(Placement(C1).with_copy(_copy(C2))), parted=True))
    facts.close_write(REF, "lost", frozenset(["ds=1"]))
    assert _stored(metastore).write != "0"
    assert _stored(metastore).replicas().stale == {C2}


def test_a_table_that_names_its_primary_is_not_claimed(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    metastore.add(_table({"causeway.primary": "C2"}))
    assert facts.claim(REF, C1).primary == C2
    assert metastore.calls["alter_table_with_environment_context"] == 0


def test_unreadable_facts(metastore: FakeMetastore, facts: PlacementStore) -> None:
    metastore.add(_table({"causeway.open.a": "?"}))
    with pytest.raises(UnreadableFacts, match=r"default\.t"):
        facts.table(REF)


def test_a_table_has_one_lock() -> None:
    first = table_lock(REF)
    assert table_lock(REF) is first
    assert table_lock(TableRef("default", "u")) is not first
