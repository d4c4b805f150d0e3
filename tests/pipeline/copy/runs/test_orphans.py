"""What drops left is deleted, and never anything that some object uses."""

import json
from pathlib import Path

import pytest

from conf.names import ClusterName, TableRef
from conf.topology import Cluster, Topology
from metastore.client.types import Table
from metastore.errors import UnreadableFacts
from metastore.view.inbound.ownership import OrphanFolder
from metastore.view.server.orphans_store import OrphanLog
from pipeline.copy.runs.orphans import CleanupResult, delete_orphans, read_orphans
from tests.pipeline.copy.world import C1, C2, T, World

TOPOLOGY = Topology(
    {
        C1: Cluster(C1, "hdfs://c1", ()),
        C2: Cluster(C2, "hdfs://c2", ()),
    },
    default=C1,
)


class Cleaning:
    """A world with copies of three partitions in C2, a record, and a clock far after it."""

    def __init__(self, folder: Path) -> None:
        self.world = World()
        for day in ("1", "2", "3"):
            self.world.add(day, a=f"a{day}")
        self.world.copy()
        self.path = folder / "leftovers.jsonl"
        self.log = OrphanLog(self.path)
        self.before = 2e9

    def drop(self, name: str) -> str:
        """As a client does through the view; where its copy was."""
        location = self.world.fresh()[name]
        entry = self.record(f"{T}@{name}", location, settle=False)
        self.world.metastore.drop_partition(T, name)
        self.log.end(entry, dropped=True)
        return location

    def record(self, what: str, location: str, *, settle: bool = True) -> str:
        entry = self.log.begin((OrphanFolder(what, C2, location),))
        assert entry is not None
        if settle:
            self.log.end(entry, dropped=True)
        return entry

    def put(self, location: str, modified: int = 0) -> None:
        self.world.files.write(f"{location}/f", b"data")
        self.world.files.content[f"{location}/f"] = (b"data", modified)

    def table(self, name: str, location: str, *keys: str) -> TableRef:
        ref = TableRef("db", name)
        kinds = tuple((key, "string") for key in keys)
        table = Table.make(ref, (("a", "int"),), location=location, partition_keys=kinds)
        self.world.metastore.add_table(table)
        return ref

    def clean(self) -> CleanupResult:
        left = read_orphans(self.path.read_text())
        world = self.world
        return delete_orphans(world.files, world.objects, TOPOLOGY, left, self.log, self.before)


@pytest.fixture
def cleaning(tmp_path: Path) -> Cleaning:
    return Cleaning(tmp_path)


def test_the_copy_of_a_dropped_partition_goes_and_the_others_stay(cleaning: Cleaning) -> None:
    location = cleaning.drop("ds=2")
    assert cleaning.clean() == CleanupResult(deleted=[location])
    assert not cleaning.world.files.exists(location)
    assert sorted(cleaning.world.fresh()) == ["ds=1", "ds=3"]
    cleaning.world.check()
    assert read_orphans(cleaning.path.read_text()) == []
    assert cleaning.clean() == CleanupResult()


def test_a_replaced_copy_stays_for_its_last_readers(cleaning: Cleaning) -> None:
    location = cleaning.drop("ds=2")
    cleaning.before = 1e9  # the record is younger
    assert cleaning.clean() == CleanupResult()
    assert cleaning.world.files.exists(location)


def test_a_location_that_another_copy_has_stays(cleaning: Cleaning) -> None:
    location = cleaning.world.fresh()["ds=1"]
    cleaning.record("db.old", location)
    assert cleaning.clean().kept == {location: f"{T}@ds=1 uses it"}
    cleaning.world.check()


@pytest.mark.parametrize(
    ("left", "used", "keys"),
    [
        ("hdfs://c2/w/t", "hdfs://c2/w/t", ()),
        ("hdfs://c2/w/t/", "hdfs://C2:8020/w//t", ()),
        ("hdfs://c2/w", "hdfs://c2/w/t", ("ds",)),
        ("hdfs://c2/w/t/old", "hdfs://c2/w/t", ()),
        ("s3a://bucket/t", "s3://bucket/t/x", ()),
        ("file:/data/t", "file:///data/t", ()),
        ("hdfs://c2/w/t", "/w/t", ()),
    ],
)
def test_a_location_in_use_stays(
    cleaning: Cleaning, left: str, used: str, keys: tuple[str, ...]
) -> None:
    cleaning.table("other", used, *keys)
    cleaning.put(left.rstrip("/"))
    cleaning.record("db.gone", left)
    assert cleaning.clean() == CleanupResult(kept={left: "db.other uses it"})
    assert cleaning.world.files.exists(left.rstrip("/"))


@pytest.mark.parametrize(
    ("left", "used", "keys"),
    [
        ("hdfs://c2/w/t", "hdfs://c1/w/t", ()),
        ("hdfs://c2/w/t", "hdfs://c2/w/t2", ()),
        ("hdfs://c2/w/t/ds=1", "hdfs://c2/w/t", ("ds",)),  # partitions say where their data is
        ("/w/t", "hdfs://c1/w/t", ()),  # a bare path is one of the cluster's
    ],
)
def test_a_directory_beside_those_in_use_is_deleted(
    cleaning: Cleaning, left: str, used: str, keys: tuple[str, ...]
) -> None:
    full = left if "://" in left else f"hdfs://c2{left}"
    cleaning.table("other", used, *keys)
    cleaning.put(full)
    cleaning.put(used)
    cleaning.record("db.gone", left)
    assert cleaning.clean() == CleanupResult(deleted=[full])
    assert cleaning.world.files.exists(used)


@pytest.mark.parametrize(
    "left",
    ["hdfs://c2", "hdfs://c2/", "hdfs://c2/causeway-copies", "hdfs://other/a/../b", "file:/"],
)
def test_roots_and_detours_stay(cleaning: Cleaning, left: str) -> None:
    cleaning.put(left)
    cleaning.record("db.gone", left)
    assert list(cleaning.clean().kept) == [left]
    assert cleaning.world.files.exists(left)


def test_a_drop_that_failed_leaves_nothing(cleaning: Cleaning) -> None:
    """Without a good end of the record the object itself is asked for."""
    entry = cleaning.record(f"{T}@ds=1", "hdfs://c2/copies/1", settle=False)
    cleaning.log.end(entry, dropped=False)
    cleaning.record(str(T), "hdfs://c2/copies/2", settle=False)
    cleaning.record("db.gone", "hdfs://c2/copies/3", settle=False)
    for number in (1, 2, 3):
        cleaning.put(f"hdfs://c2/copies/{number}")
    assert cleaning.clean() == CleanupResult(
        deleted=["hdfs://c2/copies/3"],
        kept={
            "hdfs://c2/copies/1": f"{T}@ds=1 is still there",
            "hdfs://c2/copies/2": f"{T} is still there",
        },
    )


def test_a_directory_that_was_written_to_after_the_drop_stays(cleaning: Cleaning) -> None:
    cleaning.put("hdfs://c2/copies/1", modified=4_000_000_000_000)
    cleaning.record("db.gone", "hdfs://c2/copies/1")
    assert list(cleaning.clean().kept.values()) == ["it was written to after the drop"]


def test_the_folder_of_a_database_is_deleted_only_if_it_is_empty(cleaning: Cleaning) -> None:
    """Also one that was made again: its tables of the other cluster land there."""
    cleaning.world.files.made |= {"hdfs://c2/gone.db/empty", "hdfs://c2/full.db"}
    cleaning.put("hdfs://c2/full.db")
    cleaning.record("gone.*", "hdfs://c2/gone.db")
    cleaning.record("full.*", "hdfs://c2/full.db")
    cleaning.record("db.*", "file:///db.db")
    cleaned = cleaning.clean()
    assert cleaned.deleted == ["hdfs://c2/gone.db"]
    assert cleaned.kept == {
        "hdfs://c2/full.db": "there are files in it that are not of a table",
        "file:///db.db": "database db uses it",
    }


def test_nothing_is_deleted_while_facts_of_an_object_cannot_be_read(cleaning: Cleaning) -> None:
    location = cleaning.drop("ds=2")
    ref = cleaning.table("broken", "hdfs://c1/broken")
    cleaning.world.metastore.tables[ref].parameters = {"causeway.copy.c2": "no JSON"}
    with pytest.raises(UnreadableFacts):
        cleaning.clean()
    assert cleaning.world.files.exists(location)


def test_a_cluster_that_is_gone_keeps_its_bare_paths(cleaning: Cleaning) -> None:
    entry = cleaning.log.begin((OrphanFolder("db.gone", ClusterName("c9"), "/w/t"),))
    cleaning.log.end(entry, dropped=True)
    assert cleaning.clean() == CleanupResult()
    assert len(read_orphans(cleaning.path.read_text())) == 1


def test_a_line_cut_short_is_an_outcome_not_known(cleaning: Cleaning) -> None:
    cleaning.record(str(T), "hdfs://c2/copies/2")
    text = cleaning.path.read_text()
    [settled] = read_orphans(text)
    [unsettled] = read_orphans(text[:-5])
    assert (settled.dropped, unsettled.dropped) == (True, False)
    assert read_orphans(text[: text.index("left") + 9]) == []
    assert read_orphans('[]\n3\nnull\n{"id": 1}\n' + text) == [settled]


def test_a_cleaning_that_died_after_a_deletion_records_it_next_time(cleaning: Cleaning) -> None:
    location = cleaning.drop("ds=2")
    cleaning.world.files.delete([location])
    assert cleaning.clean() == CleanupResult()
    assert json.loads(cleaning.path.read_text().splitlines()[-1])["deleted"] == [location]
