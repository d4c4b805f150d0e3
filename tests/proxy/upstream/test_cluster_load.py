"""The load of clusters, counted for all workers, and the estimates that follow from it."""

from conf.names import ClusterName
from proxy.counters import LocalCounters, SharedCounters, shared_size
from proxy.upstream.cluster_load import ClusterLoad

EAST, WEST = ClusterName("east"), ClusterName("west")
BOTH = (EAST, WEST)
T = 7


def statements(load: ClusterLoad) -> list[int]:
    return [each.statements for each in load.costs(T, BOTH).expected.values()]


def test_a_statement_counts_until_it_ends_or_leaves() -> None:
    load = ClusterLoad()
    first, second = load.begin(EAST), load.begin(EAST)
    assert statements(load) == [2, 0]
    first.sent()
    first.ended(succeeded=True)
    first.leave()
    assert statements(load) == [1, 0]
    second.leave()
    second.leave()
    assert statements(load) == [0, 0]


def test_statements_of_other_workers_count() -> None:
    memory = memoryview(bytearray(shared_size(2)))
    one, other = (ClusterLoad(SharedCounters(memory, number, 2)) for number in (0, 1))
    running = [one.begin(EAST) for _ in range(5)]
    assert statements(other) == [5, 0]
    assert other.costs(T, BOTH).choose(BOTH) == WEST
    for each in running:
        each.leave()
    assert other.costs(T, BOTH).choose(BOTH) == EAST


def test_after_its_end_a_statement_of_any_length_is_not_counted() -> None:
    counters = LocalCounters()
    load = ClusterLoad(counters)
    for seconds in (0.0, 1e9):
        running = load.begin(EAST)
        load.learn(running, seconds, succeeded=True)
        running.leave()
    assert statements(load) == [0, 0]
    assert load.costs(T, BOTH).expected[EAST].wait == 0


def test_nothing_is_learned_from_a_statement_that_was_not_sent() -> None:
    load = ClusterLoad()
    before = load.costs(T, BOTH)
    load.begin(EAST).ended(succeeded=True)
    assert load.costs(T, BOTH).expected == before.expected


def test_concurrent_statements_of_one_template_spread() -> None:
    load, where = ClusterLoad(), []
    for _ in range(10):
        costs = load.costs(T, BOTH)
        where.append(costs.choose(BOTH))
        load.begin(where[-1], costs, BOTH)
    assert where.count(EAST) == where.count(WEST) == 5
