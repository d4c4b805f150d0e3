"""Cookies are believed while they are ours, whole and young."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.auth.cookies import MAX_COOKIE, NAME, CookieIdentity, Cookies

COOKIES = Cookies(b"k" * 32, 100.0, False)
ANN = CookieIdentity("ann@corp", "ann")


def sent_back(told: str) -> str:
    return told.partition(";")[0]


@given(st.text(max_size=50), st.text(max_size=50))
def test_whom_a_cookie_was_made_for_is_read_from_it(said: str, user: str) -> None:
    identity = CookieIdentity(said, user)
    assert COOKIES.read(sent_back(COOKIES.header(identity, 1000)), 1099) == identity


def test_it_ends() -> None:
    cookie = sent_back(COOKIES.header(ANN, 1000))
    assert COOKIES.read(cookie, 1099.9) == ANN
    assert COOKIES.read(cookie, 1100) is None


def test_of_several_the_good_one_counts() -> None:
    cookie = sent_back(COOKIES.header(ANN, 0))
    assert COOKIES.read(f"a=b; {NAME}=bad.bad; {cookie}", 1) == ANN
    name, _, value = cookie.partition("=")
    assert COOKIES.read(f'{name}="{value}"', 1) == ANN


@pytest.mark.parametrize("header", [None, "", NAME, f"{NAME}=", f"{NAME}=.", f"{NAME}=é.é"])
def test_none(header: str | None) -> None:
    assert COOKIES.read(header, 0) is None


def test_another_key_and_any_change_are_refused() -> None:
    cookie = sent_back(COOKIES.header(ANN, 0))
    assert replace(COOKIES, key=b"K" * 32).read(cookie, 0) is None
    told, _, signature = cookie.partition(".")
    for at in range(len(NAME) + 1, len(told)):
        other = "A" if told[at] != "A" else "B"
        assert COOKIES.read(f"{told[:at]}{other}{told[at + 1 :]}.{signature}", 0) is None
    assert COOKIES.read(f"{NAME}={'A' * MAX_COOKIE}.{signature}", 0) is None


def test_secure_is_said_over_tls_alone() -> None:
    assert "; HttpOnly" in COOKIES.header(ANN, 0)
    assert "Secure" not in COOKIES.header(ANN, 0)
    assert "; Secure" in replace(COOKIES, secure=True).header(ANN, 0)


def test_the_key_is_in_no_text() -> None:
    assert "kkk" not in repr(COOKIES)
