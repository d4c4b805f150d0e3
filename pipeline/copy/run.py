"""Runs copies within one metastore: the `CopyCatalog` of secondary copies."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from conf.names import ClusterName, TableRef
from pipeline.copy.copy_catalog import (
    CatalogTable,
    DataObject,
    ObjectCatalog,
    Publication,
    is_copy_at,
)
from pipeline.copy.copy_job import CopyJob
from pipeline.copy.copy_record import CopyRoute, recorded
from pipeline.copy.copy_report import CopyReport
from pipeline.copy.files import CopyOptions
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.copy.object_copy import ObjectCopy
from pipeline.copy.plan import CopyPlan, MetadataStep, PlannedCopy
from pipeline.copy.runs.staging import RunMarker, new_run
from pipeline.errors import NotCopyable


def run_copy(
    plan: CopyPlan,
    objects: ObjectCatalog,
    context: JobContext,
    options: CopyOptions,
    limits: CopyLimits,
    keep: float | None = None,
) -> CopyReport:
    """Executes the plan. The copies are wanted for `keep` seconds (None: for ever). The error of an
    object that could not be copied is in `failed` of the report. Raises CopyError when the run
    cannot continue; what it published stays.
    """
    report = CopyReport(fresh=plan.fresh)
    if not plan.items:
        return report
    marker = new_run(plan.ref, plan.table.created, context.clock(), [i.name for i in plan.items])
    catalog = SecondaryCopies(objects, plan.table, plan.cluster, keep)
    options = replace(options, checksum=plan.checksum)
    name, source = str(plan.ref), plan.table.placement.primary
    job = CopyJob(name, plan.staging, marker, catalog, context, options, limits, report)
    route = CopyRoute(marker.run, name, name, source, plan.cluster, plan.staging)
    with recorded(context.record, context.clock, route, lambda: report.shares(plan.items, source)):
        return job.run(plan.steps)


@dataclass(frozen=True, slots=True)
class SecondaryCopies:
    """The `CopyCatalog` of copies of `table` in one cluster, which are wanted for `keep` seconds
    (None: for ever)."""

    objects: ObjectCatalog
    table: CatalogTable
    cluster: ClusterName
    keep: float | None = None

    def current(
        self, items: Mapping[str, PlannedCopy]
    ) -> tuple[list[PlannedCopy], Collection[str]]:
        state = self.objects.table(self.table.ref)
        if state.created != self.table.created:
            raise NotCopyable(f"{state.ref} is another table than the plan was made for.")
        found = self.objects.objects(state, list(items))
        current = [self._updated(items[each.name], each) for each in found]
        return current, [each.name for each in found if each.placement.writing]

    def _updated(self, item: PlannedCopy, current: DataObject) -> PlannedCopy:
        """The item with the current source and version. A copy that was withdrawn since the plan
        was made is not continued.
        """
        item = replace(
            item,
            source=current.location,
            of=current.placement.version,
            metadata=current.placement.metadata,
        )
        if is_copy_at(current.placement, self.cluster, item.continues):
            return item
        return replace(item, continues=None)

    def publish(self, copies: Sequence[ObjectCopy]) -> frozenset[str]:
        publications = [
            Publication(
                c.name,
                c.item.source,
                c.item.of,
                c.location,
                len(c.before.files),
                c.before.bytes,
                self.keep,
                c.continued is not None,
                c.metadata,
            )
            for c in copies
        ]
        return self.objects.publish(self.table.ref, self.cluster, publications)

    def withdraw(self, names: Collection[str]) -> None:
        self.objects.withdraw(self.table.ref, self.cluster, list(names))

    def used(self, marker: RunMarker) -> frozenset[str]:
        return used_by(self.objects, self.cluster, marker)

    def apply(self, step: MetadataStep) -> None:
        raise NotImplementedError(f"a copy has no step {step}")


def used_by(objects: ObjectCatalog, cluster: ClusterName, marker: RunMarker) -> frozenset[str]:
    """The locations of the copies that the table of a run has in a cluster. The table may have been
    renamed since the run.
    """
    used: frozenset[str] = frozenset()
    for candidate in objects.tables_created(TableRef.parse(marker.table), marker.created):
        used |= objects.copy_locations(candidate, cluster)
    return used
