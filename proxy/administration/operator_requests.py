"""The requests of operators to a running proxy, and how the answers of its processes are merged.

Every answer is JSON types: lists of sessions, statements and copies are concatenated, counts added
up, and clusters merged by name. `RunAction` is the same for one process and for all of them.
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
"""Takes an action and its argument: an id, a cluster's name, an endpoint, the query of a URL, or an
empty string."""


_ENDED_BY = {RESUME: DRAIN, UNBLOCK: BLOCK, END_MAINTENANCE: MAINTENANCE}


class StandingRequests:
    """The requests that hold until another one ends them: a worker that starts has to learn
    them."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str], tuple[str, str]] = {}

    def note(self, action: str, argument: str) -> None:
        """An operator's request was carried out."""
        if action in _ENDED_BY:
            self._requests.pop(_key(_ENDED_BY[action], argument), None)
        elif action in _ENDED_BY.values():
            self._requests[_key(action, argument)] = action, argument

    def requests(self) -> tuple[tuple[str, str], ...]:
        """Actions with their arguments."""
        return tuple(self._requests.values())


def _key(action: str, argument: str) -> tuple[str, str]:
    """Equal for requests that replace or end each other."""
    if action == MAINTENANCE:
        return action, ""
    return action, loose(argument) if action == BLOCK else argument


def merged(action: str, answers: Sequence[Any]) -> Any:
    """The answers of several processes to the same request, as one."""
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
        mine = by_name.setdefault(cluster["name"], {**cluster, "endpoints": []})
        mine["drained"] = mine["drained"] or cluster["drained"]
        mine["endpoints"] = _endpoints([*mine["endpoints"], *cluster["endpoints"]])
    return list(by_name.values())


def _endpoints(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    by_address: dict[str, dict[str, Any]] = {}
    for each in found:
        mine = by_address.get(each["endpoint"])
        if mine is None:
            by_address[each["endpoint"]] = dict(each)
            continue
        mine["up"] = True if each["up"] or mine["up"] else mine["up"]
        mine["drained"] = mine["drained"] or each["drained"]
        mine["checked"] = _checked(mine.get("checked"), each.get("checked"))
        mine["connections"] += each["connections"]
        mine["sessions"] += each["sessions"]
    return list(by_address.values())


def _checked(one: bool | None, other: bool | None) -> bool | None:
    """Whether claims are checked: False as soon as one process found that they are not."""
    known = [each for each in (one, other) if each is not None]
    return all(known) if known else None
