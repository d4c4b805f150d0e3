"""The text of an error: its code, what happened, and what to do next."""

import pytest

from conf.errors import BadSetting, UnreadableSettings


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (
            "x: no such key.",
            "[CW502] x: no such key. docs/reference/settings.md describes every setting.",
        ),
        (
            "x: no such key",
            "[CW502] x: no such key. docs/reference/settings.md describes every setting.",
        ),
        ("really?", "[CW502] really? docs/reference/settings.md describes every setting."),
    ],
)
def test_a_hint_follows_the_text_as_a_sentence(text: str, printed: str) -> None:
    assert str(BadSetting(text)) == printed


def test_a_text_without_a_hint_is_unchanged() -> None:
    assert str(UnreadableSettings("gone")) == "[CW501] gone"
