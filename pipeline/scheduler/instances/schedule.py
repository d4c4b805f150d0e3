"""The schedules of feeds and processes: actions, clusters, times, limits and inputs. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pipeline.falcon.calendar import Calendar, Frequency, Unit
from pipeline.falcon.entities.agreements import Sla
from pipeline.falcon.entities.feed import Direction, Exchange, Feed, FeedCluster, Role, Table
from pipeline.falcon.entities.process import Order, PolicyType, Process, ProcessCluster, Retry
from pipeline.falcon.feed_properties import MAX_TOGETHER, retry_of
from pipeline.falcon.inputs import Need, inputs_of, need_of, time_of
from pipeline.scheduler.instances.instance import InstanceAction, InstanceKey, ScheduleKey

_LEAST_TIMEOUT = timedelta(minutes=30)
_FEED_LATE_DELAY = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `attempts` retries, with pauses by `policy` and `delay` (D6)."""

    policy: PolicyType = PolicyType.FINAL
    delay: timedelta = timedelta(0)
    attempts: int = 0
    on_timeout: bool = False

    def gap(self, attempt: int) -> timedelta | None:
        """The pause after `attempt` (1 = the first); None: no retry."""
        if attempt > self.attempts or self.policy is PolicyType.FINAL:
            return None
        return (
            self.delay * 2 ** (attempt - 1) if self.policy is PolicyType.EXP_BACKOFF else self.delay
        )


@dataclass(frozen=True, slots=True)
class LateChecks:
    """The checks for late data of an ended instance (D5), until `cutoff(nominal)`.

    `inputs` are the names of the inputs to check; None: all.
    """

    policy: PolicyType
    delay: timedelta
    cutoff: Callable[[datetime], datetime]
    inputs: frozenset[str] | None = None

    def time(self, nominal: datetime, number: int) -> datetime | None:
        """The time of check `number` (0 = the first); None after the last check, which is at the
        cut-off.
        """
        end = self.cutoff(nominal)
        before = nominal if number == 0 else self._unbounded(nominal, number - 1, end)
        return None if before >= end else min(self._unbounded(nominal, number, end), end)

    def after(self, nominal: datetime, number: int, now: datetime) -> int:
        """The first check after `number` that is not due yet: missed checks are left out."""
        number += 1
        while (time := self.time(nominal, number)) is not None and time <= now:
            number += 1
        return number

    def _unbounded(self, nominal: datetime, number: int, end: datetime) -> datetime:
        if self.policy is PolicyType.FINAL:
            return end
        if self.policy is PolicyType.PERIODIC:
            return nominal + (number + 1) * self.delay
        return nominal + (1 << number) * self.delay


@dataclass(frozen=True, slots=True)
class Schedule:
    """A recurring piece of work. An instance is due when the time `opens` has passed since its
    nominal time. One run does up to `together` instances; `parallel` runs may be under way at a
    time. `low` and `high` are the limits of the service level after the nominal time: for a process
    those of its start and end, for a feed both of its availability. `needs` returns the inputs of
    an instance.
    """

    key: ScheduleKey
    calendar: Calendar
    end: datetime
    order: Order = Order.FIFO
    parallel: int = 1
    together: int = 1
    opens: timedelta = timedelta(0)
    timeout: timedelta | None = None
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    late: LateChecks | None = None
    low: timedelta | None = None
    high: timedelta | None = None
    needs: Callable[[datetime], tuple[Need, ...]] = field(default=lambda _: ())

    def instance(self, nominal: datetime) -> InstanceKey:
        return InstanceKey(self.key, nominal)

    def count(self) -> int:
        return self.calendar.count(self.end)


def of_feed(feed: Feed, scheduled: datetime) -> tuple[Schedule, ...]:
    """The schedules of a feed's replications, imports, exports, evictions and watches. `scheduled`
    is the time at which the feed was scheduled.
    """
    found: list[Schedule] = []
    for source in feed.with_role(Role.SOURCE):
        found.extend(_replication(feed, source, each) for each in feed.with_role(Role.TARGET))
        if (source.sla or feed.sla) is not None:
            found.append(_watch(feed, source, scheduled))
    for feed_cluster in feed.clusters:
        found.extend(_exchange(feed, feed_cluster, each) for each in feed_cluster.exchanges)
    kept = ((each, each.retention) for each in feed.clusters)
    found.extend(_eviction(feed, each, limit, scheduled) for each, limit in kept if limit)
    return tuple(found)


def _replication(feed: Feed, source: FeedCluster, target: FeedCluster) -> Schedule:
    """From the later start to the earlier end, with the source's frequency (FA-R8).

    Each instance of a whole table (falcon/whole_tables.py) copies the table as it is now, so by
    default only the newest one runs.
    """
    default = Order.LAST_ONLY if feed.whole else Order.FIFO
    start = max(source.validity.start, target.validity.start)
    return Schedule(
        key=ScheduleKey(feed.key, InstanceAction.REPLICATE, target.name, source.name),
        calendar=feed.calendar_on(source).starting(start),
        end=min(source.validity.end, target.validity.end),
        order=Order(feed.property("order") or default.value),
        parallel=_count(feed.property("parallel"), 1, 100),
        together=_together(feed, source, target),
        opens=target.delay.length if target.delay else timedelta(0),
        timeout=_timeout(_feed_timeout(feed), feed.frequency),
        retries=_retries(retry_of(feed, PolicyType.EXP_BACKOFF)),
        late=_feed_late_checks(feed),
        needs=lambda nominal: (need_of(feed, source, feed.name, nominal),),
    )


def _exchange(feed: Feed, feed_cluster: FeedCluster, exchange: Exchange) -> Schedule:
    """The imports or exports of a feed's instances on a cluster.

    An incremental import is due when the period of its instance has ended. A full import reads the
    table as it is now, so by default only the newest instance runs. An export waits for the data,
    like a replication.
    """
    exports = exchange.direction is Direction.EXPORT
    default = Order.LAST_ONLY if exchange.extract == "full" else Order.FIFO
    opens = feed_cluster.delay.length if feed_cluster.delay else timedelta(0)
    if exchange.extract == "incremental":
        opens += feed.frequency.length + _longer_day(feed)
    return Schedule(
        key=ScheduleKey(feed.key, InstanceAction(exchange.direction.value), feed_cluster.name),
        calendar=feed.calendar_on(feed_cluster),
        end=feed_cluster.validity.end,
        order=Order(feed.property("order") or default.value),
        parallel=_count(feed.property("parallel"), 1, 100),
        opens=opens,
        timeout=_timeout(_feed_timeout(feed), feed.frequency),
        retries=_retries(retry_of(feed, PolicyType.EXP_BACKOFF)),
        late=_feed_late_checks(feed) if exports else None,
        needs=lambda nominal: (need_of(feed, feed_cluster, feed.name, nominal),) if exports else (),
    )


def _longer_day(feed: Feed) -> timedelta:
    """How much longer than its frequency a period may be when clocks are put back."""
    changes = feed.zone is not UTC and feed.frequency.unit in (Unit.DAYS, Unit.MONTHS)
    return timedelta(hours=2) if changes else timedelta(0)


def _feed_late_checks(feed: Feed) -> LateChecks | None:
    if feed.late_cutoff is None:
        return None
    cutoff = feed.late_cutoff.length
    return LateChecks(PolicyType.EXP_BACKOFF, _FEED_LATE_DELAY, lambda nominal: nominal + cutoff)


def _retries(retry: Retry) -> RetryPolicy:
    return RetryPolicy(retry.policy, retry.delay.length, retry.attempts, retry.on_timeout)


def _together(feed: Feed, source: FeedCluster, target: FeedCluster) -> int:
    """How many instances one run may copy; several only if they are partitions of a table."""
    storages = (feed.storage_on(source), feed.storage_on(target))
    if feed.whole or not all(isinstance(each, Table) for each in storages):
        return 1
    return _count(feed.property("partitionsPerRun"), 1, MAX_TOGETHER)


def _feed_timeout(feed: Feed) -> Frequency | None:
    text = feed.property("timeout")
    return Frequency.parse(text) if text else None


def _timeout(given: Frequency | None, frequency: Frequency) -> timedelta:
    """The time-out of the document, or six periods and at least half an hour."""
    return given.length if given else max(6 * frequency.length, _LEAST_TIMEOUT)


def _count(text: str | None, least: int, most: int) -> int:
    return min(max(int(text), least), most) if text and text.strip().isdigit() else least


def _watch(feed: Feed, source: FeedCluster, scheduled: datetime) -> Schedule:
    """The watch of a feed with a service level: its instances wait for the data, so that missed
    limits are reported. It begins when the feed is scheduled.
    """
    sla = source.sla or feed.sla
    low, high = _limits(sla)
    return Schedule(
        key=ScheduleKey(feed.key, InstanceAction.WATCH, source.name),
        calendar=feed.calendar_on(source).starting(scheduled),
        end=source.validity.end,
        parallel=100,
        timeout=_timeout(_feed_timeout(feed), feed.frequency) + (high or timedelta(0)),
        low=low,
        high=high,
        needs=lambda nominal: (need_of(feed, source, feed.name, nominal),),
    )


def _limits(sla: Sla | None) -> tuple[timedelta | None, timedelta | None]:
    if sla is None:
        return None, None
    return sla.low.length if sla.low else None, sla.high.length if sla.high else None


def _eviction(feed: Feed, cluster: FeedCluster, limit: Frequency, scheduled: datetime) -> Schedule:
    """The first eviction is at once, the others follow with the frequency of the retention stage;
    without one hourly for limits in hours or minutes, else daily (D7).

    Evictions continue after the feed's end until the last instance is old enough (FALCON-1644).
    """
    hourly = limit.unit in (Unit.MINUTES, Unit.HOURS)
    default = Frequency(Unit.HOURS, 1) if hourly else Frequency(Unit.DAYS, 1)
    cadence = cluster.eviction or default
    start = scheduled.replace(second=0, microsecond=0)
    last = cluster.validity.end + limit.length + 2 * cadence.length
    return Schedule(
        key=ScheduleKey(feed.key, InstanceAction.EVICT, cluster.name),
        calendar=Calendar(start, cadence),
        end=max(last, start + timedelta(minutes=1)),
        order=Order.LAST_ONLY,
        retries=_retries(retry_of(feed, PolicyType.PERIODIC)),
    )


def of_process(process: Process, feeds: Callable[[str], Feed | None]) -> tuple[Schedule, ...]:
    """The schedules of a process, one for each of its clusters."""
    return tuple(_process_on(process, each, feeds) for each in process.clusters)


def _process_on(
    process: Process, cluster: ProcessCluster, feeds: Callable[[str], Feed | None]
) -> Schedule:
    low, high = _limits(cluster.sla or process.sla)
    retry = process.retry
    return Schedule(
        key=ScheduleKey(process.key, InstanceAction.PROCESS, cluster.name),
        calendar=process.calendar_on(cluster),
        end=cluster.validity.end,
        order=process.order,
        parallel=process.parallel,
        timeout=_timeout(process.timeout, process.frequency),
        retries=_retries(retry) if retry else RetryPolicy(),
        late=_late_checks(process, feeds),
        low=low,
        high=high,
        needs=lambda nominal: tuple(inputs_of(process, cluster.name, feeds, nominal)),
    )


def _late_checks(process: Process, feeds: Callable[[str], Feed | None]) -> LateChecks | None:
    """Checks until the latest cut-off of the inputs with a late workflow."""
    late = process.late
    if late is None:
        return None

    def cutoff(nominal: datetime) -> datetime:
        ends = [nominal]
        for each in process.inputs:
            feed = feeds(each.feed)
            if each.name in late.workflows and feed and feed.late_cutoff:
                ends.append(time_of(each.end, nominal) + feed.late_cutoff.length)
        return max(ends)

    return LateChecks(late.policy, late.delay.length, cutoff, frozenset(late.workflows))
