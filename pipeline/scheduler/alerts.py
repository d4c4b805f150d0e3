"""Which changes of instances are alerts or notifications, and how these read. Pure."""

from collections.abc import Sequence

from pipeline.falcon.calendar import format_time
from pipeline.falcon.entities.agreements import Notification
from pipeline.scheduler.instances.changes import Change
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.states import InstanceEvent, InstanceState
from pipeline.scheduler.store.schema import Alert

_ALERTS = ("SLA", InstanceEvent.LATE.value, InstanceEvent.FAIL.value)


def is_alert(change: Change) -> bool:
    """Whether operators have to know it: a failure, late data, a missed service level. A time-out
    that is followed by another wait is none.
    """
    if change.after.state is InstanceState.TIMEDOUT and change.what == InstanceEvent.TIME_OUT.value:
        return change.after.not_before is None
    return change.what in _ALERTS


MAILTO = "mailto:"  # before the addresses, in the channel of a notification
_SILENT = (InstanceAction.WATCH, InstanceAction.EVICT)  # they end well again and again


def notification_channel(change: Change, wanted: Notification | None) -> str | None:
    """The channel of the mail that a feed or process wants about a change; None for none."""
    if wanted is None or not wanted.addresses:
        return None
    notable = _is_notable(change, wanted.level == "attempt")
    return MAILTO + ",".join(wanted.addresses) if notable else None


def _is_notable(change: Change, attempts: bool) -> bool:
    """Whether an instance has ended, or with `attempts` one of its attempts."""
    if change.what == InstanceEvent.RETRY.value:
        return attempts and change.before.state is InstanceState.RUNNING
    if change.what == InstanceEvent.SUCCEED.value:
        return change.after.key.schedule.action not in _SILENT
    return change.what in (InstanceEvent.FAIL.value, InstanceEvent.TIME_OUT.value) and is_alert(
        change
    )


def as_json(alert: Alert) -> dict[str, object]:
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
