"""Sweeps delete replaced copies and the files of dead runs, after their grace."""

import pytest

from conf.names import TableRef
from pipeline.copy.runs.staging import LEASE_SECONDS
from tests.pipeline.copy.world import GRACE, T, World, three


@pytest.mark.slow
def test_a_refresh_killed_at_every_point_leaves_no_rubbish_for_ever() -> None:
    kills = 0
    for effect in range(1, 200):
        world = three()
        world.copy()
        for day in ("1", "2", "3"):
            world.rewrite(f"ds={day}", a=f"new{day}")
        world.effects.watch = world.check
        if not world.copy_killed_at(effect):
            break
        kills += 1
        world.copy()
        world.sweep()
        world.now += GRACE
        world.sweep()
        assert sorted(world.directories()) == sorted(world.fresh().values()), effect
        assert len(world.fresh()) == 3
    assert kills > 15


def test_readers_of_a_replaced_copy_keep_it_for_the_grace() -> None:
    world = three()
    world.copy()
    old = world.fresh()["ds=1"]
    world.rewrite("ds=1", a="new")
    world.copy()
    world.rewrite("ds=1", a="newer")
    world.now += GRACE - 1
    world.copy()
    assert world.files.exists(old), "an old copy must neither be swept nor taken over yet"
    world.now += 2
    world.sweep()
    assert not world.files.exists(old)


def test_a_renamed_table_keeps_its_copies_through_sweeps() -> None:
    world = three()
    world.copy()
    new = TableRef("db", "renamed")
    world.metastore.tables[new] = world.metastore.tables.pop(T)
    world.metastore.tables[new].set_text(1, "renamed")
    world.metastore.parts[new] = world.metastore.parts.pop(T)
    world.now += LEASE_SECONDS
    world.sweep()
    world.now += GRACE
    assert world.sweep().deleted == 0
    del world.metastore.tables[new], world.metastore.parts[new]
    world.sweep()
    world.now += GRACE
    assert world.sweep().deleted == 3
    assert world.directories() == []


@pytest.mark.parametrize("partitioned", [True, False])
def test_a_sweep_deletes_copies_whose_time_to_live_has_ended(partitioned: bool) -> None:
    world = World(partitioned)
    world.add("1", a="one") if partitioned else world.put("file:///c1/t", {"a": "one"})
    world.copy(keep=100)
    assert world.withdraw_expired(50) == 0
    location = world.fresh().popitem()[1]
    assert world.withdraw_expired(200) == 1
    assert world.fresh() == {}
    world.sweep()
    assert world.files.exists(location)  # for readers that still use it
    world.now += GRACE
    world.sweep()
    assert not world.files.exists(location)


def test_a_copy_without_a_time_to_live_stays() -> None:
    world = three()
    world.copy()
    assert world.withdraw_expired(1e9) == 0
    assert len(world.fresh()) == 3
