"""Sessions of the console: what a cookie proves, and for how long."""

import pytest

from conf.roles import Role
from conf.settings.console import ConsoleSettings
from console.login import sessions as console_sessions
from console.login.sessions import COOKIE, LoginSessions, set_cookie
from console.roles import role_of


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def header(value: str) -> str:
    return f"other=1; {COOKIE}={value}"


def test_a_cookie_proves_its_session() -> None:
    sessions = LoginSessions()
    found = sessions.session(header(sessions.log_in("ann", Role.VIEWER, "10.0.0.7")))
    assert found is not None
    assert (found.user, found.role, found.address) == ("ann", Role.VIEWER, "10.0.0.7")


@pytest.mark.parametrize(
    "change", [lambda v: v[:-1] + "x", lambda v: "x" + v, lambda v: "", str.upper]
)
def test_a_changed_cookie_proves_nothing(change: object) -> None:
    sessions = LoginSessions()
    value = sessions.log_in("ann", Role.VIEWER, "10.0.0.7")
    assert sessions.session(header(change(value))) is None  # type: ignore[operator]


def test_a_cookie_of_another_process_proves_nothing() -> None:
    assert LoginSessions().session(header(LoginSessions().log_in("ann", Role.VIEWER, ""))) is None


def test_a_session_that_is_ended_proves_nothing() -> None:
    sessions = LoginSessions()
    value = sessions.log_in("ann", Role.VIEWER, "")
    [session] = sessions.sessions()
    assert sessions.end(session.name) is session
    assert sessions.session(header(value)) is None
    assert sessions.end(session.name) is None


def test_a_session_ends_when_it_is_idle_and_when_it_is_old() -> None:
    clock = Clock()
    sessions = LoginSessions(clock=clock)
    idle, used = (header(sessions.log_in("ann", Role.VIEWER, "")) for _ in range(2))
    for _ in range(6):
        clock.now += console_sessions.MAX_IDLE - 1
        found = sessions.session(used) is not None
        assert found == (clock.now - 1_000_000 <= console_sessions.MAX_AGE)
    assert sessions.session(idle) is None


def test_there_is_a_bound_on_sessions_and_the_longest_unused_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(console_sessions, "MAX_SESSIONS", 3)
    sessions = LoginSessions()
    first, second, third = (header(sessions.log_in(name, Role.VIEWER, "")) for name in "abc")
    assert sessions.session(first) is not None  # used last
    sessions.log_in("d", Role.VIEWER, "")
    assert sessions.session(second) is None
    assert sessions.session(first) is not None
    assert sessions.session(third) is not None


def test_a_cookie_is_for_this_site_and_not_for_scripts() -> None:
    assert "HttpOnly; SameSite=Strict" in set_cookie("v", secure=False)
    assert set_cookie("v", secure=True).endswith("; Secure")
    assert "Max-Age=0" in set_cookie("", secure=False)


def test_a_user_has_the_highest_role_that_names_it() -> None:
    settings = ConsoleSettings(viewers=("*",), operators=("olga",), administrators=("ada", "olga"))
    assert role_of("ann", settings) is Role.VIEWER
    assert role_of("olga", settings) is Role.ADMINISTRATOR
    assert role_of("ann", ConsoleSettings()) is Role.ANALYST
