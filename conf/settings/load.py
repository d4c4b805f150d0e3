"""Reads a settings file: a hive-site.xml, Causeway's own TOML, or an endpoints.json.

The first two have the same names of settings. A TOML table stands for the dotted names below it, so
`[hive.metastore] uris = "thrift://..."` is `hive.metastore.uris`; `hive.cluster.properties` may be
a table too. Every file is first read as texts by name (`properties`), which are then validated in
one place (`read_settings`).
"""

import json
import re
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from conf.errors import BadSettings, Problem, UnreadableSettings
from conf.settings.catalog import NAMES
from conf.settings.clusters import FILE_SYSTEM, JOB_TRACKER, VIEW, suggestion
from conf.settings.console import LOGIN as CONSOLE_LOGIN
from conf.settings.security.authentication import is_rule
from conf.settings.settings import CLUSTERS, LOGIN, Settings, read_settings

_OWN_FAMILIES = {name.partition(".")[0] for name in NAMES} - {"hive", "hadoop"}
_ALIKE = 0.95  # similarity of a name in hive-site.xml to one of Causeway's
_TABLES = (CLUSTERS.name, LOGIN.name, CONSOLE_LOGIN.name)  # settings that are tables


def load(path: Path, instead: Mapping[str, str] | None = None) -> Settings:
    """The settings in a `.xml`, `.toml` or `.json` file. Values in `instead` replace the file's.

    Raises UnreadableSettings, or BadSettings with the file, and the key and reason of each problem.
    """
    examined = examine(path, instead)
    if examined.problems:
        raise BadSettings(str(path), examined.problems)
    return examined.settings


@dataclass(frozen=True, slots=True)
class Examined:
    """The settings of a file as far as they are right, the problems, and `doubtful` names, which
    are probably misspelt, but may be settings of other programs."""

    settings: Settings
    problems: tuple[Problem, ...]
    doubtful: tuple[Problem, ...]


def examine(path: Path, instead: Mapping[str, str] | None = None) -> Examined:
    """Reads a file, and finds everything that is wrong in it. Raises UnreadableSettings."""
    values = properties(path) | dict(instead or {})
    settings, problems = read_settings(values)
    unknown = [_unknown(name) for name in values if name not in NAMES and not is_rule(name)]
    if path.suffix == ".toml":
        return Examined(settings, (*unknown, *problems), ())
    # A hive-site.xml may have settings of other programs too.
    doubtful = (each for each in unknown if _is_doubtful(each.name))
    return Examined(settings, tuple(problems), tuple(doubtful))


def _unknown(name: str) -> Problem:
    reason = f"no such setting{suggestion(name, NAMES)}"
    return Problem(name, reason, "a name that `causeway settings` lists, or remove it")


def _is_doubtful(name: str) -> bool:
    """Whether the name was probably meant for Causeway."""
    family = name.partition(".")[0]
    return family in _OWN_FAMILIES or bool(get_close_matches(name, NAMES, 1, _ALIKE))


def properties(path: Path) -> dict[str, str]:
    """The texts of the settings in a file by name, not validated. Raises UnreadableSettings."""
    readers = {".xml": _from_hive_site, ".toml": _from_toml, ".json": _from_endpoints}
    reader = readers.get(path.suffix)
    if reader is None:
        raise UnreadableSettings(f"{path}: neither .xml nor .toml nor .json.")
    try:
        return reader(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise UnreadableSettings(f"{path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UnreadableSettings(f"{path}: not UTF-8 text.") from error


def _from_hive_site(text: str, source: str) -> dict[str, str]:
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise UnreadableSettings(f"{source}: not XML: {error}.") from error
    if root.tag != "configuration":
        raise UnreadableSettings(f"{source}: <{root.tag}> where <configuration> was expected.")
    values = {}
    for each in root.iter("property"):
        name = (each.findtext("name") or "").strip()
        if name:
            values[name] = each.findtext("value") or ""
    return {name: _substituted(value, values) for name, value in values.items()}


def _substituted(value: str, values: Mapping[str, str]) -> str:
    """Replaces `${name}` by the value of that name, as many times in turn as Hadoop does. A name
    without a value stays as it is."""
    for _ in range(20):
        changed = re.sub(r"\$\{([^}$\s]+)\}", lambda m: values.get(m[1], m[0]), value)
        if changed == value:
            break
        value = changed
    return value


def _from_toml(text: str, source: str) -> dict[str, str]:
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UnreadableSettings(f"{source}: not TOML: {error}.") from error
    return dict(_flattened(tables, ""))


def _flattened(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        name = prefix + key
        if isinstance(value, dict) and name not in _TABLES:
            yield from _flattened(value, f"{name}.")
        elif isinstance(value, list):
            yield name, ",".join(str(each) for each in value)
        elif isinstance(value, bool | dict):
            yield name, json.dumps(value)
        else:
            yield name, str(value)


def _from_endpoints(text: str, source: str) -> dict[str, str]:
    """The settings in an endpoints.json of `causeway up`. Its first cluster is the default one."""
    try:
        written = json.loads(text)
        clusters = {name: _cluster_keys(each) for name, each in written["clusters"].items()}
        values = {
            "hive.cluster.properties": json.dumps(clusters),
            "hive.default.cluster.name": next(iter(clusters), ""),
            "hive.metastore.uris": str(written["metastore"]["uri"]),
        }
        if written.get("proxy"):
            values["hive.server2.thrift.bind.host"] = str(written["proxy"]["host"])
            values["hive.server2.thrift.port"] = str(written["proxy"]["port"])
        if written.get("admin"):
            values["proxy.admin.host"] = str(written["admin"]["host"])
            values["proxy.admin.port"] = str(written["admin"]["port"])
            values["proxy.admin.token.file"] = str(written["admin"]["token_file"])
        return values
    except json.JSONDecodeError as error:
        raise UnreadableSettings(f"{source}: not JSON: {error}.") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise UnreadableSettings(f"{source}: not what `causeway up` writes: {error!r}.") from error


def _cluster_keys(written: Mapping[str, str]) -> dict[str, str]:
    keys = {FILE_SYSTEM: written["filesystem"], JOB_TRACKER: written["hs2"]}
    if "metastore" in written:
        keys[VIEW] = written["metastore"].replace("thrift://", "")
    return keys
