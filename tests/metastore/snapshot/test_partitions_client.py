"""Only the partitions that a statement reads are loaded, and only once."""

import threading
from dataclasses import dataclass

import pytest

from conf.catalog.tables import NotLoaded
from conf.partitions import PartitionSet
from conf.placement import Copy, Placement, write_placement
from metastore.client.metastore_client import HmsClient
from metastore.placement.placement_store import PlacementStore
from metastore.snapshot.loader_client import SnapshotLoader
from metastore.snapshot.snapshot import Snapshot
from tests.metastore.fake import FakeMetastore
from tests.metastore.snapshot.loading import (
    C1,
    C2,
    PARTED,
    Day,
    Late,
    copied,
    make_table,
    run_scenario,
    stored,
)


def test_only_selected_partitions_are_fetched(metastore: FakeMetastore) -> None:
    metastore.add(make_table(ref=PARTED), *((f"ds={number}", {}) for number in range(2500)))
    asked: list[int] = []
    answer = metastore.answer_of("get_partitions_by_names")

    def counted(arguments):  # type: ignore[no-untyped-def]
        asked.append(len(arguments.get(3)))
        return answer(arguments)

    metastore.answers["get_partitions_by_names"] = counted

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for _ in range(3):
            await loader.load_facts([PARTED], {PARTED: [Day("7"), Day("8")]})
        assert asked == [2]
        assert snapshot.facts(PARTED, [Day("7")]) is not None
        await loader.load_facts([PARTED])
        assert asked == [2, 1000, 1000, 500]

    run_scenario(metastore, scenario)


def test_names_of_other_days_are_not_read(metastore: FakeMetastore) -> None:
    metastore.add(make_table(ref=PARTED), *((f"ds={number}", {}) for number in range(2500)))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for days in (["7", "8"], ["8"], ["8", "9"], ["7", "9"]):
            await loader.load_facts([PARTED], {PARTED: [Day(day) for day in days]})
            placed = snapshot.facts(PARTED, [Day(day) for day in days])
            assert placed is not None
            assert placed.partitions is not None
        assert len(placed.partitions.partitions) == 3
        assert metastore.calls["get_partition_names_ps"] == 3  # a day each
        assert metastore.calls["get_partitions_by_names"] == 2  # of 7 and 8, then of 9
        assert metastore.calls["get_partition_names"] == 0
        with pytest.raises(NotLoaded):
            snapshot.facts(PARTED, [Late("7")])
        await loader.load_facts([PARTED], {PARTED: [Late("7")]})
        assert snapshot.facts(PARTED, [Late("7")]) is not None
        assert metastore.calls["get_partition_names"] == 1

    run_scenario(metastore, scenario)


def test_the_number_of_partitions_of_slices_is_bounded(
    metastore: FakeMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metastore.snapshot.partitions_client.MERGED", 3)
    metastore.add(make_table(ref=PARTED), *((f"ds={number}", {}) for number in range(100)))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        for number in range(20):
            await loader.load_facts([PARTED], {PARTED: [Day(str(number))]})
            facts = snapshot.facts(PARTED, [Day(str(number))])
            assert facts is not None
            assert facts.partitions is not None
            assert len(facts.partitions.partitions) <= 4

    run_scenario(metastore, scenario)


def test_slices_are_read_again_when_the_table_changed(metastore: FakeMetastore) -> None:
    metastore.add(make_table(ref=PARTED), ("ds=1", {}))
    day = {PARTED: [Day("1"), Day("2")]}

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_facts([PARTED], day)
        changed = make_table(Placement(C1, facts="another"), PARTED)
        metastore.add(changed, ("ds=1", write_placement(copied())), ("ds=2", {}))
        await loader.load_facts([PARTED], day)
        facts = snapshot.facts(PARTED, day[PARTED])
        assert facts is not None
        assert facts.partitions is not None
        assert len(facts.partitions.partitions) == 2

    run_scenario(metastore, scenario)


def test_a_uniform_table_needs_names_alone(metastore: FakeMetastore) -> None:
    metastore.add(make_table(Placement(C1, exceptions=frozenset()), PARTED), ("ds=1", {}))

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        await loader.load_facts([PARTED])
        assert metastore.calls["get_partitions_by_names"] == 0
        assert snapshot.facts(PARTED).partitions.replicas[0].primary == C1

    run_scenario(metastore, scenario)


def test_only_the_partitions_that_a_table_names_as_exceptions_are_read(
    metastore: FakeMetastore,
) -> None:
    own = write_placement(Placement(C1).with_copy(Copy(C2, "file:/c2", "0/0")))
    days = [(f"ds={day}", own if day in (3, 7) else {}) for day in range(100)]
    metastore.add(make_table(Placement(C1, exceptions=frozenset({"ds=3", "ds=7"})), PARTED), *days)
    asked: list[int] = []
    with HmsClient([metastore.endpoint], 60) as client:
        PlacementStore(client, C1).change_partitions(PARTED, ["ds=9"], lambda _, old: old.with_copy(
            Copy(C2, "file:/c9", old.version)
        ))  # fmt: skip

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        metastore.before = lambda method: asked.append(method == "get_partitions_by_names")
        await loader.load_facts([PARTED])
        placed = snapshot.facts(PARTED).partitions
        fresh = [C2 in placed.replicas[group].fresh for group in placed.groups]
        assert [day for day, is_fresh in enumerate(fresh) if is_fresh] == [3, 7, 9]

    run_scenario(metastore, scenario)
    assert sum(asked) == 1
    assert stored(metastore, PARTED).exceptions == {"ds=3", "ds=7", "ds=9"}


def test_many_partitions_are_chosen_outside_the_event_loop(
    metastore: FakeMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A predicate remembers what it chose, so the event loop's own questions take no time."""
    monkeypatch.setattr("metastore.snapshot.partitions_client.MANY", 3)
    metastore.add(make_table(ref=PARTED), *((f"ds={day}", {}) for day in range(5)))
    first: list[bool] = []

    @dataclass(frozen=True)
    class Noting(Late):
        def select(self, partitions: PartitionSet) -> range | list[int]:
            first.append(threading.current_thread() is threading.main_thread())
            return super().select(partitions)

    async def scenario(loader: SnapshotLoader, snapshot: Snapshot) -> None:
        noting = Noting("3")
        for _ in range(2):
            await loader.load_facts([PARTED], {PARTED: [noting]})
        assert first.count(False) == 1

    run_scenario(metastore, scenario)


def test_partitions_are_asked_for_by_values(metastore: FakeMetastore) -> None:
    days = [f"ds=2026-01-0{day}" for day in (1, 2)]
    metastore.add(make_table(ref=PARTED), *((name, {}) for name in days))

    async def scenario(loader: SnapshotLoader, _: Snapshot) -> None:
        assert sorted(await loader.partition_names(PARTED)) == days
        assert list(await loader.partition_names(PARTED, ["2026-01-02"])) == days[1:]
        assert metastore.calls["get_partition_names_ps"] == 1

    run_scenario(metastore, scenario)
