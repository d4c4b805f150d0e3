"""What an operator may state of a table, and what is refused."""

from collections.abc import Iterator

import pytest

from conf.names import ClusterName, TableRef
from conf.placement import Copy, Placement, read_partition_placement, read_placement
from conf.topology import Cluster, Topology
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Partition, Table
from metastore.errors import BadTarget, NoSuchObject
from metastore.placement.assign import Assigned, Assignment, assign
from metastore.placement.placement_store import Change, PlacementStore
from tests.metastore.fake import FakeMetastore

C1, C2, C3 = (ClusterName(name) for name in ("C1", "C2", "C3"))
TOPOLOGY = Topology({name: Cluster(name, f"file:/{name}", ()) for name in (C1, C2, C3)}, C1)
PLAIN, PARTED = TableRef("default", "t"), TableRef("default", "p")


@pytest.fixture
def facts(metastore: FakeMetastore) -> Iterator[PlacementStore]:
    metastore.add(Table.make(PLAIN, [("id", "int")]))
    keys = [("ds", "string"), ("hr", "string")]
    names = [f"ds={day}/hr={hour}" for day in (1, 2) for hour in (1, 2)]
    metastore.add(
        Table.make(PARTED, [("id", "int")], partition_keys=keys), *((name, {}) for name in names)
    )
    with HmsClient([metastore.endpoint], 60) as client:
        yield PlacementStore(client, C1)


def _replicas(metastore: FakeMetastore, name: str):  # type: ignore[no-untyped-def]
    table = read_placement(Table(metastore.tables[PARTED]).parameters, C1)
    own = Partition(metastore.partitions[PARTED][name]).parameters
    return read_partition_placement(own, table, name)


def test_a_table_with_a_copy(metastore: FakeMetastore, facts: PlacementStore) -> None:
    wanted = Assignment(PLAIN, C2, copies={C3: "file:/C3/t"})
    assert assign(facts, wanted, TOPOLOGY) == Assigned(1, 0)
    placement = read_placement(Table(metastore.tables[PLAIN]).parameters, C1)
    assert (placement.primary, placement.replicas().fresh) == (C2, {C3})
    assign(facts, Assignment(PLAIN, gone=frozenset([C3])), TOPOLOGY)
    placement = read_placement(Table(metastore.tables[PLAIN]).parameters, C1)
    assert (placement.primary, placement.copies) == (C2, ())


def test_an_iceberg_table_gets_a_primary_and_no_copy(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    """D16"""
    table = Table(metastore.tables[PLAIN])
    table.parameters = {"table_type": "ICEBERG"}
    with pytest.raises(BadTarget, match="a table of Iceberg"):
        assign(facts, Assignment(PLAIN, C2, copies={C3: "file:/C3/t"}), TOPOLOGY)
    assert assign(facts, Assignment(PLAIN, C2), TOPOLOGY) == Assigned(1, 0)


def test_all_partitions_of_a_table(metastore: FakeMetastore, facts: PlacementStore) -> None:
    wanted = Assignment(PARTED, C1, copies={C2: "file:/C2/p/"})
    assert assign(facts, wanted, TOPOLOGY) == Assigned(1, 4)
    placement = _replicas(metastore, "ds=2/hr=1")
    assert placement.copy_in(C2) == Copy(C2, "file:/C2/p/ds=2/hr=1", placement.version)
    assert placement.replicas().fresh == {C2}


def test_one_partition_has_its_copy_at_the_given_location(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    wanted = Assignment(PARTED, C1, ("ds=1/hr=2",), {C2: "file:/elsewhere"})
    assert assign(facts, wanted, TOPOLOGY) == Assigned(0, 1)
    assert _replicas(metastore, "ds=1/hr=2").copy_in(C2).location == "file:/elsewhere"
    assert _replicas(metastore, "ds=1/hr=1").copies == ()


def test_partitions_by_some_of_their_values(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    assert assign(facts, Assignment(PARTED, C3, ("hr=1",)), TOPOLOGY) == Assigned(0, 2)
    assert _replicas(metastore, "ds=1/hr=1").primary == C3
    assert _replicas(metastore, "ds=1/hr=2").primary == C1


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (Assignment(PLAIN, ClusterName("C9")), "no cluster C9; there are C1, C2, C3"),
        (Assignment(PLAIN, C1, copies={C1: "file:/x"}), "C1 is the primary"),
        (Assignment(PLAIN, C1, ("ds=1",)), "not partitioned"),
        (Assignment(PARTED, C1, ("ds=7",)), "no partition ds=7"),
        (Assignment(PARTED, C1, ("day=1",)), "no partition key day"),
        (Assignment(PARTED, C1, ("ds",)), "not a partition name"),
        (Assignment(PARTED, C1, copies={C1: "file:/x"}), "C1 is the primary"),
    ],
)
def test_a_contradicting_assignment_is_refused_and_changes_nothing(
    metastore: FakeMetastore, facts: PlacementStore, wanted: Assignment, why: str
) -> None:
    with pytest.raises(BadTarget, match=why):
        assign(facts, wanted, TOPOLOGY)
    assert not any(name.startswith("alter") for name in metastore.calls)


def test_a_copy_becomes_the_primary_only_with_its_removal(facts: PlacementStore) -> None:
    assign(facts, Assignment(PLAIN, C1, copies={C2: "file:/x"}), TOPOLOGY)
    with pytest.raises(BadTarget, match="--no-copy C2"):
        assign(facts, Assignment(PLAIN, C2), TOPOLOGY)
    assign(facts, Assignment(PLAIN, C2, gone=frozenset([C2])), TOPOLOGY)


def test_a_table_that_is_being_written_has_no_fresh_copy(
    metastore: FakeMetastore, facts: PlacementStore
) -> None:
    facts.open_write(PARTED, "w", ["ds=1/hr=1"], 0, "proxy:1")
    wanted = Assignment(PARTED, C1, ("ds=1",), {C2: "file:/x"})
    with pytest.raises(BadTarget, match="proxy:1"):
        assign(facts, wanted, TOPOLOGY)
    assign(facts, Assignment(PARTED, C1, ("ds=2",), {C2: "file:/x"}), TOPOLOGY)
    ended = Assignment(PARTED, C1, ("ds=1",), {C2: "file:/x"}, end_writes=True)
    assign(facts, ended, TOPOLOGY)
    assert _replicas(metastore, "ds=1/hr=1").replicas().fresh == {C2}
    # Nobody knows what the lost writer wrote: copies made before are stale.
    assert _replicas(metastore, "ds=2/hr=1").replicas().stale == {C2}


@pytest.mark.parametrize("partitions", [(), ("ds=1",)])
def test_the_primary_of_what_is_being_written_does_not_change(
    metastore: FakeMetastore, facts: PlacementStore, partitions: tuple[str, ...]
) -> None:
    """Its writer would go on outside the primary."""
    assign(facts, Assignment(PARTED, C1), TOPOLOGY)
    facts.open_write(PARTED, "w", ["ds=1/hr=1"], 0, "proxy:1")
    with pytest.raises(BadTarget, match=r"proxy:1, so its primary cannot change.*--end-writes"):
        assign(facts, Assignment(PARTED, C2, partitions), TOPOLOGY)
    assert _replicas(metastore, "ds=1/hr=1").primary == C1
    assign(facts, Assignment(PARTED, C1, partitions), TOPOLOGY)  # as it is
    assign(facts, Assignment(PARTED, C2, ("ds=2",)), TOPOLOGY)
    assert _replicas(metastore, "ds=2/hr=1").primary == C2
    assign(facts, Assignment(PARTED, C2, partitions, end_writes=True), TOPOLOGY)
    assert _replicas(metastore, "ds=1/hr=1").primary == C2


def test_a_write_that_begins_during_an_assignment_keeps_the_primary(
    facts: PlacementStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assign(facts, Assignment(PLAIN, C1), TOPOLOGY)
    change = PlacementStore.change_table

    def write_before(self: PlacementStore, ref: TableRef, wanted: Change) -> Placement:
        monkeypatch.undo()
        self.open_write(PLAIN, "w", None, 0, "proxy:1")
        return change(self, ref, wanted)

    monkeypatch.setattr(PlacementStore, "change_table", write_before)
    with pytest.raises(BadTarget, match="proxy:1"):
        assign(facts, Assignment(PLAIN, C2), TOPOLOGY)
    assert facts.table(PLAIN)[1].primary == C1


def test_a_missing_table(facts: PlacementStore) -> None:
    with pytest.raises(NoSuchObject):
        assign(facts, Assignment(TableRef("default", "x"), C1), TOPOLOGY)
