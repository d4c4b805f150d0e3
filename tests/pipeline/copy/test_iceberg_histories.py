"""Random histories of a table of Iceberg and its copy: a reader sees a whole state at any time."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.copy.runs.staging import LEASE_SECONDS
from tests.pipeline.copy.histories import History, steps_of
from tests.pipeline.copy.iceberg_world import IcebergWorld
from tests.pipeline.copy.world import GRACE, S3_STAGING, STAGING

pytestmark = pytest.mark.slow

WRITES = ("insert", "insert", "update", "delete", "expire", "create")
BETWEEN = ("half a file", "file", "marker", "noted", "moved", "file moved", "deleted", "listed")


class IcebergHistory(History[IcebergWorld]):
    def settle(self) -> None:
        """In the end the copy is fresh, and what the table does not need is gone."""
        world = self.world
        world.now += LEASE_SECONDS + 1
        world.insert("last")
        world.expire()
        world.copy()
        world.check()
        world.sweep()
        world.now += GRACE + LEASE_SECONDS
        world.sweep()
        world.check()
        assert world.directories() == list(world.fresh().values())
        left = {path.rpartition("/")[2] for path in world.files.read(world.fresh()[""])}
        primary = {path.rpartition("/")[2] for path in world.files.read("file:///c1/t")}
        assert left == primary


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(steps_of(WRITES), max_size=12), st.sampled_from([STAGING, S3_STAGING]))
def test_random_histories_of_a_table_of_iceberg(
    history: list[tuple[str, object]], staging: str
) -> None:
    reported = IcebergHistory(IcebergWorld(staging), BETWEEN)
    for step, what in history:
        reported.do(step, what)
    reported.settle()
