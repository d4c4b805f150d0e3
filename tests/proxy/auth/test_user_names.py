"""The names that sessions belong to."""

import pytest

from proxy.auth.errors import BadCredentials
from proxy.auth.user_names import login_name, name_of_principal, short_name, throttle_key


@pytest.mark.parametrize(
    ("proved", "short"),
    [
        ("ann", "ann"),
        ("ann@EXAMPLE.COM", "ann"),
        ("hue/host@EXAMPLE.COM", "hue"),
        ("ann@a/b", "ann"),
        ("@x", "@x"),
        ("/x", "/x"),
    ],
)
def test_what_hiveserver2_calls_a_user(proved: str, short: str) -> None:
    assert short_name(proved) == short


@pytest.mark.parametrize(
    "user",
    [
        "",
        " ann",
        "ann\t",
        "an\0n",
        "a\nb",
        "x" * 300,
        "a\u200bb",
        "a  b",
        "a\ufe0f",
        "\u3164",
        "ann\u034f",
        "a\u202eb",
        "\ufdfa" * 200,
    ],
)
def test_names_that_nobody_has(user: str) -> None:
    with pytest.raises(BadCredentials):
        login_name(user)


def test_principals_of_our_realm_have_short_names() -> None:
    assert name_of_principal("ann@R", "R") == "ann"
    assert name_of_principal("hue/host.example.com@R", "R") == "hue"


@pytest.mark.parametrize(
    "principal", ["ann", "ann@S", "ann@r", "@R", "/h@R", "ann@S@R", "ann\\@S@R", "ann@R@S", " @R"]
)
def test_nobody_else_has_one(principal: str) -> None:
    with pytest.raises(BadCredentials):
        name_of_principal(principal, "R")


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("ann", "ann"),
        ("Ann", "Ann"),
        ("\uff41\uff4e\uff4e", "ann"),  # full-width letters
        ("jose\u0301", "jos\u00e9"),
        ("ann\uff20example.com", "ann@example.com"),
        ("\u2126", "\u03a9"),
        ("ann lee", "ann lee"),
    ],
)
def test_a_name_has_one_form(typed: str, name: str) -> None:
    assert login_name(typed) == name


@pytest.mark.parametrize(
    "typed",
    [
        "ANN",
        "\uff41NN",
        "ann@example.com",
        "ann/host@R",
        "a\u0301nn",
        "a nn",
        "ann\u200b",
        "ann\ufe0f",
        "\u1d43nn",
        "\u24d0nn",
    ],
)
def test_one_person_whatever_is_typed(typed: str) -> None:
    assert throttle_key(typed) == throttle_key("ann")


def test_other_people() -> None:
    assert len({throttle_key(each) for each in ("ann", "anne", "bob", "an", "\u0430nn", "")}) == 6
    assert throttle_key("\u0131n") == throttle_key("in")
    assert throttle_key("\u200b")  # a key of its own, not that of a name which is not known yet
