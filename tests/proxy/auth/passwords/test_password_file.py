"""Lines of the password file are written and read, and errors contain no secrets."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.auth.passwords.password_file import password_line, read_passwords


def test_a_line_matches_its_password_only() -> None:
    entry = password_line("ann", "s3cret ü")
    hashed = read_passwords(f"# people\n\n{entry}\n{password_line('bob', 'x')}")
    assert set(hashed) == {"ann", "bob"}
    assert hashed["ann"].matches("s3cret ü")
    assert not hashed["ann"].matches("s3cret u")
    assert not hashed["bob"].matches("s3cret ü")
    assert "s3cret" not in entry
    assert entry.split("$")[-1] not in repr(hashed)


def test_equal_passwords_have_different_hashes() -> None:
    assert password_line("ann", "x") != password_line("ann", "x")


@pytest.mark.parametrize(
    ("user", "password"),
    [("", "x"), ("a:b", "x"), ("#a", "x"), (" a", "x"), ("a\n", "x"), ("a", "")],
)
def test_invalid_names_and_passwords_make_no_line(user: str, password: str) -> None:
    with pytest.raises(ValueError, match="the"):
        password_line(user, password)


GOOD = "$scrypt$ln=10,r=8,p=1$c2FsdHNhbHQ$" + "A" * 22


@pytest.mark.parametrize(
    "text",
    [
        "ann:hunter2",
        "ann",
        f"{GOOD}",
        f":{GOOD}",
        f"ann:{GOOD}\nann:{GOOD}",
        "ann:" + GOOD.replace("ln=10", "ln=40"),
        "ann:" + GOOD.replace("ln=10", "ln=1"),
        "ann:" + GOOD.replace("r=8", "r=4096"),
        "ann:" + GOOD[:-18],
        "ann:$scrypt$ln=15,r=8,p=1$$",
    ],
)
def test_an_invalid_line_is_reported_by_its_number_only(text: str) -> None:
    with pytest.raises(ValueError, match=r"line \d") as error:
        read_passwords(text)
    assert "hunter2" not in str(error.value)
    assert "c2Fs" not in str(error.value)


@given(st.text(max_size=200))
def test_any_text_is_read_or_rejected(text: str) -> None:
    with suppress(ValueError):
        assert all(user.strip() for user in read_passwords(text))


def test_two_names_that_normalize_to_one_are_rejected() -> None:
    ann = password_line("ann", "x")
    for other in ("Ann", "\uff41nn"):
        with pytest.raises(ValueError, match="line 2 names a user a second time"):
            read_passwords(f"{ann}\n{other}{ann.removeprefix('ann')}")
    assert set(read_passwords(password_line("\uff41nn", "x"))) == {"ann"}
