"""Statements: a search of those that ended, and one of them with everything that is known of it."""

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from conf.roles import Role
from console.drawing import lanes
from console.errors import Refused, SourceDown
from console.facts.decisions import cluster_rows, marked, matrix, rule_rows
from console.pages.refusal_groups import ways_of
from console.rendering import page
from console.roles import needs
from console.shown import seconds

_FILTERS = ("user", "table", "cluster", "slower_than", "fingerprint")
_PAGE = "50"
RUNNING = ("INITIALIZED", "PENDING", "RUNNING")
_STATES = {"FINISHED": "finished", "CANCELED": "cancelled", "CLOSED": "cancelled"}


@needs(Role.VIEWER)
async def search(request: Request) -> Response:
    """Statements that ended, newest first, with filters in the address."""
    asked = {name: value for name, value in request.query_params.items() if value}
    parameters = {name: asked[name] for name in (*_FILTERS, "refused", "before") if name in asked}
    found = await request.app.state.sources.history.page(parameters | {"limit": _PAGE})
    older = urlencode(parameters | {"before": found["next"]}) if found["next"] else ""
    return page(
        request,
        "statements.html",
        statements=[dict(each) | {"shown_state": state_of(each)} for each in found["statements"]],
        asked=asked,
        older=older,
    )


@needs(Role.VIEWER)
async def show(request: Request) -> Response:
    """One statement, running or ended."""
    number = request.path_params["statement"]
    sources, settings = request.app.state.sources, request.app.state.settings
    document = await _find(sources, number)
    explained, unknown = await _now(sources, document)
    return page(
        request,
        "statement.html",
        **view(document, explained, tuple(settings.topology.clusters), time.time()),
        unknown=unknown,
    )


@needs(Role.OPERATOR)
async def kill(request: Request) -> Response:
    """Cancels a statement that runs."""
    number = request.path_params["statement"]
    state = request.app.state
    try:
        await state.sources.proxies.kill_statement(number)
    except Refused:
        state.audit.action(request, "kill-statement", number, accepted=False)
        raise
    state.audit.action(request, "kill-statement", number)
    if request.headers.get("hx-request"):
        return Response(status_code=204)
    return RedirectResponse(f"/statements/{number}", 303)


async def _find(sources: Any, number: str) -> Mapping[str, Any]:
    """A running statement, or one of the history. Raises SourceDown if it was not found and one of
    the two does not answer."""
    down: SourceDown | None = None
    try:
        for each in (await sources.proxies.statements()).rows():
            if each["statement"] == number and each["state"] in RUNNING:
                return each  # type: ignore[no-any-return]
    except SourceDown as error:
        down = error
    try:
        found = await sources.history.statement(number)
    except SourceDown as error:
        down, found = error, None
    if found is not None:
        return found  # type: ignore[no-any-return]
    if down is not None:
        raise down
    raise HTTPException(404, f"No statement has the id {number}: it may have been deleted by age.")


async def _now(sources: Any, document: Mapping[str, Any]) -> tuple[Any, str]:
    """What the proxy would decide now for the text, and why that is not known."""
    if document["length"] > len(document["text"]):
        return None, "the text is too long to be kept whole"
    if not document["rule"]:
        return None, "no decision was made for it"
    try:
        return await sources.proxies.explain(document["text"], document["database"]), ""
    except (SourceDown, Refused) as error:
        return None, str(error)


def view(
    document: Mapping[str, Any],
    explained: Mapping[str, Any] | None,
    clusters: tuple[str, ...],
    now: float,
) -> dict[str, Any]:
    """What the page shows of a statement. `explained` is the decision for its text now."""
    found = matrix(explained, document, clusters)
    return {
        "statement": document,
        "state": state_of(document),
        "headline": headline(document),
        "matrix": found,
        "is_now": explained is not None,
        "now": now_words(document, explained),
        "pieces": marked(document["text"], document["database"], found),
        "rules": rule_rows(document["rule"]),
        "considered": cluster_rows(document["considered"]),
        "can_be_freed": bool(ways_of(document["considered"])),
        "phases": [
            (name, lanes.WORDS[name], document["phases"][name])
            for name in lanes.PHASES
            if name in document["phases"]
        ],
        "phase_bar": Markup(lanes.phase_bar(document["phases"])),
        "in_fetch": document["phases"].get("first_row"),
        "age": now - datetime.fromisoformat(document["time"]).timestamp(),
    }


def state_of(document: Mapping[str, Any]) -> str:
    """running, finished, cancelled, refused or failed."""
    if document["state"] in RUNNING:
        return "running"
    if document["state"] in _STATES:
        return _STATES[document["state"]]
    return "refused" if is_refused(document) else "failed"


def is_refused(document: Mapping[str, Any]) -> bool:
    """Whether Causeway ended the statement before a cluster ran it."""
    return bool(document["code"]) and "execute" not in document["phases"]


def headline(document: Mapping[str, Any]) -> str:
    """The outcome in a few words."""
    where = f" in {document['cluster']}" if document["cluster"] else ""
    took = "" if document["seconds"] is None else f", {seconds(document['seconds'])}"
    match state_of(document):
        case "running":
            return f"Running{where}{took}"
        case "finished":
            return f"Ran{where}{took}" if where else f"Answered by Causeway{took}"
        case "cancelled":
            return f"Cancelled{where}{took}"
        case "refused":
            return f"Refused with {document['code']}"
    return f"Failed{where}{took}"


def now_words(document: Mapping[str, Any], explained: Mapping[str, Any] | None) -> str:
    """What the decision would be now, where it differs from what it was; else an empty text."""
    if explained is None:
        return ""
    refused, cluster = explained["decision"] == "refuse", explained["cluster"]
    if is_refused(document) and not refused:
        return f"It would run now, in {cluster}."
    if document["cluster"] and refused:
        return f"It would be refused now: {explained['because']}"
    if document["cluster"] and cluster and cluster != document["cluster"]:
        return f"It would run in {cluster} now."
    return ""


ROUTES = [
    Route("/statements", search),
    Route("/statements/{statement}", show),
    Route("/statements/{statement}/kill", kill, methods=["POST"]),
]
