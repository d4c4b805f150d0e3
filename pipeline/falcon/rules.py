"""The rules that a well-formed document has to follow (docs/reference/specification.md, FA).

`alone` checks the values of one document. `among` checks a feed's clusters with each other, and a
document with the entities that it refers to. Both report every problem. Rules of one subject are in
`exchange_rules`, `feed_properties`, `partition_paths` and `whole_tables`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol
from urllib.parse import urlsplit

from pipeline.falcon import exchange_rules, feed_properties, partition_paths, whole_tables
from pipeline.falcon.entities.agreements import Sla
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.datasource import Datasource
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.feed import Direction, Feed, FeedCluster, Paths, Role, Storage, Table
from pipeline.falcon.entities.process import Engine, Input, Output, Process, ProcessCluster
from pipeline.falcon.errors import BadExpression, DocumentProblem
from pipeline.falcon.expression import At, Expression, Future, Latest
from pipeline.falcon.partition_paths import DATE_VARIABLES, date_variables
from pipeline.falcon.paths import is_object_store, path_at, unpublishable


class Surroundings(Protocol):
    """The other entities, by name; None for an unknown name."""

    def cluster(self, name: str) -> Cluster | None: ...

    def feed(self, name: str) -> Feed | None: ...

    def datasource(self, name: str) -> Datasource | None: ...

    def feeds(self) -> Iterable[Feed]: ...


def alone(entity: Entity) -> tuple[DocumentProblem, ...]:
    """Problems of a document by itself."""
    match entity:
        case Cluster():
            found = _cluster_alone(entity)
        case Feed():
            found = _feed_alone(entity)
        case Process():
            found = _process_alone(entity)
        case Datasource():
            found = iter(())
    return tuple(sorted(found))


def among(entity: Entity, others: Surroundings) -> tuple[DocumentProblem, ...]:
    """Problems between parts of a document, and with the entities that it refers to."""
    match entity:
        case Cluster():
            found = _cluster_among(entity)
        case Feed():
            found = _feed_among(entity, others)
        case Process():
            found = _process_among(entity, others)
        case Datasource():
            found = exchange_rules.datasource_problems(entity)
    return tuple(sorted(found))


def _duplicates(line: int, element: str, names: Iterable[str]) -> Iterator[DocumentProblem]:
    for name, count in Counter(names).items():
        if count > 1:
            yield DocumentProblem(line, element, f"{name} is there {count} times")


def _cluster_alone(cluster: Cluster) -> Iterator[DocumentProblem]:
    staging, working = cluster.locations.get("staging"), cluster.locations.get("working")
    if not staging:
        yield DocumentProblem(cluster.line, "locations", "location staging is missing")
    elif working is not None and staging.rstrip("/") == working.rstrip("/"):
        yield DocumentProblem(cluster.line, "locations", f"staging and working are both {staging}")
    yield from _duplicates(cluster.line, "properties", (name for name, _ in cluster.properties))


def _cluster_among(cluster: Cluster) -> Iterator[DocumentProblem]:
    registry = cluster.interfaces.get("registry")
    if registry and (reason := _registry_fault(registry.endpoint)):
        yield DocumentProblem(
            registry.line, "interface", f"registry {registry.endpoint!r} {reason}"
        )


def _registry_fault(endpoint: str) -> str | None:
    try:
        parts = urlsplit(endpoint)
        if parts.scheme == "thrift" and parts.hostname and parts.port:
            return None
    except ValueError:
        pass
    return "is not thrift://host:port"


def _feed_alone(feed: Feed) -> Iterator[DocumentProblem]:
    yield from _duplicates(feed.line, "properties", (name for name, _ in feed.properties))
    yield from feed_properties.problems(feed)
    if not feed.with_role(Role.SOURCE):
        yield DocumentProblem(feed.line, "clusters", "no cluster is a source")
    yield from _data_location(feed.storage)
    for cluster in feed.clusters:
        yield from _feed_cluster(feed, cluster)


def _table_feed(feed: Feed, storage: Table) -> Iterator[DocumentProblem]:
    sources = feed.with_role(Role.SOURCE)
    if len(sources) > 1:
        names = ", ".join(each.name for each in sources)
        yield DocumentProblem(feed.line, "clusters", f"a table has one source, here are {names}")
    if feed.partitions is not None:
        yield DocumentProblem(
            feed.line, "partitions", "a table's feed has none: its URI names them"
        )
    yield from whole_tables.problems(feed, storage)
    if not storage.uri.dated and not storage.uri.whole:
        yield DocumentProblem(storage.line, "table", "no partition key is made of a date")
    yield from _free_keys(feed, storage)


def _free_keys(feed: Feed, storage: Table) -> Iterator[DocumentProblem]:
    """The problems of free keys: with such a URI, the partitions would have to be guessed."""
    given = {f"${{{name}}}" for name, _ in feed.properties}
    for value in sorted(dict(storage.uri.keys)[key] for key in storage.uri.free):
        if value in given:
            reason = f"{value} stands for every value, not for the property: write its value"
            yield DocumentProblem(storage.line, "table", reason)
    for each in feed.clusters:
        own = feed.storage_on(each)
        if not isinstance(own, Table):
            continue
        if own.uri.free != storage.uri.free:
            mine, theirs = _keys_text(storage.uri.free), _keys_text(own.uri.free)
            reason = f"keys with any value on {each.name} are {theirs}, those of the feed {mine}"
            yield DocumentProblem(own.line, "table", reason)
        for exchange in each.exchanges if own.uri.free else ():
            reason = f"{own.uri} is not one partition: {_keys_text(own.uri.free)} has any value"
            yield DocumentProblem(exchange.line, exchange.direction.value, reason)


def _keys_text(keys: frozenset[str]) -> str:
    return ", ".join(sorted(keys)) or "(none)"


def _data_location(storage: Storage) -> Iterator[DocumentProblem]:
    if isinstance(storage, Paths) and "data" not in storage.locations:
        yield DocumentProblem(storage.line, "locations", "location data is missing")


def _feed_cluster(feed: Feed, cluster: FeedCluster) -> Iterator[DocumentProblem]:
    validity = cluster.validity
    if validity.start > validity.end:
        yield DocumentProblem(validity.line, "validity", "starts after its end")
    retention, sla = cluster.retention, cluster.sla or feed.sla
    if retention is None and not feed.whole:
        yield DocumentProblem(cluster.line, "cluster", "retention is missing")
    if retention and feed.late_cutoff and retention.length < feed.late_cutoff.length:
        text = f"{retention} is shorter than the late cut-off {feed.late_cutoff}"
        yield DocumentProblem(cluster.line, "retention", text)
    if sla and (reason := _sla_fault(sla, "slaLow", "slaHigh")):
        yield DocumentProblem(sla.line, "sla", reason)
    if retention and sla and sla.high and sla.high.length > retention.length:
        yield DocumentProblem(sla.line, "sla", f"slaHigh {sla.high} exceeds retention {retention}")
    storage = feed.storage_on(cluster)
    if storage is not feed.storage:
        yield from _data_location(storage)
    if type(storage) is not type(feed.storage):
        yield DocumentProblem(storage.line, cluster.name, "tables and paths in one feed")
    elif reason := _pattern_fault(feed.storage, storage):
        yield DocumentProblem(storage.line, _element(storage), reason)


def _element(storage: Storage) -> str:
    return "table" if isinstance(storage, Table) else "locations"


def _pattern_fault(one: Storage, other: Storage) -> str | None:
    """The difference between the date variables of the feed's storage and a cluster's, or None."""
    if isinstance(one, Table) and isinstance(other, Table):
        mine, theirs = one.uri.variables, other.uri.variables
        if mine != theirs:
            return f"date pattern {_listed(theirs)} is not the feed's {_listed(mine)}"
    if isinstance(one, Paths) and isinstance(other, Paths):
        mine, theirs = date_variables(one), date_variables(other)
        if "data" in other.locations and mine != theirs:
            return f"date pattern {_listed(theirs)} is not the feed's {_listed(mine)}"
    return None


def _listed(variables: frozenset[str]) -> str:
    return "-".join(name for name in DATE_VARIABLES if name in variables) or "(none)"


def _sla_fault(sla: Sla, low: str, high: str) -> str | None:
    if sla.low and sla.high and sla.low.length > sla.high.length:
        return f"{low} {sla.low} exceeds {high} {sla.high}"
    return None


def _without_overlap(feed: Feed) -> Iterator[DocumentProblem]:
    """The targets with a validity that does not overlap that of a source."""
    for target in feed.with_role(Role.TARGET):
        for source in feed.with_role(Role.SOURCE):
            start = max(source.validity.start, target.validity.start)
            if start >= min(source.validity.end, target.validity.end):
                reason = f"does not overlap with that of {source.name}: nothing to replicate"
                yield DocumentProblem(target.validity.line, "validity", reason)


def _feed_among(feed: Feed, others: Surroundings) -> Iterator[DocumentProblem]:
    yield from _duplicates(feed.line, "clusters", (each.name for each in feed.clusters))
    yield from _without_overlap(feed)
    if isinstance(feed.storage, Table):
        yield from _table_feed(feed, feed.storage)
    clusters = {str(each.name): others.cluster(each.name) for each in feed.clusters}
    yield from partition_paths.feed_problems(feed, clusters)
    for each in feed.clusters:
        yield from exchange_rules.problems(each, others.datasource)
        cluster = clusters[each.name]
        yield from partition_paths.storage_problems(feed.storage_on(each), cluster)
        if cluster is None:
            yield DocumentProblem(each.line, "cluster", f"no cluster {each.name} is known")
        elif isinstance(feed.storage, Table) and not cluster.endpoint("registry"):
            reason = f"cluster {each.name} has no registry interface, which a table needs"
            yield DocumentProblem(each.line, "cluster", reason)
        elif each.role is Role.TARGET:
            yield from _unpublishable(feed, each, cluster)
        if any(e.direction is Direction.IMPORT for e in each.exchanges):
            yield from _unreplaceable(feed.storage_on(each), each, cluster)
    for other in others.feeds():
        shared = set(feed.groups) & set(other.groups)
        if other.name == feed.name or not shared:
            continue
        group = min(shared)
        if other.frequency != feed.frequency:
            reason = f"frequency of group {group} is {other.frequency} (feed {other.name})"
            yield DocumentProblem(feed.line, "groups", reason)
        elif type(other.storage) is type(feed.storage) and _pattern_fault(
            other.storage, feed.storage
        ):
            reason = f"date pattern differs from feed {other.name} of group {group}"
            yield DocumentProblem(feed.line, "groups", reason)


def _unpublishable(
    feed: Feed, feed_cluster: FeedCluster, cluster: Cluster
) -> Iterator[DocumentProblem]:
    """The problems of a target's directories in an object store."""
    storage = feed.storage_on(feed_cluster)
    template = storage.locations.get("data") if isinstance(storage, Paths) else None
    if template is None:
        return
    directory = path_at(template, feed_cluster.validity.start, cluster)
    copied = [feed_cluster, *feed.with_role(Role.SOURCE)]
    part = [each.partition for each in copied if each.partition]
    if reason := unpublishable(directory, feed.availability_flag, part):
        yield DocumentProblem(storage.line, "locations", reason)
    elif is_object_store(directory) and feed.property(feed_properties.CATALOG_TABLE) is not None:
        reason = f"queries do not wait for the flag of {directory}"
        yield DocumentProblem(feed.line, "properties", f"{feed_properties.CATALOG_TABLE}: {reason}")


def _unreplaceable(
    storage: Storage, feed_cluster: FeedCluster, cluster: Cluster | None
) -> Iterator[DocumentProblem]:
    """The problems of an import into directories of an object store."""
    template = storage.locations.get("data") if isinstance(storage, Paths) else None
    if template and is_object_store(path_at(template, feed_cluster.validity.start, cluster)):
        yield DocumentProblem(storage.line, "locations", exchange_rules.NO_RENAME)


def _process_alone(process: Process) -> Iterator[DocumentProblem]:
    yield from _duplicates(process.line, "clusters", (each.name for each in process.clusters))
    yield from _duplicates(process.line, "properties", (name for name, _ in process.properties))
    names = [*(each.name for each in process.inputs), *(each.name for each in process.outputs)]
    yield from _duplicates(process.line, "inputs", names)
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
        if sla and (reason := _sla_fault(sla, "shouldStartIn", "shouldEndIn")):
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


def _process_among(process: Process, others: Surroundings) -> Iterator[DocumentProblem]:
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
        reason = f"{storage.uri} is not one partition: {_keys_text(storage.uri.free)} has any value"
        yield DocumentProblem(used.line, element, reason)
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


def unsupported(
    entity: Entity, engines: Callable[[Engine], str | None]
) -> Iterator[DocumentProblem]:
    """Reasons why a valid entity cannot run on this installation; checked when it is scheduled.

    `engines` returns None for an engine that can run, else the reason.
    """
    if isinstance(entity, Process) and (reason_not := engines(entity.workflow.engine)):
        yield DocumentProblem(entity.workflow.line, "workflow", reason_not)


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
