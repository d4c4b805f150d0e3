"""Checks of simple values in entity documents. Each returns None, or the reason of a refusal.

All of them are linear in the text. The published patterns are not: those for names and tags
backtrack exponentially, so they are written here as the languages that they describe (FA-E6).
"""

import re
import unicodedata
from collections.abc import Callable

Check = Callable[[str], str | None]

_NAME = re.compile(r"[a-zA-Z][-a-zA-Z0-9]*")
_FREQUENCY = re.compile(r"(?:minutes|hours|days|months)\([1-9][0-9]*\)")
_CLOCK = r"[- /.](?:0[1-9]|1[012])[- /.](?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]Z"
_FEED_TIME = re.compile(r"(?:19|20)[0-9][0-9]" + _CLOCK)
_PROCESS_TIME = re.compile(r"[12][0-9][0-9][0-9]" + _CLOCK)
# Matches a text in which every word character was replaced by "w". No separator begins with a word
# character, so it does not backtrack.
_PIPELINES = re.compile(r"w+(?:(?:, *| +)w+)*")
_INTEGER = re.compile(r"[-+]?[0-9]{1,40}")
_XML_SPACE = " \t\r\n"


def anything(_text: str) -> str | None:
    return None


def not_empty(text: str) -> str | None:
    return None if text else "must not be empty"


def name(text: str) -> str | None:
    if _NAME.fullmatch(text):
        return None
    if "##" in text:
        return f"{text!r} is a placeholder: substitute it first"
    return f"{text!r} is not a name: a letter, then letters, digits and '-'"


def frequency(text: str) -> str | None:
    if _FREQUENCY.fullmatch(text):
        return None
    return f"{text!r} is not minutes(n), hours(n), days(n) or months(n) with n of 1 or more"


def feed_time(text: str) -> str | None:
    return None if _FEED_TIME.fullmatch(text) else f"{text!r} is not a time yyyy-MM-ddTHH:mmZ"


def process_time(text: str) -> str | None:
    return None if _PROCESS_TIME.fullmatch(text) else f"{text!r} is not a time yyyy-MM-ddTHH:mmZ"


def one_of(*words: str) -> Check:
    known = frozenset(words)

    def check(text: str) -> str | None:
        return None if text in known else f"{text!r} is not one of {', '.join(words)}"

    return check


def integer(low: int, high: int) -> Check:
    def check(text: str) -> str | None:
        trimmed = text.strip(_XML_SPACE)
        if _INTEGER.fullmatch(trimmed) and low <= int(trimmed) <= high:
            return None
        return f"{text!r} is not a whole number from {low} to {high}"

    return check


def boolean(text: str) -> str | None:
    known = ("true", "false", "1", "0")
    return None if text.strip(_XML_SPACE) in known else f"{text!r} is not true or false"


def tags(text: str) -> str | None:
    """`key=value, key=value`: keys of word characters, values of anything but a comma."""
    if not text:
        return None
    for number, pair in enumerate(text.split(",")):
        if not (number == 0 and pair == "") and not _is_pair(pair.lstrip(" ")):
            return f"{pair!r} is not key=value with a key of letters, digits and '_'"
    return None


def _is_pair(pair: str) -> bool:
    for at, char in enumerate(pair):
        if char == "=" and at > 0:
            return at + 1 < len(pair)
        if not (_is_word(char) or char == "_"):
            return False
    return False


def pipelines(text: str) -> str | None:
    """Names of word characters and '+', with a comma, spaces or both between them."""
    shape = "".join("w" if _is_word(char) or char in "+_" else char for char in text)
    return None if _PIPELINES.fullmatch(shape) else f"{text!r} is not a list of pipelines"


def groups(text: str) -> str | None:
    if all(part and all(map(_is_word, part)) for part in text.split(",")):
        return None
    return f"{text!r} is not a list of groups: words with commas between, no spaces"


def _is_word(char: str) -> bool:
    """XML Schema's \\w: everything but punctuation, separators and control characters."""
    return unicodedata.category(char)[0] not in "PZC"
