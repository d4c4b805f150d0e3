"""Names that a directory may take for one user."""

import pytest

from conf.access.user_names import exact, loose, short


@pytest.mark.parametrize(
    "name",
    ["Ann", "ANN", "ann@EXAMPLE.COM", "ann/admin", "\uff41\uff4e\uff4e", "a\u0301nn", "an\u200dn"],
)
def test_similar_names_have_one_key(name: str) -> None:
    assert loose(name) == loose("ann")


def test_other_names_have_other_keys() -> None:
    assert loose("anna") != loose("ann")
    assert loose("\u200d") == "\u200d"


def test_the_exact_name_keeps_case_and_accents() -> None:
    assert exact("\uff21nn") == "Ann" != exact("ann")
    assert exact("a\u0301") == exact("\u00e1")


def test_the_short_name_ends_before_the_domain() -> None:
    assert [short(each) for each in ("a@b/c", "/a", "@a", "a/b@c")] == ["a", "/a", "@a", "a"]
