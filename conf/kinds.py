"""The types of settings: how the values of each are written, parsed and described in JSON schema.

A parser takes the text of a setting without surrounding white space. It raises ValueError, whose
message becomes part of the error that names the setting; BadValue has several messages.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import urlsplit

from conf.secrets import SecretFile
from conf.topology import Endpoint

T_co = TypeVar("T_co", covariant=True)
_E = TypeVar("_E", bound=Enum)

DAY = 86_400.0  # seconds
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|sec|m|min|h|)")
_UNITS = {"ms": 0.001, "": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_HIVE_DURATION = re.compile(r"(-?\d+(?:\.\d+)?)\s*([a-z]*)")
_HIVE_UNITS = {"": 1e-3, "us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0}
_HIVE_UNITS |= {"m": 60.0, "min": 60.0, "minutes": 60.0, "h": 3600.0, "hour": 3600.0, "hours": 3600}
_HIVE_UNITS |= {"d": DAY, "day": DAY, "days": DAY, "seconds": 1.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmgtp]?)b?")
_SIZES = {unit: 1 << 10 * power for power, unit in enumerate(("", *"kmgtp"))}


class BadValue(ValueError):
    """A value with one or more wrong parts. `partial` is the value without these; None if nothing
    is left."""

    def __init__(self, reasons: Sequence[str], partial: object = None) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)
        self.partial = partial


class Faults:
    """Collects messages about the wrong parts of a value."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    @contextmanager
    def collected(self, prefix: str = "") -> Iterator[None]:
        """Collects the messages of a ValueError that the block raises, each after `prefix`."""
        try:
            yield
        except ValueError as error:
            reasons = error.reasons if isinstance(error, BadValue) else (str(error),)
            self.reasons += [prefix + each for each in reasons]

    def check(self, partial: object = None) -> None:
        """Raises BadValue with the collected messages, if there are any."""
        if self.reasons:
            raise BadValue(self.reasons, partial)


@dataclass(frozen=True, slots=True)
class SettingKind(Generic[T_co]):
    """A type of settings.

    `name` is what the documentation calls it, `parse` makes the value of a text, `schema` is the
    JSON schema of a value in a TOML file, and `empty` is the value of a setting without a default.
    """

    name: str
    parse: Callable[[str], T_co]
    schema: Mapping[str, object] = field(default_factory=lambda: {"type": "string"})
    empty: T_co | None = None


def port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise ValueError(f"not a port: {text!r}")
    return int(text)


def flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"neither true nor false: {text!r}")
    return text.lower() == "true"


def count(text: str) -> int:
    if not text.isdigit():
        raise ValueError(f"not a number: {text!r}")
    return int(text)


def positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise ValueError(f"not a number above 0: {text!r}")
    return int(text)


def size(text: str) -> int:
    """Bytes, written as a number, or as `64m`, `1.5g` or `20TB` in powers of 1024."""
    match = _SIZE.fullmatch(text.lower())
    if match is None:
        raise ValueError(f"not a size such as 1000000, 64m or 1g: {text!r}")
    number, unit = match[1], _SIZES[match[2]]
    return int(float(number) * unit) if "." in number else int(number) * unit


def seconds(text: str) -> float:
    """Seconds above 0, written as `20`, `20s`, `500ms` or `5m`."""
    match = _DURATION.fullmatch(text.lower())
    if match is None or float(match[1]) == 0:
        raise ValueError(f"not a time such as 20, 20s or 500ms: {text!r}")
    return float(match[1]) * _UNITS[match[2]]


def seconds_or_never(text: str) -> float:
    """As `seconds`, and 0.0 for `0`."""
    return 0.0 if text == "0" else seconds(text)


def hive_seconds(text: str) -> float:
    """The seconds of a time in Hive's form, in which a number without a unit is milliseconds."""
    match = _HIVE_DURATION.fullmatch(text.lower())
    if match is None or match[2] not in _HIVE_UNITS:
        raise ValueError(f"not a time such as 3600000, 30min or 7d: {text!r}")
    return float(match[1]) * _HIVE_UNITS[match[2]]


def comma_separated(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def comma_separated_lower(text: str) -> tuple[str, ...]:
    return comma_separated(text.lower())


def endpoints(text: str) -> tuple[Endpoint, ...]:
    """Parses `host:port[,host:port]`. Raises ValueError."""
    return tuple(Endpoint.parse(each) for each in text.split(","))


def http_url(text: str) -> str:
    url = urlsplit(text)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(f"not http://.. or https://..: {text!r}")
    return text


def existing_file(text: str) -> Path:
    if not Path(text).is_file():
        raise ValueError(f"no such file: {text}")
    return Path(text)


def choice(enum: type[_E]) -> SettingKind[_E]:
    """The type of a setting with the values of `enum`, which may be written in any case."""
    values = [each.value for each in enum]

    def parse(text: str) -> _E:
        for each in enum:
            if each.value.lower() == text.lower():
                return each
        raise ValueError(f"{text!r} is not one of {', '.join(values)}")

    return SettingKind(" or ".join(f"`{each}`" for each in values), parse, {"enum": values})


_NUMBER_OR_TEXT = ("integer", "string")
_LIST = {"type": ["string", "array"], "items": {"type": "string"}}

TEXT = SettingKind("text", str, empty="")
PORT = SettingKind("port", port, {"type": _NUMBER_OR_TEXT, "minimum": 1, "maximum": 65535})
FLAG = SettingKind("`true` or `false`", flag, {"type": ["boolean", "string"]})
COUNT = SettingKind("number", count, {"type": _NUMBER_OR_TEXT, "minimum": 0})
POSITIVE = SettingKind("number above 0", positive, {"type": _NUMBER_OR_TEXT, "minimum": 1})
SIZE = SettingKind("bytes", size, {"type": _NUMBER_OR_TEXT, "minimum": 0})
DURATION = SettingKind("time", seconds, {"type": _NUMBER_OR_TEXT})
DURATION_OR_NEVER = SettingKind("time, or `0`", seconds_or_never, {"type": _NUMBER_OR_TEXT})
HIVE_DURATION = SettingKind("Hive time", hive_seconds, {"type": _NUMBER_OR_TEXT})
LIST: SettingKind[tuple[str, ...]] = SettingKind("list", comma_separated, _LIST, ())
LOWER_LIST: SettingKind[tuple[str, ...]] = SettingKind("list", comma_separated_lower, _LIST, ())
LOWER_SET: SettingKind[frozenset[str]] = SettingKind(
    "list", lambda text: frozenset(comma_separated_lower(text)), _LIST, frozenset()
)
ENDPOINT = SettingKind("`host:port`", Endpoint.parse)
HTTP_URL = SettingKind("URL", http_url)
ENDPOINTS: SettingKind[tuple[Endpoint, ...]] = SettingKind(
    "list of `host:port`", endpoints, _LIST, ()
)
PATH = SettingKind("path", Path)
FILE = SettingKind("file", existing_file)
SECRET_PATH = SettingKind("secret file", lambda text: SecretFile(Path(text)))
SECRET_FILE = SettingKind("secret file", lambda text: SecretFile(existing_file(text)))
