"""Unprocessed bytes of all connections share one budget."""

from proxy.server.receive_budget import SMALL, ReceiveBudget


class Connection:
    def __init__(self, unfinished: bool = True) -> None:
        self.is_unfinished = unfinished
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


def test_the_oldest_unfinished_frame_is_dropped_when_the_budget_is_exceeded() -> None:
    receive_budget = ReceiveBudget(10 * SMALL)
    first, second, third = Connection(), Connection(), Connection()
    receive_budget.hold(first, 4 * SMALL)
    receive_budget.hold(second, 4 * SMALL)
    receive_budget.hold(first, 5 * SMALL)
    assert len(receive_budget) == 9 * SMALL
    receive_budget.hold(third, 4 * SMALL)
    assert (first.aborted, second.aborted, third.aborted) == (True, False, False)
    assert len(receive_budget) == 8 * SMALL
    assert receive_budget.dropped == 1


def test_complete_messages_are_kept_and_the_newcomer_is_dropped() -> None:
    receive_budget = ReceiveBudget(10 * SMALL)
    whole, other = Connection(unfinished=False), Connection(unfinished=False)
    receive_budget.hold(whole, 8 * SMALL)
    receive_budget.hold(other, 8 * SMALL)
    assert (whole.aborted, other.aborted) == (False, True)


def test_small_amounts_are_not_counted() -> None:
    receive_budget = ReceiveBudget(SMALL)
    connections = [Connection() for _ in range(10)]
    for each in connections:
        receive_budget.hold(each, SMALL)
    assert len(receive_budget) == 0
    assert not any(each.aborted for each in connections)


def test_processed_bytes_return_to_the_budget() -> None:
    receive_budget = ReceiveBudget(10 * SMALL)
    connection = Connection()
    for _ in range(100):
        receive_budget.hold(connection, 9 * SMALL)
        receive_budget.hold(connection, 0)
    assert len(receive_budget) == 0
    assert not connection.aborted
