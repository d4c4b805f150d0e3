"""Executes the steps of a plan: the part of a run that copies and replications share.

A `CopyCatalog` does what differs between them: it reads the current state of the sources, and makes
a finished directory visible to readers.

    Stage -> CopyFiles -> Verify -> Publish      a round; an object leaves it when it is published
      ^                               |          or has failed
      +--- objects that changed ------+          at most `attempts` times

Nothing is visible before `Publish`. A run that is killed leaves complete files under their final
names in its directory, and the next run takes them from there.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from conf.formats import size_text
from pipeline.copy.copy_report import CopiedObject, CopyReport
from pipeline.copy.files import CopyOptions, FileListing, FileStatus, compare
from pipeline.copy.formats.continue_copy import complete_copy, condemn, list_copies
from pipeline.copy.formats.delta_copy import staged_delta
from pipeline.copy.formats.iceberg_copy import staged_iceberg, write_metadata
from pipeline.copy.job_context import CopyLimits, JobContext
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
from pipeline.copy.runs.lease import Lease
from pipeline.copy.runs.object_files import Earlier, ObjectFiles
from pipeline.copy.runs.staging import RunMarker, object_path
from pipeline.copy.runs.sweep import sweep_staging
from pipeline.copy.runs.takeover import retire, take_over, take_over_objects
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


@dataclass(slots=True)
class CopyJob:
    """One run. `table` is the name of the table in events and errors, `marker` identifies the run,
    and the run's directory is in `staging`.
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
        """The run's lease; none for a run that writes no files."""
        if not any(isinstance(step, Round) for step in steps):
            return nullcontext()
        self.report.run = self.marker.run
        return Lease(self.context.files, self.staging, self.marker, self.context.clock)

    def _round(self, planned: Round, lease: Lease | None) -> None:
        """Executes a round until no object is pending. The failure of one object does not keep the
        others from being published.
        """
        pending = {item.name: item for item in planned.items}
        for attempt in range(self.limits.attempts):
            copies: list[ObjectCopy] = []
            for step in planned.steps:
                copies = self._execute(step, pending, copies, lease)
            if not pending:
                return
            self._event("changed", objects=sorted(pending), attempt=attempt + 1)
        reason = f"it changed during each of {self.limits.attempts} attempts"
        self._fail(pending, dict.fromkeys(pending, reason), SourceKeepsChanging)

    def _execute(
        self,
        step: RoundStep,
        pending: dict[str, PlannedCopy],
        copies: list[ObjectCopy],
        lease: Lease | None,
    ) -> list[ObjectCopy]:
        """Executes one step. Returns the copies for the next one, and takes objects that are
        published or have failed out of `pending`.
        """
        match step:
            case Stage():
                return self._stage(pending)
            case CopyFiles():
                self._fail(pending, self._copy_files(copies), FilesFailed)
                return self._write_metadata([c for c in copies if c.name in pending], pending)
            case Verify():
                same, differences = self._verify(copies)
                self._fail(pending, differences, VerifyFailed)
                return same
            case Publish():
                if copies and lease is not None:
                    lease.check()
                complete = self._complete_copies(copies, pending, lease)
                for name in self._publish(complete):
                    del pending[name]
                return []
            case MetadataStep():
                if lease is not None:
                    lease.check()
                self.catalog.apply(step)
                return copies

    def _fail(
        self, pending: dict[str, PlannedCopy], reasons: Mapping[str, str], kind: type[CopyError]
    ) -> None:
        """Reports each object that has a reason, and takes it out of the round."""
        for name, reason in reasons.items():
            del pending[name]
            self.report.failed[name] = kind(f"{self.table} {name}".rstrip() + f": {reason}.")
            self._event("failed", object=name, error=str(self.report.failed[name]))

    def _stage(self, pending: dict[str, PlannedCopy]) -> list[ObjectCopy]:
        """Gives each object a directory, with the files that an interrupted run had copied, and
        lists its source. A source without a directory fails: an empty copy would be wrong.
        """
        items = self._current(pending)
        files = self.context.files
        copies_before = list_copies(files, items)  # before the sources
        targets = {i.name: object_path(self.staging, self.marker.run, i.name) for i in items}
        taken = self._take_over(targets)
        copies, missing = [], {}
        listings = files.listings([item.source for item in items])
        for item, listing in zip(items, listings, strict=True):
            if listing is None:
                missing[item.name] = f"there is no directory {item.source}"
                continue
            before = copies_before.get(item.name)
            try:
                copies.append(self._stage_object(item, targets[item.name], listing, before))
            except FilesNotEnough as error:
                if self._is_current(item, listing):  # or else it is staged again
                    missing[item.name] = f"its directory {item.source} {error}"
        self._check_bytes(copies)
        files.make_folders(
            {copy.target: copy.item.source for copy in copies}, self.options.keep_owner
        )
        continues = sum(copy.continued is not None for copy in copies)
        self._event("staged", objects=len(copies), taken_over=taken, continued=continues)
        self._fail(pending, missing, NotCopyable)
        return copies

    def _stage_object(
        self, item: PlannedCopy, target: str, source: FileListing, copy: FileListing | None
    ) -> ObjectCopy:
        """The copy of an object into `target`. `copy` are the files of the copy that may be
        continued, listed before `source`. Raises FilesNotEnough.
        """
        files = self.context.files
        if item.metadata:
            return staged_iceberg(files, item, target, source, copy)
        if item.delta:
            return staged_delta(files, item, target, source, copy)
        return ObjectCopy(item, target, source)

    def _is_current(self, item: PlannedCopy, source: FileListing) -> bool:
        """Whether the source is still as it was listed."""
        if not item.metadata:
            return self.context.files.listings([item.source])[0] == source
        now, _ = self.catalog.current({item.name: item})
        return any(each.metadata == item.metadata for each in now)

    def _write_metadata(
        self, copies: Sequence[ObjectCopy], pending: dict[str, PlannedCopy]
    ) -> list[ObjectCopy]:
        """Writes the metadata of tables of Iceberg. Returns the copies that have all files now."""
        ready = []
        for copy in copies:
            if copy.iceberg is None:
                ready.append(copy)
                continue
            try:
                written = write_metadata(self.context.files, copy)
            except FilesNotEnough as error:
                if self._is_current(copy.item, copy.before):
                    reason = f"its directory {copy.item.source} {error}"
                    self._fail(pending, {copy.name: reason}, NotCopyable)
                continue
            self.report.add_written(copy.name, written)
            ready.append(copy.with_files(written))
        return ready

    def _take_over(self, targets: Mapping[str, str]) -> int:
        """Takes over the directories that interrupted runs have of these objects. Returns their
        number.
        """
        place = self.context.files, self.staging, self.marker, targets
        if self.objects is None:
            return take_over(*place, self.catalog.used, self.context.clock)
        self.earlier = take_over_objects(*place, self.catalog.used, self.context.clock)
        return len(self.earlier)

    def _check_bytes(self, copies: Sequence[ObjectCopy]) -> None:
        """Raises CopyTooLarge if the copies have more bytes than the run may send."""
        most = self.limits.most
        wanted = self.report.bytes_sent + sum(c.to_send.bytes + c.to_write for c in copies)
        if most is not None and wanted > most:
            raise CopyTooLarge(
                f"{self.table} has {size_text(wanted)} to copy, and {size_text(most)} are allowed."
            )

    def _current(self, pending: dict[str, PlannedCopy]) -> list[PlannedCopy]:
        """The objects as they are now, after open writes have ended. An object that is still being
        written fails; one that no longer exists is left out.
        """
        deadline = self.context.clock() + self.limits.wait
        while True:
            items, busy = self.catalog.current(pending)
            if not busy or self.context.clock() >= deadline:
                break
            self._event("waiting", objects=busy)
            self.context.sleep(self.limits.poll)
        self._fail(pending, dict.fromkeys(busy, "a write of it is open"), WriteOpen)
        ready = [item for item in items if item.name in pending]
        gone = sorted(pending.keys() - {item.name for item in ready})
        for name in gone:
            del pending[name]
        self.report.gone += gone
        return ready

    def _copy_files(self, copies: Sequence[ObjectCopy]) -> dict[str, str]:
        """Copies the files. Returns the reason for each object with a file that was not copied."""
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
        """The copies whose source is unchanged and whose target has all files that were to be sent;
        and for each other copy with an unchanged source how its target differs.
        """
        unchanged = self._unchanged(copies)
        self._delete_extra_files(unchanged)
        targets = self.context.files.listings([copy.target for copy in unchanged])
        differences = {}
        for copy, target in zip(unchanged, targets, strict=True):
            difference = compare(copy.to_send, target or FileListing(()))
            if difference:
                differences[copy.name] = f"{copy.target} is not like its source: {difference}"
        same = [copy for copy in unchanged if copy.name not in differences]
        self._event("verified", objects=len(same), changed=len(copies) - len(unchanged))
        return same, differences

    def _unchanged(self, copies: Sequence[ObjectCopy]) -> list[ObjectCopy]:
        """The copies whose sources, listed again, have all that was listed before."""
        listings = self.context.files.listings([copy.item.source for copy in copies])
        return [c for c, now in zip(copies, listings, strict=True) if c.is_unchanged(now)]

    def _delete_extra_files(self, copies: Sequence[ObjectCopy]) -> None:
        """Deletes files that only the target has: incomplete ones, and those that the source no
        longer has.
        """
        files = self.context.files
        extra = []
        for copy, target in zip(copies, files.listings([c.target for c in copies]), strict=True):
            if target is not None:
                extra += [f"{copy.target}/{path}" for path in compare(copy.to_send, target).extra]
        files.delete(extra)

    def _complete_copies(
        self, copies: Sequence[ObjectCopy], pending: dict[str, PlannedCopy], lease: Lease | None
    ) -> list[ObjectCopy]:
        """The copies that are complete in the directory that is published. The next attempt sends
        all files of an object whose copy cannot be continued. Raises AnotherCopyRuns.
        """
        ready = []
        for copy in copies:
            if copy.continued is not None and (why := complete_copy(self.context.files, copy)):
                if lease is not None:
                    lease.check()
                pending[copy.name] = replace(pending[copy.name], continues=None)
                self._event("discontinued", object=copy.name, error=why)
            else:
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
        """Withdraws the copies whose sources changed between verification and publication.

        A writer that bypasses the proxy leaves no mark while it writes. A write before the
        publication does not make the copy stale, so the sources are listed once more; a later write
        does. A copy of Iceberg is fresh for one metadata file alone, so its source is not listed.
        """
        names = {copy.name for copy in copies if copy.iceberg is None}
        unchanged = self._unchanged([copy for copy in copies if copy.iceberg is None])
        changed = names - {copy.name for copy in unchanged}
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
