"""The partitions of a table by clusters, in pictures that stay small."""

import os
import random
import resource
from xml.etree import ElementTree

import pytest

from console.drawing.matrix import (
    BINS,
    ObjectState,
    PartitionRuns,
    PartitionStates,
    partition_matrix,
    share_bar,
    totals,
)

PRIMARY, FRESH, STALE, ABSENT = ObjectState
CLUSTERS = ("c1", "c2", "c3", "c4", "c5")
SEED = int(os.environ.get("CAUSEWAY_SEED", "20"))
SVG = "{http://www.w3.org/2000/svg}"


def made(groups: list[int], kinds: int = 40, seed: int = SEED) -> PartitionStates:
    chance = random.Random(seed)
    rows = {(PRIMARY, *(chance.choice((FRESH, STALE, ABSENT)) for _ in range(4))): None}
    while len(rows) < kinds:
        rows[(PRIMARY, *(chance.choice((FRESH, STALE, ABSENT)) for _ in range(4)))] = None
    names = [f"day={number // 24:05}/hour={number % 24:02}" for number in range(len(groups))]
    return PartitionStates(names, CLUSTERS, tuple(rows), groups)


def small(*states: tuple[ObjectState, ...]) -> PartitionStates:
    kinds = tuple(dict.fromkeys(states))
    names = [f"day={number}" for number in range(len(states))]
    return PartitionStates(names, ("east", "west"), kinds, [kinds.index(each) for each in states])


def test_neighbours_in_the_same_state_are_one_run() -> None:
    both, old = (PRIMARY, FRESH), (PRIMARY, STALE)
    found = PartitionRuns(small(both, both, old, both))
    assert [(run.first, run.last, run.number, run.states) for run in found] == [
        (0, 1, 2, both),
        (2, 2, 1, old),
        (3, 3, 1, both),
    ]
    assert list(PartitionRuns(small())) == []


def test_runs_cover_every_partition_once() -> None:
    print("seed", SEED)
    chance = random.Random(SEED)
    states = made([chance.randrange(3) for _ in range(500)])
    runs = PartitionRuns(states)
    assert runs.sizes() == [run.number for run in runs]
    assert all(runs[runs.at(row)].first <= row for row in range(500))
    rows = [row for run in runs for row in range(run.first, run.last + 1)]
    assert rows == list(range(500))
    for run in runs:
        assert {states.kinds[states.groups[row]] for row in range(run.first, run.last + 1)} == {
            run.states
        }


def test_the_description_counts_the_states_of_each_cluster() -> None:
    states = small((PRIMARY, FRESH), (PRIMARY, STALE), (ABSENT, PRIMARY))
    assert totals(states)[1] == {PRIMARY: 1, FRESH: 1, STALE: 1, ABSENT: 0}
    picture = ElementTree.fromstring(
        partition_matrix("db.t", states).replace(
            "<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1
        )
    )
    about = picture.findtext(f"{SVG}desc") or ""
    assert "west: 1 primary, 1 fresh, 1 stale" in about
    assert picture.get("role") == "img"
    assert picture.findtext(f"{SVG}title") == "3 partitions of db.t by cluster"


def test_one_stale_partition_of_many_is_seen() -> None:
    both, old = (PRIMARY, FRESH), (PRIMARY, STALE)
    states = small(*[both] * 50_000, old, *[both] * 50_000)
    assert 'class="s-stale"' in partition_matrix("db.t", states)
    assert 'class="s-stale"' not in partition_matrix("db.t", small(*[both] * 50_000))


def test_what_is_stale_is_hatched_and_not_only_coloured() -> None:
    assert 'fill="url(#hatch)"' in partition_matrix("db.t", small((PRIMARY, STALE)))


def test_names_are_escaped() -> None:
    states = PartitionStates(["ds=<b>&"], ('a"b',), ((PRIMARY,),), [0])
    drawn = partition_matrix("db.<t>", states)
    assert "<b>" not in drawn
    assert "<t>" not in drawn
    assert "style=" not in drawn


@pytest.mark.parametrize("pattern", ["random", "runs"])
def test_a_hundred_thousand_partitions_are_drawn_quickly_and_small(pattern: str) -> None:
    chance = random.Random(SEED)
    count = 100_000
    groups = (
        [chance.randrange(40) for _ in range(count)]
        if pattern == "random"
        else [row // 5_000 % 40 for row in range(count)]
    )
    states = made(groups)
    began = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    picture = partition_matrix("db.t", states)
    found = PartitionRuns(states)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_utime - began
    print(f"{pattern}: {used * 1000:.0f} ms, {len(picture):,} bytes, {len(found):,} runs")
    assert len(picture) < 100_000
    assert picture.count("<path") < 20
    assert used < 2.0  # 0.1 s on an idle machine; this finds a cost by the square


def test_there_are_at_most_so_many_columns() -> None:
    picture = partition_matrix("db.t", made([row % 40 for row in range(10_000)]))
    assert picture.count("M") <= BINS * len(CLUSTERS) * 3 * 2


def test_a_bar_shows_the_shares_in_words_too() -> None:
    bar = share_bar({PRIMARY: 0, FRESH: 3, STALE: 1, ABSENT: 0}, "db.t in west")
    assert "3 fresh, 1 stale" in bar
    assert 'd="M0 0h45v10h-45z"' in bar
