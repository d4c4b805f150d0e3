"""Runs a copy plan: what is particular to secondary copies of one metastore."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from conf.names import ClusterName, TableRef
from pipeline.copy.copy_catalog import Objects, Publication, TableState
from pipeline.copy.copy_job import Limits, Report, Tools, Work, Workshop
from pipeline.copy.files import Effort
from pipeline.copy.plan import CopyPlan, Item
from pipeline.copy.staging import RunNote, new_run
from pipeline.errors import NotCopyable


def run_copy(
    plan: CopyPlan, objects: Objects, tools: Tools, effort: Effort, limits: Limits
) -> Report:
    """Carries the plan out. Objects that could not be copied are in `failed` of the report;
    raises CopyError when nothing can go on. What was published stays published.
    """
    report = Report(fresh=plan.fresh)
    if not plan.items:
        return report
    note = new_run(plan.ref, plan.table.created, tools.clock())
    ledger = CopyLedger(objects, plan.table, plan.cluster)
    effort = replace(effort, checksum=plan.checksum)
    shop = Workshop(str(plan.ref), plan.yard, note, ledger, tools, effort, limits, report)
    return shop.run(plan.rounds)


@dataclass(frozen=True, slots=True)
class CopyLedger:
    """Copies in one cluster of the objects of `table`."""

    objects: Objects
    table: TableState
    cluster: ClusterName

    def current(self, items: Mapping[str, Item]) -> tuple[list[Item], list[str]]:
        state = self.objects.table(self.table.ref)
        if state.created != self.table.created:
            raise NotCopyable(f"{state.ref} is another table than the plan was made for.")
        now = self.objects.objects(state, list(items))
        current = [
            replace(items[each.name], source=each.location, of=each.placement.version)
            for each in now
        ]
        return current, [each.name for each in now if each.placement.writing]

    def publish(self, works: Sequence[Work]) -> frozenset[str]:
        new = [Publication(w.item.name, w.item.source, w.item.of, w.target) for w in works]
        return self.objects.publish(self.table.ref, self.cluster, new)

    def withdraw(self, names: Collection[str]) -> None:
        self.objects.withdraw(self.table.ref, self.cluster, list(names))

    def used(self, note: RunNote) -> frozenset[str]:
        return used_by(self.objects, self.cluster, note)


def used_by(objects: Objects, cluster: ClusterName, note: RunNote) -> frozenset[str]:
    """The copies in a cluster of the table that a run was for, under whatever name it has now."""
    found: frozenset[str] = frozenset()
    for candidate in objects.tables_created(TableRef.parse(note.table), note.created):
        found |= objects.copy_locations(candidate, cluster)
    return found
