"""Reads settings: from a hive-site.xml, from Causeway's own TOML, or from an endpoints.json.

The first two hold the same names. A TOML table stands for the dotted names below it, so that
`[hive.metastore] uris = "thrift://..."` is `hive.metastore.uris`; `hive.cluster.properties` may
be a table too. Whatever the file, settings become text by name first (`properties`) and are
validated in one place (`settings_from`).
"""

import json
import re
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from conf import secrets
from conf.errors import BadSetting, UnreadableSettings
from conf.names import ClusterName
from conf.settings import authentication, operating, restrictions, transports, view_limits
from conf.settings.parse import Reader, choice, flag, port, positive, seconds
from conf.settings.settings import (
    Coverage,
    Metadata,
    Settings,
    Writers,
)
from conf.settings.upstream_auth import KEYS as LOGIN_KEYS
from conf.settings.upstream_auth import Login, parse_login, parse_logins
from conf.topology import Cluster, Endpoint, Topology

CLUSTERS = "hive.cluster.properties"
DEFAULT_CLUSTER = "hive.default.cluster.name"
USE_DEFAULT = "hive.use.default.cluster"
METASTORES = "hive.metastore.uris"
BIND_HOST = "hive.server2.thrift.bind.host"
PORT = "hive.server2.thrift.port"
COVERAGE = "router.coverage"
UPSTREAM = "proxy.upstream"
LOGIN = "proxy.login"
SNAPSHOT_TTL = "snapshot.ttl"
SNAPSHOT_LIMIT = "snapshot.limit"
SNAPSHOT_WRITERS = "snapshot.writers"
METADATA = "proxy.metadata"
METASTORE_TIMEOUT = "metastore.timeout"

NAMES = (
    CLUSTERS,
    DEFAULT_CLUSTER,
    USE_DEFAULT,
    METASTORES,
    BIND_HOST,
    PORT,
    COVERAGE,
    UPSTREAM,
    LOGIN,
    SNAPSHOT_TTL,
    SNAPSHOT_LIMIT,
    SNAPSHOT_WRITERS,
    METADATA,
    METASTORE_TIMEOUT,
    *operating.NAMES,
    *transports.NAMES,
    *authentication.NAMES,
    *restrictions.NAMES,
    *secrets.NAMES,
    *view_limits.NAMES,
)

_CLUSTER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_FILE_SYSTEM, _JOB_TRACKER, _VIEW = "FileSystem", "JobTracker", "MetastoreView"
_KEYS = (_FILE_SYSTEM, _JOB_TRACKER, _VIEW, *LOGIN_KEYS)

_Clusters = tuple[dict[ClusterName, Cluster], dict[ClusterName, Endpoint]]


def load(path: Path) -> Settings:
    """The settings in a `.xml`, `.toml` or `.json` file.

    Raises UnreadableSettings, or BadSetting naming file, key and reason.
    """
    return settings_from(properties(path), str(path))


def properties(path: Path) -> dict[str, str]:
    """Settings by name, as text and not yet validated. Raises UnreadableSettings, BadSetting."""
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


def settings_from(values: Mapping[str, str], source: str) -> Settings:
    """Validate settings by name; `source` is named in errors. Raises BadSetting."""

    reader = Reader(values, source)
    read = reader.read
    none: _Clusters = ({}, {})
    clusters, views = read(CLUSTERS, parse_clusters, none)
    without: dict[ClusterName, Login] = {}
    shared = secrets.shared(reader)
    default = read(DEFAULT_CLUSTER, ClusterName, None)
    if clusters and default not in clusters:
        what = f"{default!r} is not" if default else "missing; it has to be"
        raise BadSetting(f"{source}: {DEFAULT_CLUSTER}: {what} one of {', '.join(clusters)}.")
    writers = read(SNAPSHOT_WRITERS, choice(Writers), Writers.ANY)
    unseen = ", ".join(name for name in clusters if name not in views)
    if writers is Writers.VIEWS and (unseen or not clusters):
        raise BadSetting(
            f"{source}: {SNAPSHOT_WRITERS}: what changes through {unseen or 'no view'} is not told:"
            f" each cluster needs its {_VIEW}."
        )
    listen = Endpoint(read(BIND_HOST, str, "127.0.0.1"), read(PORT, port, 10000))
    return Settings(
        topology=Topology(clusters, default, read(USE_DEFAULT, flag, False)),
        metastores=read(METASTORES, _thrift_uris, ()),
        listen=listen,
        coverage=read(COVERAGE, choice(Coverage), Coverage.READ),
        upstream=read(UPSTREAM, _hs2, ()),
        upstream_login=read(LOGIN, lambda text: parse_login(text, shared), Login()),
        logins=read(CLUSTERS, lambda text: parse_logins(text, shared), without),
        views=views,
        snapshot_ttl=read(SNAPSHOT_TTL, seconds, 60.0),
        snapshot_limit=read(SNAPSHOT_LIMIT, positive, 10_000),
        metastore_timeout=read(METASTORE_TIMEOUT, seconds, 20.0),
        writers=writers,
        metadata=read(METADATA, choice(Metadata), Metadata.MEMORY),
        operating=operating.read(reader),
        doors=transports.read(reader),
        identity=authentication.read(reader),
        restrictions=_restrictions(reader, bool(clusters)),
        view_limits=view_limits.read(reader),
    )


def _restrictions(reader: Reader, in_use: bool) -> restrictions.Restrictions:
    """Raises BadSetting for lists that nothing would enforce."""
    named = next((name for name in restrictions.NAMES if reader.values.get(name, "").strip()), None)
    if named is not None and not in_use:
        reason = f"needs {CLUSTERS}: without clusters no statement is looked at"
        raise reader.bad(named, reason)
    return restrictions.read(reader)


def parse_clusters(text: str) -> _Clusters:
    """hive.cluster.properties: the clusters, and their metastore views where named (DC-C3, D9).

    Raises ValueError saying which cluster and key is wrong.
    """
    try:
        told = json.loads(text, object_pairs_hook=_once)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(told, dict):
        raise ValueError("not a JSON object of clusters")
    clusters, views = {}, {}
    for name, keys in told.items():
        if not is_cluster_name(name):
            raise ValueError(
                f"{name!r} is not a cluster name (a letter, then letters, digits, '_' and '-',"
                " at most 64)"
            )
        cluster, view = _cluster(ClusterName(name), keys)
        clusters[cluster.name] = cluster
        if view:
            views[cluster.name] = view
    return clusters, views


def is_cluster_name(text: str) -> bool:
    """Short and plain: it is part of parameter names, folders and statements."""
    return _CLUSTER_NAME.fullmatch(text) is not None


def _cluster(name: ClusterName, keys: Any) -> tuple[Cluster, Endpoint | None]:
    if not isinstance(keys, dict):
        raise ValueError(f"cluster {name}: not an object of {_FILE_SYSTEM} and {_JOB_TRACKER}")
    for key, value in keys.items():
        if key not in _KEYS:
            raise ValueError(f"cluster {name}: unknown key {key!r}{_meant(key)}")
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"cluster {name}: {key} is not a text")
    for key in (_FILE_SYSTEM, _JOB_TRACKER):
        if key not in keys:
            raise ValueError(f"cluster {name}: {key} is missing")
    filesystem = keys[_FILE_SYSTEM].strip()
    if not urlsplit(filesystem).scheme:
        raise ValueError(f"cluster {name}: {_FILE_SYSTEM}: not a URI: {filesystem!r}")
    try:
        hs2 = _hs2(keys[_JOB_TRACKER])
        view = Endpoint.parse(keys[_VIEW]) if _VIEW in keys else None
    except ValueError as error:
        raise ValueError(f"cluster {name}: {error}") from error
    return Cluster(name, filesystem, hs2), view


def _meant(key: str) -> str:
    close = get_close_matches(key, _KEYS, 1)
    return f"; {close[0]} was meant?" if close else ""


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in pairs]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice!r} is named twice")
    return dict(pairs)


def _hs2(text: str) -> tuple[Endpoint, ...]:
    return tuple(Endpoint.parse(each) for each in text.split(","))


def _thrift_uris(text: str) -> tuple[Endpoint, ...]:
    endpoints = []
    for each in text.split(","):
        uri = urlsplit(each.strip())
        if uri.scheme != "thrift":
            raise ValueError(f"not thrift://host:port: {each.strip()!r}")
        endpoints.append(Endpoint.parse(uri.netloc))
    return tuple(endpoints)


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
    """Hadoop's `${name}`, as often as Hadoop follows it; what has no value stays as it is."""
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
    values = dict(_flattened(tables, ""))
    for name in values:
        # A hive-site.xml is other programs' too; this file is ours, so a wrong name is an error.
        if name not in NAMES and not authentication.is_rule(name):
            close = get_close_matches(name, NAMES, 1)
            meant = f"; {close[0]} was meant?" if close else ""
            raise BadSetting(f"{source}: {name}: no such setting{meant}.")
    return values


def _flattened(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        name = prefix + key
        if isinstance(value, dict) and name not in (CLUSTERS, LOGIN):
            yield from _flattened(value, f"{name}.")
        elif isinstance(value, list):
            yield name, ",".join(str(each) for each in value)
        elif isinstance(value, bool | dict):
            yield name, json.dumps(value)
        else:
            yield name, str(value)


def _from_endpoints(text: str, source: str) -> dict[str, str]:
    """What `causeway up` wrote. The first cluster is the default one."""
    try:
        told = json.loads(text)
        clusters = {name: _endpoint_keys(each) for name, each in told["clusters"].items()}
        values = {
            CLUSTERS: json.dumps(clusters),
            DEFAULT_CLUSTER: next(iter(clusters), ""),
            METASTORES: str(told["metastore"]["uri"]),
        }
        if told.get("proxy"):
            values[BIND_HOST] = str(told["proxy"]["host"])
            values[PORT] = str(told["proxy"]["port"])
        if told.get("admin"):
            values[operating.ADMIN_HOST] = str(told["admin"]["host"])
            values[operating.ADMIN_PORT] = str(told["admin"]["port"])
            values[operating.ADMIN_TOKEN] = str(told["admin"]["token_file"])
        return values
    except json.JSONDecodeError as error:
        raise UnreadableSettings(f"{source}: not JSON: {error}.") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise UnreadableSettings(f"{source}: not what `causeway up` writes: {error!r}.") from error


def _endpoint_keys(told: Mapping[str, str]) -> dict[str, str]:
    keys = {_FILE_SYSTEM: told["filesystem"], _JOB_TRACKER: told["hs2"]}
    if "metastore" in told:
        keys[_VIEW] = told["metastore"].removeprefix("thrift://")
    return keys
