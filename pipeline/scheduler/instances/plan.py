"""Decides the next steps: `plan(schedule, situation, now)`. Pure; `now` is aware UTC.

`after_look`, `after_run` and `recover` decide about the results of steps. Each returns the instance
in its new state, so that a step is a row to write.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from pipeline.falcon.inputs import Need, Seen, fingerprint
from pipeline.falcon.model import Order
from pipeline.scheduler.instances.instance import Action, Instance
from pipeline.scheduler.instances.schedule import Schedule
from pipeline.scheduler.instances.states import Event, State, after

BATCH = 1000  # instances created in one go
MAX_OPEN = 5000  # a FIFO schedule gets no more instances while so many have their data
MAX_WAITING = 20_000  # .. or so many wait for it: data of long ago may not exist at all
MAX_LOOKS = 500  # instances with inputs to check in one round
MAX_RECOVERIES = 3  # deaths of servers, or of Spark, after which an instance has failed
MAX_SHARED_DEATHS = 1  # .. after which it runs alone: it may be what kills them


@dataclass(frozen=True, slots=True)
class Situation:
    """The state of a schedule in the store. `open` instances have not ended; `ended`
    ones may still get late data, or wait again after a time-out. `read_until` is the time of the
    last of them, if others follow that were not read.
    """

    created_until: datetime | None = None
    open: tuple[Instance, ...] = ()
    ended: tuple[Instance, ...] = ()
    read_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """Create WAITING instances at `nominals`, and SKIPPED ones; then all before `until` exist."""

    schedule: Schedule
    nominals: tuple[datetime, ...]
    skipped: tuple[datetime, ...]
    until: datetime


@dataclass(frozen=True, slots=True)
class Look:
    """Check whether the data exists, and take its fingerprint."""

    instance: Instance
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """Replace `before` by `after`; `what` and `message` go to the log. Of the end of an attempt
    `bytes` is the size of what it copied, None if that is not known; `inputs` and `outputs` are the
    tables and URIs that it read and wrote.
    """

    before: Instance
    after: Instance
    what: str
    message: str = ""
    bytes: int | None = None
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """Claim these instances and do their work in one run, unless `limit` runs of their schedule
    are under way.
    """

    claims: tuple[Change, ...]
    limit: int


Step = Create | Look | Change | Run


def plan(
    schedule: Schedule, situation: Situation, now: datetime, looked: datetime | None = None
) -> tuple[Step, ...]:
    """All steps that are possible now. Execute looks first and runs last. Where more than MAX_LOOKS
    instances wait, `looked` is the last that was looked at: others follow it.
    """
    steps: list[Step] = list(_creation(schedule, situation, now))
    newest = max((each.nominal for each in situation.open), default=now)
    waiting: list[Instance] = []
    ready: list[Instance] = []
    for instance in situation.open:
        looked_at = instance  # a look that finds the data makes the alert void
        for alert in _alerts(schedule, instance, now):
            steps.append(alert)
            instance = alert.after
        if instance.state in (State.RUNNING, State.SUSPENDED):
            continue
        if schedule.order is Order.LAST_ONLY and instance.nominal < newest:
            steps.append(_move(instance, Event.SUPERSEDE, now))
        elif instance.state is State.READY:
            ready.append(instance)
        elif _timed_out(schedule, instance, now):
            steps.append(_time_out(schedule, instance, now))
        else:
            waiting.append(looked_at)
    newest_first = schedule.order is not Order.FIFO
    waiting.sort(key=lambda each: each.nominal, reverse=newest_first)
    ready.sort(key=lambda each: each.nominal, reverse=newest_first)
    steps.extend(_looks(schedule, _next(waiting, looked), now))
    steps.extend(_runs(schedule, situation, ready, now))
    for instance in situation.ended:
        steps.extend(_ended(schedule, instance, now))
    return tuple(steps)


def _creation(schedule: Schedule, situation: Situation, now: datetime) -> Iterator[Create]:
    """The instances that are due; the start is inclusive, the end exclusive."""
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
        yield Create(schedule, due, (), horizon)
    elif schedule.key.action is Action.EVICT:  # those left out would have done nothing more
        yield Create(schedule, due[-1:], (), horizon)
    else:
        yield Create(schedule, due[-1:], due[:-1], horizon)


def _is_full(situation: Situation) -> bool:
    waiting = sum(each.state is State.WAITING for each in situation.open)
    return waiting >= MAX_WAITING or len(situation.open) - waiting >= MAX_OPEN


def _next(waiting: list[Instance], looked: datetime | None) -> list[Instance]:
    """The instances to look at: those that follow `looked`, or else the first ones."""
    nominals = [each.nominal for each in waiting]
    start = nominals.index(looked) + 1 if looked in nominals else 0
    return waiting[start : start + MAX_LOOKS] or waiting[:MAX_LOOKS]


def _timed_out(schedule: Schedule, instance: Instance, now: datetime) -> bool:
    return schedule.timeout is not None and now - instance.created >= schedule.timeout


def _time_out(schedule: Schedule, instance: Instance, now: datetime) -> Change:
    again = schedule.retries.gap(instance.attempt + 1) if schedule.retries.on_timeout else None
    change = _move(instance, Event.TIME_OUT, now, "the inputs did not appear")
    if again is None:
        return change
    return replace(change, after=replace(change.after, not_before=now + again))


def _looks(schedule: Schedule, waiting: list[Instance], now: datetime) -> Iterator[Step]:
    for instance in waiting:
        needs = schedule.needs(instance.nominal)
        if needs:
            yield Look(instance, needs)
        else:
            yield _move(instance, Event.FOUND, now, "there is nothing to wait for")


def _runs(
    schedule: Schedule, situation: Situation, ready: list[Instance], now: datetime
) -> Iterator[Run]:
    running = (each for each in situation.open if each.state is State.RUNNING)
    free = max(0, schedule.parallel - len({each.leader or each.nominal for each in running}))
    due = [each for each in ready if each.not_before is None or each.not_before <= now]
    suspects = [[each] for each in due if runs_alone(each)]
    others = [each for each in due if not runs_alone(each)]
    size = schedule.together
    shared = [others[start : start + size] for start in range(0, len(others), size)]
    for chosen in (suspects + shared)[:free]:
        leader = chosen[0].nominal if len(chosen) > 1 else None
        yield Run(tuple(_claim(each, leader, now) for each in chosen), schedule.parallel)


def runs_alone(instance: Instance) -> bool:
    """Whether the instance may have killed what ran it, and with it the work beside it."""
    return instance.recoveries > MAX_SHARED_DEATHS


def _claim(instance: Instance, leader: datetime | None, now: datetime) -> Change:
    change = _move(instance, Event.CLAIM, now)
    claimed = replace(
        change.after,
        attempt=instance.attempt + 1,
        started=now,
        not_before=None,
        leader=leader,
    )
    return replace(change, after=claimed)


def _ended(schedule: Schedule, instance: Instance, now: datetime) -> Iterator[Step]:
    if instance.state is State.TIMEDOUT:
        if instance.not_before is not None and instance.not_before <= now:
            waiting = _move(instance, Event.RETRY, now, "waits for its inputs once more")
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
        yield Look(instance, schedule.needs(instance.nominal))


def _alerts(schedule: Schedule, instance: Instance, now: datetime) -> Iterator[Change]:
    if instance.run > 0:
        return
    limits = (schedule.low, schedule.high)
    starts = schedule.key.action is Action.PROCESS
    if not starts and instance.state is not State.WAITING:
        return  # the data is there
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


def move(instance: Instance, event: Event, now: datetime, message: str = "") -> Change:
    """The instance after `event`. Raises states.NoTransition."""
    state = after(instance.state, event)
    ended = None if state.open else now
    changed = replace(instance, state=state, ended=ended, fence=instance.fence + 1)
    if message:
        changed = replace(changed, detail=message)
    return Change(instance, changed, event.value, message)


_move = move


def resume(instance: Instance, now: datetime) -> Change:
    """The change of a SUSPENDED instance, whose wait for its inputs begins again. Raises
    states.NoTransition.
    """
    change = move(instance, Event.RESUME, now)
    return replace(change, after=replace(change.after, created=now))


def rerun(instance: Instance, now: datetime) -> Change:
    """The next run of an ended instance. Raises states.NoTransition."""
    change = move(instance, Event.RERUN, now)
    fresh = replace(
        change.after,
        run=instance.run + 1,
        attempt=0,
        recoveries=0,
        created=now,
        started=None,
        not_before=None,
        checks=0,
        late="",
        detail="",
    )
    return replace(change, after=fresh)


def after_look(schedule: Schedule, look: Look, seen: Seen, now: datetime) -> Change | None:
    """The change after a look; None: the instance continues to wait."""
    instance, print_now = look.instance, fingerprint(look.needs, seen)
    if instance.state is State.WAITING:
        if print_now is None:
            return None
        return move(instance, Event.FOUND, now)
    changed = _changed(schedule, instance.fingerprint, print_now)
    assert schedule.late is not None  # only instances that may get late data are looked at again
    checks = schedule.late.after(instance.nominal, instance.checks, now)
    if not changed:
        return Change(instance, replace(instance, checks=checks), "checked")
    names = ",".join(changed)
    late = move(instance, Event.LATE, now, f"late data: {names} changed after run {instance.run}")
    fresh = replace(
        late.after,
        run=instance.run + 1,
        attempt=0,
        checks=checks,
        late=names,
    )
    return replace(late, after=fresh)


def _changed(schedule: Schedule, before: str, now: str | None) -> list[str]:
    """The names of inputs that differ. Evicted data is not late data."""
    if now is None or not before:
        return []
    old, new = json.loads(before), json.loads(now)
    wanted = schedule.late.inputs if schedule.late else None
    return [
        name
        for name, look in new.items()
        if old.get(name) != look and (wanted is None or name in wanted)
    ]


@dataclass(frozen=True, slots=True)
class Succeeded:
    """`bytes` is the size of what was copied, None if that is not known."""

    detail: str = ""
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """`final`: another attempt would fail in the same way."""

    reason: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class Vanished:
    """The inputs were dropped during the work: another attempt has to wait for them."""

    reason: str


@dataclass(frozen=True, slots=True)
class Interrupted:
    """What did the work ended, and the work is not to blame: the attempt does not count."""

    reason: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """Another program works on the same data: the attempt does not count, and is made later."""

    reason: str


Outcome = Succeeded | Failed | Vanished | Interrupted | Blocked


def after_run(schedule: Schedule, running: Instance, outcome: Outcome, now: datetime) -> Change:
    """The change of a RUNNING instance after its work has ended."""
    if isinstance(outcome, Succeeded):
        change = move(running, Event.SUCCEED, now, outcome.detail)
        checks = running.checks if schedule.late else -1
        done = replace(change.after, detail=outcome.detail, checks=checks)
        return replace(change, after=done, bytes=outcome.bytes)
    if isinstance(outcome, Interrupted):
        return recover(running, now, outcome.reason)
    if isinstance(outcome, Blocked):
        return hand_back(running, now, outcome.reason)
    final = isinstance(outcome, Failed) and outcome.final
    gap = None if final else schedule.retries.gap(running.attempt)
    if gap is None:
        return move(running, Event.FAIL, now, outcome.reason)
    if isinstance(outcome, Vanished):
        waits = move(running, Event.VANISH, now, outcome.reason)
        return replace(waits, after=replace(waits.after, created=now))
    change = move(running, Event.RETRY, now, outcome.reason)
    return replace(change, after=replace(change.after, not_before=now + gap))


def recover(
    running: Instance, now: datetime, why: str = "the server that ran it is gone"
) -> Change:
    """The change of a RUNNING instance after what ran it died; the attempt does not count."""
    if running.recoveries >= MAX_RECOVERIES:
        return move(running, Event.FAIL, now, f"{why}, as each time before")
    change = move(running, Event.RETRY, now, why)
    recovered = replace(
        change.after,
        attempt=max(0, running.attempt - 1),
        recoveries=running.recoveries + 1,
        not_before=None,
    )
    return replace(change, after=recovered)


def hand_back(running: Instance, now: datetime, why: str) -> Change:
    """The change of a RUNNING instance that a server stops; neither counts."""
    change = recover(replace(running, recoveries=0), now, why)
    kept = replace(change.after, recoveries=running.recoveries)
    return replace(change, before=running, after=kept)
