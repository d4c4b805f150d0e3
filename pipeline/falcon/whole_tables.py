"""The rules on feeds of whole tables, `catalog:db:table#*`, which have no dates. Pure."""

from collections.abc import Iterator

from pipeline.falcon.entities.feed import Feed, Table
from pipeline.falcon.errors import DocumentProblem

NOT_OF_PROCESSES = "feed {} is of a whole table: processes read and write partitions"
_NO_RETENTION = (
    "{} is a whole table, which has no date: nothing of it would be dropped. Leave retention out"
)
_NOT_LATE = "{} is a whole table: each instance copies it as it is then, so no data is late"
_ALWAYS_THERE = "{} is a whole table, which is there at any time: watch the lag of its copies"


def problems(feed: Feed, storage: Table) -> Iterator[DocumentProblem]:
    """The problems of a feed of `storage` that names partitions in one cluster and none in another,
    and those of a feed of a whole table with elements that only partitions can have.
    """
    uri = storage.uri
    for each in feed.clusters:
        place = feed.storage_on(each)
        if isinstance(place, Table) and place.uri.whole != uri.whole:
            reason = f"{place.uri} on {each.name} and {uri}: one is a whole table, one is not"
            yield DocumentProblem(place.line, "table", reason)
    if not uri.whole:
        return
    if feed.late_cutoff is not None:
        yield DocumentProblem(feed.line, "late-arrival", _NOT_LATE.format(uri))
    for each in feed.clusters:
        if each.retention is not None:
            yield DocumentProblem(each.line, "retention", _NO_RETENTION.format(uri))
        if sla := each.sla or feed.sla:
            yield DocumentProblem(sla.line, "sla", _ALWAYS_THERE.format(uri))
        for exchange in each.exchanges:
            reason = f"{uri} is not one partition"
            yield DocumentProblem(exchange.line, exchange.direction.value, reason)
