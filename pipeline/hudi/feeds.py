"""Hudi feeds: what is replicated is the table, commit by commit, whatever partition is due.

A Hudi table's readers look for its timeline at the table's location, so single partitions cannot
be copied. The replica lies in a run's directory of the target's staging, like other copies, but new
commits are added to it in place: that is safe, because each becomes visible by one file. Only when
the replica cannot follow (commits that it lacks were archived or cleaned, or undone after it had
them) is another one made, beside the old one, which readers keep until the new one is published.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from metastore.client.types import Table
from pipeline.copy.copy_catalog import TABLE_ITSELF
from pipeline.copy.copy_job import CopyLimits, JobContext
from pipeline.copy.files import CopyOptions
from pipeline.copy.lease import Lease
from pipeline.copy.staging import RunMarker, object_path
from pipeline.copy.sweep import sweep_staging
from pipeline.copy.takeover import retire, take_over
from pipeline.errors import SourceKeepsChanging, WriteOpen
from pipeline.hudi.errors import OutOfStep
from pipeline.hudi.replicate import HudiReplicationResult, plan_replication, run_replication
from pipeline.hudi.table.storage import HudiStorage
from pipeline.hudi.table.table import open_table

Storages = Callable[[str], HudiStorage]
"""What reads the files of a URI."""

_FORMATS = ("org.apache.hudi.", "com.uber.hoodie.")


def is_hudi(table: Table) -> bool:
    """As its metastore says."""
    provider = table.parameters.get("spark.sql.sources.provider", "")
    return table.storage.input_format.startswith(_FORMATS) or provider.lower() == "hudi"


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """The two ends as their metastores have them: `replica` is its directory, None when there
    is none; `of` the version of the source that the metastore knows, `fresh` whether the replica
    is known to hold it, `busy` whether the source is being written.
    """

    source: str
    replica: str | None
    of: str
    fresh: bool
    busy: bool


class ReplicaTarget(Protocol):
    """One table's way to one target: `what` names it, `staging` is where its replicas lie."""

    @property
    def what(self) -> str: ...

    @property
    def staging(self) -> str: ...

    @property
    def marker(self) -> RunMarker: ...

    def now(self) -> ReplicaState: ...

    def publish(self, now: ReplicaState, replica: str) -> bool:
        """Makes a directory known as the replica that has what the source had `now`; whether
        the source still has that version."""
        ...

    def used(self, marker: RunMarker) -> frozenset[str]:
        """Every replica that the table which `marker` was made for refers to now."""
        ...


@dataclass(frozen=True, slots=True)
class Replicator:
    """Brings replicas up to date. Idempotent: killed anywhere, the next run goes on."""

    storage: Storages
    context: JobContext
    options: CopyOptions
    limits: CopyLimits

    def run(self, ends: ReplicaTarget) -> HudiReplicationResult | None:
        """What was done; None when nothing was to do. Raises CopyError, IncrementalError."""
        now = ends.now()
        if now.fresh and self._is_complete(now):
            return None
        with Lease(self.context.files, ends.staging, ends.marker, self.context.clock) as lease:
            self._take_over(ends)
            for _ in range(self.limits.attempts):
                now = self._quiet(ends)
                target, done = self._carry(ends, now)
                lease.check()
                if target != now.replica:
                    retire(self.context.files, ends.staging, [now.replica])
                if ends.publish(now, target):
                    self._sweep(ends)
                    return done
        raise SourceKeepsChanging(f"{ends.what} changed during each attempt.")

    def _is_complete(self, now: ReplicaState) -> bool:
        if now.replica is None:
            return False
        source = open_table(now.source, self.storage(now.source))
        try:
            return plan_replication(source, now.replica, self.storage(now.replica)).empty
        except OutOfStep:
            return False

    def _quiet(self, ends: ReplicaTarget) -> ReplicaState:
        """A write that is under way would make the replica stale from birth."""
        deadline = self.context.clock() + self.limits.wait
        while (now := ends.now()).busy:
            if self.context.clock() >= deadline:
                raise WriteOpen(f"{ends.what}: a write of it is open.")
            self.context.sleep(self.limits.poll)
        return now

    def _take_over(self, ends: ReplicaTarget) -> None:
        """What a dead run had of a first replica is gone on with."""
        fresh = {TABLE_ITSELF: _fresh(ends)}
        files, clock = self.context.files, self.context.clock
        taken = take_over(files, ends.staging, ends.marker, fresh, ends.used, clock)
        self._event(ends, "staged", taken_over=taken)

    def _carry(self, ends: ReplicaTarget, now: ReplicaState) -> tuple[str, HudiReplicationResult]:
        """The directory that has all commits now, and what that took."""
        fresh = _fresh(ends)
        for target in (now.replica, fresh):
            if target is not None:
                try:
                    return target, self._into(now.source, target)
                except OutOfStep as why:
                    self._event(ends, "anew", reason=str(why))
        self.context.files.delete([fresh])
        return fresh, self._into(now.source, fresh)

    def _into(self, source: str, target: str) -> HudiReplicationResult:
        table = open_table(source, self.storage(source))
        planned = plan_replication(table, target, self.storage(target))
        if planned.whole:
            self.context.files.make_folders({target: source}, self.options.keep_owner)
        return run_replication(planned, self.context.files, self.options, self.context.progress)

    def _sweep(self, ends: ReplicaTarget) -> None:
        files, clock, grace = self.context.files, self.context.clock, self.limits.grace
        sweep_staging(files, ends.used, ends.staging, clock, grace, ends.marker.run)

    def _event(self, ends: ReplicaTarget, name: str, **facts: object) -> None:
        self.context.emit({"event": name, "run": ends.marker.run, "table": ends.what, **facts})


def _fresh(ends: ReplicaTarget) -> str:
    """The directory of a new replica of this run."""
    return object_path(ends.staging, ends.marker.run, TABLE_ITSELF)
