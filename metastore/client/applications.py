"""Asks a cluster whether a Spark application has ended.

YARN's resource manager answers `/ws/v1/cluster/apps/<id>`, Spark's own master `/json/` in its web
UI. Both say when an application ended. Of an application that they do not have, or no longer have,
the end is unknown.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from http.client import HTTPException
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

from conf.topology import Cluster

SETTLED = 60.0  # seconds after an application's end, by which its last tasks have ended too
_TIMEOUT = 10.0
_LONGEST = 32 << 20  # bytes of a reply
_OVER = ("FINISHED", "FAILED", "KILLED")  # the last states of an application in YARN
Fetch = Callable[[str], bytes]
"""Returns the document at a URL. Raises OSError."""


def fetched(url: str) -> bytes:
    """The document at the URL. Raises OSError."""
    with urlopen(url, timeout=_TIMEOUT) as reply:  # the settings allow http and https
        document: bytes = reply.read(_LONGEST)
    return document


def has_ended(
    clusters: Iterable[Cluster], application: str, fetch: Fetch = fetched, now: float | None = None
) -> bool:
    """Whether a cluster reports that the application ended at least SETTLED seconds ago."""
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
    """The end of the application in epoch seconds; None while it runs, or if it is unknown."""
    document = _document(f"{url}/ws/v1/cluster/apps/{quote(application, safe='')}", fetch)
    app = document.get("app")
    if not isinstance(app, dict) or app.get("id") != application:
        return None
    end = app.get("finishedTime")
    if app.get("state") in _OVER and isinstance(end, int) and end > 0:
        return end / 1000
    return None


def _standalone_end(url: str, application: str, fetch: Fetch) -> float | None:
    """As `_yarn_end`, by Spark's own master."""
    for app in _list(_document(f"{url}/json/", fetch).get("completedapps")):
        if isinstance(app, dict) and app.get("id") == application:
            start, lasted = app.get("starttime"), app.get("duration")
            if isinstance(start, int) and isinstance(lasted, int):
                return (start + lasted) / 1000
    return None


def _document(url: str, fetch: Fetch) -> Mapping[str, Any]:
    """The document at the URL as JSON; {} if the server does not answer with a JSON object."""
    try:
        document = json.loads(fetch(url))
    except (OSError, HTTPException, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
