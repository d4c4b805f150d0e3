"""The part of a run that copies and replicas share: stage, carry, verify, publish, again if needed.

What differs between them is a `Ledger`: what the sources are now, and how a finished directory is
made known. Nothing is visible before `publish`. Killed anywhere, what a run has finished is found
by the next one: files under their final names are complete.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pipeline.copy.files import (
    Effort,
    Files,
    Listing,
    Order,
    Progress,
    Verdict,
    compare,
    no_progress,
)
from pipeline.copy.lease import Clock, Lease
from pipeline.copy.plan import Item
from pipeline.copy.staging import RunNote, object_path
from pipeline.copy.sweep import Swept, Used, sweep_yard
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
class Limits:
    """How long a run insists. `wait` bounds the seconds for an open write to end, `attempts`
    how often an object that changed meanwhile is copied again, `grace` is how many seconds a
    replaced directory stays for those who still read it.
    """

    wait: float = 60.0
    attempts: int = 3
    poll: float = 1.0
    grace: float = 3600.0


@dataclass(frozen=True, slots=True)
class Tools:
    """What a run works with. `clock` gives epoch seconds, `sleep` takes seconds."""

    files: Files
    emit: Emit = no_events
    progress: Progress = no_progress
    clock: Clock = time.time
    sleep: Callable[[float], None] = time.sleep


@dataclass(slots=True)
class Report:
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
    swept: Swept = field(default_factory=Swept)


@dataclass(frozen=True, slots=True)
class Work:
    """One object in this round: from where, at which version, into which fresh directory."""

    item: Item
    target: str
    before: Listing

    def orders(self) -> tuple[Order, ...]:
        return tuple(Order(self.item.source, self.target, each) for each in self.before.files)


class Ledger(Protocol):
    """What a run knows of the metastores. Objects go by their names."""

    def current(self, items: Mapping[str, Item]) -> tuple[list[Item], list[str]]:
        """Those that still exist, source and version as they are now, read before any file is
        listed; and the names of those that are being written.
        """
        ...

    def publish(self, works: Sequence[Work]) -> frozenset[str]:
        """Makes the works known whose sources are as they were; the names of those."""
        ...

    def withdraw(self, names: Collection[str]) -> None:
        """The sources of these changed while they were published: no reader may rely on them."""
        ...

    def used(self, note: RunNote) -> frozenset[str]:
        """Every directory that the table which `note` was made for refers to now."""
        ...


@dataclass(slots=True)
class Workshop:
    """Works in one run's directory of a yard. `what` names the table in events and errors."""

    what: str
    yard: str
    note: RunNote
    ledger: Ledger
    tools: Tools
    effort: Effort
    limits: Limits
    report: Report

    def run(self, rounds: Sequence[Sequence[Item]]) -> Report:
        """Objects that could not be copied are in `failed` of the report; raises CopyError when
        nothing can go on. What was published stays published.
        """
        began = self.tools.clock()
        self.report.run = self.note.run
        with Lease(self.tools.files, self.yard, self.note, self.tools.clock) as lease:
            for items in rounds:
                self._round(items, lease)
            self.report.swept = self._sweep(self.ledger.used)
        self.report.seconds = self.tools.clock() - began
        return self.report

    def _sweep(self, used: Used) -> Swept:
        files, clock, grace = self.tools.files, self.tools.clock, self.limits.grace
        swept = sweep_yard(files, used, self.yard, clock, grace, self.note.run)
        self._event("swept", condemned=swept.condemned, deleted=swept.deleted)
        return swept

    def _round(self, items: Sequence[Item], lease: Lease) -> None:
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
        left: dict[str, Item],
        works: Sequence[Work],
        reasons: Mapping[str, str],
        kind: type[CopyError],
    ) -> list[Work]:
        """Reports the objects that have a reason; the works of the others."""
        for name, reason in reasons.items():
            del left[name]
            self.report.failed[name] = kind(f"{self.what} {name}".rstrip() + f": {reason}.")
            self._event("failed", object=name, error=str(self.report.failed[name]))
        return [work for work in works if work.item.name not in reasons]

    def _current(self, left: dict[str, Item]) -> list[Item]:
        deadline = self.tools.clock() + self.limits.wait
        while True:
            now, busy = self.ledger.current(left)
            if not busy or self.tools.clock() >= deadline:
                break
            self._event("waiting", objects=busy)
            self.tools.sleep(self.limits.poll)
        self._give_up(left, (), dict.fromkeys(busy, "a write of it is open"), WriteOpen)
        ready = [item for item in now if item.name in left]
        gone = sorted(left.keys() - {item.name for item in ready})
        for name in gone:
            del left[name]
        self.report.gone += gone
        return ready

    def _stage(self, items: Sequence[Item]) -> tuple[list[Work], dict[str, str]]:
        """A fresh directory for each, or what a dead run has of it; the sources' listings. And
        of those without a directory, what is missing: an empty copy of them would be a lie.
        """
        files = self.tools.files
        targets = {i.name: object_path(self.yard, self.note.run, i.name) for i in items}
        taken = take_over(files, self.yard, self.note, targets, self.ledger.used, self.tools.clock)
        works, missing = [], {}
        listings = files.listings([item.source for item in items])
        for item, listing in zip(items, listings, strict=True):
            if listing is None:
                missing[item.name] = f"there is no directory {item.source}"
            else:
                works.append(Work(item, targets[item.name], listing))
        files.make({work.target: work.item.source for work in works}, self.effort.keep_owner)
        self._event("staged", objects=len(works), taken_over=taken)
        return works, missing

    def _carry(self, works: Sequence[Work]) -> dict[str, str]:
        """Why objects could not be carried, by name."""
        owner = {work.target: work.item.name for work in works}
        orders = [order for work in works for order in work.orders()]
        outcomes = self.tools.files.carry(orders, self.effort, self.tools.progress)
        count = Counter(outcome.verdict for outcome in outcomes)
        sent = sum(outcome.sent for outcome in outcomes)
        self.report.files_sent += count[Verdict.SENT]
        self.report.files_kept += count[Verdict.KEPT]
        self.report.bytes_sent += sent
        self._event("carried", bytes=sent, **{v.value: count[v] for v in Verdict})
        failed = [outcome for outcome in outcomes if outcome.verdict is Verdict.FAILED]
        return {owner[o.order.target]: f"{o.order.entry.path}: {o.message}" for o in failed}

    def _verify(self, works: Sequence[Work]) -> tuple[list[Work], dict[str, str]]:
        """Those whose source stayed as it was listed and whose target is exactly like it; and
        of those with a quiet source but another target, the difference.
        """
        files = self.tools.files
        after = files.listings([work.item.source for work in works])
        quiet = [w for w, now in zip(works, after, strict=True) if now == w.before]
        self._drop_strays(quiet)
        there = files.listings([work.target for work in quiet])
        unlike = {}
        for work, listing in zip(quiet, there, strict=True):
            difference = compare(work.before, listing or Listing(()))
            if difference:
                unlike[work.item.name] = f"{work.target} is not like its source: {difference}"
        same = [work for work in quiet if work.item.name not in unlike]
        self._event("verified", objects=len(same), changed=len(works) - len(quiet))
        return same, unlike

    def _drop_strays(self, works: Sequence[Work]) -> None:
        """Deletes what a target has and its source has not: parts of files, files since gone."""
        files = self.tools.files
        strays = []
        for work, there in zip(works, files.listings([w.target for w in works]), strict=True):
            if there is not None:
                strays += [f"{work.target}/{path}" for path in compare(work.before, there).extra]
        files.delete(strays)

    def _publish(self, works: Sequence[Work], lease: Lease) -> frozenset[str]:
        if not works:
            return frozenset()
        lease.check()
        retire(self.tools.files, self.yard, [work.item.retires for work in works])
        published = self.ledger.publish(works) - self._withdrawn(works)
        self.report.published += sorted(published)
        self._event("published", objects=sorted(published))
        return published

    def _withdrawn(self, works: Sequence[Work]) -> frozenset[str]:
        """Those whose sources changed between their verification and their publication.

        A writer past the proxy leaves no mark while it writes. What it writes before a copy is
        known ends no copy, so it is looked for once more; what comes later ends the copy.
        """
        now = self.tools.files.listings([work.item.source for work in works])
        changed = [w.item.name for w, seen in zip(works, now, strict=True) if seen != w.before]
        if changed:
            self.ledger.withdraw(changed)
            self._event("withdrawn", objects=sorted(changed))
        return frozenset(changed)

    def _event(self, name: str, **facts: object) -> None:
        about = {"event": name, "run": self.note.run, "table": self.what}
        self.tools.emit(about | facts)
