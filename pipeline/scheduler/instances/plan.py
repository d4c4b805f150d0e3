"""Decides the next steps: `plan(schedule, situation, now)`. Pure; `now` is aware UTC.

`outcomes` decides what follows from the results of the steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from pipeline.falcon.entities.process import Order
from pipeline.falcon.inputs import Need
from pipeline.scheduler.instances.changes import Change, move
from pipeline.scheduler.instances.instance import Instance, InstanceAction
from pipeline.scheduler.instances.schedule import Schedule
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState

BATCH = 1000  # instances created in one round
MAX_OPEN = 5000  # a FIFO schedule gets no further instances while so many are past WAITING
MAX_WAITING = 20_000  # .. or so many are WAITING; more, because old data may never have existed
MAX_INPUT_CHECKS = 500  # instances whose inputs are checked in one round
MAX_SHARED_DEATHS = 1  # after more deaths of servers, or of Spark, an instance runs alone


@dataclass(frozen=True, slots=True)
class Situation:
    """The state of a schedule in the store. All instances before `created_until` exist. `open`
    instances have not ended; `ended` ones may still get late data, or wait again after a time-out.
    `read_until` is the time of the last ended one, if others may follow that were not read.
    """

    created_until: datetime | None = None
    open: tuple[Instance, ...] = ()
    ended: tuple[Instance, ...] = ()
    read_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class CreateInstances:
    """Create WAITING instances at `nominals` and SKIPPED ones at `skipped`. After that, all
    instances before `until` exist.
    """

    schedule: Schedule
    nominals: tuple[datetime, ...]
    skipped: tuple[datetime, ...]
    until: datetime


@dataclass(frozen=True, slots=True)
class CheckInputs:
    """Check whether the inputs exist, and take their fingerprint."""

    instance: Instance
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class StartRun:
    """Claim these instances and do their work in one run, unless `limit` runs of the schedule are
    under way.
    """

    claims: tuple[Change, ...]
    limit: int


Step = CreateInstances | CheckInputs | Change | StartRun


def plan(
    schedule: Schedule, situation: Situation, now: datetime, checked: datetime | None = None
) -> tuple[Step, ...]:
    """All steps that are possible now. Checks of inputs are to be executed first, runs last. If
    more than MAX_INPUT_CHECKS instances wait, `checked` is the last one that was checked, and the
    checks continue after it.
    """
    steps: list[Step] = list(_creation(schedule, situation, now))
    newest = max((each.nominal for each in situation.open), default=now)
    waiting: list[Instance] = []
    ready: list[Instance] = []
    for instance in situation.open:
        unalerted = instance  # if a check finds the data, its fence makes the alert void
        for alert in _alerts(schedule, instance, now):
            steps.append(alert)
            instance = alert.after
        if instance.state in (InstanceState.RUNNING, InstanceState.SUSPENDED):
            continue
        if schedule.order is Order.LAST_ONLY and instance.nominal < newest:
            steps.append(move(instance, InstanceEvent.SUPERSEDE, now))
        elif instance.state is InstanceState.READY:
            ready.append(instance)
        elif _timed_out(schedule, instance, now):
            steps.append(_time_out(schedule, instance, now))
        else:
            waiting.append(unalerted)
    newest_first = schedule.order is not Order.FIFO
    waiting.sort(key=lambda each: each.nominal, reverse=newest_first)
    ready.sort(key=lambda each: each.nominal, reverse=newest_first)
    steps.extend(_input_checks(schedule, _next_waiting(waiting, checked), now))
    steps.extend(_runs(schedule, situation, ready, now))
    for instance in situation.ended:
        steps.extend(_steps_of_ended(schedule, instance, now))
    return tuple(steps)


def _creation(schedule: Schedule, situation: Situation, now: datetime) -> Iterator[CreateInstances]:
    """The step that creates the instances that are due. A schedule's end is exclusive."""
    if schedule.order is Order.FIFO and _is_full(situation):
        return
    until = min(schedule.end, now - schedule.opens + timedelta(minutes=1))
    since = situation.created_until
    start = schedule.calendar.at(0) if since is None else since
    if start >= until:
        return
    due = tuple(islice(schedule.calendar.between(start, until), BATCH))
    if not due:
        return
    horizon = min(until, due[-1] + timedelta(minutes=1))
    if schedule.order is not Order.LAST_ONLY:
        yield CreateInstances(schedule, due, (), horizon)
    elif schedule.key.action is InstanceAction.EVICT:  # the newest eviction does all earlier ones
        yield CreateInstances(schedule, due[-1:], (), horizon)
    else:
        yield CreateInstances(schedule, due[-1:], due[:-1], horizon)


def _is_full(situation: Situation) -> bool:
    waiting = sum(each.state is InstanceState.WAITING for each in situation.open)
    return waiting >= MAX_WAITING or len(situation.open) - waiting >= MAX_OPEN


def _next_waiting(waiting: list[Instance], checked: datetime | None) -> list[Instance]:
    """The instances to check: those that follow `checked`, or else the first ones."""
    nominals = [each.nominal for each in waiting]
    start = nominals.index(checked) + 1 if checked in nominals else 0
    return waiting[start : start + MAX_INPUT_CHECKS] or waiting[:MAX_INPUT_CHECKS]


def _timed_out(schedule: Schedule, instance: Instance, now: datetime) -> bool:
    return schedule.timeout is not None and now - instance.created >= schedule.timeout


def _time_out(schedule: Schedule, instance: Instance, now: datetime) -> Change:
    again = schedule.retries.gap(instance.attempt + 1) if schedule.retries.on_timeout else None
    change = move(instance, InstanceEvent.TIME_OUT, now, "the inputs did not appear")
    if again is None:
        return change
    return replace(change, after=replace(change.after, not_before=now + again))


def _input_checks(schedule: Schedule, waiting: list[Instance], now: datetime) -> Iterator[Step]:
    for instance in waiting:
        needs = schedule.needs(instance.nominal)
        if needs:
            yield CheckInputs(instance, needs)
        else:
            yield move(instance, InstanceEvent.FOUND, now, "there is nothing to wait for")


def _runs(
    schedule: Schedule, situation: Situation, ready: list[Instance], now: datetime
) -> Iterator[StartRun]:
    """The runs of READY instances that are due, at most as many as `parallel` still allows.
    Instances that have to run alone come first, each in its own run.
    """
    running = (each for each in situation.open if each.state is InstanceState.RUNNING)
    free = max(0, schedule.parallel - len({each.leader or each.nominal for each in running}))
    due = [each for each in ready if each.not_before is None or each.not_before <= now]
    lone = [[each] for each in due if runs_alone(each)]
    others = [each for each in due if not runs_alone(each)]
    size = schedule.together
    shared = [others[start : start + size] for start in range(0, len(others), size)]
    for chosen in (lone + shared)[:free]:
        leader = chosen[0].nominal if len(chosen) > 1 else None
        yield StartRun(tuple(_claim(each, leader, now) for each in chosen), schedule.parallel)


def runs_alone(instance: Instance) -> bool:
    """Whether the instance has to run alone, because it may have killed the servers, or Spark, that
    ran it, and the other runs with them.
    """
    return instance.recoveries > MAX_SHARED_DEATHS


def _claim(instance: Instance, leader: datetime | None, now: datetime) -> Change:
    change = move(instance, InstanceEvent.CLAIM, now)
    claimed = replace(
        change.after,
        attempt=instance.attempt + 1,
        started=now,
        not_before=None,
        leader=leader,
    )
    return replace(change, after=claimed)


def _steps_of_ended(schedule: Schedule, instance: Instance, now: datetime) -> Iterator[Step]:
    """The retry of a timed-out instance, or the check for late data of one that succeeded."""
    if instance.state is InstanceState.TIMEDOUT:
        if instance.not_before is not None and instance.not_before <= now:
            waiting = move(instance, InstanceEvent.RETRY, now, "waits for its inputs once more")
            after_wait = replace(
                waiting.after, attempt=instance.attempt + 1, created=now, not_before=None
            )
            yield replace(waiting, after=after_wait)
        return
    if schedule.late is None or instance.checks < 0:
        return
    time = schedule.late.time(instance.nominal, instance.checks)
    if time is None:
        yield Change(instance, replace(instance, checks=-1), "settled", "past its late cut-off")
    elif time <= now:
        yield CheckInputs(instance, schedule.needs(instance.nominal))


def _alerts(schedule: Schedule, instance: Instance, now: datetime) -> Iterator[Change]:
    """The changes that report a missed limit of the service level, in the first run only."""
    if instance.run > 0:
        return
    limits = (schedule.low, schedule.high)
    starts = schedule.key.action is InstanceAction.PROCESS
    if not starts and instance.state is not InstanceState.WAITING:
        return  # the data exists
    for level, limit in enumerate(limits, start=1):
        if limit is None or instance.alerts >= level or now < instance.nominal + limit:
            continue
        if starts and level == 1 and instance.started is not None:
            continue
        if level == 1 and limits[1] is not None and now >= instance.nominal + limits[1]:
            continue  # the second limit includes the first
        name = _LIMITS[starts][level - 1]
        message = f"{instance.key} is {instance.state.value}, {name} was {limit} after its time"
        yield Change(instance, replace(instance, alerts=level), "SLA", message)


_LIMITS = {False: ("slaLow", "slaHigh"), True: ("shouldStartIn", "shouldEndIn")}
