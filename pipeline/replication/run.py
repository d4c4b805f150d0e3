"""Plans and runs a replication between two metastores."""

from collections.abc import Sequence
from dataclasses import replace

from conf.errors import CausewayError
from conf.names import TableRef
from metastore.client.catalog_client import CatalogClient
from metastore.client.types import Partition, Table
from metastore.errors import NoSuchObject
from pipeline.copy.copy_job import CopyJob
from pipeline.copy.copy_record import CopyRoute, recorded
from pipeline.copy.copy_report import CopyReport
from pipeline.copy.files import CopyOptions, Files
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.copy.own_writes import end_left_writes
from pipeline.copy.runs.staging import new_run
from pipeline.errors import PublishFailed
from pipeline.partition_values import Spec, matching_names
from pipeline.replication.plan import (
    WHOLE,
    ReplicationPlan,
    ReplicationRequest,
    SourceObject,
    check_source,
    plan_replication,
)
from pipeline.replication.replica_catalog import ReplicaCatalog


def read_replication(
    request: ReplicationRequest,
    source: CatalogClient,
    target: CatalogClient,
    files: Files,
    sweeps: bool = True,
) -> ReplicationPlan:
    """Reads both metastores and lists the source. Raises NoSuchObject, NotCopyable,
    UnsafeSchemaChange.

    The target's partitions are read first. Otherwise a partition that appears in the source and is
    copied by another run in between would look like one that the source has dropped.
    """
    origin = check_source(request, source.get_table(request.source))
    known = _table_or_none(target, request.target)
    existing = _selected(target, request.target, request.target_specs, known)
    partitions = _selected(source, request.source, request.source_specs, origin.table)
    locations = {name: each.location for name, each in sorted(partitions.items())}
    if not origin.keys:
        locations = {WHOLE: origin.location}
    listings = files.listings(list(locations.values()))
    sources = [
        SourceObject(name, location, listing)
        for (name, location), listing in zip(locations.items(), listings, strict=True)
    ]
    database = target.get_database(request.target.db).location
    plan = plan_replication(request, origin, sources, known, existing, database)
    return replace(plan, sweeps=sweeps)


def _selected(
    client: CatalogClient, ref: TableRef, specs: Sequence[Spec], table: Table | None
) -> dict[str, Partition]:
    """The partitions that have the values of one of `specs`, by name; none of a table that does not
    exist or is not partitioned.
    """
    if table is None or not table.partition_keys:
        return {}
    names = matching_names(specs, table.partition_keys, lambda: client.get_partition_names(ref))
    return {each.name(table): each for each in client.get_partitions(ref, names)}


def _table_or_none(client: CatalogClient, ref: TableRef) -> Table | None:
    try:
        return client.get_table(ref)
    except NoSuchObject:
        return None


def run_replication(
    plan: ReplicationPlan,
    source: CatalogClient,
    target: CatalogClient,
    context: JobContext,
    options: CopyOptions,
    limits: CopyLimits,
) -> CopyReport:
    """Executes the plan. Raises PublishFailed when the target's metastore refuses every attempt.
    Then the copied files are deleted and its metadata is as before (FA-R6), or the error says what
    prevented that.
    """
    report = CopyReport(fresh=plan.fresh)
    end_left_writes(target, plan.request.target, plan.origins.keys())
    if not plan.steps:
        return report
    objects = [*(item.name for item in plan.items), *plan.drops]
    marker = new_run(plan.request.target, 0, context.clock(), objects)
    catalog = ReplicaCatalog(plan, source, target, context, limits, run=marker.run)
    options = replace(options, checksum=plan.request.checksum)
    name = str(plan.request.target)
    job = CopyJob(name, plan.staging, marker, catalog, context, options, limits, report)
    request = plan.request
    route = CopyRoute(
        marker.run, str(request.source), name, request.between[0], request.between[1], plan.staging
    )
    try:
        with recorded(
            context.record, context.clock, route, lambda: report.shares(plan.items, route.source)
        ):
            job.run(plan.steps)
    except PublishFailed as error:
        try:
            catalog.undo()
        except CausewayError as failure:
            raise PublishFailed(f"{error} Its files could not be removed: {failure}") from error
        raise
    report.gone += plan.drops
    return report
