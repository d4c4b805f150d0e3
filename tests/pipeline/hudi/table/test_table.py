"""Opening tables, and finding them from paths."""

import pytest

from pipeline.hudi.errors import NotAHudiTable, StorageFault, UnsupportedTable
from pipeline.hudi.table.properties import parse_properties
from pipeline.hudi.table.storage import CountingStorage, LocalStorage, local_path
from pipeline.hudi.table.table import find_base, open_table


def test_properties_are_javas():
    text = b"#comment\n\nhoodie.table.name=a\\:b\nk = v=w \n"
    assert parse_properties(text) == {"hoodie.table.name": "a:b", "k": "v=w"}


def test_opening_costs_one_read_and_one_list(fake_table):
    table = fake_table(version=9, kind="MERGE_ON_READ")
    storage = CountingStorage()
    opened = open_table(table.path + "/", storage)
    assert (storage.reads, storage.lists) == (1, 1)
    assert (opened.base, opened.name, opened.database) == (table.path, "trips", "db")
    assert (opened.version, opened.merge_on_read, opened.partition_fields) == (9, True, ("ds",))


def test_folders_without_a_table_and_newer_tables_are_refused(fake_table, tmp_path):
    with pytest.raises(NotAHudiTable):
        open_table(str(tmp_path), LocalStorage())
    for name, odd in {
        "a": {"hoodie.table.version": "10"},
        "b": {"hoodie.timeline.layout.version": "3"},
        "c": {"hoodie.bootstrap.base.path": "/old"},
    }.items():
        with pytest.raises(UnsupportedTable, match=next(iter(odd.values()))):
            open_table(fake_table(name, **odd).path, LocalStorage())


def test_a_path_finds_its_table_upwards(fake_table, tmp_path):
    table = fake_table()
    inside = table.partition("2016/05/01")
    assert find_base(inside, LocalStorage()) == table.path
    assert find_base(str(tmp_path), LocalStorage()) is None
    assert find_base(f"file://{inside}", LocalStorage()) == f"file://{table.path}"


def test_partitions_of_any_depth(fake_table):
    table = fake_table()
    for name in ("2016/05/01", "2016/06/01", "region=eu"):
        table.partition(name)
    opened = open_table(table.path, LocalStorage())
    assert sorted(opened.partitions()) == ["2016/05/01", "2016/06/01", "region=eu"]
    assert list(opened.partitions("2016/05")) == ["2016/05/01"]


def test_remote_paths_are_not_opened_as_files():
    assert local_path("file:///a/b") == local_path("/a/b") == "/a/b"
    with pytest.raises(StorageFault):
        local_path("hdfs://nn/a")


def test_opening_asks_for_the_names_of_the_timeline_alone(fake_table, monkeypatch):
    """Sizes and times of its files cost more than all else where a timeline is long."""
    table = fake_table(version=9)
    table.commit("100", [("p", "a")])
    monkeypatch.setattr(LocalStorage, "list", None)
    assert [i.requested for i in open_table(table.path, LocalStorage()).timeline.commits] == ["100"]
