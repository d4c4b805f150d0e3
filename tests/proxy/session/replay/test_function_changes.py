"""The list of changed functions that all processes of a server share."""

from proxy.session.replay.function_changes import FunctionChanges, shared_size


def test_each_process_sees_what_all_of_them_changed() -> None:
    memory = memoryview(bytearray(shared_size(2)))
    one, other = (FunctionChanges(memory, number, 2) for number in range(2))
    before = one.now()
    one.record("d", "f")
    other.record("d", "f")
    other.record("e", "g")
    changed, now = one.since(before)
    assert changed == (("d", "f"), ("e", "g"))
    assert other.since(before) == (changed, now)
    assert one.since(now) == ((), now)


def test_a_position_can_skip_only_a_change_of_its_own_process() -> None:
    memory = memoryview(bytearray(shared_size(2)))
    one, other = (FunctionChanges(memory, number, 2) for number in range(2))
    before = one.now()
    other.record("d", "f")
    one.record("d", "g")
    assert one.since(one.with_own(before))[0] == (("d", "f"),)


def test_a_process_that_missed_too_many_changes_gets_no_list() -> None:
    changes = FunctionChanges()
    before = changes.now()
    for number in range(3000):
        changes.record("d", f"f{number}")
    assert changes.since(before)[0] is None
    assert changes.since(changes.now())[0] == ()


def test_a_name_that_is_too_long_stands_for_any_function() -> None:
    changes = FunctionChanges()
    before = changes.now()
    changes.record("d", "f" * 300)
    assert changes.since(before)[0] is None
