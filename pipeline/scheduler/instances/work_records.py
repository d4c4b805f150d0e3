"""Makes the history's record of an ended attempt or instance from the change that ended it."""

from collections.abc import Callable
from datetime import datetime

from database.history.work import InstanceRecord, instance_id
from pipeline.scheduler.instances.changes import Change
from pipeline.scheduler.instances.instance import Instance
from pipeline.scheduler.instances.states import InstanceState

RETRIED = "RETRIED"  # the state of an attempt after which the instance is open
OnChange = Callable[[Change, datetime], None]
"""Called with each change that was written, and its time."""


def no_record(change: Change, now: datetime) -> None:
    """Records nothing."""


def id_of(instance: Instance) -> str:
    """The id of the instance in its present state; while it is RUNNING, that of its attempt."""
    return instance_id(str(instance.key), instance.fence)


def record_of(change: Change, now: datetime, server: str) -> InstanceRecord | None:
    """The record of the attempt or instance that the change ends; None for other changes."""
    before, after = change.before, change.after
    attempted = before.state is InstanceState.RUNNING
    if after.state is before.state or not (attempted or (before.state.open and _ends(after))):
        return None
    schedule = after.key.schedule
    return InstanceRecord(
        id=id_of(before),
        kind=schedule.entity.kind.value,
        name=schedule.entity.name,
        action=schedule.action.value,
        cluster=schedule.cluster,
        source=schedule.source,
        nominal=after.nominal.timestamp(),
        run=before.run,
        attempt=before.attempt,
        state=after.state.value if _ends(after) else RETRIED,
        started=before.started.timestamp() if attempted and before.started else None,
        ended=now.timestamp(),
        bytes=change.bytes,
        detail=change.message or after.detail or change.what,
        server=server,
        inputs=change.inputs,
        outputs=change.outputs,
    )


def _ends(instance: Instance) -> bool:
    return not instance.state.open
