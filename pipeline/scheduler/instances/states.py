"""The states of an instance, and the table of its transitions.

An instance is created WAITING. When its inputs exist, it is READY. A server claims it, and it is
RUNNING until its work ends. After a failed attempt it is READY again while its retry policy allows,
or WAITING if its inputs were dropped. A SUSPENDED instance does nothing until an operator resumes
it. An ended instance may be run again, after late data or by a rerun.
"""

from enum import Enum


class InstanceState(Enum):
    """The state of an instance. `open` ones have not ended."""

    WAITING = "WAITING"
    READY = "READY"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    KILLED = "KILLED"
    TIMEDOUT = "TIMEDOUT"
    SKIPPED = "SKIPPED"

    @property
    def open(self) -> bool:
        return self in (
            InstanceState.WAITING,
            InstanceState.READY,
            InstanceState.RUNNING,
            InstanceState.SUSPENDED,
        )


class InstanceEvent(Enum):
    """What happens to an instance. The value is the text in its log and in alerts."""

    FOUND = "inputs found"
    TIME_OUT = "timed out"
    SUPERSEDE = "superseded"
    CLAIM = "claimed"
    SUCCEED = "succeeded"
    RETRY = "retried"
    VANISH = "inputs gone"
    FAIL = "failed"
    KILL = "killed"
    SUSPEND = "suspended"
    RESUME = "resumed"
    LATE = "late data"
    RERUN = "rerun"


TRANSITIONS: dict[tuple[InstanceState, InstanceEvent], InstanceState] = {
    (InstanceState.WAITING, InstanceEvent.FOUND): InstanceState.READY,
    (InstanceState.WAITING, InstanceEvent.TIME_OUT): InstanceState.TIMEDOUT,
    (InstanceState.WAITING, InstanceEvent.SUPERSEDE): InstanceState.SKIPPED,
    (InstanceState.WAITING, InstanceEvent.KILL): InstanceState.KILLED,
    (InstanceState.WAITING, InstanceEvent.SUSPEND): InstanceState.SUSPENDED,
    (InstanceState.READY, InstanceEvent.SUSPEND): InstanceState.SUSPENDED,
    (InstanceState.SUSPENDED, InstanceEvent.RESUME): InstanceState.WAITING,
    (InstanceState.SUSPENDED, InstanceEvent.KILL): InstanceState.KILLED,
    (InstanceState.READY, InstanceEvent.CLAIM): InstanceState.RUNNING,
    (InstanceState.READY, InstanceEvent.SUPERSEDE): InstanceState.SKIPPED,
    (InstanceState.READY, InstanceEvent.KILL): InstanceState.KILLED,
    (InstanceState.RUNNING, InstanceEvent.SUCCEED): InstanceState.SUCCEEDED,
    (InstanceState.RUNNING, InstanceEvent.RETRY): InstanceState.READY,
    (InstanceState.RUNNING, InstanceEvent.VANISH): InstanceState.WAITING,
    (InstanceState.RUNNING, InstanceEvent.FAIL): InstanceState.FAILED,
    (InstanceState.RUNNING, InstanceEvent.KILL): InstanceState.KILLED,
    (InstanceState.SUCCEEDED, InstanceEvent.LATE): InstanceState.READY,
    (InstanceState.SUCCEEDED, InstanceEvent.RERUN): InstanceState.WAITING,
    (InstanceState.FAILED, InstanceEvent.RERUN): InstanceState.WAITING,
    (InstanceState.KILLED, InstanceEvent.RERUN): InstanceState.WAITING,
    (InstanceState.TIMEDOUT, InstanceEvent.RETRY): InstanceState.WAITING,
    (InstanceState.TIMEDOUT, InstanceEvent.RERUN): InstanceState.WAITING,
    (InstanceState.SKIPPED, InstanceEvent.RERUN): InstanceState.WAITING,
}


class NoTransition(ValueError):
    """The event is not possible in the state."""


def after(state: InstanceState, event: InstanceEvent) -> InstanceState:
    """The state that `event` leads to. Raises NoTransition."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise NoTransition(f"{event.value} cannot happen to a {state.value} instance") from None
