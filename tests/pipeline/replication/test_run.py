"""Replicas between two metastores: what a run copies, and every point where it may die."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from conf.names import ClusterName, TableRef
from database.history.work import CopyRecord
from metastore.client.types import Partition
from metastore.placement.placement_store import PlacementStore
from pipeline.copy.plan import step_lines
from pipeline.copy.runs.staging import LEASE_SECONDS
from pipeline.errors import WriteOpen
from pipeline.replication.plan import FROM
from tests.pipeline.replication.pair import BASE, GRACE, SOURCE, TARGET, Pair


def test_a_replication_is_recorded() -> None:
    pair, records = Pair(), list[CopyRecord]()
    pair.context = replace(pair.context, record=records.append)
    pair.add("1", a="one", b="two")
    pair.run(pair.request(between=("east", "west")))
    pair.run(pair.request(between=("east", "west")))
    (record,) = records
    assert (record.table, record.target_table) == (str(SOURCE), str(TARGET))
    assert (record.source, record.target) == ("east", "west")
    assert [name for name, _ in record.objects] == ["ds=1"]
    assert (record.partitions, record.files, record.bytes, record.sent) == (1, 2, 6, 6)


def test_the_table_is_made_and_the_partition_appears() -> None:
    pair = Pair()
    pair.add("1", a="one", b="two")
    pair.add("2", a="other")
    assert [line.split()[0] for line in step_lines(pair.plan().steps)] == [
        "stage",
        "copy",
        "verify",
        "create",
        "publish",
        "sweep",
    ]
    report = pair.run()
    assert report.published == ["ds=1"]
    assert pair.seen() == {"ds=1": {"a": b"one", "b": b"two"}}
    table = pair.target.tables[TARGET]
    assert (table.owner, table.location) == ("seetharam", BASE)
    assert table.parameters == {"comment": "raw"}
    assert table.storage.columns == (("a", "int"), ("b", "string"))


def test_a_table_of_delta_is_replicated_when_its_files_are_the_table() -> None:
    pair = Pair(())
    table = pair.source.tables[SOURCE]
    table.parameters = {**table.parameters, "spark.sql.sources.provider": "delta"}
    commit = '{"add": {"path": "f", "size": 4}}'
    pair.files.write(f"file:///src/raw/_delta_log/{0:020}.json", commit.encode())
    failed = pair.run(pair.request(None)).failed
    assert "lacks f, which its log names" in str(failed[""])
    assert TARGET not in pair.target.tables
    pair.files.write("file:///src/raw/f", b"four")
    pair.run(pair.request(None))
    location = pair.target.tables[TARGET].location
    assert pair.files.read(location) == pair.files.read("file:///src/raw")


def test_the_export_names_format_schema_origin_and_values() -> None:
    pair = Pair()
    pair.add("1", a="one")
    report = pair.run()
    text = pair.files.read_marker(f"{BASE}/_causeway/{report.run}/.causeway/export")
    reported = json.loads(text or "")
    assert reported["origin"] == str(SOURCE)
    assert reported["columns"] == [["a", "int"], ["b", "string"]]
    assert reported["input_format"] == "org.apache.hadoop.mapred.TextInputFormat"
    assert reported["partitions"][0]["values"] == ["1"]


def test_late_data_is_copied_again_and_swapped_in() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run()
    old = pair.target.parts[TARGET]["ds=1"].location
    pair.files.write("file:///src/raw/ds=1/late", b"more")
    pair.run()
    assert pair.seen() == {"ds=1": {"a": b"one", "late": b"more"}}
    assert pair.files.exists(old), "a reader may still be there"
    pair.now += GRACE
    pair.sweep()
    assert not pair.files.exists(old)


def test_deletes_are_replicated_only_if_requested() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.add("2", a="two")
    pair.run(pair.request(None))
    by_hand = pair.target.parts[TARGET]["ds=1"]
    by_hand = Partition.make(pair.target.tables[TARGET], ("9",), "file:///elsewhere", {})
    pair.target.parts[TARGET]["ds=9"] = by_hand
    del pair.source.parts[SOURCE]["ds=2"]
    pair.run(pair.request(None))
    assert sorted(pair.target.parts[TARGET]) == ["ds=1", "ds=2", "ds=9"]
    report = pair.run(pair.request(None, propagate_deletes=True))
    assert report.gone == ["ds=2"]
    assert sorted(pair.target.parts[TARGET]) == ["ds=1", "ds=9"]


def test_a_partition_that_another_run_copies_during_the_plan_is_not_dropped() -> None:
    pair = Pair()
    pair.add("1", a="one")
    pair.run(pair.request(None))
    read = pair.source.get_partition_names

    def read_before_another_run(ref: TableRef) -> Sequence[str]:
        names = list(read(ref))
        pair.source.get_partition_names = read  # type: ignore[method-assign]
        pair.add("2", a="two")
        pair.run(pair.request("2"))
        return names

    pair.source.get_partition_names = read_before_another_run  # type: ignore[method-assign]
    report = pair.run(pair.request(None, propagate_deletes=True))
    assert report.gone == []
    assert sorted(pair.seen()) == ["ds=1", "ds=2"]


def test_an_unpartitioned_table_appears_whole_and_is_swapped() -> None:
    pair = Pair(())
    pair.files.write("file:///src/raw/a", b"one")
    pair.run(pair.request(None))
    location = pair.target.tables[TARGET].location
    assert pair.files.read(location) == {"a": b"one"}
    pair.files.write("file:///src/raw/a", b"two")
    pair.run(pair.request(None))
    assert pair.target.tables[TARGET].location != location
    assert pair.files.read(pair.target.tables[TARGET].location) == {"a": b"two"}
    assert pair.plan(pair.request(None)).items == ()
    assert FROM in pair.target.tables[TARGET].parameters


def test_a_source_that_is_being_written_is_waited_for_and_refused() -> None:
    pair = Pair()
    pair.add("1", a="one")
    PlacementStore(pair.source, ClusterName("C1")).open_write(SOURCE, "w", None, 0, "test")
    report = pair.run()
    assert isinstance(report.failed["ds=1"], WriteOpen)
    assert pair.seen() == {}


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True])
def test_killed_at_every_point_readers_see_whole_partitions_and_a_rerun_ends_it(
    again: bool,
) -> None:
    kills = 0
    for effect in range(1, 200):
        pair = Pair()
        pair.add("1", a="one", b="two")
        pair.add("2", a="three")
        old = {}
        if again:
            pair.run(pair.request(None))
            old = pair.seen()
            pair.files.write("file:///src/raw/ds=1/a", b"uno")
            pair.files.write("file:///src/raw/ds=2/c", b"more")
        new = {name: pair.files.read(f"file:///src/raw/{name}") for name in ("ds=1", "ds=2")}

        def look(old: dict = old, new: dict = new, pair: Pair = pair) -> None:
            for name, content in pair.seen().items():
                assert content in (old.get(name), new[name])
            assert set(old) <= set(pair.seen()), "no gap"

        pair.effects.watch = look
        pair.files.sent = []
        if not pair.killed_at(effect, pair.request(None)):
            break
        kills += 1
        pair.files.sent, sent = [], pair.files.sent
        pair.run(pair.request(None))
        assert pair.seen() == new
        assert not set(sent) & set(pair.files.sent), "sent twice"
        for _ in range(2):
            pair.sweep()
            pair.now += GRACE + LEASE_SECONDS
        pair.sweep()
        runs = pair.files.children(f"{BASE}/_causeway")
        there = {
            f"{BASE}/_causeway/{run}/{name}"
            for run in runs
            for name in pair.files.children(f"{BASE}/_causeway/{run}")
            if not name.startswith(".")
        }
        assert there == {each.location for each in pair.target.parts[TARGET].values()}
    assert kills > 10
