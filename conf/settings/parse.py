"""One setting from its text: what each kind of value looks like, and the error that names it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from conf.errors import BadSetting

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|sec|m|min|h|)")
_SECONDS = {"ms": 0.001, "": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}

_T = TypeVar("_T")
_E = TypeVar("_E", bound=Enum)


@dataclass(frozen=True, slots=True)
class Reader:
    """Settings by name, as text; `source` is named in errors."""

    values: Mapping[str, str]
    source: str

    def read(self, name: str, parse: Callable[[str], _T], default: _T) -> _T:
        """The value; `default` where there is none. Raises BadSetting where `parse` raises
        ValueError."""
        text = self.values.get(name, "").strip()
        if not text:
            return default
        try:
            return parse(text)
        except ValueError as error:
            raise self.bad(name, str(error)) from error

    def bad(self, name: str, reason: str) -> BadSetting:
        return BadSetting(f"{self.source}: {name}: {reason}.")


def port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise ValueError(f"not a port: {text!r}")
    return int(text)


def flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"neither true nor false: {text!r}")
    return text.lower() == "true"


def positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise ValueError(f"not a number above 0: {text!r}")
    return int(text)


def seconds(text: str) -> float:
    match = _DURATION.fullmatch(text.lower())
    if match is None or float(match[1]) == 0:
        raise ValueError(f"not a time such as 20, 20s or 500ms: {text!r}")
    return float(match[1]) * _SECONDS[match[2]]


def choice(kind: type[_E]) -> Callable[[str], _E]:
    def parse(text: str) -> _E:
        for each in kind:
            if each.value.lower() == text.lower():
                return each
        raise ValueError(f"{text!r} is not one of {', '.join(each.value for each in kind)}")

    return parse
