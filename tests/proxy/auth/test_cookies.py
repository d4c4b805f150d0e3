"""A cookie is accepted if it is signed by this server, unchanged and not expired."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.auth.cookies import MAX_COOKIE, NAME, CookieIdentity, Cookies

COOKIES = Cookies(b"k" * 32, 100.0, False)
ANN = CookieIdentity("ann@corp", "ann")


def sent_back(header: str) -> str:
    return header.partition(";")[0]


@given(st.text(max_size=50), st.text(max_size=50))
def test_a_cookie_contains_its_identity(login_name: str, user: str) -> None:
    identity = CookieIdentity(login_name, user)
    assert COOKIES.read(sent_back(COOKIES.header(identity, 1000)), 1099) == identity


def test_a_cookie_expires() -> None:
    cookie = sent_back(COOKIES.header(ANN, 1000))
    assert COOKIES.read(cookie, 1099.9) == ANN
    assert COOKIES.read(cookie, 1100) is None


def test_the_valid_one_of_several_cookies_counts() -> None:
    cookie = sent_back(COOKIES.header(ANN, 0))
    assert COOKIES.read(f"a=b; {NAME}=bad.bad; {cookie}", 1) == ANN
    name, _, value = cookie.partition("=")
    assert COOKIES.read(f'{name}="{value}"', 1) == ANN


@pytest.mark.parametrize("header", [None, "", NAME, f"{NAME}=", f"{NAME}=.", f"{NAME}=é.é"])
def test_a_header_without_our_cookie_has_no_identity(header: str | None) -> None:
    assert COOKIES.read(header, 0) is None


def test_cookies_of_another_key_and_changed_cookies_are_refused() -> None:
    cookie = sent_back(COOKIES.header(ANN, 0))
    assert replace(COOKIES, key=b"K" * 32).read(cookie, 0) is None
    header, _, signature = cookie.partition(".")
    for at in range(len(NAME) + 1, len(header)):
        other = "A" if header[at] != "A" else "B"
        assert COOKIES.read(f"{header[:at]}{other}{header[at + 1 :]}.{signature}", 0) is None
    assert COOKIES.read(f"{NAME}={'A' * MAX_COOKIE}.{signature}", 0) is None


def test_a_cookie_is_secure_only_with_tls() -> None:
    assert "; HttpOnly" in COOKIES.header(ANN, 0)
    assert "Secure" not in COOKIES.header(ANN, 0)
    assert "; Secure" in replace(COOKIES, secure=True).header(ANN, 0)


def test_the_key_is_not_in_the_repr() -> None:
    assert "kkk" not in repr(COOKIES)
