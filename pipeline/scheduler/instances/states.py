"""The states of an instance, and the table of its transitions.

An instance is planned WAITING; found inputs make it READY; a server claims it, RUNNING, and
ends it. A failed attempt goes back to READY while its retry policy allows, and to WAITING if its
inputs were dropped meanwhile. A SUSPENDED instance does nothing until an operator resumes it. Ends
are not final: late data or a rerun start the next run of the
same instance.
"""

from enum import Enum


class State(Enum):
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
        return self in (State.WAITING, State.READY, State.RUNNING, State.SUSPENDED)


class Event(Enum):
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


TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.WAITING, Event.FOUND): State.READY,
    (State.WAITING, Event.TIME_OUT): State.TIMEDOUT,
    (State.WAITING, Event.SUPERSEDE): State.SKIPPED,
    (State.WAITING, Event.KILL): State.KILLED,
    (State.WAITING, Event.SUSPEND): State.SUSPENDED,
    (State.READY, Event.SUSPEND): State.SUSPENDED,
    (State.SUSPENDED, Event.RESUME): State.WAITING,
    (State.SUSPENDED, Event.KILL): State.KILLED,
    (State.READY, Event.CLAIM): State.RUNNING,
    (State.READY, Event.SUPERSEDE): State.SKIPPED,
    (State.READY, Event.KILL): State.KILLED,
    (State.RUNNING, Event.SUCCEED): State.SUCCEEDED,
    (State.RUNNING, Event.RETRY): State.READY,
    (State.RUNNING, Event.VANISH): State.WAITING,
    (State.RUNNING, Event.FAIL): State.FAILED,
    (State.RUNNING, Event.KILL): State.KILLED,
    (State.SUCCEEDED, Event.LATE): State.READY,
    (State.SUCCEEDED, Event.RERUN): State.WAITING,
    (State.FAILED, Event.RERUN): State.WAITING,
    (State.KILLED, Event.RERUN): State.WAITING,
    (State.TIMEDOUT, Event.RETRY): State.WAITING,
    (State.TIMEDOUT, Event.RERUN): State.WAITING,
    (State.SKIPPED, Event.RERUN): State.WAITING,
}


class NoTransition(ValueError):
    """An event that is not possible in the state."""


def after(state: State, event: Event) -> State:
    """The state that `event` leads to. Raises NoTransition."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise NoTransition(f"{event.value} cannot happen to a {state.value} instance") from None
