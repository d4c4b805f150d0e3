"""Counters in memory that several processes share."""

import pickle

from proxy.counters import LocalCounters, SharedCounters, shared_size
from proxy.session.quota import Bounds, Quota


def test_each_process_sees_the_sum() -> None:
    memory = memoryview(bytearray(shared_size(3)))
    counters = [SharedCounters(memory, number, 3) for number in range(3)]
    counters[0].add("ann", 2)
    counters[2].add("ann", 1)
    assert [each.count("ann") for each in counters] == [3, 3, 3]
    counters[0].add("ann", -2)
    assert counters[1].count("ann") == 1
    assert counters[1].count("bob") == 0


def test_a_restarted_process_starts_at_zero() -> None:
    memory = memoryview(bytearray(shared_size(2)))
    SharedCounters(memory, 0, 2).add("ann", 5)
    other = SharedCounters(memory, 1, 2)
    other.add("ann", 1)
    assert SharedCounters(memory, 0, 2).count("ann") == 1


def test_keys_rarely_share_both_slots() -> None:
    counters = SharedCounters(memoryview(bytearray(shared_size(1))), 0, 1)
    for number in range(2_000):
        counters.add(f"user{number}", 1)
    assert sum(counters.count(f"user{number}") for number in range(2_000)) <= 2_020
    for number in range(2_000):
        counters.add(f"user{number}", -1)
    assert not any(counters.count(f"user{number}") for number in range(2_000))


def test_a_quota_is_shared_by_two_processes() -> None:
    memory = memoryview(bytearray(shared_size(2)))
    one, other = (Quota("sessions", Bounds(user=2), SharedCounters(memory, n, 2)) for n in (0, 1))
    one.take("ann", "a")
    other.take("ann", "b")
    assert (len(one), len(other)) == (1, 1)
    assert _refused(one)
    other.give_back("ann", "b")
    assert not _refused(one)


def test_local_counters_forget_keys_at_zero() -> None:
    counters = LocalCounters()
    counters.add("ann", 1)
    counters.add("ann", -1)
    assert counters.count("ann") == 0
    assert pickle.dumps(counters) == pickle.dumps(LocalCounters())


def _refused(quota: Quota) -> bool:
    try:
        quota.take("ann", "c")
    except Exception:
        return True
    return False
