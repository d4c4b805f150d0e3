"""hive.cluster.properties: the clusters, their metastore views and the logins to them (DC-C3, D9).

JSON of a cluster's name to its keys; docs/reference/settings.md describes the keys.
"""

import json
import re
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from conf.names import ClusterName
from conf.settings.kinds import endpoints
from conf.settings.upstream_auth import KEYS as LOGIN_KEYS
from conf.topology import Cluster, Endpoint

FILE_SYSTEM, JOB_TRACKER, VIEW = "FileSystem", "JobTracker", "MetastoreView"
_KEYS = (FILE_SYSTEM, JOB_TRACKER, VIEW, *LOGIN_KEYS)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")

Clusters = tuple[dict[ClusterName, Cluster], dict[ClusterName, Endpoint]]
"""The clusters, and the addresses of the metastore views that are named."""


def parse_clusters(text: str) -> Clusters:
    """Raises ValueError naming the cluster and key that is wrong."""
    try:
        named = json.loads(text, object_pairs_hook=_unique)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(named, dict):
        raise ValueError("not a JSON object of clusters")
    clusters, views = {}, {}
    for name, keys in named.items():
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
    """Whether the name can be part of parameter names, folders and statements."""
    return _NAME.fullmatch(text) is not None


def _cluster(name: ClusterName, keys: Any) -> tuple[Cluster, Endpoint | None]:
    if not isinstance(keys, dict):
        raise ValueError(f"cluster {name}: not an object of {FILE_SYSTEM} and {JOB_TRACKER}")
    for key, value in keys.items():
        if key not in _KEYS:
            raise ValueError(f"cluster {name}: unknown key {key!r}{suggestion(key, _KEYS)}")
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f"cluster {name}: {key} is not a text")
    for key in (FILE_SYSTEM, JOB_TRACKER):
        if key not in keys:
            raise ValueError(f"cluster {name}: {key} is missing")
    filesystem = keys[FILE_SYSTEM].strip()
    if not urlsplit(filesystem).scheme:
        raise ValueError(f"cluster {name}: {FILE_SYSTEM}: not a URI: {filesystem!r}")
    try:
        hs2 = endpoints(keys[JOB_TRACKER])
        view = Endpoint.parse(keys[VIEW]) if VIEW in keys else None
    except ValueError as error:
        raise ValueError(f"cluster {name}: {error}") from error
    return Cluster(name, filesystem, hs2), view


def suggestion(name: str, known: tuple[str, ...]) -> str:
    """`; x was meant?` for the known name that is closest, or nothing."""
    close = get_close_matches(name, known, 1)
    return f"; {close[0]} was meant?" if close else ""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in pairs]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice!r} is named twice")
    return dict(pairs)
