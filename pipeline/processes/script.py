"""Reads Hive SQL scripts, replaces their parameters, and splits them into statements."""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pipeline.processes.errors import NoScript

MAX_BYTES = 4 << 20
_VARIABLE = re.compile(r"\$\{(?:hivevar:|hiveconf:)?([A-Za-z0-9_.\-]{1,200})\}")


def local_path(text: str, what: str = "workflow") -> Path:
    """A plain path or file: URI. Raises NoScript for other file systems."""
    parts = urlsplit(text)
    if parts.scheme not in ("", "file"):
        raise NoScript(f"{what} {text}: only local files (or file:) are read here", final=True)
    return Path(unquote(parts.path))


def read_script(text: str) -> str:
    """The script at a workflow's path. Raises NoScript."""
    path = local_path(text)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise NoScript(f"workflow {path}: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise NoScript(f"workflow {path} is larger than {MAX_BYTES} bytes", final=True)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise NoScript(f"workflow {path} is not UTF-8", final=True) from None


def fill_in(sql: str, values: Mapping[str, str]) -> str:
    """`${name}` and `${hivevar:name}` replaced where `values` has the name; others stay."""
    return _VARIABLE.sub(lambda match: values.get(match[1], match[0]), sql)


def statements(script: str) -> list[str]:
    """The statements of a script, split at semicolons outside quotes, without comments."""
    found: list[str] = []
    current: list[str] = []
    at, end = 0, len(script)
    while at < end:
        char = script[at]
        if script.startswith("--", at):
            stop = script.find("\n", at)
            at = end if stop < 0 else stop
        elif script.startswith("/*", at) and not script.startswith("/*+", at):
            stop = script.find("*/", at + 2)
            at = end if stop < 0 else stop + 2
            current.append(" ")
        elif char in "'\"`":
            stop = _quote_end(script, at)
            current.append(script[at:stop])
            at = stop
        elif char == ";":
            found.append("".join(current).strip())
            current, at = [], at + 1
        else:
            current.append(char)
            at += 1
    found.append("".join(current).strip())
    return [each for each in found if each]


def _quote_end(script: str, at: int) -> int:
    quote, stop = script[at], at + 1
    while stop < len(script):
        if script[stop] == "\\" and quote != "`":
            stop += 2
        elif script[stop] == quote:
            return stop + 1
        else:
            stop += 1
    return len(script)
