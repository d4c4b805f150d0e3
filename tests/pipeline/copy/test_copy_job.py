"""A run executes the steps of its plan, all of them and in their order."""

import pytest

from pipeline.copy import plan
from pipeline.copy.copy_job import CopyJob
from pipeline.copy.copy_report import CopyReport
from pipeline.copy.files import CopyOptions
from pipeline.copy.plan import CopyPlan, Publish, Round, Step, Sweep, step_lines
from pipeline.copy.run import SecondaryCopies
from pipeline.copy.runs.staging import new_run
from tests.pipeline.copy.world import C2, STAGING, T, World

# The first word of a step's line to the event of its execution.
EVENTS = {
    "stage": "staged",
    "copy": "carried",
    "verify": "verified",
    "publish": "published",
    "sweep": "swept",
}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(plan, "ROUND_SIZE", 2)
    world = World()
    for day in ("1", "2", "3"):
        world.add(day, a=f"a{day}")
    return world


def run(world: World, planned: CopyPlan, steps: tuple[Step, ...]) -> CopyReport:
    catalog = SecondaryCopies(world.objects, planned.table, C2)
    marker = new_run(T, planned.table.created, world.now)
    job = CopyJob(
        str(T),
        STAGING,
        marker,
        catalog,
        world.context,
        CopyOptions(),
        world.limits,
        CopyReport(),
    )
    return job.run(steps)


def events(world: World) -> list[object]:
    return [event["event"] for event in world.events]


def test_every_step_that_a_plan_shows_is_executed_in_that_order(world: World) -> None:
    planned = world.plan()
    shown = [line.split()[0] for line in step_lines(planned.steps)]
    assert shown == ["stage", "copy", "verify", "publish"] * 2 + ["sweep"]
    run(world, planned, planned.steps)
    assert events(world) == [EVENTS[word] for word in shown]
    world.check()


def test_a_step_that_a_plan_lacks_is_not_executed(world: World) -> None:
    planned = world.plan()
    steps = tuple(step for step in planned.steps if not isinstance(step, Sweep))
    run(world, planned, steps)
    assert "swept" not in events(world)
    assert len(world.fresh()) == 3


def test_nothing_is_visible_without_a_publish_step(world: World) -> None:
    planned = world.plan()
    [first, *_] = planned.steps
    assert isinstance(first, Round)
    hidden = tuple(step for step in first.steps if not isinstance(step, Publish))
    report = run(world, planned, (Round(first.items, hidden),))
    assert report.published == []
    assert world.fresh() == {}


def test_a_plan_without_objects_has_no_steps(world: World) -> None:
    world.copy()
    assert world.plan().steps == ()
