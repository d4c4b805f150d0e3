"""Writes before, during and after a copy: readers see the data of the primary, or no copy."""

import pytest

from pipeline.errors import SourceKeepsChanging, WriteOpen
from tests.pipeline.copy.world import World, three


def test_a_write_of_the_whole_table_makes_every_copy_stale() -> None:
    world = three()
    world.copy()
    world.open_write("w")
    assert world.fresh() == {}
    world.close_write("w")
    assert world.fresh() == {}
    assert len(world.copy().published) == 3


def test_an_open_write_is_waited_for_and_then_refused() -> None:
    world = three()
    world.open_write("w", "ds=2")
    report = world.copy()
    assert report.published == ["ds=1", "ds=3"]
    assert isinstance(report.failed["ds=2"], WriteOpen)
    assert any(event["event"] == "waiting" for event in world.events)


def test_an_open_write_that_ends_in_time_is_waited_for() -> None:
    world = three()
    world.open_write("w", "ds=2")
    world.context = type(world.context)(
        world.files,
        clock=lambda: world.now,
        sleep=lambda seconds: world.close_write("w", "ds=2"),
    )
    assert len(world.copy().published) == 3


def test_a_source_that_changes_during_the_copy_is_copied_again() -> None:
    world = three()
    changes = iter(["later"])

    def change(path: str) -> None:
        if path.endswith("ds=2/a"):
            for body in changes:
                world.rewrite("ds=2", a=body, c="more")

    world.files.during = change
    report = world.copy()
    assert sorted(report.published) == ["ds=1", "ds=2", "ds=3"]
    world.check()
    assert world.files.read(world.fresh()["ds=2"]) == {"a": b"later", "c": b"more"}


def test_a_change_without_a_write_id_is_noticed_too() -> None:
    world = three()
    changes = iter(["later"])

    def change(path: str) -> None:
        if path.endswith("ds=2/b"):
            for body in changes:
                world.put(world.location("ds=2"), {"a": body})

    world.files.during = change
    world.copy()
    world.check()


def test_a_source_that_always_changes_is_given_up() -> None:
    world = three()

    def change(path: str) -> None:
        if path.endswith("ds=2/a"):
            world.rewrite("ds=2", a=str(world.files.tick))

    world.files.during = change
    report = world.copy()
    assert isinstance(report.failed["ds=2"], SourceKeepsChanging)
    assert sorted(report.published) == ["ds=1", "ds=3"]
    assert "ds=2" not in world.fresh()


def test_a_write_between_verify_and_publish_is_noticed() -> None:
    world = three()
    pending = iter([True])

    def strike(name: str) -> None:
        if name == "alter_partitions":
            for _ in pending:
                world.open_write("w", "ds=2")

    world.effects.before = strike
    report = world.copy()
    assert isinstance(report.failed["ds=2"], WriteOpen)
    world.close_write("w", "ds=2")
    assert "ds=2" not in world.fresh()
    world.check()


def test_files_written_past_all_marks_between_verify_and_publish_are_noticed() -> None:
    world = three()
    pending = iter([True])

    def strike(name: str) -> None:
        if name == "alter_partitions":
            for _ in pending:
                world.put(world.location("ds=2"), {"a": "later"})

    world.effects.before = strike
    report = world.copy()
    assert sorted(report.published) == ["ds=1", "ds=2", "ds=3"]
    world.check()
    assert world.files.read(world.fresh()["ds=2"])["a"] == b"later"


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True])
def test_a_write_at_any_point_of_a_copy_never_shows(again: bool) -> None:
    """Wherever another client's whole write falls, readers see the primary's data or no copy."""
    struck = []
    for effect in range(1, 200):
        world = three()
        if again:
            world.copy()
            world.rewrite("ds=1", a="newer")
            world.rewrite("ds=2", a="newer")
        left = effect

        def strike(name: str, world: World = world) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                world.effects.before = lambda name: None
                # Clients of one process take turns at a table; the other has a test of its own.
                if name not in ("alter_table", "altered_table", "alter_partitions"):
                    struck.append(name)
                    world.rewrite("ds=2", a="racing", c="new")

        world.effects.before, world.effects.watch = strike, world.check
        world.copy()
        if left > 0:
            break
        world.copy()
        assert len(world.fresh()) == 3
    assert {"listed", "file", "noted", "altered_partitions"} <= set(struck)


def test_a_write_id_that_a_publication_overwrote_is_made_good() -> None:
    """Between our read and our alter of a partition: no copy anywhere stays fresh by mistake."""
    world = three()
    world.copy()
    world.rewrite("ds=2", a="newer")
    pending = iter([True])

    def strike(name: str) -> None:
        if name == "alter_partitions":
            for _ in pending:
                world.rewrite("ds=2", a="racing")

    world.effects.before = strike
    world.copy()
    world.effects.before = lambda name: None
    world.check()
    world.copy()
    assert len(world.fresh()) == 3
    world.check()
