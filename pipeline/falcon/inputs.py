"""The feed instances that a process's instance reads and writes, and their fingerprints.

A need is the data of one feed instance. An input with `latest` or `future` counts the instances
that exist: its needs are candidates, best first, and it reads a span of those that exist. Pure.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from conf.names import ClusterName
from pipeline.falcon.calendar import Calendar, format_time, parse_time
from pipeline.falcon.entities.feed import Feed, FeedCluster, Paths, Storage
from pipeline.falcon.entities.process import Input, Output, Process
from pipeline.falcon.expression import At, Future, Latest

MAX_WINDOW = 10_000
MAX_CANDIDATES = 1000  # instances among which `latest` and `future` count
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Span:
    """The existing candidates that an input reads: from number `start` to before `stop`."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Need:
    """The data of one feed instance: `storage` on `cluster` at `time`, for the input `name`. With
    `flag`, the data exists once this file does. A need with a `span` is a candidate.
    """

    name: str
    feed: str
    cluster: ClusterName
    storage: Storage
    time: datetime
    flag: str | None = None
    optional: bool = False
    span: Span | None = None


def need_of(feed: Feed, cluster: FeedCluster, name: str, time: datetime) -> Need:
    """The need for a feed's instance. A cluster that names no directory of data has the feed's."""
    storage = feed.storage_on(cluster)
    if isinstance(storage, Paths) and "data" not in storage.locations:
        storage = feed.storage
    return Need(name, feed.name, cluster.name, storage, time, feed.availability_flag)


def time_of(expression: object, nominal: datetime) -> datetime:
    """The expression's time; the nominal time for an expression that counts instances."""
    return expression.of(nominal) if isinstance(expression, At) else nominal


def inputs_of(
    process: Process, cluster: str, feeds: Callable[[str], Feed | None], nominal: datetime
) -> Iterator[Need]:
    """The feed instances that the process reads at `nominal`, candidates included. The ends of an
    input are inclusive. Raises LookupError.
    """
    for each in process.inputs:
        feed, feed_cluster = _feed_on(cluster, feeds, each)
        times, span = _times_of(each, feed.calendar_on(feed_cluster), feed_cluster, nominal)
        for time in times:
            yield replace(
                need_of(feed, feed_cluster, each.name, time), optional=each.optional, span=span
            )


def _times_of(
    used: Input, calendar: Calendar, feed_cluster: FeedCluster, nominal: datetime
) -> tuple[Iterable[datetime], Span | None]:
    """The times of an input's instances; for `latest` and `future` those of candidates, and the
    span of them that is read.
    """
    start, end = used.start, used.end
    current = calendar.floor(nominal) or calendar.start
    if isinstance(start, Latest) and isinstance(end, Latest):
        oldest = nominal - feed_cluster.kept
        newest = deque(calendar.between(oldest, current + _MINUTE), maxlen=MAX_CANDIDATES)
        return reversed(newest), Span(-end.back, 1 - start.back)
    if isinstance(start, Future) and isinstance(end, Future):
        ahead = calendar.between(current, feed_cluster.validity.end)
        limit = min(max(start.limit, end.limit), MAX_CANDIDATES)
        return islice(ahead, limit), Span(start.ahead, 1 + end.ahead)
    first = calendar.floor(time_of(start, nominal)) or calendar.start
    last = time_of(end, nominal)
    return islice(calendar.between(first, last + _MINUTE), MAX_WINDOW), None


def outputs_of(
    process: Process, cluster: str, feeds: Callable[[str], Feed | None], nominal: datetime
) -> Iterator[Need]:
    """The feed instance that each output writes: the last one at or before the output's time.
    Raises LookupError.
    """
    for each in process.outputs:
        feed, feed_cluster = _feed_on(cluster, feeds, each)
        time = time_of(each.instance, nominal)
        yield need_of(
            feed, feed_cluster, each.name, feed.calendar_on(feed_cluster).floor(time) or time
        )


def _feed_on(
    cluster: str, feeds: Callable[[str], Feed | None], used: Input | Output
) -> tuple[Feed, FeedCluster]:
    """The feed of an input or output on a cluster. Raises LookupError."""
    feed = feeds(used.feed)
    feed_cluster = feed.on(cluster) if feed else None
    if feed is None or feed_cluster is None:
        raise LookupError(f"feed {used.feed} is not on cluster {cluster}")
    return feed, feed_cluster


Fingerprints = Mapping[Need, str | None]
"""The fingerprint of each need's data, a text that changes with the data; None if it is missing."""


def fingerprint(needs: Sequence[Need], prints: Fingerprints) -> str | None:
    """The fingerprint of all inputs, as JSON by their names; None if needed data is missing."""
    if missing(needs, prints):
        return None
    found: dict[str, list[str]] = {}
    for need in needs:
        if need.span is None:
            found.setdefault(need.name, []).append(prints.get(need) or "")
    for name in _counting(needs):
        chosen = _in_span(name, needs, prints)
        found[name] = [f"{format_time(each.time)}={prints.get(each)}" for each in chosen]
    return json.dumps({name: "|".join(texts) for name, texts in found.items()}, sort_keys=True)


def missing(needs: Sequence[Need], prints: Fingerprints) -> str:
    """Describes the first missing input, for messages; empty if none is missing."""
    for need in needs:
        if need.span is None and prints.get(need) is None and not need.optional:
            return f"{need.name}: feed {need.feed} {format_time(need.time)} on {need.cluster}"
    for name, first in _counting(needs).items():
        assert first.span is not None
        wanted, existing = first.span.stop, len(_existing(name, needs, prints))
        if existing < wanted and not first.optional:
            where = f"feed {first.feed} on {first.cluster}"
            return f"{name}: {existing} of {wanted} instances of {where}"
    return ""


def needs_read(needs: Iterable[Need], print_: str) -> list[Need]:
    """The needs that an instance reads, in order of time: those without a span, and the candidates
    in its fingerprint `print_`; no candidates while it has none.
    """
    known: dict[str, str] = json.loads(print_) if print_ else {}
    times: dict[str, set[datetime]] = {}
    chosen = []
    for need in needs:
        if need.span is None:
            chosen.append(need)
            continue
        if need.name not in times:
            texts = filter(None, known.get(need.name, "").split("|"))
            times[need.name] = {parse_time(text.partition("=")[0]) for text in texts}
        if need.time in times[need.name]:
            chosen.append(need)
    return sorted(chosen, key=lambda need: need.time)


def _counting(needs: Iterable[Need]) -> dict[str, Need]:
    """The first candidate of each input that counts instances, by the input's name."""
    found: dict[str, Need] = {}
    for need in needs:
        if need.span is not None:
            found.setdefault(need.name, need)
    return found


def _existing(name: str, needs: Iterable[Need], prints: Fingerprints) -> list[Need]:
    """The candidates of an input that exist."""
    return [each for each in needs if each.name == name and prints.get(each) is not None]


def _in_span(name: str, needs: Iterable[Need], prints: Fingerprints) -> list[Need]:
    """The candidates that an input reads, in order of time."""
    existing = _existing(name, needs, prints)
    spans = (each.span for each in existing)
    span = next((span for span in spans if span is not None), None)
    chosen = [] if span is None else existing[span.start : span.stop]
    return sorted(chosen, key=lambda need: need.time)
