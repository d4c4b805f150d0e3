"""Plans and runs a replication between two metastores."""

from collections.abc import Sequence
from dataclasses import replace

from conf.errors import CausewayError
from metastore.client.catalog_client import CatalogClient
from metastore.client.types import Partition, Table
from metastore.errors import NoSuchObject
from metastore.placement.open_formats import why_files_are_not_enough
from pipeline.copy.copy_catalog import data_location
from pipeline.copy.copy_job import CopyJob
from pipeline.copy.copy_record import CopyRoute, recorded
from pipeline.copy.copy_report import CopyReport
from pipeline.copy.files import CopyOptions, Files
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.copy.own_writes import end_left_writes
from pipeline.copy.runs.staging import new_run
from pipeline.errors import NotCopyable, PublishFailed
from pipeline.partition_values import matching_names
from pipeline.replication.plan import (
    WHOLE,
    ReplicationPlan,
    ReplicationRequest,
    SourceObject,
    plan_replication,
    target_keys,
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

    The target is read first: a partition that appears in the source and is copied by another run
    meanwhile is then no partition that the source has lost.
    """
    table = source.get_table(request.source)
    if table.kind.endswith("_VIEW"):
        raise NotCopyable(f"{request.source} is a view: it has no data of its own.")
    if (why := why_files_are_not_enough(table)) is not None:
        raise NotCopyable(why)
    target_keys(request, table)
    known = _table_or_none(target, request)
    existing = _target_partitions(request, target, known)
    locations = {WHOLE: data_location(table)}
    if table.partition_keys:
        locations = _partition_locations(request, source, table)
    listings = files.listings(list(locations.values()))
    sources = [
        SourceObject(name, location, listing)
        for (name, location), listing in zip(locations.items(), listings, strict=True)
    ]
    database = target.get_database(request.target.db).location
    plan = plan_replication(request, table, sources, known, existing, database)
    return replace(plan, sweeps=sweeps)


def _partition_locations(
    request: ReplicationRequest, source: CatalogClient, table: Table
) -> dict[str, str]:
    """The location of each partition that the request selects, by name, in order."""

    def names() -> Sequence[str]:
        return source.get_partition_names(request.source)

    selected = matching_names(request.source_specs, table.partition_keys, names)
    partitions = source.get_partitions(request.source, selected)
    return dict(sorted((each.name(table), each.location) for each in partitions))


def _target_partitions(
    request: ReplicationRequest, target: CatalogClient, table: Table | None
) -> dict[str, Partition]:
    if table is None or not table.partition_keys:
        return {}

    def names() -> Sequence[str]:
        return target.get_partition_names(request.target)

    selected = matching_names(request.target_specs, table.partition_keys, names)
    return {each.name(table): each for each in target.get_partitions(request.target, selected)}


def _table_or_none(client: CatalogClient, request: ReplicationRequest) -> Table | None:
    try:
        return client.get_table(request.target)
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
    """Executes the plan. Raises PublishFailed when the target's metastore refuses every attempt:
    then the copied files are deleted and its metadata is as before (FA-R6), or the error has what
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
        except CausewayError as left:
            raise PublishFailed(f"{error} Its files could not be removed: {left}") from error
        raise
    report.gone += plan.drops
    return report
