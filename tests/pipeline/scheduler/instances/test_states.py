"""The table of states is closed and leads everywhere that it should."""

import pytest

from pipeline.scheduler.instances.states import TRANSITIONS, Event, NoTransition, State, after


def test_every_state_can_be_reached_and_left() -> None:
    assert {*TRANSITIONS.values()} == {*State}
    assert {state for state, _ in TRANSITIONS} == {*State}


def test_every_event_happens_somewhere() -> None:
    assert {event for _, event in TRANSITIONS} == {*Event}


@pytest.mark.parametrize("state", [each for each in State if not each.open])
def test_an_end_only_begins_again(state: State) -> None:
    events = {event for from_state, event in TRANSITIONS if from_state is state}
    assert Event.RERUN in events
    assert events <= {Event.RERUN, Event.LATE, Event.RETRY}


def test_what_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(NoTransition, match="claimed cannot happen to a WAITING"):
        after(State.WAITING, Event.CLAIM)
