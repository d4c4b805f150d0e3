"""Progress of a copy for programs: bytes of all rounds, at most once a second."""

from collections.abc import Mapping

from cli.progress import ProgressEvents


def test_rounds_add_up_and_events_are_rare() -> None:
    now, events = [0.0], list[Mapping[str, object]]()
    progress = ProgressEvents(events.append, lambda: now[0])
    for second, done in ((0.0, 0), (0.5, 10), (1.0, 20), (1.1, 40)):
        now[0] = second
        progress(done, 40)
    now[0] = 3.0
    progress(0, 60)
    assert [(each["bytes"], each["of"]) for each in events] == [
        (0, 40),
        (20, 40),
        (40, 40),
        (40, 100),
    ]
