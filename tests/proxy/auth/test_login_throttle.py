"""Failed log-ins are limited by user and address; memory is bounded; no user can be locked out."""

from proxy.auth.login_throttle import FailureLimit, LoginThrottle, empty_throttle

TIGHT = FailureLimit(3, 10.0)
WIDE = FailureLimit(1000, 10.0)


def test_a_user_is_blocked_after_a_burst_and_admitted_later() -> None:
    failures = LoginThrottle(TIGHT, WIDE)
    for peer in "abc":
        assert not failures.too_many("ann", peer, 0.0)
        failures.failed("ann", peer, 0.0)
    assert failures.too_many("ann", "d", 1.0)
    assert not failures.too_many("bob", "a", 1.0)
    assert not failures.too_many("ann", "d", 11.0)
    failures.failed("ann", "d", 11.0)
    assert failures.too_many("ann", "d", 12.0)
    assert not failures.too_many("ann", "d", 1000.0)


def test_an_address_is_blocked_for_all_names() -> None:
    failures = LoginThrottle(WIDE, TIGHT)
    for user in "xyz":
        failures.failed(user, "a", 0.0)
    assert failures.too_many("ann", "a", 0.0)
    assert failures.too_many("", "a", 0.0)
    assert not failures.too_many("ann", "b", 0.0)


def test_failures_from_elsewhere_do_not_block_a_known_address() -> None:
    failures = LoginThrottle(TIGHT, WIDE)
    failures.succeeded("ann", "home")
    for _ in range(100):
        failures.failed("ann", "elsewhere", 0.0)
    assert failures.too_many("ann", "elsewhere", 0.0)
    assert not failures.too_many("ann", "home", 0.0)


def test_a_known_address_is_blocked_by_its_own_failures() -> None:
    failures = LoginThrottle(TIGHT, TIGHT)
    failures.succeeded("ann", "home")
    for _ in range(3):
        failures.failed("ann", "home", 0.0)
    assert failures.too_many("ann", "home", 0.0)


def test_failures_of_many_users_do_not_block_another_user() -> None:
    """The memory has a fixed size and names share places; this key makes the test deterministic."""
    memory = empty_throttle()
    memory[:32] = bytes(32)
    failures = LoginThrottle(TIGHT, TIGHT, memoryview(memory))
    for number in range(3000):
        for _ in range(3):
            failures.failed(f"u{number}", f"a{number}", 0.0)
    assert failures.too_many("u1", "b", 0.0)
    strangers = [failures.too_many(f"s{number}", f"b{number}", 0.0) for number in range(1000)]
    assert sum(strangers) < 100
    for number in range(70_000):
        failures.succeeded(f"u{number}", "home")
    assert not failures.too_many("u69999", "home", 0.0)


def test_login_throttle_is_shared_between_processes() -> None:
    memory = memoryview(empty_throttle())
    one, other = LoginThrottle(TIGHT, WIDE, memory), LoginThrottle(TIGHT, WIDE, memory)
    one.succeeded("ann", "home")
    for each in (one, other, one):
        assert not other.too_many("ann", "a", 0.0)
        each.failed("ann", "a", 0.0)
    assert one.too_many("ann", "a", 1.0)
    assert other.too_many("ann", "a", 1.0)
    assert not other.too_many("ann", "home", 1.0)
    assert not other.too_many("ann", "a", 11.0)
    assert not LoginThrottle(TIGHT, WIDE).too_many("ann", "a", 1.0)
