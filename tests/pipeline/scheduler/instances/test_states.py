"""The table of states is closed and leads everywhere that it should."""

import pytest

from pipeline.scheduler.instances.states import (
    TRANSITIONS,
    InstanceEvent,
    InstanceState,
    NoTransition,
    after,
)


def test_every_state_can_be_reached_and_left() -> None:
    assert {*TRANSITIONS.values()} == {*InstanceState}
    assert {state for state, _ in TRANSITIONS} == {*InstanceState}


def test_every_event_happens_somewhere() -> None:
    assert {event for _, event in TRANSITIONS} == {*InstanceEvent}


@pytest.mark.parametrize("state", [each for each in InstanceState if not each.open])
def test_an_end_only_begins_again(state: InstanceState) -> None:
    events = {event for from_state, event in TRANSITIONS if from_state is state}
    assert InstanceEvent.RERUN in events
    assert events <= {InstanceEvent.RERUN, InstanceEvent.LATE, InstanceEvent.RETRY}


def test_what_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(NoTransition, match="claimed cannot happen to a WAITING"):
        after(InstanceState.WAITING, InstanceEvent.CLAIM)
