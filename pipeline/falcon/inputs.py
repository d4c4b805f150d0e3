"""The feed instances that a process's instance reads and writes, and their fingerprints.

A look has an answer for each need. Needs that count (`latest`, `future`) are candidates, best
first; the existing ones are counted, and the span that the process asked for is taken. Pure.
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
    """Of the instances that exist, in the order of their needs, those in `[start, stop)`."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Need:
    """Data of one feed instance: `storage` on `cluster` at `time`, for the input `name`. With a
    `span` it is a candidate: inputs.py says which of them are read.
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
    storage = feed.storage_on(cluster)
    if isinstance(storage, Paths) and "data" not in storage.locations:
        storage = feed.storage
    return Need(name, feed.name, cluster.name, storage, time, feed.availability_flag)


def time_of(expression: object, nominal: datetime) -> datetime:
    return expression.of(nominal) if isinstance(expression, At) else nominal


def inputs_of(
    process: Process, cluster: str, feeds: Callable[[str], Feed | None], nominal: datetime
) -> Iterator[Need]:
    """Every feed instance that the process reads, or may read, at `nominal`; both ends are
    inclusive.
    """
    for each in process.inputs:
        feed, place = _placed(feeds, each, cluster)
        times, span = _wanted(each, feed.calendar_on(place), place, nominal)
        for time in times:
            yield replace(need_of(feed, place, each.name, time), optional=each.optional, span=span)


def _wanted(
    used: Input, calendar: Calendar, place: FeedCluster, nominal: datetime
) -> tuple[Iterable[datetime], Span | None]:
    """The times of an input's instances; candidates, best first, for `latest` and `future`."""
    start, end = used.start, used.end
    here = calendar.floor(nominal) or calendar.start
    if isinstance(start, Latest) and isinstance(end, Latest):
        oldest = nominal - place.kept
        found = deque(calendar.between(oldest, here + _MINUTE), maxlen=MAX_CANDIDATES)
        return reversed(found), Span(-end.back, 1 - start.back)
    if isinstance(start, Future) and isinstance(end, Future):
        ahead = calendar.between(here, place.validity.end)
        limit = min(max(start.limit, end.limit), MAX_CANDIDATES)
        return islice(ahead, limit), Span(start.ahead, 1 + end.ahead)
    first = calendar.floor(time_of(start, nominal)) or calendar.start
    last = time_of(end, nominal)
    return islice(calendar.between(first, last + _MINUTE), MAX_WINDOW), None


def outputs_of(
    process: Process, cluster: str, feeds: Callable[[str], Feed | None], nominal: datetime
) -> Iterator[Need]:
    """The feed instance that each output writes; between two instances, the one before."""
    for each in process.outputs:
        feed, place = _placed(feeds, each, cluster)
        time = time_of(each.instance, nominal)
        yield need_of(feed, place, each.name, feed.calendar_on(place).floor(time) or time)


def _placed(
    feeds: Callable[[str], Feed | None], used: Input | Output, cluster: str
) -> tuple[Feed, FeedCluster]:
    feed = feeds(used.feed)
    place = feed.on(cluster) if feed else None
    if feed is None or place is None:
        raise LookupError(f"feed {used.feed} is not on cluster {cluster}")
    return feed, place


Seen = Mapping[Need, str | None]
"""The fingerprint of each need's data; None if it is missing."""


def fingerprint(needs: Sequence[Need], seen: Seen) -> str | None:
    """Fingerprints by input name; None if needed data is missing."""
    if missing(needs, seen):
        return None
    found: dict[str, list[str]] = {}
    for need in needs:
        if need.span is None:
            found.setdefault(need.name, []).append(seen.get(need) or "")
    for name in _counting(needs):
        taken = _taken(name, needs, seen)
        found[name] = [f"{format_time(each.time)}={seen.get(each)}" for each in taken]
    return json.dumps({name: "|".join(looks) for name, looks in found.items()}, sort_keys=True)


def missing(needs: Sequence[Need], seen: Seen) -> str:
    """The name of the first missing input, for messages; empty if none is missing."""
    for need in needs:
        if need.span is None and seen.get(need) is None and not need.optional:
            return f"{need.name}: feed {need.feed} {format_time(need.time)} on {need.cluster}"
    for name, first in _counting(needs).items():
        assert first.span is not None
        wanted, there = first.span.stop, len(_existing(name, needs, seen))
        if there < wanted and not first.optional:
            where = f"feed {first.feed} on {first.cluster}"
            return f"{name}: {there} of {wanted} instances of {where}"
    return ""


def read(needs: Iterable[Need], print_: str) -> list[Need]:
    """Of an instance's needs those that it reads, in order of time: all that do not count, and
    of the others those that its fingerprint says were taken; none while it has no fingerprint.
    """
    known: dict[str, str] = json.loads(print_) if print_ else {}
    taken: dict[str, set[datetime]] = {}
    chosen = []
    for need in needs:
        if need.span is None:
            chosen.append(need)
            continue
        if need.name not in taken:
            looks = filter(None, known.get(need.name, "").split("|"))
            taken[need.name] = {parse_time(look.partition("=")[0]) for look in looks}
        if need.time in taken[need.name]:
            chosen.append(need)
    return sorted(chosen, key=lambda need: need.time)


def _counting(needs: Iterable[Need]) -> dict[str, Need]:
    """The inputs that count, by name, each with its first candidate."""
    found: dict[str, Need] = {}
    for need in needs:
        if need.span is not None:
            found.setdefault(need.name, need)
    return found


def _existing(name: str, needs: Iterable[Need], seen: Seen) -> list[Need]:
    return [each for each in needs if each.name == name and seen.get(each) is not None]


def _taken(name: str, needs: Iterable[Need], seen: Seen) -> list[Need]:
    there = _existing(name, needs, seen)
    spans = (each.span for each in there)
    span = next((span for span in spans if span is not None), None)
    taken = [] if span is None else there[span.start : span.stop]
    return sorted(taken, key=lambda need: need.time)
