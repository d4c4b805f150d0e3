"""The list of feeds and processes, and a grid of their instances of the last hours."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conf.roles import Role
from console.drawing.grid import grid
from console.facts import instances as shown
from console.paging import links
from console.rendering import page
from console.roles import needs
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.identity import Kind

_RUNNING = (Kind.FEED.value, Kind.PROCESS.value)
HOURS = 48  # columns of the grid


@needs(Role.VIEWER)
async def feeds(request: Request) -> Response:
    lifecycle = request.app.state.sources.lifecycle
    now = datetime.now(UTC)
    hours = shown.hours_before(now, HOURS)
    span = [("start", shown.minute(hours[0])), ("end", shown.minute(now + shown.HOUR))]
    entities, known, lag = (
        await lifecycle.entities(),
        await lifecycle.parsed_entities(),
        await lifecycle.lag(),
    )
    found, more = await lifecycle.instances(span)
    context = feeds_context(entities, known, lag, found, hours, now, request.query_params)
    return page(request, "feeds.html", **context, more=more, link=links(request.query_params))


ROUTES = [Route("/feeds", feeds)]


def feeds_context(
    entities: Sequence[Mapping[str, Any]],
    known: Mapping[tuple[str, str], Entity],
    lag: Sequence[Mapping[str, Any]],
    found: Sequence[Mapping[str, Any]],
    hours: Sequence[datetime],
    now: datetime,
    query: Mapping[str, str],
) -> dict[str, Any]:
    """The context of the page: a line for each feed and process, and the grid of instances."""
    search = query.get("search", "").strip().lower()
    chosen = [each for each in found if search in each["name"].lower()]
    agreements = shown.agreements_of(known, {shown.schedule_of(each) for each in [*chosen, *lag]})
    states = Counter((each["kind"], each["name"], each["state"]) for each in found)
    missed = Counter(
        (each["kind"], each["name"])
        for each in found
        if (key := shown.schedule_of(each)) in agreements and agreements[key].is_missed(each, now)
    )
    lines = [
        {
            **each,
            "failed": sum(
                states[each["kind"], each["name"], state] for state in ("FAILED", "TIMEDOUT")
            ),
            "running": states[each["kind"], each["name"], "RUNNING"],
            "missed": missed[each["kind"], each["name"]],
            "lag": max(
                (
                    one["seconds"]
                    for one in lag
                    if (one["kind"], one["name"]) == (each["kind"], each["name"])
                ),
                default=None,
            ),
            "open": sum(
                one["open"]
                for one in lag
                if (one["kind"], one["name"]) == (each["kind"], each["name"])
            ),
            "path": shown.entity_path(each["kind"], each["name"]),
        }
        for each in entities
        if each["kind"] in _RUNNING and search in each["name"].lower()
    ]
    lines.sort(key=lambda each: (-each["failed"], -each["missed"], each["kind"], each["name"]))
    rows = shown.rows_of_schedules(chosen, hours, agreements, now)
    return {
        "entities": lines,
        "clusters": [each for each in entities if each["kind"] == Kind.CLUSTER.value],
        "picture": grid("Instances by hour, UTC", shown.hour_labels(hours), rows) if rows else "",
        "hours": len(hours),
        "search": query.get("search", ""),
        "now": now.timestamp(),
    }
