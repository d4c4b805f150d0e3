"""Runs a copy plan: what is particular to secondary copies of one metastore."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from conf.names import ClusterName, TableRef
from pipeline.copy.copy_catalog import ObjectCatalog, Publication, TableState
from pipeline.copy.copy_job import CopyJob, CopyLimits, CopyReport, JobContext, ObjectCopy
from pipeline.copy.files import CopyOptions
from pipeline.copy.plan import CopyPlan, PlannedCopy
from pipeline.copy.staging import RunMarker, new_run
from pipeline.errors import NotCopyable


def run_copy(
    plan: CopyPlan,
    objects: ObjectCatalog,
    context: JobContext,
    options: CopyOptions,
    limits: CopyLimits,
) -> CopyReport:
    """Carries the plan out. ObjectCatalog that could not be copied are in `failed` of the report;
    raises CopyError when nothing can go on. What was published stays published.
    """
    report = CopyReport(fresh=plan.fresh)
    if not plan.items:
        return report
    marker = new_run(plan.ref, plan.table.created, context.clock())
    catalog = SecondaryCopies(objects, plan.table, plan.cluster)
    options = replace(options, checksum=plan.checksum)
    shop = CopyJob(str(plan.ref), plan.staging, marker, catalog, context, options, limits, report)
    return shop.run(plan.rounds)


@dataclass(frozen=True, slots=True)
class SecondaryCopies:
    """Copies in one cluster of the objects of `table`."""

    objects: ObjectCatalog
    table: TableState
    cluster: ClusterName

    def current(self, items: Mapping[str, PlannedCopy]) -> tuple[list[PlannedCopy], list[str]]:
        state = self.objects.table(self.table.ref)
        if state.created != self.table.created:
            raise NotCopyable(f"{state.ref} is another table than the plan was made for.")
        now = self.objects.objects(state, list(items))
        current = [
            replace(items[each.name], source=each.location, of=each.placement.version)
            for each in now
        ]
        return current, [each.name for each in now if each.placement.writing]

    def publish(self, works: Sequence[ObjectCopy]) -> frozenset[str]:
        new = [Publication(w.item.name, w.item.source, w.item.of, w.target) for w in works]
        return self.objects.publish(self.table.ref, self.cluster, new)

    def withdraw(self, names: Collection[str]) -> None:
        self.objects.withdraw(self.table.ref, self.cluster, list(names))

    def used(self, marker: RunMarker) -> frozenset[str]:
        return used_by(self.objects, self.cluster, marker)


def used_by(objects: ObjectCatalog, cluster: ClusterName, marker: RunMarker) -> frozenset[str]:
    """The copies in a cluster of the table that a run was for, under whatever name it has now."""
    found: frozenset[str] = frozenset()
    for candidate in objects.tables_created(TableRef.parse(marker.table), marker.created):
        found |= objects.copy_locations(candidate, cluster)
    return found
