"""Statements and errors without the secrets that they name.

A key that sounds like a secret hides what follows it, in SET, OPTIONS, TBLPROPERTIES, URLs and
JSON alike. That may hide too much; it must not hide too little. Every repetition is possessive or
bounded, so that no text takes long.
"""

import re

MASK = "***"

_SECRET = (
    r"(?:pass(?:word|wd|phrase|code)|pwd|secret|token|credential|signature|"
    r"(?:access|account|api|secret|private|encryption|shared|sas|auth)[-_.]?key)"
)
_KEY = rf"{_SECRET}[\w.\-]{{0,256}}+['\"`]?+"
_QUOTED = r"'(?:[^'\\]|\\.|'')*+'?+|\"(?:[^\"\\]|\\.|\"\")*+\"?+|`[^`]*+`?+"
_BARE = r"[^\s,;)&'\"`]++"
_PAIR = re.compile(
    rf"(?P<key>{_KEY})"
    rf"(?:(?P<told>\s*+(?:=>|=|:)\s*+)(?P<value>{_QUOTED}|{_BARE})|(?P<space>\s*+)(?P<text>{_QUOTED}))",
    re.IGNORECASE | re.DOTALL,
)
_IDENTIFIED = re.compile(rf"(\bidentified\s{{1,100}}+by\s{{1,100}}+)(?:{_QUOTED}|{_BARE})", re.I)
_IN_URI = re.compile(r"(://[^\s/@:'\"]{0,256}+:)[^\s@'\"]{1,1024}+(?=@)")
_SET = re.compile(r"\s*+set\s++(?P<key>[^\s=]{1,512}+)\s*+=\s*+", re.IGNORECASE)
_SOUNDS_SECRET = re.compile(_SECRET, re.IGNORECASE)


def masked(text: str) -> str:
    """The text with a mask in the place of every secret that can be told by its name."""
    setting = _SET.match(text)
    if setting is not None and _SOUNDS_SECRET.search(setting["key"]):
        return text[: setting.end()] + MASK  # all that follows is the value, whatever is in it
    text = _PAIR.sub(_mask, text)
    text = _IDENTIFIED.sub(rf"\1{MASK}", text)
    return _IN_URI.sub(rf"\1{MASK}", text)


def _mask(match: re.Match[str]) -> str:
    value = match["value"] or match["text"]
    quote = value[0] if value[0] in "'\"`" else ""
    return f"{match['key']}{match['told'] or match['space']}{quote}{MASK}{quote}"
