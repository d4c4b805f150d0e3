"""Runs at the same time: one lease covers what a run copies."""

import pytest

from pipeline.copy.copy_report import CopyReport
from pipeline.copy.runs.staging import LEASE_SECONDS
from pipeline.errors import AnotherCopyRuns
from tests.pipeline.copy.world import three


def test_two_runs_at_once_are_refused() -> None:
    world = three()

    def another(path: str) -> None:
        world.files.during = lambda path: None
        with pytest.raises(AnotherCopyRuns):
            world.copy()

    world.files.during = another
    assert len(world.copy().published) == 3


def test_a_run_that_seemed_dead_publishes_nothing() -> None:
    world = three()

    def stall(path: str) -> None:
        world.files.during = lambda path: None
        world.now += LEASE_SECONDS + 1
        world.copy()

    world.files.during = stall
    with pytest.raises(AnotherCopyRuns):
        world.copy()
    assert len(world.fresh()) == 3
    world.check()


def test_partitions_of_one_table_are_copied_side_by_side() -> None:
    """A run begins and ends while another one copies; the same partition is refused."""
    world = three()
    reports: list[CopyReport] = []

    def meanwhile(path: str) -> None:
        if path.endswith("ds=1/a") and not reports:
            reports.append(CopyReport())
            reports.append(world.copy("ds=2"))
            with pytest.raises(AnotherCopyRuns):
                world.copy("ds=1", "ds=3")

    world.files.during = meanwhile
    assert world.copy("ds=1").published == ["ds=1"]
    assert reports[1].published == ["ds=2"]
    assert sorted(world.fresh()) == ["ds=1", "ds=2"]
    world.check()
