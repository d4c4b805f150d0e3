"""Upgrade, verify and downgrade (DC-S4) on a metastore in memory."""

import pytest

from conf.names import ClusterName, TableRef
from conf.placement import Copy, Placement, write_placement
from conf.topology import Cluster, Topology
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Partition, Table
from metastore.errors import CountMismatch, MetastoreDown, NoDefaultCluster
from metastore.placement.upgrade import Counts, Migration
from tests.metastore.fake import FakeMetastore

C1, C2 = ClusterName("C1"), ClusterName("C2")
TOPOLOGY = Topology({name: Cluster(name, f"file:/{name}", ()) for name in (C1, C2)}, C1)
PLAIN, PARTED, VIEW = (TableRef("default", name) for name in ("plain", "parted", "view"))


@pytest.fixture
def old(metastore: FakeMetastore) -> FakeMetastore:
    """A metastore without cluster facts: 700 partitions, two tables, a view."""
    metastore.add(Table.make(PLAIN, [("id", "int")], parameters={"comment": "x"}))
    parted = Table.make(PARTED, [("id", "int")], partition_keys=[("ds", "string")])
    metastore.add(parted, *((f"ds={number}", {"numRows": "1"}) for number in range(700)))
    metastore.add(Table.make(VIEW, [("id", "int")], kind="VIRTUAL_VIEW"))
    return metastore


def _migration(
    metastore: FakeMetastore,
    *,
    topology: Topology = TOPOLOGY,
    dry_run: bool = False,
    each: bool = False,
) -> Migration:
    return Migration(
        lambda: HmsClient([metastore.endpoint], 60),
        topology,
        dry_run=dry_run,
        every_partition=each,
    )


def _everything(metastore: FakeMetastore) -> dict[str, dict[str, str]]:
    """Every object's parameters."""
    tables = {str(ref): Table(each).parameters for ref, each in metastore.tables.items()}
    partitions = {
        f"{ref}@{name}": Partition(each).parameters
        for ref, existing in metastore.partitions.items()
        for name, each in existing.items()
    }
    return tables | partitions


def test_every_object_gets_the_default_cluster(old: FakeMetastore) -> None:
    assert _migration(old).upgrade() == Counts(2, 700, 1, 2, 700)
    assert Table(old.tables[PLAIN]).parameters == {"comment": "x", "causeway.primary": "C1"}
    assert Table(old.tables[PARTED]).parameters == {
        "causeway.primary": "C1",
        "causeway.partitions": "uniform",
    }
    assert Table(old.tables[VIEW]).parameters == {}
    verdict = _migration(old).verify()
    assert verdict.upgraded
    assert (verdict.tables, verdict.partitions, verdict.views) == (2, 700, 1)


def test_every_partition_can_name_it_too(old: FakeMetastore) -> None:
    _migration(old).upgrade()
    assert _migration(old, each=True).upgrade() == Counts(2, 700, 1, 0, 700)
    for struct in old.partitions[PARTED].values():
        assert Partition(struct).parameters == {"numRows": "1", "causeway.primary": "C1"}
    assert _migration(old, each=True).upgrade() == Counts(2, 700, 1, 0, 0)


def test_a_second_run_changes_nothing(old: FakeMetastore) -> None:
    _migration(old).upgrade()
    old.calls.clear()
    assert _migration(old).upgrade() == Counts(2, 700, 1, 0, 0)
    assert not any(name.startswith("alter") for name in old.calls)


def test_an_interrupted_run_continues(old: FakeMetastore) -> None:
    def die(method: str) -> None:
        if old.calls["alter_partitions_with_environment_context"] > 1:
            raise OSError("down")

    old.before = die
    with pytest.raises(MetastoreDown):
        _migration(old, each=True).upgrade()
    old.before = lambda method: None
    counts = _migration(old, each=True).upgrade()
    assert 0 < counts.changed_partitions < 700
    assert _migration(old).verify().upgraded


def test_a_dry_run_counts_and_changes_nothing(old: FakeMetastore) -> None:
    before = _everything(old)
    assert _migration(old, dry_run=True).upgrade() == Counts(2, 700, 1, 2, 700)
    assert _everything(old) == before


@pytest.mark.parametrize("topology", [Topology(), Topology(TOPOLOGY.clusters, ClusterName("C9"))])
def test_without_a_default_cluster_nothing_is_changed(
    old: FakeMetastore, topology: Topology
) -> None:
    before = _everything(old)
    with pytest.raises(NoDefaultCluster):
        _migration(old, topology=topology).upgrade()
    assert _everything(old) == before


def test_facts_stated_before_stay(old: FakeMetastore) -> None:
    stated = Placement(C2).with_copy(Copy(C1, "file:/c1/plain", "0"))
    copied = Placement(C1).with_copy(Copy(C2, "file:/c2/1", "0/0"))
    Table(old.tables[PLAIN]).parameters = write_placement(stated)
    Partition(old.partitions[PARTED]["ds=1"]).parameters = write_placement(copied)
    assert _migration(old).upgrade().changed_tables == 1
    assert Table(old.tables[PLAIN]).parameters == write_placement(stated)
    # One partition has a copy, so readers have to look at that one.
    assert Table(old.tables[PARTED]).parameters["causeway.partitions"] == '["ds=1"]'
    assert _migration(old).upgrade() == Counts(2, 700, 1, 0, 0)
    assert _migration(old).verify().copies == 2


def test_too_many_partitions_with_copies_are_not_named(old: FakeMetastore) -> None:
    copied = Placement(C1).with_copy(Copy(C2, "file:/c2/1", "0/0"))
    copies = [(f"ds={'x' * 100}{number}", write_placement(copied)) for number in range(100)]
    old.add(Table(old.tables[PARTED]), *copies)
    _migration(old).upgrade()
    assert "causeway.partitions" not in Table(old.tables[PARTED]).parameters
    assert _migration(old).upgrade().changed_tables == 0


def test_downgrade_leaves_no_trace(old: FakeMetastore) -> None:
    before = _everything(old)
    _migration(old, each=True).upgrade()
    assert _migration(old, dry_run=True).downgrade().changed_partitions == 700
    assert _migration(old).downgrade() == Counts(2, 700, 1, 2, 700)
    assert _everything(old) == before


def test_a_wrong_count_is_reported(old: FakeMetastore) -> None:
    old.answers["alter_table_with_environment_context"] = lambda arguments: None
    with pytest.raises(CountMismatch, match="702 objects"):
        _migration(old).upgrade()


def test_verify_reports_contradicting_facts(old: FakeMetastore) -> None:
    _migration(old).upgrade()
    copied = Placement(C1).with_copy(Copy(C2, "file:/c2/1", "0/0"))
    Partition(old.partitions[PARTED]["ds=1"]).parameters = write_placement(copied)
    Partition(old.partitions[PARTED]["ds=2"]).parameters = {"causeway.copy.C2": "?"}
    Table(old.tables[PLAIN]).parameters = {"causeway.primary": "C9"}
    verdict = _migration(old).verify()
    assert not verdict.upgraded
    assert sorted(text.partition(":")[0] for text in verdict.problems) == [
        "default.parted",
        "default.parted@ds=2",
        "default.plain",
    ]


def test_verify_lists_folders_in_the_storage_of_another_cluster(old: FakeMetastore) -> None:
    """They are no fault: `causeway table assign` may have made them so."""
    strange = Table.make(TableRef("default", "strange"), [], location="file:/C2/strange")
    strange.parameters = {"causeway.primary": "C1"}
    old.add(strange)
    spark = Table.make(TableRef("default", "spark"), [], location="file:/C1/spark")
    serde = spark.storage.serde
    serde.parameters = {"path": "file:/C2/spark"}
    old.add(spark)
    moved = Table.make(
        TableRef("default", "moved"),
        [],
        partition_keys=[("ds", "string")],
        location="file:/C1/moved",
    )
    old.add(moved, ("ds=1", {}), ("ds=2", {"causeway.primary": "C2"}), ("ds=3", {}))
    partition = Partition(old.partitions[moved.ref]["ds=3"])
    partition.location = "file:/C2/moved/ds=3"
    _migration(old).upgrade()
    verdict = _migration(old).verify()
    assert verdict.upgraded
    assert verdict.elsewhere == (
        "default.moved@ds=2: folder file:/C1/moved/ds=2 is in the storage of C1, the primary is C2",
        "default.moved@ds=3: folder file:/C2/moved/ds=3 is in the storage of C2, the primary is C1",
        "default.spark: folder file:/C2/spark is in the storage of C2, the primary is C1",
        "default.strange: folder file:/C2/strange is in the storage of C2, the primary is C1",
    )
