"""Warnings about valid feeds and processes: effects that their author may not expect. Pure."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from pipeline.falcon.calendar import Calendar
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.datasource import Datasource
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.feed import Feed, FeedCluster, Role, Table
from pipeline.falcon.entities.process import Process
from pipeline.falcon.errors import DocumentProblem

_MANY = 1000  # instances that are due at once
_LONG = timedelta(days=366)  # a validity that began earlier may be a mistake
_UNUSED = frozenset(
    (
        "queueName",
        "jobPriority",
        "maxMaps",
        "mapBandwidth",
        "overwrite",
        "ignoreErrors",
        "skipChecksum",
        "removeDeletedFiles",
        "preserveBlockSize",
        "preserveReplicationNumber",
        "preservePermission",
    )
)
_LENGTHS = {
    "YEAR": timedelta(days=365),
    "MONTH": timedelta(days=28),
    "DAY": timedelta(days=1),
    "HOUR": timedelta(hours=1),
    "MINUTE": timedelta(minutes=1),
}


def warnings_of(entity: Entity, now: datetime) -> tuple[DocumentProblem, ...]:
    """The warnings, in the order of their lines. `now` is aware UTC."""
    found = list(_unused(entity))
    if isinstance(entity, Feed) and entity.with_role(Role.TARGET):
        for source in entity.with_role(Role.SOURCE):
            found += _shared_partition(entity, source)
            found += _backlog(entity.calendar_on(source), source.validity.end, now, source.line)
    elif isinstance(entity, Process):
        for each in entity.clusters:
            found += _backlog(entity.calendar_on(each), each.validity.end, now, each.line)
    return tuple(sorted(found))


def _unused(entity: Entity) -> Iterator[DocumentProblem]:
    """Elements and properties of Falcon that have no effect here."""
    if isinstance(entity, Cluster | Datasource):
        return
    if entity.notification:
        for address in set(entity.notification.to) - set(entity.notification.addresses):
            reason = f"{address} gets no mail: it is no mail address"
            yield DocumentProblem(entity.line, "notification", reason)
    if isinstance(entity, Feed):
        for name, _ in entity.properties:
            if name in _UNUSED:
                yield DocumentProblem(entity.line, "properties", f"{name} has no effect")


def _shared_partition(feed: Feed, source: FeedCluster) -> Iterator[DocumentProblem]:
    """Warns if the feed's frequency is finer than the dates of its partitions."""
    storage = feed.storage_on(source)
    if not isinstance(storage, Table) or not storage.uri.variables:
        return
    finest = min(storage.uri.variables, key=lambda name: _LENGTHS[name])
    if feed.frequency.length < _LENGTHS[finest]:
        yield DocumentProblem(
            storage.line,
            "table",
            f"several instances ({feed.frequency}) have the partition of one {finest.lower()}:"
            " each copies it as it is at its time",
        )


def _backlog(
    calendar: Calendar, end: datetime, now: datetime, line: int
) -> Iterator[DocumentProblem]:
    """Warns if many instances, or old ones, are due at once."""
    until = min(now, end)
    count, start = calendar.count(until), calendar.at(0)
    if count > _MANY or (count > 1 and until - start > _LONG):
        reason = f"{count:,} instances, since {start:%Y-%m-%d}, are due as soon as it is scheduled"
        yield DocumentProblem(line, "validity", reason)
