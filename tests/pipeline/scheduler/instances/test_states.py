"""The table of transitions is complete."""

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
def test_an_ended_instance_can_only_be_run_again(state: InstanceState) -> None:
    events = {event for from_state, event in TRANSITIONS if from_state is state}
    assert InstanceEvent.RERUN in events
    assert events <= {InstanceEvent.RERUN, InstanceEvent.LATE, InstanceEvent.RETRY}


def test_transitions_that_are_not_in_the_table_are_refused() -> None:
    with pytest.raises(NoTransition, match="claimed cannot happen to a WAITING"):
        after(InstanceState.WAITING, InstanceEvent.CLAIM)
