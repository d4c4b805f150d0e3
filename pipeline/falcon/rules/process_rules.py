"""The rules of a process's document: its inputs, outputs, workflow and periods."""

from collections.abc import Iterator

from pipeline.falcon import partition_paths, whole_tables
from pipeline.falcon.entities.feed import Feed, Paths, Table
from pipeline.falcon.entities.process import Engine, Input, Output, Process, ProcessCluster
from pipeline.falcon.errors import BadExpression, DocumentProblem
from pipeline.falcon.expression import At, Expression, Future, Latest
from pipeline.falcon.rules.shared_rules import (
    Surroundings,
    duplicates,
    not_one_partition,
    sla_fault,
)


def alone(process: Process) -> Iterator[DocumentProblem]:
    yield from duplicates(process.line, "clusters", (each.name for each in process.clusters))
    yield from duplicates(process.line, "properties", (name for name, _ in process.properties))
    names = [*(each.name for each in process.inputs), *(each.name for each in process.outputs)]
    yield from duplicates(process.line, "inputs", names)
    for used in process.inputs:
        if fault := _count_fault(used.start, used.end):
            yield DocumentProblem(used.line, "input", fault)
    for written in process.outputs:
        if not isinstance(written.instance, At):
            fault = f"{written.instance.text} counts instances: an output has to name one"
            yield DocumentProblem(written.line, "output", fault)
    for cluster in process.clusters:
        validity = cluster.validity
        if validity.start >= validity.end:
            yield DocumentProblem(validity.line, "validity", "does not start before its end")
        sla = cluster.sla or process.sla
        if sla and (reason := sla_fault(sla, "shouldStartIn", "shouldEndIn")):
            yield DocumentProblem(sla.line, "sla", reason)
    workflow = process.workflow
    if not workflow.path.strip():
        yield DocumentProblem(workflow.line, "workflow", "path is empty")
    if workflow.engine is Engine.SPARK and process.spark is None:
        yield DocumentProblem(workflow.line, "workflow", "engine spark needs spark-attributes")
    if process.late:
        known = {each.name for each in process.inputs}
        for name in process.late.workflows:
            if name not in known:
                reason = f"input {name} is not one of the process"
                yield DocumentProblem(process.late.line, "late-input", reason)


def _count_fault(start: Expression, end: Expression) -> str:
    """Why the ends of an input do not fit together; empty if both are times, or both count in the
    same direction and the first is not beyond the last.
    """
    if type(start) is not type(end):
        return f"from {start.text} to {end.text}: both are to be times, or to count alike"
    if isinstance(start, Latest) and isinstance(end, Latest) and start.back > end.back:
        return f"{start.text} is after {end.text}"
    if isinstance(start, Future) and isinstance(end, Future) and start.ahead > end.ahead:
        return f"{start.text} is after {end.text}"
    return ""


def among(process: Process, others: Surroundings) -> Iterator[DocumentProblem]:
    for cluster in process.clusters:
        if others.cluster(cluster.name) is None:
            yield DocumentProblem(cluster.line, "cluster", f"no cluster {cluster.name} is known")
    ends: tuple[Input | Output, ...] = (*process.inputs, *process.outputs)
    for used in ends:
        element = "input" if isinstance(used, Input) else "output"
        feed = others.feed(used.feed)
        if feed is None:
            yield DocumentProblem(used.line, element, f"no feed {used.feed} is known")
            continue
        if feed.whole:
            yield DocumentProblem(
                used.line, element, whole_tables.NOT_OF_PROCESSES.format(feed.name)
            )
            continue
        yield from _table_use(feed, used, element)
        for cluster in process.clusters:
            yield from _use_on(cluster, feed, used, element)
            if isinstance(used, Input) and isinstance(feed.storage, Paths):
                entity = others.cluster(cluster.name)
                if reason := partition_paths.input_problem(used, feed, entity):
                    yield DocumentProblem(used.line, element, reason)


def _table_use(feed: Feed, used: Input | Output, element: str) -> Iterator[DocumentProblem]:
    if not isinstance(used, Input) or not isinstance(feed.storage, Table):
        return
    if used.partition is not None:
        reason = f"partition cannot be chosen of {feed.name}: it is a table"
        yield DocumentProblem(used.line, element, reason)
    if used.optional:
        yield DocumentProblem(used.line, element, f"{feed.name} is a table: it cannot be optional")


def _use_on(
    cluster: ProcessCluster, feed: Feed, used: Input | Output, element: str
) -> Iterator[DocumentProblem]:
    """The first instance must find its data within the feed's validity and retention (FA-P1)."""
    feed_cluster = feed.on(cluster.name)
    if feed_cluster is None:
        reason = f"feed {feed.name} is not on cluster {cluster.name}"
        yield DocumentProblem(used.line, element, reason)
        return
    storage = feed.storage_on(feed_cluster)
    if isinstance(used, Output) and isinstance(storage, Table) and storage.uri.free:
        yield DocumentProblem(used.line, element, not_one_partition(storage.uri))
    expressions = (used.start, used.end) if isinstance(used, Input) else (used.instance,)
    nominal = cluster.validity.start
    times = []
    for each in expressions:
        if not isinstance(each, At):
            continue
        try:
            times.append(each.of(nominal))
        except BadExpression as error:
            yield DocumentProblem(used.line, element, str(error.args[0]))
    for time in times:
        if not feed_cluster.validity.start <= time <= feed_cluster.validity.end:
            reason = f"{time:%Y-%m-%dT%H:%MZ} is outside the validity of feed {feed.name}"
            yield DocumentProblem(used.line, element, f"{reason} on {cluster.name}")
    if len(times) == 2 and times[0] > times[1]:
        yield DocumentProblem(used.line, element, "starts after its end")
    kept = feed_cluster.retention
    if isinstance(used, Input) and times and kept and nominal - times[0] > kept.length:
        reason = f"reaches back {nominal - times[0]}, feed {feed.name} keeps {kept}"
        yield DocumentProblem(used.line, element, reason)
