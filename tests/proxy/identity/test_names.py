"""The names that sessions belong to."""

import pytest

from proxy.identity.errors import Wrong
from proxy.identity.names import name_of_principal, said_name, short_name


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


@pytest.mark.parametrize("user", ["", " ann", "ann\t", "an\0n", "a\nb", "x" * 300, "a\u200bb"])
def test_names_that_nobody_has(user: str) -> None:
    with pytest.raises(Wrong):
        said_name(user)


def test_principals_of_our_realm_have_short_names() -> None:
    assert name_of_principal("ann@R", "R") == "ann"
    assert name_of_principal("hue/host.example.com@R", "R") == "hue"


@pytest.mark.parametrize(
    "principal", ["ann", "ann@S", "ann@r", "@R", "/h@R", "ann@S@R", "ann\\@S@R", "ann@R@S", " @R"]
)
def test_nobody_else_has_one(principal: str) -> None:
    with pytest.raises(Wrong):
        name_of_principal(principal, "R")
