"""The page of lag: a curve for each feed that copies, running copies, stale copies and failures."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conf.copies import sums
from conf.roles import Role
from console.drawing.curves import curve
from console.facts import instances as shown
from console.facts.lag_curve import lag_points
from console.paging import links
from console.rendering import page
from console.roles import needs
from console.shown import seconds
from console.sources.metastore_client import TableList
from console.sources.optional import optional
from console.sources.proxies_client import Answers
from pipeline.falcon.entities.entity import Entity
from pipeline.falcon.entities.feed import Feed

HOURS = (24, 72, 168)
_LISTED = 50  # lines of each table
_CURVES = 60  # curves that are drawn


@needs(Role.VIEWER)
async def lag(request: Request) -> Response:
    sources, query = request.app.state.sources, request.query_params
    now = datetime.now(UTC)
    hours = hours_of(query)
    start = now - timedelta(hours=hours)
    problems: list[str] = []
    behind = await optional(sources.lifecycle.lag(), [], problems)
    known = await optional(sources.lifecycle.parsed_entities(), {}, problems) if behind else {}
    copying = [("action", "replicate")]
    # Instances that ended in these hours may be due earlier, so twice the time is read.
    span = [("start", shown.minute(start - timedelta(hours=hours)))]
    found, more = (
        await optional(sources.lifecycle.instances([*copying, *span]), ([], False), problems)
        if behind
        else ([], False)
    )
    waiting = [*copying, *(("state", state) for state in ("WAITING", "READY", "RUNNING"))]
    opened, _ = (
        await optional(sources.lifecycle.instances(waiting), ([], False), problems)
        if behind
        else ([], False)
    )
    copies = await optional(
        sources.history.answer("copies", {"since": str(start.timestamp())}), {}, problems
    )
    making = await optional(sources.proxies.copies(), Answers(), problems)
    tables = await optional(sources.metastore.tables(), None, problems)
    context = lag_context(
        behind, known, [*found, *opened], copies.get("copies", []), tables, start, now
    )
    problems += making.problems
    return page(
        request, "lag.html", **context, making=making.rows(),
        problems=list(dict.fromkeys(problems)), more=more, hours=hours, choices=HOURS,
        link=links(query),
    )  # fmt: skip


ROUTES = [Route("/lag", lag)]


def hours_of(query: Mapping[str, str]) -> int:
    """The hours that the curves show."""
    text = query.get("hours", "")
    return int(text) if text.isdecimal() and int(text) in HOURS else HOURS[0]


def lag_context(
    behind: Sequence[Mapping[str, Any]],
    known: Mapping[tuple[str, str], Entity],
    found: Sequence[Mapping[str, Any]],
    copies: Sequence[Mapping[str, Any]],
    tables: TableList | None,
    start: datetime,
    now: datetime,
) -> dict[str, Any]:
    """The context of the page: curves, the worst first, running instances, failures, ended copies
    and stale copies."""
    by_schedule: dict[shown.ScheduleId, dict[str, Mapping[str, Any]]] = {}
    for each in found:
        by_schedule.setdefault(shown.schedule_of(each), {})[each["instance"]] = each
    curves = []
    for each in behind:
        key = shown.schedule_of(each)
        if each["action"] == "replicate":
            own = list(by_schedule.get(key, {}).values())
            curves.append(_curve(each, known.get((key[0], key[1])), own, start, now))
    curves.sort(key=lambda one: (-one["over"], -one["seconds"], one["title"]))
    running = [each for own in by_schedule.values() for each in own.values()]
    return {
        "curves": curves[:_CURVES],
        "not_drawn": max(len(curves) - _CURVES, 0),
        "running": [_running(each, now) for each in running if each["state"] == "RUNNING"],
        "failed": [
            {**each, "where": shown.where(shown.schedule_of(each)), "path": _path(each)}
            for each in sorted(running, key=lambda one: one["instance"], reverse=True)
            if each["state"] in ("FAILED", "TIMEDOUT")
        ][:_LISTED],
        "copies": [_copy(each) for each in copies[:_LISTED]],
        "stale": stale_copies(tables)[:_LISTED] if tables else [],
    }


def stale_copies(tables: TableList) -> list[dict[str, Any]]:
    """The stale copies, the largest lag first; copies of unknown lag are last."""
    copies = [
        {
            "table": str(each.table),
            "cluster": counted.cluster,
            "lag": counted.lag(tables.read),
            "since": counted.since,
            "stale": counted.stale,
            "of": len(each.objects),
        }
        for each in tables.tables
        if each.copied
        for counted in sums(each.objects, tables.clusters)
        if counted.stale
    ]
    return sorted(copies, key=lambda one: (one["lag"] is None, -(one["lag"] or 0), one["table"]))


def _curve(
    behind: Mapping[str, Any],
    entity: Entity | None,
    found: Sequence[Mapping[str, Any]],
    start: datetime,
    now: datetime,
) -> dict[str, Any]:
    key = shown.schedule_of(behind)
    agreement = shown.agreement_of(entity, key)
    target = agreement.high.total_seconds() if agreement else None
    wait = _delay(entity, key).total_seconds()
    times = [
        (
            shown.moment(each["instance"]).timestamp() + wait,
            shown.moment(each["ended"]).timestamp() if each["ended"] else None,
        )
        for each in found
    ]
    points = lag_points(times, start.timestamp(), now.timestamp())
    highest = max((value for _, value in points), default=0.0)
    title = f"{key[1]}: {shown.where(key)}"
    drawn = curve(
        f"Lag of {title}",
        points,
        (start.timestamp(), now.timestamp()),
        target,
        (f"{start:%d %b %H:%M} UTC", "now"),
        (seconds(highest), "" if target is None else seconds(target)),
    )
    return {
        "title": title,
        "path": _path(behind),
        "table": behind["table"],
        "seconds": behind["seconds"],
        "open": behind["open"],
        "target": target,
        "agreement": agreement.name if agreement else "",
        "highest": highest,
        "over": target is not None and behind["seconds"] > target,
        "picture": drawn,
    }


def _delay(entity: Entity | None, key: shown.ScheduleId) -> timedelta:
    """The feed's delay: the time after an instance's nominal time at which it is copied."""
    place = entity.on(key[3]) if isinstance(entity, Feed) else None
    return place.delay.length if place and place.delay else timedelta(0)


def _running(each: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    started = shown.moment(each["started"]) if each["started"] else now
    return {
        **each,
        "where": shown.where(shown.schedule_of(each)),
        "path": _path(each),
        "seconds": (now - started).total_seconds(),
    }


def _copy(each: Mapping[str, Any]) -> dict[str, Any]:
    size, duration = each["bytes"], each["seconds"]
    return {**each, "rate": size / duration if size and duration else None}


def _path(each: Mapping[str, Any]) -> str:
    return shown.entity_path(each["kind"], each["name"])
