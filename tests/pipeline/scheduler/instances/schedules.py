"""A schedule of a process, its instances, and their needs."""

from dataclasses import replace
from datetime import timedelta

from pipeline.falcon.calendar import Calendar, Frequency, parse_time
from pipeline.falcon.documents import document
from pipeline.falcon.entities.identity import EntityKey, Kind
from pipeline.falcon.inputs import Need
from pipeline.scheduler.instances.instance import Instance, InstanceAction, ScheduleKey
from pipeline.scheduler.instances.schedule import Schedule
from pipeline.scheduler.instances.states import InstanceState
from tests.pipeline.falcon.documents import FEED

HOUR = timedelta(hours=1)
T0 = parse_time("2013-09-24T00:00Z")
FEED_ENTITY = document.read(FEED.encode())


def need(time: object) -> tuple[Need, ...]:
    return (Need("in", "clicks", "c1", FEED_ENTITY.storage, time),)  # type: ignore[union-attr,arg-type]


def schedule(**changes: object) -> Schedule:
    base = Schedule(
        key=ScheduleKey(EntityKey(Kind.PROCESS, "p"), InstanceAction.PROCESS, "c1"),
        calendar=Calendar(T0, Frequency.parse("hours(1)")),
        end=T0 + 768 * HOUR,
        needs=need,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def instance(hours: int, state: InstanceState, **changes: object) -> Instance:
    nominal = T0 + hours * HOUR
    made = Instance(key=schedule().instance(nominal), state=state, created=nominal)
    return replace(made, **changes)  # type: ignore[arg-type]
