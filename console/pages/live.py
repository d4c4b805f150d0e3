"""The page of live statements: those that run in each cluster, and those that ended in the last
minute. Server-sent events update it."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from markupsafe import Markup
from starlette.datastructures import State
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from conf.roles import Role
from console.drawing.lanes import Lane, StatementBar, lanes
from console.errors import SourceDown
from console.pages.statements import RUNNING, headline, state_of
from console.rendering import page, render
from console.roles import needs
from console.sources.cached import Cached
from console.sources.history_client import MINUTE

_STEP = 1.0  # seconds between pictures
_FRESH = 0.9  # seconds for which a picture serves other viewers, too
_LONGEST = 3600.0  # seconds of a stream; then the browser opens the next one
_NOWHERE = "in no cluster"


@dataclass(frozen=True, slots=True)
class RunningStatement:
    """A line of the list of running statements."""

    statement: Mapping[str, Any]
    headline: str


@dataclass(frozen=True, slots=True)
class LiveBody:
    """The body of the page, as HTML and as a server-sent event."""

    body: str
    event: bytes


@needs(Role.VIEWER)
async def show(request: Request) -> Response:
    return page(request, "live.html", body=Markup((await _shared(request).get()).body))


@needs(Role.VIEWER)
async def events(request: Request) -> Response:
    """Sends the whole body of the page as a server-sent event whenever it was drawn again."""
    shared = _shared(request)

    async def stream() -> AsyncIterator[bytes]:
        last, deadline = None, time.monotonic() + _LONGEST
        while time.monotonic() < deadline:
            body = await shared.get()
            yield b": the same\n\n" if body is last else body.event
            last = body
            await asyncio.sleep(_STEP)

    return StreamingResponse(stream(), media_type="text/event-stream")


def _shared(request: Request) -> Cached[LiveBody]:
    """The body that viewers with the same rights share. It contains nothing of a session: its
    buttons send the token of the page around it."""
    state, may_kill = request.app.state, request.state.session.role >= Role.OPERATOR
    if may_kill not in state.live:
        state.live[may_kill] = Cached(partial(_draw, state, may_kill), _FRESH)
    shared: Cached[LiveBody] = state.live[may_kill]
    return shared


async def _draw(state: State, may_kill: bool) -> LiveBody:
    """Draws the picture and the list. If a source is down, the body names it."""
    sources, now = state.sources, time.time()
    problems: list[str] = []
    running: list[dict[str, Any]] = []
    ended: list[dict[str, Any]] = []
    try:
        answers = await sources.proxies.statements()
        running = [each for each in answers.rows() if each["state"] in RUNNING]
        problems += answers.problems
    except SourceDown as error:
        problems.append(str(error))
    try:
        ended = await sources.history.recent()
    except SourceDown as error:
        problems.append(str(error))
    clusters = tuple(state.settings.topology.clusters)
    body = render(
        "live_body.html",
        picture=Markup(lanes(lanes_of(running, ended, clusters, now), now, MINUTE)),
        rows=[RunningStatement(each, headline(each)) for each in running],
        problems=problems,
        may_kill=may_kill,
    )
    return LiveBody(body, f"data: {json.dumps(body)}\n\n".encode())


def lanes_of(
    running: Sequence[Mapping[str, Any]],
    ended: Sequence[Mapping[str, Any]],
    clusters: Sequence[str],
    now: float,
) -> list[Lane]:
    """A lane for each cluster, and one for statements without a cluster if there are any."""
    known = {each["statement"] for each in ended}
    both = [*ended, *(each for each in running if each["statement"] not in known)]
    by_cluster: dict[str, list[StatementBar]] = {each: [] for each in clusters}
    active = dict.fromkeys(clusters, 0)
    for each in both:
        cluster = each["cluster"] or _NOWHERE
        bar = bar_of(each, now)
        by_cluster.setdefault(cluster, []).append(bar)
        active[cluster] = active.get(cluster, 0) + (bar.state == "running")
    return [
        Lane(cluster, f"{active[cluster]} running, {len(bars) - active[cluster]} ended", bars)
        for cluster, bars in by_cluster.items()
    ]


def bar_of(document: Mapping[str, Any], now: float) -> StatementBar:
    """A statement as a bar. The bar of a running statement ends now."""
    began, state = datetime.fromisoformat(document["time"]).timestamp(), state_of(document)
    seconds = now - began if state == "running" else document["seconds"] or 0.0
    text = " ".join(document["text"].split())[:120]
    phases = dict(document["phases"])
    if state == "running":
        phases["execute"] = max(seconds - sum(phases.values()), 0.0) if document["cluster"] else 0.0
    words = f"{document['user']}: {text}. {document['because'] or headline(document)}"
    return StatementBar(
        document["statement"], words, f"/statements/{document['statement']}", state, began,
        max(seconds, 0.0), phases,
    )  # fmt: skip


ROUTES = [Route("/live", show), Route("/live/events", events)]
