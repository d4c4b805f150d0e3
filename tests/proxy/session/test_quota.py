"""Limits by user, by address and by both. One user's count never limits another user."""

import pytest

from proxy.errors import LimitReached
from proxy.session.quota import Bounds, Quota


@pytest.mark.parametrize(
    ("bounds", "refused", "taken"),
    [
        (Bounds(user=2), ("ann", "c"), ("bob", "a")),
        (Bounds(address=2), ("bob", "a"), ("ann", "c")),
        (Bounds(both=2), ("ann", "a"), ("ann", "c")),
    ],
)
def test_each_limit(bounds: Bounds, refused: tuple[str, str], taken: tuple[str, str]) -> None:
    quota = Quota("sessions", bounds)
    quota.take("ann", "a")
    quota.take("ann", "a")
    with pytest.raises(LimitReached, match=r"has 2 sessions, which is the limit"):
        quota.take(*refused)
    quota.take(*taken)
    assert len(quota) == 3
    quota.give_back("ann", "a")
    quota.take(*refused)


def test_without_limits_nothing_is_refused_and_counters_return_to_zero() -> None:
    quota = Quota("sessions", Bounds())
    for each in range(1000):
        quota.take(f"user{each}", "a")
    for each in range(1000):
        quota.give_back(f"user{each}", "a")
    assert len(quota) == 0
    quota.bounds = Bounds(address=1)
    quota.take("ann", "a")
    with pytest.raises(LimitReached, match="The address a has 1"):
        quota.take("bob", "a")


def test_the_limit_of_all_users_together() -> None:
    quota = Quota("connections", Bounds(all=2))
    quota.take("ann", "a")
    quota.take("bob", "b")
    with pytest.raises(LimitReached, match="Causeway has 2 connections, which is the limit"):
        quota.take("cid", "c")
    quota.give_back("ann", "a")
    quota.take("cid", "c")


@pytest.mark.parametrize(("bound", "own", "limit"), [(0, 1, 1), (2, 1, 1), (1, 2, 1), (2, 0, 2)])
def test_a_users_own_limit(bound: int, own: int, limit: int) -> None:
    quota = Quota("statements", Bounds(user=bound))
    for _ in range(limit):
        quota.take("ann", "a", own)
    with pytest.raises(LimitReached, match=f"The user ann has {limit} statements"):
        quota.take("ann", "a", own)
