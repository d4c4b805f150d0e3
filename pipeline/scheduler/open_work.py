"""Finds out whether open work still needs an instance of a feed, so that it is not evicted yet."""

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache

from pipeline.scheduler.entity_service import EntityCatalog
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.plan import Situation
from pipeline.scheduler.instances.schedule import Schedule
from pipeline.scheduler.store.store import Store


def needed_by_open_work(
    store: Store, catalog: EntityCatalog, eviction: Schedule
) -> Callable[[datetime], bool]:
    """A function that tells whether open work needs the feed's instance of a time. It reads the
    store at its first call.
    """

    @cache
    def conditions() -> tuple[Callable[[datetime], bool], ...]:
        return tuple(_conditions(store, catalog, eviction))

    return lambda time: any(is_needed(time) for is_needed in conditions())


def _conditions(
    store: Store, catalog: EntityCatalog, eviction: Schedule
) -> Iterator[Callable[[datetime], bool]]:
    """For each schedule that reads the feed on the cluster: whether it needs a time's instance."""
    feed, cluster = eviction.key.entity, eviction.key.cluster
    for schedule in catalog.all_schedules():
        key = schedule.key
        exports = key.action is InstanceAction.EXPORT and key.cluster == cluster
        if key.entity == feed and (key.source == cluster or exports):
            yield _copied_times(schedule, store.situation(key))
        elif key.action is InstanceAction.PROCESS and key.cluster == cluster:
            yield _read_times(schedule, store.situation(key), feed.name)


def _copied_times(schedule: Schedule, situation: Situation) -> Callable[[datetime], bool]:
    """Whether a time's instance is to be copied or exported: it is open or not created yet."""
    nominals = {each.nominal for each in situation.open}
    first = situation.created_until or schedule.calendar.at(0)
    return lambda time: time in nominals or first <= time < schedule.end


def _read_times(schedule: Schedule, situation: Situation, feed: str) -> Callable[[datetime], bool]:
    """Whether an open instance of a process reads the feed's instance of a time."""
    needs = (need for each in situation.open for need in schedule.needs(each.nominal))
    times = {need.time for need in needs if need.feed == feed}
    return times.__contains__
