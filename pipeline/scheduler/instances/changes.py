"""Changes of instances: each has the instance before and after it. Pure; `now` is aware UTC."""

from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.scheduler.instances.instance import Instance
from pipeline.scheduler.instances.states import InstanceEvent, after


@dataclass(frozen=True, slots=True)
class Change:
    """Replaces `before` by `after`; `what` and `message` go to the log. At the end of an attempt
    `bytes` is the size of the copied data, None if unknown; `inputs` and `outputs` are the tables
    and URIs that the attempt read and wrote.
    """

    before: Instance
    after: Instance
    what: str
    message: str = ""
    bytes: int | None = None
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


def move(instance: Instance, event: InstanceEvent, now: datetime, message: str = "") -> Change:
    """The change of an instance by an event. Raises states.NoTransition."""
    state = after(instance.state, event)
    ended = None if state.open else now
    changed = replace(instance, state=state, ended=ended, fence=instance.fence + 1)
    if message:
        changed = replace(changed, detail=message)
    return Change(instance, changed, event.value, message)


def resume(instance: Instance, now: datetime) -> Change:
    """The change of a SUSPENDED instance to WAITING; its time-out begins again. Raises
    states.NoTransition.
    """
    change = move(instance, InstanceEvent.RESUME, now)
    return replace(change, after=replace(change.after, created=now))


def rerun(instance: Instance, now: datetime) -> Change:
    """The next run of an ended instance. Raises states.NoTransition."""
    change = move(instance, InstanceEvent.RERUN, now)
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
