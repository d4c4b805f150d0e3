"""One table with a primary in C1 and copies in C2, with a clock of its own."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from conf.names import ClusterName, TableRef
from metastore.client.types import Partition, Table
from metastore.placement.placement_store import PlacementStore
from pipeline.copy.copy_catalog import DataObject, ObjectCatalog
from pipeline.copy.copy_report import CopyReport
from pipeline.copy.files import CopyOptions
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.copy.plan import CopyPlan, plan_copy
from pipeline.copy.run import run_copy, used_by
from pipeline.copy.runs.staging import LEASE_SECONDS, is_run, staging_of
from pipeline.copy.runs.sweep import SweepResult, sweep_staging, withdraw_expired
from tests.pipeline.copy.fakes import Effects, FakeFiles, FakeMetastore, Killed

C1, C2 = ClusterName("C1"), ClusterName("C2")
T = TableRef("db", "t")
STAGING = staging_of("file:///c2/causeway-copies", T)
S3_STAGING = staging_of("s3a://c2/causeway-copies", T)
GRACE = 1000.0


@dataclass
class World:
    partitioned: bool = True
    staging: str = STAGING
    now: float = 1_000_000.0
    effects: Effects = field(default_factory=Effects)
    events: list[dict[str, object]] = field(default_factory=list)
    limits: CopyLimits = field(
        default_factory=lambda: CopyLimits(wait=3, attempts=3, poll=1, grace=GRACE)
    )

    def __post_init__(self) -> None:
        self.metastore = FakeMetastore(self.effects)
        self.files = FakeFiles(self.effects)
        self.objects = ObjectCatalog(self.metastore, C1)
        self.facts = PlacementStore(self.metastore, C1)
        self.context = JobContext(
            self.files,
            emit=lambda event: self.events.append(dict(event)),
            clock=lambda: self.now,
            sleep=self.sleep,
        )
        keys = (("ds", "string"),) if self.partitioned else ()
        table = Table.make(T, (("a", "int"),), location="file:///c1/t", partition_keys=keys)
        self.metastore.add_table(table)
        self.files.made.add("file:///c1/t")

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def add(self, ds: str, **content: str) -> None:
        table = self.metastore.tables[T]
        location = f"file:///c1/t/ds={ds}"
        partition = Partition.make(table, (ds,), location, {"numRows": "1"})
        self.metastore.parts[T][f"ds={ds}"] = partition
        self.files.made.add(location)
        self.put(location, content)

    def put(self, location: str, content: dict[str, str]) -> None:
        for name, body in content.items():
            self.files.write(f"{location}/{name}", body.encode())

    def open_write(self, write_id: str, *names: str) -> None:
        self.facts.open_write(T, write_id, names or None, 0, "test")

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A statement that the proxy runs. It dies with none of the copies' effects."""
        effects = self.effects.before, self.effects.watch, self.effects.kill_at
        self.effects.before, self.effects.watch = lambda name: None, lambda: None
        self.effects.kill_at = None
        self.open_write("w")
        yield
        self.close_write("w")
        self.effects.before, self.effects.watch, self.effects.kill_at = effects

    def close_write(self, write_id: str, *names: str) -> None:
        self.facts.close_write(T, write_id, names or None)

    def rewrite(self, name: str, **content: str) -> None:
        """A whole write of one object."""
        names = (name,) if name else ()
        self.open_write("w", *names)
        location = self.location(name)
        self.files.delete([f"{location}/{each}" for each in self.files.read(location)])
        self.put(location, content)
        self.close_write("w", *names)

    def location(self, name: str) -> str:
        metastore = self.metastore
        return (metastore.parts[T][name] if name else metastore.tables[T]).location

    def state(self) -> dict[str, DataObject]:
        table = self.objects.table(T)
        return {each.name: each for each in self.objects.objects(table, self.objects.names(table))}

    def plan(self, *names: str, again: bool = False) -> CopyPlan:
        table = self.objects.table(T)
        chosen = names or self.objects.names(table)
        return plan_copy(table, self.objects.objects(table, chosen), C2, self.staging, again=again)

    def copy(self, *names: str, again: bool = False, keep: float | None = None) -> CopyReport:
        plan = self.plan(*names, again=again)
        return run_copy(plan, self.objects, self.context, CopyOptions(), self.limits, keep)

    def copy_killed_at(self, effect: int, again: bool = False) -> bool:
        """Whether it was killed; it counts as dead afterwards."""
        self.effects.count, self.effects.kill_at = 0, effect
        killed = True
        with contextlib.suppress(Killed):
            self.copy(again=again)
            killed = False
        self.effects.kill_at = None
        self.now += LEASE_SECONDS + 1
        return killed

    def sweep(self) -> SweepResult:
        used = partial(used_by, self.objects, C2)
        return sweep_staging(self.files, used, self.staging, lambda: self.now, GRACE)

    def withdraw_expired(self, seconds: float) -> int:
        """As a sweep does so many seconds from now."""
        later = time.time() + seconds
        return withdraw_expired(self.objects, [self.objects.table(T)], [C1, C2], later)

    def fresh(self) -> dict[str, str]:
        """Objects with a fresh copy in C2, and where it is."""
        found = {}
        for name, each in self.state().items():
            copy = each.placement.copy_in(C2)
            if copy is not None and each.placement.is_fresh(copy):
                found[name] = copy.location
        return found

    def check(self) -> None:
        """What a reader in C2 sees is whole and what the primary holds (DC-M3, FA-R4)."""
        for name, location in self.fresh().items():
            assert self.files.exists(location), (name, location)
            assert self.files.read(location) == self.files.read(self.location(name)), name

    def directories(self) -> list[str]:
        """Every object directory in the staging."""
        staging = self.staging
        runs = filter(is_run, self.files.children(staging))
        return [
            f"{staging}/{run}/{name}"
            for run in runs
            for name in self.files.children(f"{staging}/{run}")
            if not name.startswith(".")
        ]


def three() -> World:
    """A table with three partitions, of two files each."""
    world = World()
    for day in ("1", "2", "3"):
        world.add(day, a=f"a{day}", b=f"bb{day}")
    return world
