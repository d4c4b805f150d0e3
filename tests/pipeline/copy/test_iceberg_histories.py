"""Random histories of a table of Iceberg and its copy: a reader sees a whole state at any time."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.copy.runs.staging import LEASE_SECONDS
from tests.pipeline.copy.iceberg_world import IcebergWorld
from tests.pipeline.copy.world import GRACE, S3_STAGING, STAGING

pytestmark = pytest.mark.slow

WRITES = ("insert", "insert", "update", "delete", "expire", "create")
BETWEEN = ("half a file", "file", "marker", "noted", "moved", "file moved", "deleted", "listed")

steps = st.one_of(
    st.tuples(st.sampled_from(WRITES), st.none()),
    st.tuples(st.just("copy"), st.booleans()),
    st.tuples(st.just("killed"), st.integers(1, 60)),
    st.tuples(st.just("raced"), st.tuples(st.integers(1, 40), st.sampled_from(WRITES))),
    st.tuples(st.just("sweep"), st.none()),
    st.tuples(st.just("wait"), st.sampled_from([1.0, LEASE_SECONDS + 1, GRACE])),
)


class History:
    def __init__(self, staging: str) -> None:
        self.world = IcebergWorld(staging)
        self.world.effects.watch = self.world.check

    def do(self, step: str, what: object) -> None:
        match step, what:
            case "copy", bool():
                self.world.copy(again=what)
            case "killed", int():
                self.world.copy_killed_at(what)
            case "raced", (int() as left, str() as write):
                self.raced(left, write)
            case "sweep", None:
                self.world.sweep()
            case "wait", float():
                self.world.now += what
            case _:
                self.write(step)
        self.world.check()

    def write(self, kind: str) -> None:
        if kind == "insert":
            self.world.insert("one", "two")
        else:
            getattr(self.world, kind)()

    def raced(self, left: int, write: str) -> None:
        """A copy during which another client writes."""

        def strike(name: str) -> None:
            nonlocal left
            left -= name in BETWEEN
            if left == 0:
                self.world.effects.before = lambda name: None
                self.write(write)

        self.world.effects.before = strike
        self.world.copy()
        self.world.effects.before = lambda name: None

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
@given(st.lists(steps, max_size=12), st.sampled_from([STAGING, S3_STAGING]))
def test_random_histories_of_a_table_of_iceberg(
    history: list[tuple[str, object]], staging: str
) -> None:
    reported = History(staging)
    for step, what in history:
        reported.do(step, what)
    reported.settle()
