"""Random histories of a table of Delta and its copy: a reader sees a whole version at any time."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.copy.runs.staging import LEASE_SECONDS
from tests.pipeline.copy.delta_world import PRIMARY, DeltaWorld
from tests.pipeline.copy.histories import History, steps_of
from tests.pipeline.copy.world import GRACE, S3_STAGING, STAGING

pytestmark = pytest.mark.slow

WRITES = ("insert", "insert", "update", "vacuum", "checkpoint", "expire", "create")
# Where a write can fall into a copy; docs/internals/copy.md describes the race between others.
BETWEEN = (
    "half a file",
    "file",
    "marker",
    "noted",
    "moved",
    "file copied",
    "file moved",
    "deleted",
    "listed",
)


class DeltaHistory(History[DeltaWorld]):
    def settle(self) -> None:
        """In the end the copy is fresh and equal, and nothing else is left."""
        world = self.world
        world.now += LEASE_SECONDS + 1
        world.insert("last")
        world.copy()
        world.check()
        world.sweep()
        world.now += GRACE + LEASE_SECONDS
        world.sweep()
        assert world.directories() == list(world.fresh().values())
        assert world.files.read(world.fresh()[""]) == world.files.read(PRIMARY)


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(steps_of(WRITES), max_size=14), st.sampled_from([STAGING, S3_STAGING]))
def test_random_histories_of_a_table_of_delta(
    history: list[tuple[str, object]], staging: str
) -> None:
    reported = DeltaHistory(DeltaWorld(staging), BETWEEN)
    for step, what in history:
        reported.do(step, what)
    reported.settle()
