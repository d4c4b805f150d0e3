"""Whether open work needs an instance of a feed, which must then not be evicted yet."""

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
    """Whether open work needs the feed's instance of a time; reads the store at the first call."""

    @cache
    def holders() -> tuple[Callable[[datetime], bool], ...]:
        return tuple(_holders(store, catalog, eviction))

    return lambda time: any(holds(time) for holds in holders())


def _holders(
    store: Store, catalog: EntityCatalog, eviction: Schedule
) -> Iterator[Callable[[datetime], bool]]:
    feed, cluster = eviction.key.entity, eviction.key.cluster
    for schedule in catalog.all_schedules():
        key = schedule.key
        exports = key.action is InstanceAction.EXPORT and key.cluster == cluster
        if key.entity == feed and (key.source == cluster or exports):
            yield _replicating(schedule, store.situation(key))
        elif key.action is InstanceAction.PROCESS and key.cluster == cluster:
            yield _reading(schedule, store.situation(key), feed.name)


def _replicating(schedule: Schedule, situation: Situation) -> Callable[[datetime], bool]:
    """Times of instances that have to be copied or exported: open ones, and those not created
    yet.
    """
    nominals = {each.nominal for each in situation.open}
    first = situation.created_until or schedule.calendar.at(0)
    return lambda time: time in nominals or first <= time < schedule.end


def _reading(schedule: Schedule, situation: Situation, feed: str) -> Callable[[datetime], bool]:
    """Times of instances that open work of a process reads."""
    needs = (need for each in situation.open for need in schedule.needs(each.nominal))
    times = {need.time for need in needs if need.feed == feed}
    return times.__contains__
