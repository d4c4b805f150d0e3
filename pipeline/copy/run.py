"""Copies within one metastore: what `CopyJob` needs to know of them."""

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
        current = [self._now(items[each.name], each) for each in found]
        return current, [each.name for each in found if each.placement.writing]

    def _now(self, item: PlannedCopy, now: DataObject) -> PlannedCopy:
        item = replace(
            item,
            source=now.location,
            of=now.placement.version,
            metadata=now.placement.metadata,
        )
        if is_copy_at(now.placement, self.cluster, item.continues):
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
    """The copies in a cluster of the table of a run, under the name that the table has now."""
    found: frozenset[str] = frozenset()
    for candidate in objects.tables_created(TableRef.parse(marker.table), marker.created):
        found |= objects.copy_locations(candidate, cluster)
    return found
