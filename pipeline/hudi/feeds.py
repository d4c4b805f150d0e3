"""Replicates the whole table of a Hudi feed, commit by commit, whichever instance is due.

Readers of a Hudi table read its timeline in the table's directory, so single partitions cannot be
copied. A replica is in the directory of a run, like other copies. New commits are added to it in
place: each becomes visible by one file. If a replica cannot follow its source (commits that it
lacks were archived or cleaned, or commits that it has were undone), a new one is made, and the old
one stays for its readers until the new one is published.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.copy.copy_catalog import TABLE_ITSELF
from pipeline.copy.copy_record import CopyRoute, Share, recorded
from pipeline.copy.files import CopyOptions
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.copy.runs.lease import Lease
from pipeline.copy.runs.staging import RunMarker, object_path
from pipeline.copy.runs.sweep import sweep_staging
from pipeline.copy.runs.takeover import retire, take_over, take_over_objects
from pipeline.errors import SourceKeepsChanging, WriteOpen
from pipeline.falcon.paths import is_object_store
from pipeline.hudi.errors import OutOfStep
from pipeline.hudi.replicas.replica_plan import plan_replication
from pipeline.hudi.replicas.replicate import HudiReplicationResult, run_replication
from pipeline.hudi.table.storage import HudiStorage
from pipeline.hudi.table.table import open_table

Storages = Callable[[str], HudiStorage]
"""The storage that reads the files of a URI."""


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """A source table and its replica, as their metastores have them.

    `source` and `replica` are directories; `replica` is None when there is none. `of` is the
    version of the source. `fresh`: the replica has this version; `busy`: the source is being
    written.
    """

    source: str
    replica: str | None
    of: str
    fresh: bool
    busy: bool


class ReplicaTarget(Protocol):
    """The replica of one table in one target. `name` is for events and errors; `staging` is the
    directory of its runs.
    """

    @property
    def name(self) -> str: ...

    @property
    def staging(self) -> str: ...

    @property
    def marker(self) -> RunMarker: ...

    @property
    def route(self) -> CopyRoute: ...

    def state(self) -> ReplicaState: ...

    def begin(self) -> None:
        """Called before commits are added to a replica that has readers."""
        ...

    def publish(self, state: ReplicaState, replica: str) -> bool:
        """Makes a directory the replica of the source in this state. Returns whether the source
        still has that version.
        """
        ...

    def used(self, marker: RunMarker) -> frozenset[str]:
        """Every replica to which the table of a run's marker refers now."""
        ...


@dataclass(frozen=True, slots=True)
class Replicator:
    """Updates replicas. After a kill the next run continues."""

    storage: Storages
    context: JobContext
    options: CopyOptions
    limits: CopyLimits

    def run(self, target: ReplicaTarget) -> HudiReplicationResult | None:
        """Updates the replica. Returns None when it was up to date. Raises CopyError,
        IncrementalError.
        """
        state = target.state()
        if state.fresh and self._is_complete(state):
            return None
        route, shares = target.route, dict[str, Share]()
        with recorded(self.context.record, self.context.clock, route, lambda: shares):
            state, result = self._run(target)
            if result.files:
                objects, sent = [(TABLE_ITSELF, state.of)], result.bytes
                shares[route.source] = Share(objects, files=None, bytes=None, sent=sent)
        return result

    def _run(self, target: ReplicaTarget) -> tuple[ReplicaState, HudiReplicationResult]:
        """Copies what is missing and publishes it. Returns the state of the source that was
        published, and the result.
        """
        files = self.context.files
        with Lease(files, target.staging, target.marker, self.context.clock) as lease:
            earlier = self._take_over(target)
            for _ in range(self.limits.attempts):
                state = self._wait_for_writes(target)
                target.begin()
                replica, result = self._replicate(target, state, earlier)
                lease.check()
                if replica != state.replica:
                    retire(files, target.staging, [state.replica])
                if target.publish(state, replica):
                    self._sweep(target)
                    lease.finished = True
                    return state, result
        raise SourceKeepsChanging(f"{target.name} changed during each attempt.")

    def _is_complete(self, state: ReplicaState) -> bool:
        if state.replica is None:
            return False
        source = open_table(state.source, self.storage(state.source))
        try:
            return plan_replication(source, state.replica, self.storage(state.replica)).empty
        except OutOfStep:
            return False

    def _wait_for_writes(self, target: ReplicaTarget) -> ReplicaState:
        """The state when no write is open: a replica made during a write would be stale at once.
        Raises WriteOpen.
        """
        deadline = self.context.clock() + self.limits.wait
        while (state := target.state()).busy:
            if self.context.clock() >= deadline:
                raise WriteOpen(f"{target.name}: a write of it is open.")
            self.context.sleep(self.limits.poll)
        return state

    def _take_over(self, target: ReplicaTarget) -> Sequence[str]:
        """Takes over the files of interrupted runs. Returns the runs' directories, the newest
        first, in an object store, which cannot move a directory in one step; elsewhere none.
        """
        new = _new_replica(target)
        place = self.context.files, target.staging, target.marker, {TABLE_ITSELF: new}
        if is_object_store(target.staging):
            earlier = take_over_objects(*place, target.used, self.context.clock).get(new, ())
            taken = len(earlier)
        else:
            earlier, taken = (), take_over(*place, target.used, self.context.clock)
        self._event(target, "staged", taken_over=taken)
        return earlier

    def _replicate(
        self, target: ReplicaTarget, state: ReplicaState, earlier: Sequence[str]
    ) -> tuple[str, HudiReplicationResult]:
        """Copies into the replica, or into a new one if it cannot be updated. Returns the directory
        that has all commits now, and the result.
        """
        new = _new_replica(target)
        for replica in (state.replica, new):
            if replica is not None:
                taken = earlier if replica == new else ()
                try:
                    return replica, self._copy_into(state.source, replica, taken)
                except OutOfStep as reason:
                    self._event(target, "anew", reason=str(reason))
        self.context.files.delete([new])
        return new, self._copy_into(state.source, new, earlier)

    def _copy_into(
        self, source: str, replica: str, earlier: Sequence[str]
    ) -> HudiReplicationResult:
        table = open_table(source, self.storage(source))
        planned = plan_replication(table, replica, self.storage(replica))
        files, options = self.context.files, self.options
        if planned.whole:
            files.make_folders({replica: source}, options.keep_owner)
        return run_replication(planned, files, options, self.context.progress, earlier)

    def _sweep(self, target: ReplicaTarget) -> None:
        files, clock, grace = self.context.files, self.context.clock, self.limits.grace
        sweep_staging(files, target.used, target.staging, clock, grace, target.marker.run)

    def _event(self, target: ReplicaTarget, name: str, **facts: object) -> None:
        self.context.emit({"event": name, "run": target.marker.run, "table": target.name, **facts})


def _new_replica(target: ReplicaTarget) -> str:
    """The directory of a new replica of this run."""
    return object_path(target.staging, target.marker.run, TABLE_ITSELF)
