"""Failed logins by user and address: bounded in time and memory, and no way to lock others out."""

from proxy.auth.login_throttle import Bounds, LoginThrottle, empty_throttle

TIGHT = Bounds(3, 10.0)
WIDE = Bounds(1000, 10.0)


def test_a_user_is_refused_after_a_burst_and_heard_again_later() -> None:
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


def test_an_address_is_refused_whatever_names_it_says() -> None:
    failures = LoginThrottle(WIDE, TIGHT)
    for user in "xyz":
        failures.failed(user, "a", 0.0)
    assert failures.too_many("ann", "a", 0.0)
    assert failures.too_many("", "a", 0.0)
    assert not failures.too_many("ann", "b", 0.0)


def test_others_failures_do_not_lock_out_who_was_let_in_lately() -> None:
    failures = LoginThrottle(TIGHT, WIDE)
    failures.succeeded("ann", "home")
    for _ in range(100):
        failures.failed("ann", "elsewhere", 0.0)
    assert failures.too_many("ann", "elsewhere", 0.0)
    assert not failures.too_many("ann", "home", 0.0)


def test_an_address_that_knows_a_password_still_may_not_guess_without_end() -> None:
    failures = LoginThrottle(TIGHT, TIGHT)
    failures.succeeded("ann", "home")
    for _ in range(3):
        failures.failed("ann", "home", 0.0)
    assert failures.too_many("ann", "home", 0.0)


def test_many_others_failures_are_not_a_strangers() -> None:
    """Memory is of one size, and names share its places: by this key, not all of a stranger's."""
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


def test_processes_that_share_the_memory_count_as_one() -> None:
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
