"""Input paths sorted, one client a table (HU-2)."""

from pipeline.hudi.table.classify import classify
from pipeline.hudi.table.storage import CountingStorage


def test_three_classes_and_one_client_for_each_table(fake_table, tmp_path):
    trips, second = fake_table("trips"), fake_table("trips_v2")
    (tmp_path / "plain").mkdir()
    paths = [
        trips.partition("ds=1"),
        second.partition("ds=1"),
        trips.partition("ds=2/h=1") + "/",
        str(tmp_path / "plain"),
        trips.path,
    ]
    storage = CountingStorage()
    found = classify(paths, {"hoodie.trips.consume.mode": " Incremental "}, storage)
    assert found.incremental == {
        trips.path: [f"{trips.path}/ds=1", f"{trips.path}/ds=2/h=1", trips.path]
    }
    assert found.snapshot == {second.path: [f"{second.path}/ds=1"]}
    assert found.other == [str(tmp_path / "plain")]
    assert sorted(found.tables) == [trips.path, second.path]
    assert storage.reads == 2
    assert storage.lists == 2


def test_without_flags_every_table_is_read_as_it_is(fake_table):
    trips = fake_table("trips")
    found = classify([trips.path], {"hoodie.trips.consume.mode": "SNAPSHOT"}, CountingStorage())
    assert (found.incremental, found.snapshot) == ({}, {trips.path: [trips.path]})
