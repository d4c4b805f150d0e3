"""The table of an operation's states."""

import pytest

from proxy.protocol.types import ENDS, OperationState
from proxy.session.states import TRANSITIONS, BadTransition, advance, shown


def test_every_end_leads_only_to_closed() -> None:
    for end in ENDS - {OperationState.CLOSED}:
        assert TRANSITIONS[end] == {OperationState.CLOSED}
    assert not TRANSITIONS[OperationState.CLOSED]


@pytest.mark.parametrize("now", TRANSITIONS)
@pytest.mark.parametrize("then", OperationState)
def test_only_transitions_of_the_table_are_allowed(
    now: OperationState, then: OperationState
) -> None:
    if then in TRANSITIONS[now]:
        assert advance(now, then) is then
    else:
        with pytest.raises(BadTransition):
            advance(now, then)


def test_clients_see_running_until_the_end() -> None:
    """Clients see the states that a Thrift Server shows: PyHive's loop waits only in RUNNING."""
    assert {shown(state) for state in TRANSITIONS} == {OperationState.RUNNING} | ENDS
    assert all(shown(end) is end for end in ENDS)
