"""Text from outside cannot act on a terminal or forge a line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conf.logs.printable import escaped, json_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain 'text' ünïcode 表 \\", "plain 'text' ünïcode 表 \\"),
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\r\nb\tc\0", "a\\r\\nb\\tc\\x00"),
        ("\x9b31m\x7f\x85", "\\x9b31m\\x7f\\x85"),
        ("user\u202etxt.exe\u2066\u200f", "user\\u202etxt.exe\\u2066\\u200f"),
        ("a\u2028b\u2029c\ufeff\u200b", "a\\u2028b\\u2029c\\ufeff\\u200b"),
        ("\U000e0041\ud800", "\\U000e0041\\ud800"),
    ],
)
def test_characters_that_are_not_printable_are_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_characters_to_keep_are_not_escaped() -> None:
    assert escaped("a\n\tb\x1b", keep="\n\t") == "a\n\tb\\x1b"


@pytest.mark.slow
@given(st.text())
def test_any_text_becomes_printable(text: str) -> None:
    assert escaped(text).isprintable()


@pytest.mark.slow
@given(st.recursive(st.none() | st.text() | st.integers(), st.lists))
def test_json_is_the_same_value_in_one_printable_line(value: object) -> None:
    text = json_text(value)
    assert text.isprintable()
    assert json.loads(text) == value
    shown = json_text(value, indent=2)
    assert escaped(shown, keep="\n") == shown
    assert json.loads(shown) == value
