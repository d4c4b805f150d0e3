"""The part of a run that copies and replicas share: stage, copy, verify, publish, and again.

A `CopyCatalog` says what differs between them: what the sources are now, and how a finished
directory becomes visible. Nothing is visible before `publish`. A run that is killed leaves complete
files under their final names, which the next run finds.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pipeline.copy.files import (
    CopyOptions,
    FileCopy,
    FileListing,
    Files,
    FileStatus,
    Progress,
    compare,
    no_progress,
)
from pipeline.copy.lease import Clock, Lease
from pipeline.copy.plan import PlannedCopy
from pipeline.copy.staging import RunMarker, object_path
from pipeline.copy.sweep import SweepResult, Used, sweep_staging
from pipeline.copy.takeover import retire, take_over
from pipeline.errors import (
    CopyError,
    FilesFailed,
    NotCopyable,
    SourceKeepsChanging,
    VerifyFailed,
    WriteOpen,
)

Emit = Callable[[Mapping[str, object]], None]


def no_events(event: Mapping[str, object]) -> None:
    """For callers that listen to none."""


@dataclass(frozen=True, slots=True)
class CopyLimits:
    """How long a run insists. `wait` bounds the seconds for an open write to end, `attempts`
    how often an object that changed meanwhile is copied again, `grace` is how many seconds a
    replaced directory stays for those who still read it.
    """

    wait: float = 60.0
    attempts: int = 3
    poll: float = 1.0
    grace: float = 3600.0


@dataclass(frozen=True, slots=True)
class JobContext:
    """What a run works with. `clock` gives epoch seconds, `sleep` takes seconds."""

    files: Files
    emit: Emit = no_events
    progress: Progress = no_progress
    clock: Clock = time.time
    sleep: Callable[[float], None] = time.sleep


@dataclass(slots=True)
class CopyReport:
    """What a run did. Bytes are those that went over the wire."""

    run: str = ""
    published: list[str] = field(default_factory=list)
    fresh: int = 0
    gone: list[str] = field(default_factory=list)
    files_sent: int = 0
    files_kept: int = 0
    bytes_sent: int = 0
    seconds: float = 0.0
    failed: dict[str, CopyError] = field(default_factory=dict)
    swept: SweepResult = field(default_factory=SweepResult)


@dataclass(frozen=True, slots=True)
class ObjectCopy:
    """One object in this round: from where, at which version, into which fresh directory."""

    item: PlannedCopy
    target: str
    before: FileListing

    def orders(self) -> tuple[FileCopy, ...]:
        return tuple(FileCopy(self.item.source, self.target, each) for each in self.before.files)


class CopyCatalog(Protocol):
    """What a run knows of the metastores. Objects go by their names."""

    def current(self, items: Mapping[str, PlannedCopy]) -> tuple[list[PlannedCopy], list[str]]:
        """Those that still exist, source and version as they are now, read before any file is
        listed; and the names of those that are being written.
        """
        ...

    def publish(self, works: Sequence[ObjectCopy]) -> frozenset[str]:
        """Makes the works known whose sources are as they were; the names of those."""
        ...

    def withdraw(self, names: Collection[str]) -> None:
        """The sources of these changed while they were published: no reader may rely on them."""
        ...

    def used(self, marker: RunMarker) -> frozenset[str]:
        """Every directory that the table which `marker` was made for refers to now."""
        ...


@dataclass(slots=True)
class CopyJob:
    """Works in one run's directory of a staging. `what` names the table in events and errors."""

    what: str
    staging: str
    marker: RunMarker
    catalog: CopyCatalog
    context: JobContext
    options: CopyOptions
    limits: CopyLimits
    report: CopyReport

    def run(self, rounds: Sequence[Sequence[PlannedCopy]]) -> CopyReport:
        """Objects that could not be copied are in `failed` of the report; raises CopyError when
        nothing can go on. What was published stays published.
        """
        began = self.context.clock()
        self.report.run = self.marker.run
        with Lease(self.context.files, self.staging, self.marker, self.context.clock) as lease:
            for items in rounds:
                self._round(items, lease)
            self.report.swept = self._sweep(self.catalog.used)
        self.report.seconds = self.context.clock() - began
        return self.report

    def _sweep(self, used: Used) -> SweepResult:
        files, clock, grace = self.context.files, self.context.clock, self.limits.grace
        swept = sweep_staging(files, used, self.staging, clock, grace, self.marker.run)
        self._event("swept", condemned=swept.condemned, deleted=swept.deleted)
        return swept

    def _round(self, items: Sequence[PlannedCopy], lease: Lease) -> None:
        """Copies these objects; one that changes meanwhile is tried again, bounded. What goes
        wrong with one object does not keep the others from being published.
        """
        left = {item.name: item for item in items}
        for attempt in range(self.limits.attempts):
            works, missing = self._stage(self._current(left))
            self._give_up(left, (), missing, NotCopyable)
            works = self._give_up(left, works, self._carry(works), FilesFailed)
            works, unlike = self._verify(works)
            self._give_up(left, (), unlike, VerifyFailed)
            for name in self._publish(works, lease):
                del left[name]
            if not left:
                return
            self._event("changed", objects=sorted(left), attempt=attempt + 1)
        reason = f"it changed during each of {self.limits.attempts} attempts"
        self._give_up(left, (), dict.fromkeys(left, reason), SourceKeepsChanging)

    def _give_up(
        self,
        left: dict[str, PlannedCopy],
        works: Sequence[ObjectCopy],
        reasons: Mapping[str, str],
        kind: type[CopyError],
    ) -> list[ObjectCopy]:
        """Reports the objects that have a reason; the works of the others."""
        for name, reason in reasons.items():
            del left[name]
            self.report.failed[name] = kind(f"{self.what} {name}".rstrip() + f": {reason}.")
            self._event("failed", object=name, error=str(self.report.failed[name]))
        return [work for work in works if work.item.name not in reasons]

    def _current(self, left: dict[str, PlannedCopy]) -> list[PlannedCopy]:
        deadline = self.context.clock() + self.limits.wait
        while True:
            now, busy = self.catalog.current(left)
            if not busy or self.context.clock() >= deadline:
                break
            self._event("waiting", objects=busy)
            self.context.sleep(self.limits.poll)
        self._give_up(left, (), dict.fromkeys(busy, "a write of it is open"), WriteOpen)
        ready = [item for item in now if item.name in left]
        gone = sorted(left.keys() - {item.name for item in ready})
        for name in gone:
            del left[name]
        self.report.gone += gone
        return ready

    def _stage(self, items: Sequence[PlannedCopy]) -> tuple[list[ObjectCopy], dict[str, str]]:
        """A fresh directory for each, or what a dead run has of it; the sources' listings. And
        of those without a directory, what is missing: an empty copy of them would be a lie.
        """
        files = self.context.files
        targets = {i.name: object_path(self.staging, self.marker.run, i.name) for i in items}
        taken = take_over(
            files, self.staging, self.marker, targets, self.catalog.used, self.context.clock
        )
        works, missing = [], {}
        listings = files.listings([item.source for item in items])
        for item, listing in zip(items, listings, strict=True):
            if listing is None:
                missing[item.name] = f"there is no directory {item.source}"
            else:
                works.append(ObjectCopy(item, targets[item.name], listing))
        files.make_folders(
            {work.target: work.item.source for work in works}, self.options.keep_owner
        )
        self._event("staged", objects=len(works), taken_over=taken)
        return works, missing

    def _carry(self, works: Sequence[ObjectCopy]) -> dict[str, str]:
        """Why objects could not be carried, by name."""
        owner = {work.target: work.item.name for work in works}
        orders = [order for work in works for order in work.orders()]
        results = self.context.files.copy_files(orders, self.options, self.context.progress)
        count = Counter(result.status for result in results)
        sent = sum(result.sent for result in results)
        self.report.files_sent += count[FileStatus.SENT]
        self.report.files_kept += count[FileStatus.KEPT]
        self.report.bytes_sent += sent
        self._event("carried", bytes=sent, **{v.value: count[v] for v in FileStatus})
        failed = [result for result in results if result.status is FileStatus.FAILED]
        return {owner[o.order.target]: f"{o.order.entry.path}: {o.message}" for o in failed}

    def _verify(self, works: Sequence[ObjectCopy]) -> tuple[list[ObjectCopy], dict[str, str]]:
        """Those whose source stayed as it was listed and whose target is exactly like it; and
        of those with a quiet source but another target, the difference.
        """
        files = self.context.files
        after = files.listings([work.item.source for work in works])
        quiet = [w for w, now in zip(works, after, strict=True) if now == w.before]
        self._drop_strays(quiet)
        there = files.listings([work.target for work in quiet])
        unlike = {}
        for work, listing in zip(quiet, there, strict=True):
            difference = compare(work.before, listing or FileListing(()))
            if difference:
                unlike[work.item.name] = f"{work.target} is not like its source: {difference}"
        same = [work for work in quiet if work.item.name not in unlike]
        self._event("verified", objects=len(same), changed=len(works) - len(quiet))
        return same, unlike

    def _drop_strays(self, works: Sequence[ObjectCopy]) -> None:
        """Deletes what a target has and its source has not: parts of files, files since gone."""
        files = self.context.files
        strays = []
        for work, there in zip(works, files.listings([w.target for w in works]), strict=True):
            if there is not None:
                strays += [f"{work.target}/{path}" for path in compare(work.before, there).extra]
        files.delete(strays)

    def _publish(self, works: Sequence[ObjectCopy], lease: Lease) -> frozenset[str]:
        if not works:
            return frozenset()
        lease.check()
        retire(self.context.files, self.staging, [work.item.retires for work in works])
        published = self.catalog.publish(works) - self._withdrawn(works)
        self.report.published += sorted(published)
        self._event("published", objects=sorted(published))
        return published

    def _withdrawn(self, works: Sequence[ObjectCopy]) -> frozenset[str]:
        """Those whose sources changed between their verification and their publication.

        A writer past the proxy leaves no mark while it writes. What it writes before a copy is
        known ends no copy, so it is looked for once more; what comes later ends the copy.
        """
        now = self.context.files.listings([work.item.source for work in works])
        changed = [w.item.name for w, seen in zip(works, now, strict=True) if seen != w.before]
        if changed:
            self.catalog.withdraw(changed)
            self._event("withdrawn", objects=sorted(changed))
        return frozenset(changed)

    def _event(self, name: str, **facts: object) -> None:
        about = {"event": name, "run": self.marker.run, "table": self.what}
        self.context.emit(about | facts)
