"""Selects the changes of instances that are alerts or notifications; writes their texts. Pure."""

from collections.abc import Sequence

from pipeline.falcon.calendar import format_time
from pipeline.falcon.entities.agreements import Notification
from pipeline.scheduler.instances.changes import Change
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState
from pipeline.scheduler.store.schema import Alert

_ALERTS = ("SLA", InstanceEvent.LATE.value, InstanceEvent.FAIL.value)


def is_alert(change: Change) -> bool:
    """Whether a change is an alert: a failure, late data, a missed service level, or a time-out
    after which the instance does not wait again.
    """
    if change.after.state is InstanceState.TIMEDOUT and change.what == InstanceEvent.TIME_OUT.value:
        return change.after.not_before is None
    return change.what in _ALERTS


MAILTO = "mailto:"  # prefix of a notification's channel, followed by the addresses
_SILENT = (InstanceAction.WATCH, InstanceAction.EVICT)  # their success is not notified


def notification_channel(change: Change, wanted: Notification | None) -> str | None:
    """The channel of the mail about a change that the entity's `wanted` asks for, or None."""
    if wanted is None or not wanted.addresses:
        return None
    notable = _is_notable(change, wanted.level == "attempt")
    return MAILTO + ",".join(wanted.addresses) if notable else None


def _is_notable(change: Change, attempts: bool) -> bool:
    """Whether the change ends an instance, or with `attempts` one of its attempts."""
    if change.what == InstanceEvent.RETRY.value:
        return attempts and change.before.state is InstanceState.RUNNING
    if change.what == InstanceEvent.SUCCEED.value:
        return change.after.key.schedule.action not in _SILENT
    return change.what in (InstanceEvent.FAIL.value, InstanceEvent.TIME_OUT.value) and is_alert(
        change
    )


def as_json(alert: Alert) -> dict[str, object]:
    """The alert as the webhook sends it."""
    key = alert.instance.schedule
    return {
        "id": alert.id,
        "at": f"{alert.at:%Y-%m-%dT%H:%M:%SZ}",
        "alert": alert.what,
        "kind": key.entity.kind.value,
        "name": key.entity.name,
        "action": key.action.value,
        "cluster": key.cluster,
        "source": key.source,
        "instance": format_time(alert.instance.nominal),
        "message": alert.message,
    }


def subject(alerts: Sequence[Alert], sender: str = "causeway") -> str:
    """The subject of a mail, which begins with `sender`."""
    first = f"{sender}: {alerts[0].what}: {alerts[0].instance}"
    return first if len(alerts) == 1 else f"{first} and {len(alerts) - 1} more"


def body(alerts: Sequence[Alert]) -> str:
    """The text of a mail."""
    lines = (
        f"{each.at:%Y-%m-%dT%H:%M:%SZ} {each.what}: {each.instance}\n  {each.message}\n"
        for each in alerts
    )
    return "\n".join(lines)
