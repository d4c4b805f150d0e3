"""The page of one feed or process: instances by hour, failures, missed agreements, actions."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from conf.roles import Role
from console.drawing.grid import grid
from console.facts import instances as shown
from console.paging import changed, links
from console.rendering import page
from console.roles import needs
from pipeline.falcon.entities.entity import Entity

DAYS = (7, 14, 31)
LISTED = 50  # instances on a page
ACTIONS = {
    "rerun": ("FAILED", "KILLED", "TIMEDOUT", "SKIPPED", "SUCCEEDED"),
    "kill": ("WAITING", "READY", "RUNNING", "SUSPENDED"),
    "suspend": ("WAITING", "READY"),
    "resume": ("SUSPENDED",),
}
"""The states of instances in which a page offers each action."""
_ENTITY_ACTIONS = {"suspend": "RUNNING", "resume": "SUSPENDED"}


@needs(Role.VIEWER)
async def entity(request: Request) -> Response:
    kind, name, query = (
        request.path_params["kind"],
        request.path_params["name"],
        request.query_params,
    )
    lifecycle = request.app.state.sources.lifecycle
    documents, entities = await lifecycle.documents(), await lifecycle.entities()
    known = await lifecycle.parsed_entities()
    one = _find(entities, kind, name)
    now = datetime.now(UTC)
    days = days_of(query, now)
    span = [("start", shown.minute(days[-1])), ("end", shown.minute(days[0] + shown.DAY))]
    own = [("kind", kind), ("name", name)]
    found, more = await lifecycle.instances([*own, *span])
    listed = await lifecycle.page([*own, *list_parameters(query)])
    lag = [each for each in await lifecycle.lag() if (each["kind"], each["name"]) == (kind, name)]
    log = await lifecycle.log(kind, name, query["log"]) if query.get("log") else None
    retention = await lifecycle.retention(name) if query.get("retention") else None
    context = entity_context(one, documents, known, lag, found, days, now, query)
    return page(
        request, "entity.html", **context, more=more, log=log, retention=retention,
        listed=listed_context(listed, context["agreements"], now, query), link=links(query),
    )  # fmt: skip


@needs(Role.OPERATOR)
async def change_instances(request: Request) -> Response:
    """Reruns, kills, suspends or resumes the instances that the form names."""
    kind, name, action = (request.path_params[each] for each in ("kind", "name", "action"))
    form = request.state.form
    if action not in ACTIONS:
        raise HTTPException(404, f"Instances cannot {action}.")
    parameters = {
        key: str(form[key])
        for key in ("action", "cluster", "source", "start", "end", "state")
        if form.get(key)
    }
    if action == "rerun" and parameters.pop("state", "") == "SUCCEEDED":
        parameters["force"] = "true"
    parameters.pop("state", None)
    audit = request.app.state.audit
    argument = f"{kind} {name} {parameters.get('start', '')}"
    done = await request.app.state.sources.lifecycle.change_instances(
        kind, name, action, parameters
    )
    audit.action(request, f"{action}-instance", argument, accepted=bool(done["changed"]))
    back = str(form.get("back", ""))
    result = {
        "done": f"{action}: {len(done['changed'])} changed",
        "refused": "; ".join(done["refused"])[:500],
    }
    return RedirectResponse(shown.entity_path(kind, name) + changed(_query(back), **result), 303)


@needs(Role.OPERATOR)
async def change_entity(request: Request) -> Response:
    kind, name, action = (request.path_params[each] for each in ("kind", "name", "action"))
    if action not in _ENTITY_ACTIONS:
        raise HTTPException(404, f"Entities cannot {action}.")
    done = await request.app.state.sources.lifecycle.change_entity(kind, name, action)
    request.app.state.audit.action(request, f"{action}-entity", f"{kind} {name}")
    return RedirectResponse(shown.entity_path(kind, name) + changed({}, done=done), 303)


ROUTES = [
    Route("/feeds/{kind}/{name}", entity),
    Route("/feeds/{kind}/{name}/instances/{action}", change_instances, methods=["POST"]),
    Route("/feeds/{kind}/{name}/{action}", change_entity, methods=["POST"]),
]


def days_of(query: Mapping[str, str], now: datetime) -> list[datetime]:
    """The days of an entity's grids, the newest first. The newest is `until` or today."""
    text = query.get("days", "")
    count = int(text) if text.isdecimal() and int(text) in DAYS else DAYS[0]
    try:
        last = shown.moment(query["until"]) if query.get("until") else now
    except ValueError:
        last = now
    midnight = last.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return [midnight - shown.DAY * back for back in range(count)]


def list_parameters(query: Mapping[str, str]) -> list[tuple[str, str]]:
    """The parameters of the request for the list of instances. `start` and `hours` in the query
    choose a part of the grid."""
    found = [("limit", str(LISTED))]
    for name in ("state", "action", "cluster", "after"):
        if query.get(name):
            found.append((name, query[name]))
    if query.get("start"):
        try:
            start = shown.moment(query["start"])
        except ValueError:
            return found
        hours = query.get("hours", "1")
        length = timedelta(hours=int(hours) if hours.isdecimal() and len(hours) < 5 else 1)
        found += [("start", shown.minute(start)), ("end", shown.minute(start + length))]
    return found


def entity_context(
    one: Mapping[str, Any],
    documents: Sequence[Mapping[str, Any]],
    known: Mapping[tuple[str, str], Entity],
    lag: Sequence[Mapping[str, Any]],
    found: Sequence[Mapping[str, Any]],
    days: Sequence[datetime],
    now: datetime,
    query: Mapping[str, str],
) -> dict[str, Any]:
    """The context of an entity's page: its schedules, each with a grid, and its document."""
    keys = sorted({shown.schedule_of(each) for each in [*found, *lag]})
    agreements = shown.agreements_of(known, keys)
    behind = {shown.schedule_of(each): each for each in lag}
    schedules = []
    for key in keys:
        own = [each for each in found if shown.schedule_of(each) == key]
        agreement = agreements.get(key)
        rows = shown.rows_of_days(own, key, days, agreement, now)
        title = f"{shown.where(key)}: instances by hour, UTC"
        schedules.append(
            {
                "title": shown.where(key),
                "lag": behind.get(key),
                "agreement": agreement,
                "missed": sum(agreement.is_missed(each, now) for each in own) if agreement else 0,
                "picture": grid(title, [f"{hour:02}" for hour in range(24)], rows) if own else "",
            }
        )
    text = next(
        (e["document"] for e in documents if (e["kind"], e["name"]) == (one["kind"], one["name"])),
        "",
    )
    return {
        "entity": one,
        "schedules": schedules,
        "agreements": agreements,
        "document": text,
        "actions": [name for name, status in _ENTITY_ACTIONS.items() if one["status"] == status],
        "days": len(days),
        "choices": DAYS,
        "earlier": f"{days[-1] - shown.DAY:%Y-%m-%d}",
        "until": query.get("until", ""),
        "done": query.get("done", ""),
        "refused": query.get("refused", ""),
        "log_of": query.get("log", ""),
    }


def listed_context(
    listed: Mapping[str, Any],
    agreements: Mapping[shown.ScheduleId, shown.Agreement],
    now: datetime,
    query: Mapping[str, str],
) -> dict[str, Any]:
    """The context of the list of instances, with the actions that each allows."""
    rows = []
    for each in listed["instances"]:
        key = shown.schedule_of(each)
        agreement = agreements.get(key)
        rows.append(
            {
                **each,
                "where": shown.where(key),
                "missed": agreement is not None and agreement.is_missed(each, now),
                "agreement": agreement.name if agreement else "",
                "actions": [name for name, states in ACTIONS.items() if each["state"] in states],
            }
        )
    return {
        "rows": rows,
        "next": listed["next"] or "",
        "state": query.get("state", ""),
        "start": query.get("start", ""),
        "states": [*ACTIONS["rerun"], *ACTIONS["kill"]],
    }


def _find(entities: Sequence[Mapping[str, Any]], kind: str, name: str) -> Mapping[str, Any]:
    for each in entities:
        if (each["kind"], each["name"]) == (kind, name):
            return each
    raise HTTPException(404, f"There is no {kind} {name}.")


def _query(text: str) -> dict[str, str]:
    """The query of the page that sent a form, without the results of an earlier action."""
    query = dict(parse_qsl(text.removeprefix("?")))
    return {name: value for name, value in query.items() if name not in ("done", "refused")}
