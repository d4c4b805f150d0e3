"""Partition sheets against placements read one by one."""

import json
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conf.copies import sums
from conf.names import ClusterName, partition_name
from conf.partitions import PartitionKey, PartitionSet, Replicas
from conf.placement import BadPlacement, Copy, Placement, read_partition_placement, write_placement
from conf.write_ids import new_id, with_time
from metastore.snapshot.partitions import PartitionSheet

KEYS = (PartitionKey("ds", "string"), PartitionKey("hr", "int"))
CLUSTERS = [ClusterName(name) for name in ("C1", "C2", "C3")]


@dataclass(frozen=True)
class Days:
    """Selects by the first key."""

    days: frozenset[str]

    def select(self, partitions: PartitionSet) -> range | list[int]:
        return [row for row in range(len(partitions)) if partitions.row(row)[0] in self.days]

    def required(self, keys: Sequence[PartitionKey]) -> list[frozenset[str] | None]:
        return [self.days, *(None for _ in keys[1:])]


def _sheet(names: Sequence[str], exceptions: frozenset[str] | None = None) -> PartitionSheet:
    return PartitionSheet(KEYS, names, exceptions)


@st.composite
def _tables(draw: st.DrawFn) -> tuple[Placement, dict[tuple[str, str], dict[str, str]]]:
    """A table's placement and its partitions' parameters, by values."""
    ids = st.sampled_from(["0", "w1", "w2"])
    rows = [(str(day), str(hour)) for day in range(3) for hour in range(2)]
    rows = draw(st.lists(st.sampled_from(rows), unique=True))
    table = Placement(draw(st.sampled_from(CLUSTERS)), draw(ids))
    partitions: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        own = Placement(draw(st.sampled_from(CLUSTERS)), draw(ids))
        for cluster in CLUSTERS:
            if cluster != own.primary and draw(st.booleans()):
                of = draw(st.sampled_from([f"{t}/{p}" for t in ("0", "w1") for p in ("0", "w1")]))
                own = own.with_copy(Copy(cluster, "file:/x", of))
        partitions[row] = write_placement(own) if draw(st.booleans()) else {}
    names = [_name(row) for row in rows]
    for number in range(draw(st.integers(0, 2))):
        some = draw(st.none() | st.lists(st.sampled_from([*names, "ds=9/hr=9", "ds=1"])))
        table = table.opened(f"m{number}", some)
    return table, partitions


def _name(row: Sequence[str]) -> str:
    return partition_name(zip((key.name for key in KEYS), row, strict=True))


@given(_tables())
def test_replicas_equal_those_of_partitions_read_one_by_one(
    drawn: tuple[Placement, dict[tuple[str, str], dict[str, str]]],
) -> None:
    table, parameters = drawn
    sheet = _sheet([_name(row) for row in parameters])
    sheet.learn(range(len(sheet)), parameters)
    placed = sheet.placed(table)
    expected = [
        read_partition_placement(own, table, _name(row)).replicas()
        for row, own in parameters.items()
    ]
    assert [placed.replicas[group] for group in placed.groups] == expected
    assert set(placed.replicas) == set(expected) or not expected


def test_only_selected_partitions_are_read() -> None:
    sheet = _sheet(["ds=1/hr=1", "ds=1/hr=2", "ds=2/hr=1"])
    day = Days(frozenset(["1"]))
    assert list(sheet.unknown([day])) == [0, 1]
    sheet.learn([0, 1], {})
    assert not sheet.unknown([day])
    assert list(sheet.unknown(None)) == [2]


def test_a_partition_that_is_not_loaded_has_no_replicas() -> None:
    sheet = _sheet(["ds=1/hr=1", "ds=2/hr=1"])
    sheet.learn([0], {})
    placed = sheet.placed(Placement(CLUSTERS[0]))
    known, unknown = (placed.replicas[group] for group in placed.groups)
    assert known == Replicas(CLUSTERS[0], frozenset())
    assert not any(unknown.readable_in(cluster) for cluster in CLUSTERS)


def test_a_uniform_table_needs_no_facts() -> None:
    sheet = _sheet(["ds=1/hr=1", "ds=2/hr=1"], exceptions=frozenset())
    assert not sheet.unknown(None)
    assert set(sheet.placed(Placement(CLUSTERS[1])).replicas) == {
        Replicas(CLUSTERS[1], frozenset())
    }


def test_only_the_exceptions_of_a_table_have_to_be_read() -> None:
    names = ["ds=1/hr=1", "ds=2/hr=1", "ds=%2F/hr=1"]
    sheet = _sheet(names, exceptions=frozenset({"ds=2/hr=1", "ds=%2F/hr=1", "ds=gone/hr=1"}))
    assert sheet.unknown(None) == [1, 2]
    copied = write_placement(Placement(CLUSTERS[0]).with_copy(Copy(CLUSTERS[1], "file:/x", "0/0")))
    sheet.learn([1, 2], {("2", "1"): copied, ("/", "1"): copied})
    placed = sheet.placed(Placement(CLUSTERS[0]))
    fresh = [placed.replicas[group].fresh for group in placed.groups]
    assert fresh == [frozenset(), {CLUSTERS[1]}, {CLUSTERS[1]}]


def test_slices_keep_the_exceptions() -> None:
    exceptions = frozenset({"ds=2/hr=1"})
    one = PartitionSheet(KEYS, (), exceptions, frozenset()).with_slices(
        ["ds=1/hr=1", "ds=1/hr=2"], frozenset({("1",)})
    )
    assert not one.unknown(None)
    both = one.with_slices(["ds=2/hr=1", "ds=2/hr=2"], frozenset({("2",)}))
    assert both.unknown(None) == [2]
    both.learn([2], {})
    assert not both.unknown(None)
    assert len(both.placed(Placement(CLUSTERS[0])).replicas) == 2


def test_partitions_of_a_uniform_table_have_its_replicas() -> None:
    sheet = _sheet(["ds=1/hr=1", "ds=2/hr=1"], exceptions=frozenset())
    table = Placement(
        CLUSTERS[0], "w", (Copy(CLUSTERS[1], "file:/x", "w"),), exceptions=frozenset()
    )
    replicas = [frozenset(h.fresh for h in sheet.placed(t).replicas) for t in (
        table, table.opened("m", ["ds=1/hr=1"]), table.rewritten("w2"),
    )]  # fmt: skip
    assert replicas == [{frozenset({CLUSTERS[1]})}, {frozenset()}, {frozenset()}]
    assert table.with_partition_facts("f", ["ds=1/hr=1"]).copies == ()
    assert table.with_partition_facts("f").copies == table.copies


def test_names_come_back_escaped() -> None:
    name = partition_name([("ds", "a/b"), ("hr", "1")])
    assert _sheet([name]).name(0) == name


def test_unreadable_facts_are_an_error() -> None:
    with pytest.raises(BadPlacement):
        _sheet(["ds=1/hr=1"]).learn([0], {("1", "1"): {"causeway.copy.C2": "?"}})


def test_slices_are_added_to_a_sheet_and_known_facts_stay() -> None:
    first, second = frozenset({("1",)}), frozenset({("2",)})
    empty = PartitionSheet(KEYS, (), None, frozenset())
    one = empty.with_slices(["ds=1/hr=1", "ds=1/hr=%2F"], first)
    assert one.missing([Days(frozenset({"1"}))]) == frozenset()
    assert one.missing([Days(frozenset({"1", "2"}))]) == second
    assert one.missing(None) is None
    copied = write_placement(Placement(CLUSTERS[0]).with_copy(Copy(CLUSTERS[1], "file:/x", "0/0")))
    one.learn(range(2), {("1", "/"): copied})
    both = one.with_slices(["ds=2/hr=1", "ds=1/hr=%2F"], second)
    assert [both.partitions.row(row) for row in range(len(both))] == [
        ("1", "1"),
        ("1", "/"),
        ("2", "1"),
    ]
    assert list(both.unknown(None)) == [2]
    assert list(one.unknown(None)) == []
    both.learn([2], {})
    placed = both.placed(Placement(CLUSTERS[0]))
    fresh = [placed.replicas[group].fresh for group in placed.groups]
    assert fresh == [frozenset(), {CLUSTERS[1]}, frozenset()]


def test_slices_of_a_uniform_table_are_known() -> None:
    sheet = PartitionSheet(KEYS, (), frozenset(), frozenset()).with_slices(
        ["ds=1/hr=1"], frozenset({("1",)})
    )
    assert not sheet.unknown(None)
    assert len(sheet.placed(Placement(CLUSTERS[0])).groups) == 1


def test_the_lag_of_loaded_partitions_is_that_of_each_read_alone() -> None:
    """Over random partitions: copies under old and new ids of the table, missed writes, marks."""
    seed = int(os.environ.get("CAUSEWAY_SEED", str(random.randrange(1 << 30))))
    print(f"CAUSEWAY_SEED={seed}")
    chance, seen = random.Random(seed), set[str]()
    for _ in range(500):
        ids = [with_time(new_id(), chance.randrange(1, 1000)) for _ in range(4)]
        bases = {ids[0]: ids[1], ids[1]: chance.choice((ids[2], None))}
        table = Placement(CLUSTERS[0], ids[2], bases=json.dumps(bases))
        names = [_name((str(day), "0")) for day in range(4)]
        for mark in range(chance.choice((0, 0, 1, 2))):
            covered = chance.choice((None, chance.sample(names, 2)))
            since = chance.randrange(1, 1000)
            table = table.opened(f"m{mark}", covered, since=since)
        parameters = {}
        for day in range(4):
            own = Placement(CLUSTERS[0], ids[3])
            for cluster in CLUSTERS[1:]:
                if chance.random() < 0.5:
                    of = f"{chance.choice(ids[:3])}/{chance.choice((ids[3], 'old'))}"
                    notes = chance.choice(({}, {"missed": ids[chance.randrange(4)]}))
                    own = own.with_copy(Copy(cluster, "file:/x", of, notes))
            parameters[str(day), "0"] = write_placement(own)
        sheet = _sheet(names)
        sheet.learn(range(len(sheet)), parameters)
        placements = [
            read_partition_placement(each, table, _name(row)) for row, each in parameters.items()
        ]
        expected: dict[ClusterName, float | None] = {}
        for total in sums(placements, CLUSTERS[1:]):
            if total.since is not None:
                expected[total.cluster] = total.since
                seen.add("stale")
            elif total.fresh and not total.stale:
                expected[total.cluster] = None
                seen.add("fresh")
            elif total.stale:
                seen.add("unknown")
        assert sheet.lacking_since(table) == expected
    assert seen == {"stale", "fresh", "unknown"}
