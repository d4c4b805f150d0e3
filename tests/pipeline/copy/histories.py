"""Random histories of a table and its copy: what can happen, and how it is done."""

from collections.abc import Collection, Sequence
from typing import Generic, TypeVar

from hypothesis import strategies as st

from pipeline.copy.runs.staging import LEASE_SECONDS
from tests.pipeline.copy.delta_world import DeltaWorld
from tests.pipeline.copy.iceberg_world import IcebergWorld
from tests.pipeline.copy.world import GRACE

W = TypeVar("W", DeltaWorld, IcebergWorld)


def steps_of(writes: Sequence[str]) -> st.SearchStrategy[tuple[str, object]]:
    """The steps of a history; `writes` are methods of its world."""
    return st.one_of(
        st.tuples(st.sampled_from(writes), st.none()),
        st.tuples(st.just("copy"), st.booleans()),
        st.tuples(st.just("killed"), st.integers(1, 60)),
        st.tuples(st.just("raced"), st.tuples(st.integers(1, 40), st.sampled_from(writes))),
        st.tuples(st.just("sweep"), st.none()),
        st.tuples(st.just("wait"), st.sampled_from([1.0, LEASE_SECONDS + 1, GRACE])),
    )


class History(Generic[W]):
    """Every effect of a copy is followed by a look at what a reader sees. `between` are the effects
    after which a write can fall into a copy."""

    def __init__(self, world: W, between: Collection[str]) -> None:
        self.world = world
        self._between = between
        world.effects.watch = world.check

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
            left -= name in self._between
            if left == 0:
                self.world.effects.before = lambda name: None
                self.write(write)

        self.world.effects.before = strike
        self.world.copy()
        self.world.effects.before = lambda name: None
