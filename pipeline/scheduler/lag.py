"""The lag of schedules: for how long the data of due instances has been lacking. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.falcon.entities.feed import Feed, Table
from pipeline.scheduler.entity_service import EntityCatalog
from pipeline.scheduler.instances.instance import InstanceAction, ScheduleKey
from pipeline.scheduler.instances.schedule import Schedule
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.store.store import StateCount

Counts = Mapping[ScheduleKey, Mapping[InstanceState, StateCount]]
_BEHIND = (
    InstanceAction.REPLICATE,
    InstanceAction.PROCESS,
    InstanceAction.IMPORT,
    InstanceAction.EXPORT,
)


@dataclass(frozen=True, slots=True)
class Lag:
    """The lag of a schedule. `seconds` since the oldest instance was due that is open, failed or
    timed out; 0 if there is none. `table` is the target's table, empty for paths and processes;
    `open` and `failed` count instances.
    """

    schedule: ScheduleKey
    table: str
    seconds: float
    open: int
    failed: int


def lags(
    catalog: EntityCatalog,
    counts: Counts,
    horizons: Mapping[ScheduleKey, datetime],
    now: datetime,
) -> Iterator[Lag]:
    """The lag of each replication, process, import and export that was scheduled."""
    for schedule in catalog.all_schedules():
        key = schedule.key
        if key.action not in _BEHIND:
            continue
        states = counts.get(key, {})
        open_ones = [each for state, each in states.items() if state.open]
        failed = [
            states[each]
            for each in (InstanceState.FAILED, InstanceState.TIMEDOUT)
            if each in states
        ]
        yield Lag(
            key,
            _table(catalog, key),
            _seconds(schedule, open_ones + failed, horizons.get(key), now),
            sum(each.number for each in open_ones),
            sum(each.number for each in failed),
        )


def _seconds(
    schedule: Schedule, lacking: Iterable[StateCount], horizon: datetime | None, now: datetime
) -> float:
    """The seconds since the oldest lacking instance was due, also one that is not created yet."""
    until = min(schedule.end, now - schedule.opens + timedelta(minutes=1))
    start = schedule.calendar.at(0) if horizon is None else horizon
    due = [each.oldest for each in lacking]
    if start < until:
        due += [next(iter(schedule.calendar.between(start, until)), until)]
    oldest = min(due, default=now)
    return max(0.0, (now - schedule.opens - oldest).total_seconds())


def _table(catalog: EntityCatalog, key: ScheduleKey) -> str:
    feed = catalog.entities[key.entity]
    feed_cluster = feed.on(key.cluster) if isinstance(feed, Feed) else None
    if not isinstance(feed, Feed) or feed_cluster is None:
        return ""
    storage = feed.storage_on(feed_cluster)
    return str(storage.uri.table) if isinstance(storage, Table) else ""
