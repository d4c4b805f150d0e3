"""Live: what runs in each cluster, and what ended in the last minute, as it happens."""

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
from console.drawing.lanes import Bar, Lane, lanes
from console.errors import SourceDown
from console.pages.statements import RUNNING, headline, state_of
from console.rendering import page, render
from console.roles import needs
from console.sources.cached import Cached
from console.sources.history_client import MINUTE

_STEP = 1.0  # seconds between pictures
_FRESH = 0.9  # seconds for which a picture is shown to others, too
_LONGEST = 3600.0  # seconds of a stream; the browser opens the next
_NOWHERE = "in no cluster"


@dataclass(frozen=True, slots=True)
class Row:
    """A statement that runs."""

    statement: Mapping[str, Any]
    headline: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """The body of the page, and the server-sent event that has it."""

    body: str
    event: bytes


@needs(Role.VIEWER)
async def show(request: Request) -> Response:
    return page(request, "live.html", body=Markup((await _shared(request).get()).body))


@needs(Role.VIEWER)
async def events(request: Request) -> Response:
    """Server-sent events: the whole body of the page whenever it was drawn again."""
    shared = _shared(request)

    async def stream() -> AsyncIterator[bytes]:
        last, deadline = None, time.monotonic() + _LONGEST
        while time.monotonic() < deadline:
            drawn = await shared.get()
            yield b": the same\n\n" if drawn is last else drawn.event
            last = drawn
            await asyncio.sleep(_STEP)

    return StreamingResponse(stream(), media_type="text/event-stream")


def _shared(request: Request) -> Cached[Drawn]:
    """What all viewers who may do the same see. It is drawn once for all of them, so nothing of it
    is one session's: its buttons send the token that the page around it has."""
    state, may_kill = request.app.state, request.state.session.role >= Role.OPERATOR
    if may_kill not in state.live:
        state.live[may_kill] = Cached(partial(_draw, state, may_kill), _FRESH)
    found: Cached[Drawn] = state.live[may_kill]
    return found


async def _draw(state: State, may_kill: bool) -> Drawn:
    """The picture and the list. A source that is down is named in its place."""
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
        rows=[Row(each, headline(each)) for each in running],
        problems=problems,
        may_kill=may_kill,
    )
    return Drawn(body, f"data: {json.dumps(body)}\n\n".encode())


def lanes_of(
    running: Sequence[Mapping[str, Any]],
    ended: Sequence[Mapping[str, Any]],
    clusters: Sequence[str],
    now: float,
) -> list[Lane]:
    """A lane for each cluster, and one for statements without a cluster if there are any."""
    known = {each["statement"] for each in ended}
    both = [*ended, *(each for each in running if each["statement"] not in known)]
    found: dict[str, list[Bar]] = {each: [] for each in clusters}
    going = dict.fromkeys(clusters, 0)
    for each in both:
        where = each["cluster"] or _NOWHERE
        bar = bar_of(each, now)
        found.setdefault(where, []).append(bar)
        going[where] = going.get(where, 0) + (bar.state == "running")
    return [
        Lane(where, f"{going[where]} running, {len(bars) - going[where]} ended", bars)
        for where, bars in found.items()
    ]


def bar_of(document: Mapping[str, Any], now: float) -> Bar:
    """A statement as a bar. That of a running one goes on until now."""
    began, state = datetime.fromisoformat(document["time"]).timestamp(), state_of(document)
    seconds = now - began if state == "running" else document["seconds"] or 0.0
    text = " ".join(document["text"].split())[:120]
    phases = dict(document["phases"])
    if state == "running":
        phases["execute"] = max(seconds - sum(phases.values()), 0.0) if document["cluster"] else 0.0
    words = f"{document['user']}: {text}. {document['because'] or headline(document)}"
    return Bar(
        document["statement"], words, f"/statements/{document['statement']}", state, began,
        max(seconds, 0.0), phases,
    )  # fmt: skip


ROUTES = [Route("/live", show), Route("/live/events", events)]
