"""Writes changes of instances to the store, with their alerts, and emits and counts them."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping

from pipeline.falcon.calendar import format_time
from pipeline.falcon.entities.agreements import Notification
from pipeline.falcon.entities.identity import EntityKey
from pipeline.scheduler.alerts import is_alert, notification_channel
from pipeline.scheduler.clock import Clock
from pipeline.scheduler.instances.changes import Change
from pipeline.scheduler.instances.instance import Instance, InstanceAction
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.store.store import Store

Emit = Callable[[Mapping[str, object]], None]


class InstanceChanges:
    """Writes changes. `alert_channels` are the channels of the `AlertSender`; `notification`
    returns an entity's own, or None. `ended` counts the instances that ended here.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        emit: Emit,
        alert_channels: Collection[str],
        notification: Callable[[EntityKey], Notification | None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._emit = emit
        self._alert_channels = alert_channels
        self._notification = notification
        self.ended: Counter[tuple[InstanceAction, InstanceState]] = Counter()

    def write(self, change: Change) -> bool:
        """Writes the change and its alerts; False if its fence is not valid any more."""
        channels = [*self._alert_channels] if is_alert(change) else []
        wanted = self._notification(change.after.key.schedule.entity)
        if channel := notification_channel(change, wanted):
            channels.append(channel)
        written = self._store.change(change, self._clock.now(), channels)
        ran = change.before.state is InstanceState.RUNNING
        if written and (ran or change.after.state is InstanceState.TIMEDOUT):
            self.ended[change.after.key.schedule.action, change.after.state] += 1
        if written and change.message:
            self.emit(change.after, change.what, change.message)
        return written

    def emit(self, instance: Instance, what: str, message: str) -> None:
        """Emits an event of the instance."""
        self._emit(
            {
                "event": what,
                "entity": str(instance.key.schedule.entity),
                "action": instance.key.schedule.action.value,
                "cluster": instance.key.schedule.cluster,
                "instance": format_time(instance.nominal),
                "state": instance.state.value,
                "run": instance.run,
                "attempt": instance.attempt,
                "message": message,
            }
        )
