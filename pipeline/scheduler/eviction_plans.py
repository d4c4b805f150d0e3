"""Plans of the evictions that retention would do now, without doing them."""

from collections.abc import Callable, Iterator
from datetime import datetime

from pipeline.falcon.entities.identity import EntityKey
from pipeline.retention.plan import RetentionPlan
from pipeline.scheduler import entity_service
from pipeline.scheduler.actions.work import Task
from pipeline.scheduler.instances.instance import Instance, InstanceAction, ScheduleKey
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.open_work import needed_by_open_work
from pipeline.scheduler.store.store import Store

PlanEviction = Callable[[Task], RetentionPlan | None]
"""The plan of an eviction; None if its table does not exist or the feed has directories."""


def eviction_plans(
    store: Store, plan: PlanEviction, user: str, now: datetime, only: EntityKey | None = None
) -> Iterator[tuple[ScheduleKey, RetentionPlan | None]]:
    """The plans for the user's running feeds, or only for the feed `only`: one for each cluster."""
    catalog = entity_service.read_catalog(store)
    for key, entity in catalog.running():
        if catalog.owner(key) != user or only not in (None, key):
            continue
        for schedule in entity_service.schedules_of(catalog, key, now):
            if schedule.key.action is InstanceAction.EVICT:
                instance = Instance(schedule.instance(now), InstanceState.READY, now)
                is_needed = needed_by_open_work(store, catalog, schedule)
                task = Task(entity, schedule, instance, user, catalog.entity_set, now, is_needed)
                yield schedule.key, plan(task)
