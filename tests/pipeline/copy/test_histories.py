"""Random histories of writes, copies, kills, sweeps and evictions: readers never see a half."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.copy.runs.staging import LEASE_SECONDS
from pipeline.retention.partition_dates import read_date_pattern
from pipeline.retention.plan import RetentionPolicy, plan_retention
from pipeline.retention.run import candidates, run_retention
from tests.pipeline.copy.world import GRACE, S3_STAGING, STAGING, T, World

pytestmark = pytest.mark.slow

DAYS = ("20240101", "20240102", "20240103")
DATING = read_date_pattern((("ds", "${YEAR}${MONTH}${DAY}"),))
# Where another client's write can fall into a copy. Between our read and our alter of the same
# object lies the race that docs/internals/copy.md describes; it has a test of its own.
BETWEEN = (
    "half a file",
    "file",
    "made",
    "marker",
    "noted",
    "moved",
    "file copied",
    "file moved",
    "deleted",
    "listed",
)

days = st.sampled_from(DAYS)
steps = st.one_of(
    st.tuples(st.just("write"), days),
    st.tuples(st.just("open"), days),
    st.tuples(st.just("close"), days),
    st.tuples(st.just("drop"), days),
    st.tuples(st.just("copy"), st.none()),
    st.tuples(st.just("killed"), st.integers(1, 40)),
    st.tuples(st.just("raced"), st.tuples(st.integers(0, 20), days)),
    st.tuples(st.just("sweep"), st.none()),
    st.tuples(st.just("wait"), st.sampled_from([1.0, LEASE_SECONDS + 1, GRACE])),
    st.tuples(st.just("evict"), st.integers(0, 4)),
)


class History:
    def __init__(self, staging: str) -> None:
        self.world = World(staging=staging)
        self.world.effects.watch = self.world.check
        self.opened: set[str] = set()
        self.count = 0

    def do(self, step: str, what: object) -> None:
        getattr(self, step)(what)
        self.world.check()

    def write(self, day: object) -> None:
        self.count += 1
        if f"ds={day}" in self.world.metastore.parts[T]:
            self.world.rewrite(f"ds={day}", a=f"{self.count}", **{f"b{self.count % 3}": "b"})
        else:
            self.world.add(str(day), a=f"{self.count}")

    def open(self, day: object) -> None:
        name = f"ds={day}"
        if name in self.world.metastore.parts[T] and name not in self.opened:
            self.opened.add(name)
            self.world.open_write(name, name)
            self.count += 1
            self.world.put(self.world.location(name), {"a": f"half {self.count}"})

    def close(self, day: object) -> None:
        name = f"ds={day}"
        if name in self.opened:
            self.opened.remove(name)
            self.world.close_write(name, name)

    def drop(self, day: object) -> None:
        self.close(day)
        if self.world.metastore.parts[T].pop(f"ds={day}", None) is not None:
            self.world.files.delete([f"file:///c1/t/ds={day}"])

    def copy(self, _: object) -> None:
        self.world.copy()

    def killed(self, effect: object) -> None:
        assert isinstance(effect, int)
        self.world.copy_killed_at(effect)

    def raced(self, what: object) -> None:
        """A copy during which another client writes."""
        assert isinstance(what, tuple)
        left, day = what

        def strike(name: str) -> None:
            nonlocal left
            if name in BETWEEN:
                left -= 1
            if left == 0:
                self.world.effects.before = lambda name: None
                self.write(day)

        self.world.effects.before = strike
        self.world.copy()
        self.world.effects.before = lambda name: None

    def sweep(self, _: object) -> None:
        self.world.sweep()

    def wait(self, seconds: object) -> None:
        assert isinstance(seconds, float)
        self.world.now += seconds

    def evict(self, limit: object) -> None:
        assert isinstance(limit, int)
        world, now = self.world, datetime(2024, 1, 4, tzinfo=UTC)
        policy = RetentionPolicy(T, DATING, timedelta(days=limit))
        plan = plan_retention(policy, candidates(world.objects, policy), now)
        run_retention(plan, world.metastore, world.objects, world.files, world.events.extend)

    def settle(self) -> None:
        """In the end every copy is fresh, and nothing else is left."""
        for day in DAYS:
            self.close(day)
        self.world.now += LEASE_SECONDS + 1
        self.world.copy()
        assert sorted(self.world.fresh()) == sorted(self.world.metastore.parts[T])
        self.world.check()
        self.world.sweep()
        self.world.now += GRACE + LEASE_SECONDS
        self.world.sweep()
        assert sorted(self.world.directories()) == sorted(self.world.fresh().values())


@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(steps, max_size=14), st.sampled_from([STAGING, S3_STAGING]))
def test_random_histories(history: list[tuple[str, object]], staging: str) -> None:
    reported = History(staging)
    for step, what in history:
        reported.do(step, what)
    reported.settle()
