"""User names from log-in names and principals."""

import pytest

from conf.auth_to_local import parse_rules
from proxy.auth.user_names import login_name, name_of_principal, short_name, throttle_key
from saslauth.errors import BadCredentials


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
def test_short_names_are_those_of_hiveserver2(proved: str, short: str) -> None:
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
def test_invalid_names_are_rejected(user: str) -> None:
    with pytest.raises(BadCredentials):
        login_name(user)


def test_principals_of_our_realm_have_short_names() -> None:
    assert name_of_principal("ann@R", "R") == "ann"
    assert name_of_principal("hue/host.example.com@R", "R") == "hue"


def test_principals_of_other_realms_are_named_by_rules() -> None:
    rules = parse_rules("RULE:[1:$1@$0](.*@S)s/@.*/_s/ DEFAULT")
    assert name_of_principal("ann@S", "R", rules) == "ann_s"
    assert name_of_principal("ann@R", "R", rules) == "ann"
    with pytest.raises(BadCredentials):
        name_of_principal("ann@T", "R", rules)


@pytest.mark.parametrize(
    "principal", ["ann", "ann@S", "ann@r", "@R", "/h@R", "ann@S@R", "ann\\@S@R", "ann@R@S", " @R"]
)
def test_other_principals_are_rejected(principal: str) -> None:
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
def test_login_names_are_normalized(typed: str, name: str) -> None:
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
def test_spellings_of_one_name_share_a_throttle_key(typed: str) -> None:
    assert throttle_key(typed) == throttle_key("ann")


def test_different_names_have_different_throttle_keys() -> None:
    assert len({throttle_key(each) for each in ("ann", "anne", "bob", "an", "\u0430nn", "")}) == 6
    assert throttle_key("\u0131n") == throttle_key("in")
    assert throttle_key("\u200b")  # not empty: the empty key stands for an unknown name
