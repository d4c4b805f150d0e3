"""hive.cluster.properties: the clusters, their metastore views and the logins to them (DC-C3, D9).

Its value is a JSON object, which has an object of keys for each cluster's name.
docs/reference/settings.md describes the keys.
"""

import re
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from conf.kinds import Faults, comma_separated, endpoints, http_url
from conf.names import ClusterName
from conf.settings.security.upstream_auth import KEYS as LOGIN_KEYS
from conf.settings.security.upstream_auth import json_object
from conf.topology import Cluster, Endpoint

FILE_SYSTEM, JOB_TRACKER, VIEW = "FileSystem", "JobTracker", "MetastoreView"
RESOURCE_MANAGER, MASTER = "ResourceManager", "SparkMaster"
_KEYS = (FILE_SYSTEM, JOB_TRACKER, VIEW, RESOURCE_MANAGER, MASTER, *LOGIN_KEYS)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")

Clusters = tuple[dict[ClusterName, Cluster], dict[ClusterName, tuple[Endpoint, ...]]]
"""The clusters, and the addresses of the metastore views of those that have any."""


def parse_clusters(text: str) -> Clusters:
    """The clusters, and the addresses of their views. Raises BadValue with each wrong cluster and
    key."""
    clusters, views, faults = {}, {}, Faults()
    for name, keys in json_object(text).items():
        if not is_cluster_name(name):
            faults.reasons.append(
                f"{name!r} is not a cluster name (a letter, then letters, digits, '_' and '-',"
                " at most 64)"
            )
            continue
        with faults.collected(f"cluster {name}: "):
            cluster, addresses = _cluster(ClusterName(name), keys)
            clusters[cluster.name] = cluster
            if addresses:
                views[cluster.name] = addresses
    faults.check((clusters, views))
    return clusters, views


def cluster_names(text: str) -> tuple[str, ...]:
    """The names of all clusters, also those with wrong keys; none if the text is not JSON."""
    try:
        return tuple(json_object(text))
    except ValueError:
        return ()


def is_cluster_name(text: str) -> bool:
    """Whether the text may be a cluster's name: it becomes a part of parameters, folders and
    statements."""
    return _NAME.fullmatch(text) is not None


def _cluster(name: ClusterName, keys: Any) -> tuple[Cluster, tuple[Endpoint, ...]]:
    if not isinstance(keys, dict):
        raise ValueError(f"not an object of {FILE_SYSTEM} and {JOB_TRACKER}")
    faults = Faults()
    for key, value in keys.items():
        if key not in _KEYS:
            faults.reasons.append(f"unknown key {key!r}{suggestion(key, _KEYS)}")
        elif not isinstance(value, str) or not value.strip():
            faults.reasons.append(f"{key} is not a text")
    missing = (key for key in (FILE_SYSTEM, JOB_TRACKER) if key not in keys)
    faults.reasons += [f"{key} is missing" for key in missing]
    texts = {key: value.strip() for key, value in keys.items() if isinstance(value, str)}
    filesystem = texts.get(FILE_SYSTEM, "")
    hs2: tuple[Endpoint, ...] = ()
    views: tuple[Endpoint, ...] = ()
    if filesystem and not urlsplit(filesystem).scheme:
        faults.reasons.append(f"{FILE_SYSTEM}: not a URI: {filesystem!r}")
    with faults.collected(f"{JOB_TRACKER}: "):
        hs2 = endpoints(texts[JOB_TRACKER]) if texts.get(JOB_TRACKER) else ()
    with faults.collected(f"{VIEW}: "):
        views = endpoints(texts[VIEW]) if texts.get(VIEW) else ()
    urls: dict[str, tuple[str, ...]] = {RESOURCE_MANAGER: (), MASTER: ()}
    for key in urls:
        with faults.collected(f"{key}: "):
            urls[key] = tuple(map(http_url, comma_separated(texts.get(key, ""))))
    faults.check()
    return Cluster(name, filesystem, hs2, urls[RESOURCE_MANAGER], urls[MASTER]), views


def suggestion(name: str, known: tuple[str, ...]) -> str:
    """The text `; x was meant?` with the known name that is closest; empty if none is close."""
    close = get_close_matches(name, known, 1)
    return f"; {close[0]} was meant?" if close else ""
