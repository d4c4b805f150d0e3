"""The properties of a feed that Causeway uses, their values, and their defaults. Pure.

Falcon's own names are `order`, `parallel` and `timeout`.
"""

from collections.abc import Iterator

from pipeline.falcon import catalog_uri, validators
from pipeline.falcon.calendar import Frequency
from pipeline.falcon.catalog_uri import TableUri
from pipeline.falcon.entities.feed import Feed, Paths
from pipeline.falcon.entities.process import PolicyType, Retry
from pipeline.falcon.errors import BadCatalogUri, DocumentProblem
from pipeline.falcon.partition_paths import date_variables
from pipeline.falcon.validators import Check

CATALOG_TABLE = "catalog.table"
MAX_TOGETHER = 200  # instances in one run
MAX_RETRIES = 1000
_RETRIES = 3
_RETRY_DELAY = Frequency.parse("minutes(10)")

_CHECKS: dict[str, Check] = {
    "order": validators.one_of("FIFO", "LIFO", "LAST_ONLY"),
    "parallel": validators.integer(1, 100),
    "partitionsPerRun": validators.integer(1, MAX_TOGETHER),
    "timeout": validators.frequency,
    "propagateDeletes": validators.one_of("true", "false"),
    "retryPolicy": validators.one_of(*(each.value for each in PolicyType)),
    "retryDelay": validators.frequency,
    "retryAttempts": validators.integer(0, MAX_RETRIES),
}


def problems(feed: Feed) -> Iterator[DocumentProblem]:
    """The problems of properties with values that cannot be used."""
    for name, value in feed.properties:
        check = _CHECKS.get(name)
        if check and (reason := check(value)):
            yield DocumentProblem(feed.line, "properties", f"{name}: {reason}")
    if reason := _catalog_problem(feed):
        yield DocumentProblem(feed.line, "properties", f"{CATALOG_TABLE}: {reason}")


def _catalog_problem(feed: Feed) -> str | None:
    if feed.property(CATALOG_TABLE) is None:
        return None
    if not isinstance(feed.storage, Paths):
        return "the feed is a table, so its instances are partitions"
    try:
        uri = catalog_table(feed)
    except BadCatalogUri as error:
        return str(error.args[0])
    if uri and uri.whole:
        return f"{uri} names no partition"
    if uri and uri.free:
        return (
            f"{uri} does not name one partition: {', '.join(sorted(uri.free))} may have any value"
        )
    if uri and uri.variables != date_variables(feed.storage):
        return f"{uri} does not have the date variables of the feed's path"
    return None


def catalog_table(feed: Feed) -> TableUri | None:
    """The table whose partitions are the directories of a feed of paths. Raises BadCatalogUri."""
    text = feed.property(CATALOG_TABLE)
    return catalog_uri.parse(text) if text is not None else None


def retry_of(feed: Feed, default: PolicyType) -> Retry:
    """How failed work of a feed is repeated (FA-G4): at most `retryAttempts` times, with pauses by
    `retryPolicy` (or the `default` policy) and `retryDelay`.
    """
    policy, delay = feed.property("retryPolicy"), feed.property("retryDelay")
    attempts = feed.property("retryAttempts")
    return Retry(
        PolicyType(policy) if policy else default,
        Frequency.parse(delay) if delay else _RETRY_DELAY,
        int(attempts) if attempts else _RETRIES,
    )
