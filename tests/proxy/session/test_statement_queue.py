"""The order of statements that wait for others of their user."""

import pytest

from proxy.errors import LimitReached
from proxy.session.statement_queue import StatementQueue, Waiter


def waiting(queue: StatementQueue, *sessions: str, user: str = "ann") -> list[Waiter]:
    found = [Waiter(user, each) for each in sessions]
    for each in found:
        queue.enter(each, 9)
    return found


def drained(queue: StatementQueue, user: str = "ann") -> list[Waiter]:
    found = []
    while (first := queue.first(user)) is not None:
        found.append(first)
        queue.leave(first)
    return found


def test_sessions_take_turns() -> None:
    queue = StatementQueue()
    a1, a2, a3, b1, c1, b2 = waiting(queue, "a", "a", "a", "b", "c", "b")
    order = [a1, b1, c1, a2, b2, a3]
    assert [queue.ahead(each) for each in order] == [0, 1, 2, 3, 4, 5]
    assert drained(queue) == order
    assert len(queue) == 0


def test_sessions_with_a_higher_priority_come_first() -> None:
    queue = StatementQueue()
    order = [Waiter("ann", session, priority) for session, priority in
             [("b", 5), ("d", 5), ("b", 5), ("a", 0), ("c", 0), ("a", 0), ("e", -1)]]  # fmt: skip
    b1, d, b2, a1, c, a2, e = order
    for each in (e, a1, a2, b1, b2, c, d):
        queue.enter(each, 9)
    assert [queue.ahead(each) for each in order] == [0, 1, 2, 3, 4, 5, 6]
    assert drained(queue) == order


def test_a_session_has_the_priority_of_its_last_statement() -> None:
    queue = StatementQueue()
    (b,) = waiting(queue, "b")
    order = [Waiter("ann", "a"), Waiter("ann", "a", 1)]
    for each in order:
        queue.enter(each, 9)
    assert [queue.ahead(each) for each in (*order, b)] == [0, 1, 2]
    assert drained(queue) == [*order, b]


def test_a_statement_that_leaves_does_not_change_the_order_of_others() -> None:
    queue = StatementQueue()
    a1, b1, a2, c1 = waiting(queue, "a", "b", "a", "c")
    queue.leave(b1)
    queue.leave(b1)
    assert len(queue) == 3
    assert drained(queue) == [a1, c1, a2]


def test_the_first_session_that_gives_up_does_not_keep_its_turn() -> None:
    queue = StatementQueue()
    a1, a2, b1 = waiting(queue, "a", "a", "b")
    queue.leave(a1)
    assert drained(queue) == [b1, a2]


def test_users_have_queues_of_their_own_that_are_bounded() -> None:
    queue = StatementQueue()
    waiting(queue, "a", "b")
    with pytest.raises(LimitReached, match="2 statements of the user ann wait"):
        queue.enter(Waiter("ann", "c"), 2)
    (other,) = waiting(queue, "a", user="bob")
    assert queue.ahead(other) == 0
    assert queue.first("cid") is None
