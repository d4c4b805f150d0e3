"""The names of operators' requests to a running proxy, and the merging of its processes' answers.

Every answer has JSON types: lists of sessions, statements and copies are concatenated, counts are
added up, and clusters are merged by name. One process and the supervisor of several both have a
`RunAction`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from conf.access.user_names import loose
from proxy.operations import metrics

SESSIONS, STATEMENTS, CLUSTERS, CACHE = "sessions", "statements", "clusters", "cache"
COPIES = "copies"
SAMPLES, HEALTH, EXPLAIN = "samples", "health", "explain"
KILL_SESSION, KILL_STATEMENT = "kill-session", "kill-statement"
DRAIN, RESUME, RELOAD = "drain", "resume", "reload"
ADMISSION, BLOCK, UNBLOCK = "admission", "block", "unblock"
MAINTENANCE, END_MAINTENANCE = "maintenance", "end-maintenance"

RunAction = Callable[[str, str], Awaitable[Any]]
"""Takes an action and its argument (an id, a cluster's name, an endpoint, a URL's query, or an
empty string), and returns the answer."""


_ENDS = {RESUME: DRAIN, UNBLOCK: BLOCK, END_MAINTENANCE: MAINTENANCE}


class StandingRequests:
    """The requests that apply until another request ends them. A worker that starts later receives
    them, too."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str], tuple[str, str]] = {}

    def note(self, action: str, argument: str) -> None:
        """Called after an operator's request was carried out."""
        if action in _ENDS:
            self._requests.pop(_key(_ENDS[action], argument), None)
        elif action in _ENDS.values():
            self._requests[_key(action, argument)] = action, argument

    def requests(self) -> tuple[tuple[str, str], ...]:
        """The actions with their arguments."""
        return tuple(self._requests.values())


def _key(action: str, argument: str) -> tuple[str, str]:
    """A key that is equal for requests that replace or end each other."""
    if action == MAINTENANCE:
        return action, ""
    return action, loose(argument) if action == BLOCK else argument


def merged(action: str, answers: Sequence[Any]) -> Any:
    """The answers of several processes to the same request, merged into one."""
    if len(answers) == 1:
        return answers[0]
    if action in (SESSIONS, STATEMENTS, COPIES):
        return [each for answer in answers for each in answer]
    if action == SAMPLES:
        return metrics.merged(answers)
    if action == CLUSTERS:
        return _clusters(answers)
    if action == HEALTH:
        return {"status": max(str(answer["status"]) for answer in answers)}  # ok < stopping
    if action in (RELOAD, ADMISSION):
        return answers[0]
    return {key: sum(answer[key] for answer in answers) for key in answers[0]}


def _clusters(answers: Sequence[Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    by_name: dict[str, dict[str, Any]] = {}
    for cluster in (each for answer in answers for each in answer):
        result = by_name.setdefault(cluster["name"], {**cluster, "endpoints": []})
        result["drained"] = result["drained"] or cluster["drained"]
        result["endpoints"] = _endpoints([*result["endpoints"], *cluster["endpoints"]])
    return list(by_name.values())


def _endpoints(endpoints: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    by_address: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        result = by_address.get(endpoint["endpoint"])
        if result is None:
            by_address[endpoint["endpoint"]] = dict(endpoint)
            continue
        result["up"] = True if endpoint["up"] or result["up"] else result["up"]
        result["drained"] = result["drained"] or endpoint["drained"]
        result["checked"] = _checked(result.get("checked"), endpoint.get("checked"))
        result["connections"] += endpoint["connections"]
        result["sessions"] += endpoint["sessions"]
    return list(by_address.values())


def _checked(one: bool | None, other: bool | None) -> bool | None:
    """Whether claims are checked: False if one process found that they are not; None: not known."""
    known = [each for each in (one, other) if each is not None]
    return all(known) if known else None
