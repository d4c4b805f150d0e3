"""The states of an operation.

PENDING: it is being routed, or a session for it is being opened in a cluster. RUNNING: the cluster
has it. All other states are ends, which only CLOSED may follow. A transition that is not in the
table is a mistake in Causeway and raises BadTransition.

Clients never see PENDING (`shown`). A Thrift Server is in that state while a statement waits for a
thread, but its status call lasts until the statement ends or five seconds have passed, so its
clients see RUNNING and then the end. Many of them wait only while a statement is INITIALIZED or
RUNNING: PyHive's documented loop and Superset fetch in any other state.
"""

from proxy.protocol.types import ENDS
from proxy.protocol.types import OperationState as State

TRANSITIONS: dict[State, frozenset[State]] = {
    State.PENDING: frozenset({State.RUNNING}) | ENDS,
    State.RUNNING: ENDS,
    State.FINISHED: frozenset({State.CLOSED}),
    State.CANCELED: frozenset({State.CLOSED}),
    State.ERROR: frozenset({State.CLOSED}),
    State.TIMEDOUT: frozenset({State.CLOSED}),
    State.CLOSED: frozenset(),
}


class BadTransition(AssertionError):
    """A change of state that is not in the table."""


def shown(state: State) -> State:
    """The state as clients see it."""
    return State.RUNNING if state is State.PENDING else state


def advance(old: State, new: State) -> State:
    """Returns `new`. Raises BadTransition if it may not follow `old`."""
    if new not in TRANSITIONS[old]:
        raise BadTransition(f"{old.name} -> {new.name}")
    return new
