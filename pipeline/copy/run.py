"""Runs a copy plan: stage, carry, verify, publish a round at a time, then sweep.

Nothing is visible before `publish`, which changes the metastore alone. Killed anywhere, what a
run has finished is found by the next one: files under their final names are complete.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

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
from pipeline.copy.lease import Clock, Lease, notes_in
from pipeline.copy.placing import Object, Objects, Publication
from pipeline.copy.plan import CopyPlan, Item
from pipeline.copy.sweep import Swept, sweep_yard
from pipeline.copy.yard import (
    RETIRED,
    is_run,
    new_run,
    note_path,
    object_path,
    this_machine,
)
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
    """How long a copy insists. `wait` bounds the seconds for an open write to end, `attempts`
    how often an object that changed meanwhile is copied again, `grace` is how many seconds a
    replaced copy stays for those who still read it.
    """

    wait: float = 60.0
    attempts: int = 3
    poll: float = 1.0
    grace: float = 3600.0


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


@dataclass(frozen=True, slots=True)
class Tools:
    """What a run works with. `clock` gives epoch seconds, `sleep` takes seconds."""

    files: Files
    objects: Objects
    emit: Emit = no_events
    progress: Progress = no_progress
    clock: Clock = time.time
    sleep: Callable[[float], None] = time.sleep


def run_copy(plan: CopyPlan, tools: Tools, effort: Effort, limits: Limits) -> Report:
    """Carries the plan out. Objects that could not be copied are in `failed` of the report;
    raises CopyError when nothing can go on. What was published stays published.
    """
    began = tools.clock()
    report = Report(fresh=plan.fresh)
    if not plan.items:
        return report
    note = new_run(plan.ref, plan.table.created, began)
    report.run = note.run
    with Lease(tools.files, plan.yard, note, tools.clock) as lease:
        running = _Running(plan, tools, effort, limits, report, lease)
        for items in plan.rounds:
            running.round(items)
        report.swept = sweep_yard(
            tools.files, tools.objects, plan.cluster, plan.yard, tools.clock, limits.grace, note.run
        )
    report.seconds = tools.clock() - began
    tools.emit({"event": "swept", "run": report.run, "deleted": report.swept.deleted})
    return report


class _Running:
    def __init__(
        self,
        plan: CopyPlan,
        tools: Tools,
        effort: Effort,
        limits: Limits,
        report: Report,
        lease: Lease,
    ) -> None:
        self._plan = plan
        self._tools = tools
        self._effort = replace(effort, checksum=plan.checksum)
        self._limits = limits
        self._report = report
        self._lease = lease

    def round(self, items: Sequence[Item]) -> None:
        """Copies these objects; one that changes meanwhile is tried again, bounded. What goes
        wrong with one object does not keep the others from being published.
        """
        left = {item.name: item for item in items}
        for attempt in range(self._limits.attempts):
            works = self._stage(self._still(left))
            works = self._drop(left, works, self._carry(works), FilesFailed)
            works, unlike = self._verify(works)
            self._drop(left, works, unlike, VerifyFailed)
            for name in self._publish(works):
                del left[name]
            if not left:
                return
            self._event("changed", objects=sorted(left), attempt=attempt + 1)
        reason = f"it changed during each of {self._limits.attempts} attempts"
        self._drop(left, (), dict.fromkeys(left, reason), SourceKeepsChanging)

    def _drop(
        self,
        left: dict[str, Item],
        works: Sequence[Work],
        reasons: Mapping[str, str],
        kind: type[CopyError],
    ) -> list[Work]:
        """Gives up on the objects that have a reason; the works of the others."""
        for name, reason in reasons.items():
            del left[name]
            self._report.failed[name] = kind(f"{self._plan.ref} {name}".rstrip() + f": {reason}.")
            self._event("failed", object=name, error=str(self._report.failed[name]))
        return [work for work in works if work.item.name not in reasons]

    def _still(self, left: dict[str, Item]) -> list[Item]:
        """The items as they are now: source and version read before any file is listed."""
        deadline = self._tools.clock() + self._limits.wait
        while True:
            now = self._read(left)
            writing = [each.name for each in now if each.placement.writing]
            if not writing or self._tools.clock() >= deadline:
                break
            self._event("waiting", objects=writing)
            self._tools.sleep(self._limits.poll)
        self._drop(left, (), dict.fromkeys(writing, "a write of it is open"), WriteOpen)
        gone = left.keys() - {each.name for each in now} - set(writing)
        for name in gone:
            del left[name]
        self._report.gone += sorted(gone)
        return [
            replace(left[each.name], source=each.location, of=each.placement.version)
            for each in now
            if each.name in left
        ]

    def _read(self, left: Mapping[str, Item]) -> list[Object]:
        objects = self._tools.objects
        state = objects.table(self._plan.ref)
        if state.created != self._plan.table.created:
            raise NotCopyable(f"{self._plan.ref} is another table than the plan was made for.")
        return objects.objects(state, list(left))

    def _stage(self, items: Sequence[Item]) -> list[Work]:
        targets = {i.name: object_path(self._plan.yard, self._report.run, i.name) for i in items}
        taken = take_over(self._tools, self._plan.yard, self._report.run, targets, self._live)
        listings = self._tools.files.listings([item.source for item in items])
        works = []
        for item, listing in zip(items, listings, strict=True):
            if listing is None:
                what = f"{self._plan.ref} {item.name}".rstrip()
                raise NotCopyable(f"{what}: there is no directory {item.source}.")
            works.append(Work(item, targets[item.name], listing))
        likes = {work.target: work.item.source for work in works}
        self._tools.files.make(likes, self._effort.keep_owner)
        self._event("staged", objects=len(works), taken_over=taken)
        return works

    def _live(self) -> frozenset[str]:
        objects = self._tools.objects
        return objects.copy_locations(objects.table(self._plan.ref), self._plan.cluster)

    def _carry(self, works: Sequence[Work]) -> dict[str, str]:
        """Why objects could not be carried, by name."""
        owner = {work.target: work.item.name for work in works}
        orders = [order for work in works for order in work.orders()]
        outcomes = self._tools.files.carry(orders, self._effort, self._tools.progress)
        count = Counter(outcome.verdict for outcome in outcomes)
        sent = sum(outcome.sent for outcome in outcomes)
        self._report.files_sent += count[Verdict.SENT]
        self._report.files_kept += count[Verdict.KEPT]
        self._report.bytes_sent += sent
        self._event("carried", bytes=sent, **{v.value: count[v] for v in Verdict})
        failed = [outcome for outcome in outcomes if outcome.verdict is Verdict.FAILED]
        return {owner[o.order.target]: f"{o.order.entry.path}: {o.message}" for o in failed}

    def _verify(self, works: Sequence[Work]) -> tuple[list[Work], dict[str, str]]:
        """Those whose source stayed as it was listed and whose target is exactly like it; and
        of those with a quiet source but another target, the difference.
        """
        files = self._tools.files
        after = files.listings([work.item.source for work in works])
        quiet = [w for w, now in zip(works, after, strict=True) if now == w.before]
        drop_strays(files, quiet)
        there = files.listings([work.target for work in quiet])
        unlike = {}
        for work, listing in zip(quiet, there, strict=True):
            difference = compare(work.before, listing or Listing(()))
            if difference:
                unlike[work.item.name] = f"{work.target} is not like its source: {difference}"
        same = [work for work in quiet if work.item.name not in unlike]
        self._event("verified", objects=len(same), changed=len(works) - len(quiet))
        return same, unlike

    def _publish(self, works: Sequence[Work]) -> frozenset[str]:
        if not works:
            return frozenset()
        self._lease.check()
        retire(self._tools.files, self._plan.yard, [w.item.retires for w in works])
        new = [Publication(w.item.name, w.item.source, w.item.of, w.target) for w in works]
        cluster = self._plan.cluster
        published = self._tools.objects.publish(self._plan.ref, cluster, new)
        self._report.published += sorted(published)
        self._event("published", objects=sorted(published))
        return published

    def _event(self, name: str, **facts: object) -> None:
        self._tools.emit(
            {"event": name, "run": self._report.run, "table": str(self._plan.ref)} | facts
        )


def take_over(
    tools: Tools,
    yard: str,
    run: str,
    targets: Mapping[str, str],
    live: Callable[[], frozenset[str]],
) -> int:
    """Moves what dead runs have of these objects into this run; how many were moved.

    A dead run is marked first, so that one that only seemed dead publishes nothing. What a copy
    refers to, or a reader may still be at, is never moved.
    """
    files, here = tools.files, this_machine()
    moves: dict[str, str] = {}
    for name, note in notes_in(files, yard).items():
        if name == run or note is None or note.alive(tools.clock(), here):
            continue
        there = {f"{yard}/{name}/{child}" for child in files.children(f"{yard}/{name}")}
        there -= {f"{yard}/{name}/{each}" for each in retired_in(files, yard, name)}
        wanted = {object_path(yard, name, each): target for each, target in targets.items()}
        found = {s: t for s, t in wanted.items() if s in there and t not in moves.values()}
        if found:
            files.leave_note(note_path(yard, name), note.taken(run).to_text())
            moves |= found
    if not moves:
        return 0
    used = live()
    return len(files.move({s: t for s, t in moves.items() if s not in used}))


def retire(files: Files, yard: str, locations: Sequence[str | None]) -> None:
    """Notes in their runs that these copies are being replaced: readers may be at them, so
    that they wait for a sweep and are not taken over.
    """
    by_run: dict[str, set[str]] = {}
    for location in locations:
        run, slash, name = (location or "").removeprefix(f"{yard}/").partition("/")
        if slash and is_run(run):
            by_run.setdefault(run, set()).add(name)
    for run, names in by_run.items():
        known = retired_in(files, yard, run)
        if not names <= known:
            files.leave_note(f"{yard}/{run}/{RETIRED}", json.dumps(sorted(known | names)))


def retired_in(files: Files, yard: str, run: str) -> frozenset[str]:
    """The objects' directories of a run that were replaced."""
    text = files.note(f"{yard}/{run}/{RETIRED}")
    return frozenset(json.loads(text)) if text else frozenset()


def drop_strays(files: Files, works: Sequence[Work]) -> None:
    """Deletes what a target has and its source has not: parts of files, files since removed."""
    strays = []
    for work, there in zip(works, files.listings([w.target for w in works]), strict=True):
        if there is not None:
            strays += [f"{work.target}/{path}" for path in compare(work.before, there).extra]
    files.delete(strays)
