"""Feeds of whole tables, `catalog:db:table#*`: what their documents may not have. Pure.

An instance of such a feed is the whole table as its run finds it, because a table of Iceberg or
Delta has no partitions in the metastore and so no data of a date. Three other places follow:
`actions/tables.py` refuses a whole table that has partition keys in the metastore,
`instances/schedule.py` runs only the newest instance, and a run of `actions/cluster_actions.py`
sweeps replaced files, because such a feed has no evictions.
"""

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
    """The problems of a feed of the table `storage`: clusters of which one has the whole table and
    another partitions, and elements that a feed of a whole table cannot have.
    """
    uri = storage.uri
    for each in feed.clusters:
        own = feed.storage_on(each)
        if isinstance(own, Table) and own.uri.whole != uri.whole:
            reason = f"{own.uri} on {each.name} and {uri}: one is a whole table, one is not"
            yield DocumentProblem(own.line, "table", reason)
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
