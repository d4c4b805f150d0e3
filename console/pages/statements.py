"""The search of ended statements, and the page of one statement."""

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
from console.facts.decisions import considered_clusters, marked, matrix, rule_rows
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
    """Lists ended statements, the newest first, by the filters of the query."""
    query = {name: value for name, value in request.query_params.items() if value}
    parameters = {name: query[name] for name in (*_FILTERS, "refused", "before") if name in query}
    found = await request.app.state.sources.history.page(parameters | {"limit": _PAGE})
    older = urlencode(parameters | {"before": found["next"]}) if found["next"] else ""
    return page(
        request,
        "statements.html",
        statements=[dict(each) | {"shown_state": state_of(each)} for each in found["statements"]],
        filters=query,
        older=older,
    )


@needs(Role.VIEWER)
async def show(request: Request) -> Response:
    """Shows one statement, running or ended."""
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
    """Cancels a running statement."""
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
    """The statement with this id, running or in the history. Raises SourceDown if it was not found
    and one of the two sources does not answer."""
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
    """The proxy's present decision for the text, or None and the reason why it is unknown."""
    if document["length"] > len(document["text"]):
        return None, "the text is too long to be kept complete"
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
    """The context of a statement's page. `explained` is the present decision for its text."""
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
        "considered": considered_clusters(document["considered"]),
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
    """The state for a page: running, finished, cancelled, refused or failed."""
    if document["state"] in RUNNING:
        return "running"
    if document["state"] in _STATES:
        return _STATES[document["state"]]
    return "refused" if is_refused(document) else "failed"


def is_refused(document: Mapping[str, Any]) -> bool:
    """Whether Causeway ended the statement before a cluster ran it."""
    return bool(document["code"]) and "execute" not in document["phases"]


def headline(document: Mapping[str, Any]) -> str:
    """The outcome as a short text."""
    place = f" in {document['cluster']}" if document["cluster"] else ""
    duration = "" if document["seconds"] is None else f", {seconds(document['seconds'])}"
    match state_of(document):
        case "running":
            return f"Running{place}{duration}"
        case "finished":
            return f"Ran{place}{duration}" if place else f"Answered by Causeway{duration}"
        case "cancelled":
            return f"Cancelled{place}{duration}"
        case "refused":
            return f"Refused with {document['code']}"
    return f"Failed{place}{duration}"


def now_words(document: Mapping[str, Any], explained: Mapping[str, Any] | None) -> str:
    """A sentence about the present decision if it differs from the recorded one, else empty."""
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
