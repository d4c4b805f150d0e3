"""Executes the steps of a plan: the part of a run that copies and replications share.

A `CopyCatalog` has what differs between them: the current state of the sources, and how a finished
directory becomes visible to readers.

    Stage -> CopyFiles -> Verify -> Publish      a round; an object leaves it when it is published
      ^                               |          or has failed
      +--- objects that changed ------+          at most `attempts` times

Nothing is visible before `Publish`. A run that is killed leaves complete files under their final
names in its directory, and the next run takes them from there.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from conf.formats import size_text
from conf.progress import Progress, no_progress
from pipeline.copy.continue_copy import condemn, join, list_copies, spare
from pipeline.copy.copy_record import RecordCopy, no_records
from pipeline.copy.copy_report import CopiedObject, CopyReport
from pipeline.copy.files import CopyOptions, FileListing, Files, FileStatus, compare
from pipeline.copy.iceberg_copy import write_metadata
from pipeline.copy.object_copy import CopyCatalog, ObjectCopy
from pipeline.copy.plan import (
    CopyFiles,
    MetadataStep,
    PlannedCopy,
    Publish,
    Round,
    RoundStep,
    Stage,
    Step,
    Sweep,
    Verify,
)
from pipeline.copy.runs.lease import Clock, Lease
from pipeline.copy.runs.object_files import Earlier, ObjectFiles
from pipeline.copy.runs.staging import RunMarker, object_path
from pipeline.copy.runs.sweep import sweep_staging
from pipeline.copy.runs.takeover import retire, take_over, take_over_objects
from pipeline.copy.stage_copy import is_current, staged_copy
from pipeline.errors import (
    CopyError,
    CopyTooLarge,
    FilesFailed,
    FilesNotEnough,
    NotCopyable,
    SourceKeepsChanging,
    VerifyFailed,
    WriteOpen,
)
from pipeline.falcon.paths import is_object_store

Emit = Callable[[Mapping[str, object]], None]


def no_events(event: Mapping[str, object]) -> None:
    """For callers that need no events."""


@dataclass(frozen=True, slots=True)
class CopyLimits:
    """`wait` is how many seconds a run waits for an open write to end, `poll` the seconds between
    two looks, `attempts` how often an object that changed is copied, `grace` how many
    seconds a replaced directory stays for its readers. `most` is how many bytes the run may send;
    None: any number.
    """

    wait: float = 60.0
    attempts: int = 3
    poll: float = 1.0
    grace: float = 3600.0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class JobContext:
    """The effects of a run. `clock` returns epoch seconds, `sleep` takes seconds. `record` gets
    what a run copied when it has ended."""

    files: Files
    emit: Emit = no_events
    record: RecordCopy = no_records
    progress: Progress = no_progress
    clock: Clock = time.time
    sleep: Callable[[float], None] = time.sleep


@dataclass(slots=True)
class CopyJob:
    """One run. `table` is the name of the table in events and errors; `marker` identifies the run,
    whose directory is below `staging`.
    """

    table: str
    staging: str
    marker: RunMarker
    catalog: CopyCatalog
    context: JobContext
    options: CopyOptions
    limits: CopyLimits
    report: CopyReport
    earlier: Earlier = field(default_factory=dict, init=False)
    objects: ObjectFiles | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if is_object_store(self.staging):
            run = f"{self.staging}/{self.marker.run}"
            self.objects = ObjectFiles(self.context.files, run)

    def run(self, steps: Sequence[Step]) -> CopyReport:
        """Executes the steps. The error of an object that could not be copied is in `failed` of
        the report. Raises CopyError when the run cannot continue; what it published stays.
        """
        began = self.context.clock()
        with self._lease(steps) as lease:
            for step in steps:
                match step:
                    case Round():
                        self._round(step, lease)
                    case Sweep():
                        self._sweep()
                    case MetadataStep():
                        self.catalog.apply(step)
            if lease is not None:
                lease.finished = not self.report.failed
        self.report.seconds = self.context.clock() - began
        return self.report

    def _lease(self, steps: Sequence[Step]) -> AbstractContextManager[Lease | None]:
        """Only a run that writes files needs a directory of its own."""
        if not any(isinstance(step, Round) for step in steps):
            return nullcontext()
        self.report.run = self.marker.run
        return Lease(self.context.files, self.staging, self.marker, self.context.clock)

    def _round(self, planned: Round, lease: Lease | None) -> None:
        """The failure of one object does not keep the others from being published."""
        left = {item.name: item for item in planned.items}
        for attempt in range(self.limits.attempts):
            copies: list[ObjectCopy] = []
            for step in planned.steps:
                copies = self._execute(step, left, copies, lease)
            if not left:
                return
            self._event("changed", objects=sorted(left), attempt=attempt + 1)
        reason = f"it changed during each of {self.limits.attempts} attempts"
        self._fail(left, dict.fromkeys(left, reason), SourceKeepsChanging)

    def _execute(
        self,
        step: RoundStep,
        left: dict[str, PlannedCopy],
        copies: list[ObjectCopy],
        lease: Lease | None,
    ) -> list[ObjectCopy]:
        """The copies for the next step. `left` loses the objects that are published or failed."""
        match step:
            case Stage():
                return self._stage(left)
            case CopyFiles():
                self._fail(left, self._copy_files(copies), FilesFailed)
                return self._with_metadata([c for c in copies if c.name in left], left)
            case Verify():
                same, differences = self._verify(copies)
                self._fail(left, differences, VerifyFailed)
                return same
            case Publish():
                if copies and lease is not None:
                    lease.check()
                for name in self._publish(self._join(copies, left, lease)):
                    del left[name]
                return []
            case MetadataStep():
                if lease is not None:
                    lease.check()
                self.catalog.apply(step)
                return copies

    def _fail(
        self, left: dict[str, PlannedCopy], reasons: Mapping[str, str], kind: type[CopyError]
    ) -> None:
        """Reports each object that has a reason, and takes it out of the round."""
        for name, reason in reasons.items():
            del left[name]
            self.report.failed[name] = kind(f"{self.table} {name}".rstrip() + f": {reason}.")
            self._event("failed", object=name, error=str(self.report.failed[name]))

    def _stage(self, left: dict[str, PlannedCopy]) -> list[ObjectCopy]:
        """A directory for each object, with the files that an interrupted run had copied, and the
        listing of its source. A source without a directory fails: an empty copy would be wrong.
        """
        items = self._current(left)
        files = self.context.files
        earlier = list_copies(files, items)
        targets = {i.name: object_path(self.staging, self.marker.run, i.name) for i in items}
        taken = self._take_over(targets)
        copies, missing = [], {}
        listings = files.listings([item.source for item in items])
        for item, listing in zip(items, listings, strict=True):
            if listing is None:
                missing[item.name] = f"there is no directory {item.source}"
                continue
            try:
                copy = earlier.get(item.name)
                copies.append(staged_copy(files, item, targets[item.name], listing, copy))
            except FilesNotEnough as error:
                if is_current(files, self.catalog, item, listing):  # or else it is staged again
                    missing[item.name] = f"its directory {item.source} {error}"
        self._check_bytes(copies)
        files.make_folders(
            {copy.target: copy.item.source for copy in copies}, self.options.keep_owner
        )
        continues = sum(copy.continued is not None for copy in copies)
        self._event("staged", objects=len(copies), taken_over=taken, continued=continues)
        self._fail(left, missing, NotCopyable)
        return copies

    def _with_metadata(
        self, copies: Sequence[ObjectCopy], left: dict[str, PlannedCopy]
    ) -> list[ObjectCopy]:
        """The copies with what a table of Iceberg has with paths of its own."""
        ready = []
        for copy in copies:
            if copy.iceberg is None:
                ready.append(copy)
                continue
            try:
                ready.append(whole := write_metadata(self.context.files, copy))
            except FilesNotEnough as error:
                if is_current(self.context.files, self.catalog, copy.item, copy.before):
                    reason = f"its directory {copy.item.source} {error}"
                    self._fail(left, {copy.name: reason}, NotCopyable)
                continue
            self.report.add_made(copy, whole)
        return ready

    def _take_over(self, targets: Mapping[str, str]) -> int:
        """The number of directories that interrupted runs have of these objects."""
        place = self.context.files, self.staging, self.marker, targets
        if self.objects is None:
            return take_over(*place, self.catalog.used, self.context.clock)
        self.earlier = take_over_objects(*place, self.catalog.used, self.context.clock)
        return len(self.earlier)

    def _check_bytes(self, copies: Sequence[ObjectCopy]) -> None:
        """Before any of their bytes is sent. Raises CopyTooLarge."""
        most = self.limits.most
        wanted = self.report.bytes_sent + sum(c.to_send.bytes + c.to_write for c in copies)
        if most is not None and wanted > most:
            raise CopyTooLarge(
                f"{self.table} has {size_text(wanted)} to copy, and {size_text(most)} are allowed."
            )

    def _current(self, left: dict[str, PlannedCopy]) -> list[PlannedCopy]:
        """The objects as they are now, after open writes have ended."""
        deadline = self.context.clock() + self.limits.wait
        while True:
            items, busy = self.catalog.current(left)
            if not busy or self.context.clock() >= deadline:
                break
            self._event("waiting", objects=busy)
            self.context.sleep(self.limits.poll)
        self._fail(left, dict.fromkeys(busy, "a write of it is open"), WriteOpen)
        ready = [item for item in items if item.name in left]
        gone = sorted(left.keys() - {item.name for item in ready})
        for name in gone:
            del left[name]
        self.report.gone += gone
        return ready

    def _copy_files(self, copies: Sequence[ObjectCopy]) -> dict[str, str]:
        """The reason of each object whose files could not all be copied."""
        names = {copy.target: copy.name for copy in copies}
        wanted = [file for copy in copies for file in copy.files()]
        options, progress = self.options, self.context.progress
        if self.objects is None:
            results = self.context.files.copy_files(wanted, options, progress)
        else:
            results = self.objects.copy(wanted, self.earlier, options, progress)
        count = Counter(result.status for result in results)
        count[FileStatus.KEPT] += sum(len(c.continued.same) for c in copies if c.continued)
        for result in results:
            self.report.sent[names[result.file.target]] += result.sent
        sent = sum(result.sent for result in results)
        self.report.files_sent += count[FileStatus.SENT]
        self.report.files_kept += count[FileStatus.KEPT]
        self.report.bytes_sent += sent
        self._event("carried", bytes=sent, **{s.value: count[s] for s in FileStatus})
        return {
            names[result.file.target]: f"{result.file.entry.path}: {result.message}"
            for result in results
            if result.status is FileStatus.FAILED
        }

    def _verify(self, copies: Sequence[ObjectCopy]) -> tuple[list[ObjectCopy], dict[str, str]]:
        """The copies with an unchanged source, and with all that was to be sent in their target;
        and for the others with an unchanged source what their target lacks or has otherwise.
        """
        files = self.context.files
        after = files.listings([copy.item.source for copy in copies])
        unchanged = [c for c, now in zip(copies, after, strict=True) if c.is_unchanged(now)]
        self._delete_extra_files(unchanged)
        targets = files.listings([copy.target for copy in unchanged])
        differences = {}
        for copy, target in zip(unchanged, targets, strict=True):
            difference = compare(copy.to_send, target or FileListing(()))
            if difference:
                differences[copy.name] = f"{copy.target} is not like its source: {difference}"
        same = [copy for copy in unchanged if copy.name not in differences]
        self._event("verified", objects=len(same), changed=len(copies) - len(unchanged))
        return same, differences

    def _delete_extra_files(self, copies: Sequence[ObjectCopy]) -> None:
        """Deletes files that only the target has: incomplete ones, and those deleted since."""
        files = self.context.files
        extra = []
        for copy, target in zip(copies, files.listings([c.target for c in copies]), strict=True):
            if target is not None:
                extra += [f"{copy.target}/{path}" for path in compare(copy.to_send, target).extra]
        files.delete(extra)

    def _join(
        self, copies: Sequence[ObjectCopy], left: dict[str, PlannedCopy], lease: Lease | None
    ) -> list[ObjectCopy]:
        """The copies that are complete where they are to be published. The next attempt sends all
        files of an object whose copy cannot be continued. Raises AnotherCopyRuns.
        """
        files, ready = self.context.files, []
        for copy in copies:
            if copy.continued is not None:
                try:
                    spare(files, copy)
                    complete, why = join(files, copy), "files are missing"
                except CopyError as error:
                    complete, why = False, str(error)
                if not complete:
                    if lease is not None:
                        lease.check()
                    left[copy.name] = replace(left[copy.name], continues=None)
                    self._event("discontinued", object=copy.name, error=why)
                    continue
            ready.append(copy)
        return ready

    def _publish(self, copies: Sequence[ObjectCopy]) -> frozenset[str]:
        if not copies:
            return frozenset()
        files = self.context.files
        retire(files, self.staging, [c.item.retires for c in copies if c.continued is None])
        published = self.catalog.publish(copies) - self._withdrawn(copies)
        self.report.published += sorted(published)
        for copy in copies:
            if copy.name in published:
                item, size = copy.item, copy.before
                self.report.copied[copy.name] = CopiedObject(
                    item.primary, item.of, len(size.files), size.bytes
                )
                if copy.continued is not None:
                    condemn(files, copy, self.context.clock())
                    files.delete([copy.target])
        self._event("published", objects=sorted(published))
        return published

    def _withdrawn(self, copies: Sequence[ObjectCopy]) -> frozenset[str]:
        """The copies whose sources changed between verification and publication.

        A writer that bypasses the proxy leaves no mark while it writes. A write before the
        publication does not end the copy, so the sources are listed once more; a later write
        does end it. A copy of Iceberg is fresh for its metadata file alone, so it needs no look.
        """
        copies = [copy for copy in copies if copy.iceberg is None]
        now = self.context.files.listings([copy.item.source for copy in copies])
        changed = [c.name for c, n in zip(copies, now, strict=True) if not c.is_unchanged(n)]
        if changed:
            self.catalog.withdraw(changed)
            self._event("withdrawn", objects=sorted(changed))
        return frozenset(changed)

    def _sweep(self) -> None:
        self.report.swept = sweep_staging(
            self.context.files,
            self.catalog.used,
            self.staging,
            self.context.clock,
            self.limits.grace,
            self.marker.run,
        )
        swept = self.report.swept
        self._event("swept", condemned=swept.condemned, deleted=swept.deleted)

    def _event(self, name: str, **facts: object) -> None:
        self.context.emit({"event": name, "run": self.marker.run, "table": self.table, **facts})
