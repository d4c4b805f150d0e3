"""The life of an operation.

PENDING: being routed, its cluster's session opened or caught up. RUNNING: the cluster has it.
The other states are ends: nothing leaves them but CLOSED. A transition that is not in the
table is a mistake of ours and raises.
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


def advance(now: State, then: State) -> State:
    """`then`, when it may follow `now`. Raises BadTransition."""
    if then not in TRANSITIONS[now]:
        raise BadTransition(f"{now.name} -> {then.name}")
    return then
