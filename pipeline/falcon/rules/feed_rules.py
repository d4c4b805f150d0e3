"""The rules of a feed's document: its clusters, storage, periods and groups."""

from collections.abc import Iterator

from pipeline.falcon import feed_properties, partition_paths, whole_tables
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Direction, Feed, FeedCluster, Paths, Role, Storage, Table
from pipeline.falcon.errors import DocumentProblem
from pipeline.falcon.partition_paths import DATE_VARIABLES, date_variables
from pipeline.falcon.paths import is_object_store, path_at, unpublishable
from pipeline.falcon.rules import exchange_rules
from pipeline.falcon.rules.shared_rules import (
    Surroundings,
    duplicates,
    keys_text,
    not_one_partition,
    sla_fault,
)


def alone(feed: Feed) -> Iterator[DocumentProblem]:
    yield from duplicates(feed.line, "properties", (name for name, _ in feed.properties))
    yield from feed_properties.problems(feed)
    if not feed.with_role(Role.SOURCE):
        yield DocumentProblem(feed.line, "clusters", "no cluster is a source")
    yield from _data_location(feed.storage)
    for cluster in feed.clusters:
        yield from _feed_cluster(feed, cluster)


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
    if sla and (reason := sla_fault(sla, "slaLow", "slaHigh")):
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


def among(feed: Feed, others: Surroundings) -> Iterator[DocumentProblem]:
    yield from duplicates(feed.line, "clusters", (each.name for each in feed.clusters))
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


def _without_overlap(feed: Feed) -> Iterator[DocumentProblem]:
    """The targets with a validity that does not overlap that of a source."""
    for target in feed.with_role(Role.TARGET):
        for source in feed.with_role(Role.SOURCE):
            start = max(source.validity.start, target.validity.start)
            if start >= min(source.validity.end, target.validity.end):
                reason = f"does not overlap with that of {source.name}: nothing to replicate"
                yield DocumentProblem(target.validity.line, "validity", reason)


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
            mine, theirs = keys_text(storage.uri.free), keys_text(own.uri.free)
            reason = f"keys with any value on {each.name} are {theirs}, those of the feed {mine}"
            yield DocumentProblem(own.line, "table", reason)
        for exchange in each.exchanges if own.uri.free else ():
            reason = not_one_partition(own.uri)
            yield DocumentProblem(exchange.line, exchange.direction.value, reason)


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
