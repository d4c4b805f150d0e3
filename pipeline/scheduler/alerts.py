"""Which changes of instances are alerts, and how alerts read. Pure."""

from collections.abc import Sequence

from pipeline.falcon.calendar import format_time
from pipeline.scheduler.plan import Change
from pipeline.scheduler.states import Event, State
from pipeline.scheduler.store.schema import Alert

_ALERTS = ("SLA", Event.LATE.value, Event.FAIL.value)


def is_alert(change: Change) -> bool:
    """Whether operators have to know it: a failure, late data, a missed service level. A time-out
    that is followed by another wait is none.
    """
    if change.after.state is State.TIMEDOUT and change.what == Event.TIME_OUT.value:
        return change.after.not_before is None
    return change.what in _ALERTS


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


def subject(alerts: Sequence[Alert]) -> str:
    """The subject of a mail."""
    first = f"causeway: {alerts[0].what}: {alerts[0].instance}"
    return first if len(alerts) == 1 else f"{first} and {len(alerts) - 1} more"


def body(alerts: Sequence[Alert]) -> str:
    """The text of a mail."""
    lines = (
        f"{each.at:%Y-%m-%dT%H:%M:%SZ} {each.what}: {each.instance}\n  {each.message}\n"
        for each in alerts
    )
    return "\n".join(lines)
