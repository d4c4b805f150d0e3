"""Hudi feeds: what is replicated is the table, commit by commit, whatever partition is due.

A Hudi table's readers look for its timeline at the table's location, so single partitions cannot
be copied. The replica lies in a run's directory of the target's yard, like other copies, but new
commits are added to it in place: that is safe, because each becomes visible by one file. Only when
the replica cannot follow (commits that it lacks were archived or cleaned, or undone after it had
them) is another one made, beside the old one, which readers keep until the new one is published.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from metastore.client.types import Table
from pipeline.copy.copy_catalog import TABLE_ITSELF
from pipeline.copy.copy_job import Limits, Tools
from pipeline.copy.files import Effort
from pipeline.copy.lease import Lease
from pipeline.copy.staging import RunNote, object_path
from pipeline.copy.sweep import sweep_yard
from pipeline.copy.takeover import retire, take_over
from pipeline.errors import SourceKeepsChanging, WriteOpen
from pipeline.hudi.errors import OutOfStep
from pipeline.hudi.replicate import Replicated, plan_replication, run_replication
from pipeline.hudi.table.storage import Storage
from pipeline.hudi.table.table import open_table

Storages = Callable[[str], Storage]
"""What reads the files of a URI."""

_FORMATS = ("org.apache.hudi.", "com.uber.hoodie.")


def is_hudi(table: Table) -> bool:
    """As its metastore says."""
    provider = table.parameters.get("spark.sql.sources.provider", "")
    return table.storage.input_format.startswith(_FORMATS) or provider.lower() == "hudi"


@dataclass(frozen=True, slots=True)
class Now:
    """The two ends as their metastores have them: `replica` is its directory, None when there
    is none; `of` the version of the source that the metastore knows, `fresh` whether the replica
    is known to hold it, `busy` whether the source is being written.
    """

    source: str
    replica: str | None
    of: str
    fresh: bool
    busy: bool


class Ends(Protocol):
    """One table's way to one target: `what` names it, `yard` is where its replicas lie."""

    @property
    def what(self) -> str: ...

    @property
    def yard(self) -> str: ...

    @property
    def note(self) -> RunNote: ...

    def now(self) -> Now: ...

    def publish(self, now: Now, replica: str) -> bool:
        """Makes a directory known as the replica that has what the source had `now`; whether
        the source still has that version."""
        ...

    def used(self, note: RunNote) -> frozenset[str]:
        """Every replica that the table which `note` was made for refers to now."""
        ...


@dataclass(frozen=True, slots=True)
class Replicator:
    """Brings replicas up to date. Idempotent: killed anywhere, the next run goes on."""

    storage: Storages
    tools: Tools
    effort: Effort
    limits: Limits

    def run(self, ends: Ends) -> Replicated | None:
        """What was done; None when nothing was to do. Raises CopyError, IncrementalError."""
        now = ends.now()
        if now.fresh and self._is_complete(now):
            return None
        with Lease(self.tools.files, ends.yard, ends.note, self.tools.clock) as lease:
            self._take_over(ends)
            for _ in range(self.limits.attempts):
                now = self._quiet(ends)
                target, done = self._carry(ends, now)
                lease.check()
                if target != now.replica:
                    retire(self.tools.files, ends.yard, [now.replica])
                if ends.publish(now, target):
                    self._sweep(ends)
                    return done
        raise SourceKeepsChanging(f"{ends.what} changed during each attempt.")

    def _is_complete(self, now: Now) -> bool:
        if now.replica is None:
            return False
        source = open_table(now.source, self.storage(now.source))
        try:
            return plan_replication(source, now.replica, self.storage(now.replica)).empty
        except OutOfStep:
            return False

    def _quiet(self, ends: Ends) -> Now:
        """A write that is under way would make the replica stale from birth."""
        deadline = self.tools.clock() + self.limits.wait
        while (now := ends.now()).busy:
            if self.tools.clock() >= deadline:
                raise WriteOpen(f"{ends.what}: a write of it is open.")
            self.tools.sleep(self.limits.poll)
        return now

    def _take_over(self, ends: Ends) -> None:
        """What a dead run had of a first replica is gone on with."""
        fresh = {TABLE_ITSELF: _fresh(ends)}
        files, clock = self.tools.files, self.tools.clock
        taken = take_over(files, ends.yard, ends.note, fresh, ends.used, clock)
        self._event(ends, "staged", taken_over=taken)

    def _carry(self, ends: Ends, now: Now) -> tuple[str, Replicated]:
        """The directory that has all commits now, and what that took."""
        fresh = _fresh(ends)
        for target in (now.replica, fresh):
            if target is not None:
                try:
                    return target, self._into(now.source, target)
                except OutOfStep as why:
                    self._event(ends, "anew", reason=str(why))
        self.tools.files.delete([fresh])
        return fresh, self._into(now.source, fresh)

    def _into(self, source: str, target: str) -> Replicated:
        table = open_table(source, self.storage(source))
        planned = plan_replication(table, target, self.storage(target))
        if planned.whole:
            self.tools.files.make({target: source}, self.effort.keep_owner)
        return run_replication(planned, self.tools.files, self.effort, self.tools.progress)

    def _sweep(self, ends: Ends) -> None:
        files, clock, grace = self.tools.files, self.tools.clock, self.limits.grace
        sweep_yard(files, ends.used, ends.yard, clock, grace, ends.note.run)

    def _event(self, ends: Ends, name: str, **facts: object) -> None:
        self.tools.emit({"event": name, "run": ends.note.run, "table": ends.what, **facts})


def _fresh(ends: Ends) -> str:
    """The directory of a new replica of this run."""
    return object_path(ends.yard, ends.note.run, TABLE_ITSELF)
