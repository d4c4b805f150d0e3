"""Reads Hive SQL scripts, replaces their parameters, and splits them into statements."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pipeline.falcon.entities.cluster import Cluster
from pipeline.processes.errors import NoScript

MAX_BYTES = 4 << 20
_VARIABLE = re.compile(r"\$\{(?:hivevar:|hiveconf:)?([A-Za-z0-9_.\-]{1,200})\}")


ReadRemote = Callable[[str], str | None]
"""The text of a file by its URI; None if it does not exist. Raises CopyError."""


def located(path: str, cluster: Cluster) -> str:
    """The location of a workflow's file. A path without a scheme is local if such a file exists,
    else in the cluster's file system, as in Falcon.
    """
    if urlsplit(path).scheme or Path(path).exists():
        return path
    write = cluster.endpoint("write") or ""
    if urlsplit(write).scheme in ("", "file"):
        return path
    return f"{write.rstrip('/')}/{path.lstrip('/')}"


def read_script(path: str, cluster: Cluster, read_remote: ReadRemote) -> str:
    """The text of the script at a workflow's path. Raises NoScript, CopyError."""
    uri = located(path, cluster)
    parts = urlsplit(uri)
    if parts.scheme not in ("", "file"):
        return _remote_script(uri, read_remote)
    local = unquote(parts.path) if parts.scheme else uri
    try:
        with open(local, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise NoScript(f"workflow {local}: {error.strerror}") from error
    _check_size(local, data)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise NoScript(f"workflow {local} is not UTF-8", final=True) from None


def _remote_script(uri: str, read_remote: ReadRemote) -> str:
    text = read_remote(uri)
    if text is None:
        raise NoScript(f"workflow {uri} does not exist")
    _check_size(uri, text)
    if "\N{REPLACEMENT CHARACTER}" in text:
        raise NoScript(f"workflow {uri} is not UTF-8", final=True)
    return text


def _check_size(path: str, data: str | bytes) -> None:
    if len(data) > MAX_BYTES:
        raise NoScript(f"workflow {path} is larger than {MAX_BYTES} bytes", final=True)


def fill_in(sql: str, values: Mapping[str, str]) -> str:
    """The text with the values of `${name}` and `${hivevar:name}`; unknown names stay."""
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
    """The position after the quoted text that begins at `at`."""
    quote, stop = script[at], at + 1
    while stop < len(script):
        if script[stop] == "\\" and quote != "`":
            stop += 2
        elif script[stop] == quote:
            return stop + 1
        else:
            stop += 1
    return len(script)
