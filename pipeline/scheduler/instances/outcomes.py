"""Decides the changes of instances after a check of their inputs, after a run, and after the death
of the server or Spark that ran them. Pure; `now` is aware UTC.
"""

import json
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.falcon.inputs import Fingerprints, fingerprint
from pipeline.scheduler.instances.changes import Change, move
from pipeline.scheduler.instances.instance import Instance
from pipeline.scheduler.instances.plan import CheckInputs
from pipeline.scheduler.instances.schedule import Schedule
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState

MAX_RECOVERIES = 3  # deaths of servers, or of Spark, after which an instance has failed


def after_check(
    schedule: Schedule, check: CheckInputs, prints: Fingerprints, now: datetime
) -> Change | None:
    """The change after a check of the inputs; None: the instance continues to wait."""
    instance, print_now = check.instance, fingerprint(check.needs, prints)
    if instance.state is InstanceState.WAITING:
        if print_now is None:
            return None
        return move(instance, InstanceEvent.FOUND, now)
    changed = _changed(schedule, instance.fingerprint, print_now)
    assert schedule.late is not None  # an ended instance is checked only for late data
    checks = schedule.late.after(instance.nominal, instance.checks, now)
    if not changed:
        return Change(instance, replace(instance, checks=checks), "checked")
    names = ",".join(changed)
    late = move(
        instance, InstanceEvent.LATE, now, f"late data: {names} changed after run {instance.run}"
    )
    fresh = replace(
        late.after,
        run=instance.run + 1,
        attempt=0,
        checks=checks,
        late=names,
    )
    return replace(late, after=fresh)


def _changed(schedule: Schedule, before: str, now: str | None) -> list[str]:
    """The names of the inputs that have changed. Evicted data is not late data."""
    if now is None or not before:
        return []
    old, new = json.loads(before), json.loads(now)
    wanted = schedule.late.inputs if schedule.late else None
    return [
        name
        for name, print_ in new.items()
        if old.get(name) != print_ and (wanted is None or name in wanted)
    ]


@dataclass(frozen=True, slots=True)
class RunSucceeded:
    """The work was done. `bytes` is the size of the copied data, None if unknown."""

    detail: str = ""
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The work failed. `final`: another attempt would fail in the same way."""

    reason: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class RunVanished:
    """The inputs were dropped during the work: the instance waits for them again."""

    reason: str


@dataclass(frozen=True, slots=True)
class RunInterrupted:
    """Spark ended during the work: the attempt does not count."""

    reason: str


@dataclass(frozen=True, slots=True)
class RunBlocked:
    """Another program works on the same data: the attempt does not count, and is repeated later."""

    reason: str


RunOutcome = RunSucceeded | RunFailed | RunVanished | RunInterrupted | RunBlocked


def after_run(schedule: Schedule, running: Instance, outcome: RunOutcome, now: datetime) -> Change:
    """The change of a RUNNING instance after its work has ended."""
    if isinstance(outcome, RunSucceeded):
        change = move(running, InstanceEvent.SUCCEED, now, outcome.detail)
        checks = running.checks if schedule.late else -1
        done = replace(change.after, detail=outcome.detail, checks=checks)
        return replace(change, after=done, bytes=outcome.bytes)
    if isinstance(outcome, RunInterrupted):
        return recover(running, now, outcome.reason)
    if isinstance(outcome, RunBlocked):
        return hand_back(running, now, outcome.reason)
    final = isinstance(outcome, RunFailed) and outcome.final
    gap = None if final else schedule.retries.gap(running.attempt)
    if gap is None:
        return move(running, InstanceEvent.FAIL, now, outcome.reason)
    if isinstance(outcome, RunVanished):
        waits = move(running, InstanceEvent.VANISH, now, outcome.reason)
        return replace(waits, after=replace(waits.after, created=now))
    change = move(running, InstanceEvent.RETRY, now, outcome.reason)
    return replace(change, after=replace(change.after, not_before=now + gap))


def recover(
    running: Instance, now: datetime, why: str = "the server that ran it is gone"
) -> Change:
    """The change of a RUNNING instance after the server or Spark that ran it died. The attempt does
    not count, but after MAX_RECOVERIES deaths the instance fails.
    """
    if running.recoveries >= MAX_RECOVERIES:
        return move(running, InstanceEvent.FAIL, now, f"{why}, as each time before")
    change = move(running, InstanceEvent.RETRY, now, why)
    recovered = replace(
        change.after,
        attempt=max(0, running.attempt - 1),
        recoveries=running.recoveries + 1,
        not_before=None,
    )
    return replace(change, after=recovered)


def hand_back(running: Instance, now: datetime, why: str) -> Change:
    """The change of a RUNNING instance that its server gives up: it counts neither as an attempt
    nor as a death.
    """
    change = recover(replace(running, recoveries=0), now, why)
    kept = replace(change.after, recoveries=running.recoveries)
    return replace(change, before=running, after=kept)
