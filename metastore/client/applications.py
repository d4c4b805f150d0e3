"""Whether a Spark application has ended, in the words of the cluster that ran it.

YARN's resource manager has `/ws/v1/cluster/apps/<id>`, Spark's own master `/json/` in its web UI.
Both say when an application ended. Of one that they do not know, or no longer, it is not known
whether it has ended.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

from conf.topology import Cluster

SETTLED = 60.0  # seconds after the end, in which the cluster ends what is left of the tasks
_TIMEOUT = 10.0
_LONGEST = 32 << 20  # bytes of a reply
_OVER = ("FINISHED", "FAILED", "KILLED")  # YARN's states; Spark's master lists others apart
Fetch = Callable[[str], bytes]
"""What a URL answers. Raises OSError."""


def fetched(url: str) -> bytes:
    """Raises OSError."""
    with urlopen(url, timeout=_TIMEOUT) as reply:  # the settings allow http and https
        found: bytes = reply.read(_LONGEST)
    return found


def has_ended(
    clusters: Iterable[Cluster], application: str, fetch: Fetch = fetched, now: float | None = None
) -> bool:
    """Whether one of the clusters says that the application ended SETTLED seconds ago or longer."""
    latest = (time.time() if now is None else now) - SETTLED
    for cluster in clusters:
        for url in cluster.resource_managers:
            if _is_before(_yarn_end(url, application, fetch), latest):
                return True
        for url in cluster.masters:
            if _is_before(_standalone_end(url, application, fetch), latest):
                return True
    return False


def _is_before(end: float | None, latest: float) -> bool:
    return end is not None and end <= latest


def _yarn_end(url: str, application: str, fetch: Fetch) -> float | None:
    document = _document(f"{url}/ws/v1/cluster/apps/{quote(application, safe='')}", fetch)
    found = document.get("app")
    if not isinstance(found, dict) or found.get("id") != application:
        return None
    end = found.get("finishedTime")
    if found.get("state") in _OVER and isinstance(end, int) and end > 0:
        return end / 1000
    return None


def _standalone_end(url: str, application: str, fetch: Fetch) -> float | None:
    for found in _list(_document(f"{url}/json/", fetch).get("completedapps")):
        if isinstance(found, dict) and found.get("id") == application:
            start, lasted = found.get("starttime"), found.get("duration")
            if isinstance(start, int) and isinstance(lasted, int):
                return (start + lasted) / 1000
    return None


def _document(url: str, fetch: Fetch) -> Mapping[str, Any]:
    """What the URL answers; empty if that is not known."""
    try:
        found = json.loads(fetch(url))
    except (OSError, HTTPException, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _list(found: object) -> list[Any]:
    return found if isinstance(found, list) else []
