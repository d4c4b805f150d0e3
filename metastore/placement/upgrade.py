"""Upgrades a metastore to clusters, and downgrades it (DC-S4): adds primaries, or removes all
facts.

A partition has its table's primary, so the upgrade writes one object a table and only reads the
partitions. An option also writes the primary into each partition, which takes the metastore 10 to
30 ms each. Objects that have their facts are skipped: a run after an interrupted one continues, and
a run after a complete one changes nothing.
"""

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from conf.names import ClusterName
from conf.placement import (
    FACTS,
    NEVER_WRITTEN,
    PARTITIONS,
    PRIMARY,
    bounded_names,
    exceptions_text,
    users_parameters,
)
from conf.topology import Topology
from metastore.client.metastore_client import HmsClient, batches
from metastore.client.types import Partition, Stored, Table
from metastore.errors import CountMismatch, NoDefaultCluster
from metastore.placement.placement_store import table_lock
from metastore.placement.verify import Progress, TableSurvey, survey, survey_table, table_refs

BATCH = 250  # partitions in one call
WORKERS = 2

Connect = Callable[[], HmsClient]
Change = Callable[[Stored], None]


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of objects read and changed (in a dry run: that would be changed).

    `changed_partitions` includes partitions that got their primary from their table.
    """

    tables: int = 0
    partitions: int = 0
    views: int = 0
    changed_tables: int = 0
    changed_partitions: int = 0


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The result of `verify`: numbers of objects, of those without a primary, and of copies, and
    the problems as sentences.

    `elsewhere` are sentences about tables and partitions whose folder lies in the storage of
    another cluster than their primary. They are no problems, because `causeway table assign` allows
    it.
    """

    tables: int = 0
    partitions: int = 0
    views: int = 0
    lacking_tables: int = 0
    lacking_partitions: int = 0
    copies: int = 0
    writing: int = 0
    problems: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()

    @property
    def upgraded(self) -> bool:
        return not (self.lacking_tables or self.lacking_partitions or self.problems)


def default_cluster(topology: Topology) -> ClusterName:
    """hive.default.cluster.name. Raises NoDefaultCluster."""
    if topology.default is None or not str(topology.default).strip():
        raise NoDefaultCluster("hive.default.cluster.name is not set.")
    if topology.in_use and topology.default not in topology:
        raise NoDefaultCluster(f"{topology.default} is not in hive.cluster.properties.")
    return topology.default


class Migration:
    """Upgrade, verify and downgrade. `connect` makes clients, one for each thread that writes."""

    def __init__(
        self,
        connect: Connect,
        topology: Topology,
        progress: Progress = lambda *_: None,
        *,
        dry_run: bool = False,
        every_partition: bool = False,
    ) -> None:
        self._connect = connect
        self._topology = topology
        self._progress = progress
        self._dry_run = dry_run
        self._every_partition = every_partition

    def upgrade(self) -> Counts:
        """Makes the default cluster the primary of the tables that have none, and so of their
        partitions; then counts again. With `every_partition` each partition gets it too. Views have
        no cluster. Raises NoDefaultCluster, CountMismatch.
        """
        owner = default_cluster(self._topology)
        counts = self._each(owner, self._upgrade_table)
        if not self._dry_run:
            self._check(owner, self._without_primary)
        return counts

    def downgrade(self) -> Counts:
        """Removes all cluster facts, then counts again. The files of copies stay. Raises
        CountMismatch."""
        owner = self._topology.default or ClusterName("")
        counts = self._each(owner, self._downgrade_table)
        if not self._dry_run:
            self._check(owner, lambda surveyed: surveyed.marked_itself + len(surveyed.marked))
        return counts

    def verify(self) -> VerifyReport:
        """Counts all objects and finds facts that are missing, unreadable or contradictory."""
        owner = default_cluster(self._topology)
        report = VerifyReport()
        with self._connect() as client:
            folders = self._topology.filesystems()
            for surveyed in survey(client, owner, self._progress, folders):
                report = _add(report, surveyed, self._topology)
        return report

    def _each(
        self, owner: ClusterName, visit: Callable[[HmsClient, Table, TableSurvey], Counts]
    ) -> Counts:
        total = Counts()
        with self._connect() as client:
            refs = table_refs(client)
            for number, ref in enumerate(refs):
                self._progress("tables", number, len(refs))
                for table in client.get_tables(ref.db, [ref.name]):
                    total = _sum(total, self._visit(client, table, owner, visit))
            self._progress("tables", len(refs), len(refs))
        return total

    def _visit(
        self,
        client: HmsClient,
        table: Table,
        owner: ClusterName,
        visit: Callable[[HmsClient, Table, TableSurvey], Counts],
    ) -> Counts:
        surveyed = survey_table(client, table, owner, self._progress)
        changed = visit(client, table, surveyed)
        if surveyed.is_view:
            return replace(changed, views=1)
        return replace(changed, tables=1, partitions=surveyed.partitions)

    def _upgrade_table(self, client: HmsClient, table: Table, surveyed: TableSurvey) -> Counts:
        if surveyed.is_view or surveyed.placement is None:
            return Counts()
        primary = str(surveyed.placement.primary)

        def placed(stored: Stored) -> None:
            stored.parameters = {PRIMARY: primary, **stored.parameters}

        known = surveyed.placement
        exceptions = bounded_names(surveyed.own) if surveyed.partitioned else None

        def placed_with_all(stored: Stored) -> None:
            placed(stored)
            unchanged = stored.parameters.get(FACTS, NEVER_WRITTEN) == known.facts
            if known.exceptions is None and exceptions is not None and unchanged:
                stored.parameters = {**stored.parameters, PARTITIONS: exceptions_text(exceptions)}

        gained = 0 if surveyed.named else len(surveyed.lacking)
        if self._every_partition:
            gained = self._change_partitions(table, surveyed.lacking, placed)
        complete = surveyed.named and (exceptions is None or known.exceptions is not None)
        return Counts(
            changed_tables=0 if complete else self._change_table(client, table, placed_with_all),
            changed_partitions=gained,
        )

    def _without_primary(self, surveyed: TableSurvey) -> int:
        if surveyed.is_view or (surveyed.named and not self._every_partition):
            return 0
        return (not surveyed.named) + len(surveyed.lacking)

    def _downgrade_table(self, client: HmsClient, table: Table, surveyed: TableSurvey) -> Counts:
        def plain(stored: Stored) -> None:
            stored.parameters = users_parameters(stored.parameters)

        partitions = self._change_partitions(table, surveyed.marked, plain)
        tables = self._change_table(client, table, plain) if surveyed.marked_itself else 0
        return Counts(changed_tables=tables, changed_partitions=partitions)

    def _change_table(self, client: HmsClient, table: Table, change: Change) -> int:
        """Reads the table again and changes it: reading its partitions may have taken long."""
        if not self._dry_run:
            with table_lock(table.ref), client.exclusive(table.ref):
                for now in client.get_tables(table.ref.db, [table.ref.name]):
                    change(now)
                    client.alter_table(now.ref, now)
        return 1

    def _change_partitions(self, table: Table, names: Collection[str], change: Change) -> int:
        if self._dry_run or not names:
            return len(names)
        done = 0

        def run(batch: list[str]) -> int:
            with self._connect() as client, client.exclusive(table.ref):
                partitions: list[Partition] = list(client.get_partitions(table.ref, batch))
                for partition in partitions:
                    change(partition)
                client.alter_partitions(table.ref, partitions)
                return len(partitions)

        with ThreadPoolExecutor(WORKERS) as workers:
            for changed in workers.map(run, batches(names, BATCH)):
                done += changed
                self._progress(f"changes of {table.ref}", done, len(names))
        return done

    def _check(self, owner: ClusterName, wrong: Callable[[TableSurvey], int]) -> None:
        with self._connect() as client:
            count = sum(wrong(surveyed) for surveyed in survey(client, owner, self._progress))
        if count:
            raise CountMismatch(f"{count} objects do not have the expected facts.")


def _sum(left: Counts, right: Counts) -> Counts:
    return Counts(
        left.tables + right.tables,
        left.partitions + right.partitions,
        left.views + right.views,
        left.changed_tables + right.changed_tables,
        left.changed_partitions + right.changed_partitions,
    )


def _add(report: VerifyReport, surveyed: TableSurvey, topology: Topology) -> VerifyReport:
    problems = list(surveyed.problems)
    if surveyed.placement is not None and topology.in_use:
        replicas = surveyed.placement.replicas()
        named = {replicas.primary, *replicas.fresh, *replicas.stale}
        problems += [
            f"{surveyed.ref}: there is no cluster {name}"
            for name in sorted(named - topology.clusters.keys())
        ]
    if surveyed.is_view:
        return replace(report, views=report.views + 1)
    return VerifyReport(
        tables=report.tables + 1,
        partitions=report.partitions + surveyed.partitions,
        views=report.views,
        lacking_tables=report.lacking_tables + (not surveyed.named),
        lacking_partitions=report.lacking_partitions
        + (0 if surveyed.named else len(surveyed.lacking)),
        copies=report.copies + surveyed.copies,
        writing=report.writing + (surveyed.placement is not None and surveyed.placement.writing),
        problems=(*report.problems, *problems),
        elsewhere=(*report.elsewhere, *surveyed.elsewhere),
    )
