"""The life of an operation.

PENDING: being routed, its cluster's session opened or caught up. RUNNING: the cluster has it.
The other states are ends: nothing leaves them but CLOSED. A transition that is not in the
table is a mistake in Causeway and raises.

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
    """A state change that the table does not have."""


def shown(state: State) -> State:
    """The state as clients see it."""
    return State.RUNNING if state is State.PENDING else state


def advance(now: State, then: State) -> State:
    """`then`, when it may follow `now`. Raises BadTransition."""
    if then not in TRANSITIONS[now]:
        raise BadTransition(f"{now.name} -> {then.name}")
    return then
