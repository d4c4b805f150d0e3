"""The page of refusals: what refused statements lack, and the copies that free them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conf.formats import utc
from conf.roles import Role
from console.errors import NotAllowed, Refused, SourceDown
from console.facts.copies import Copy, copy_of
from console.login.login import own_path
from console.pages.refusal_groups import Group, Refusals, Way, grouped
from console.rendering import page
from console.roles import needs
from console.sources.sql_client import COPY_LIMIT, SqlRun

DAYS = (1, 7, 30)
MOST = 1_000  # newest statements that are grouped
_SHOWN = 12  # groups whose present decision is requested
ABOUT = "copy "  # begin of the titles of runs that copy


@dataclass(frozen=True, slots=True)
class MissingCopy:
    """One copy of a way. `bytes` is the size of the table in its primary, None if unknown. `copy`
    is None if the table has no primary to copy from any more."""

    table: str
    kind: str
    partitions: int | None
    first: Sequence[str]
    bytes: int | None
    copy: Copy | None


@dataclass(frozen=True, slots=True)
class RemainingWay:
    """A way with the copies that are still missing."""

    cluster: str
    steps: tuple[MissingCopy, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """A group on the page. `now` is the cluster where its example would run now, empty if it would
    be refused; `unknown` says why that is unknown."""

    group: Group
    daily: float
    now: str
    options: tuple[RemainingWay, ...]
    unknown: str = ""


@needs(Role.VIEWER)
async def show(request: Request) -> Response:
    days = chosen_days(request.query_params.get("days"))
    sources, now = request.app.state.sources, time.time()
    since = utc(now - days * 86_400)
    found = await sources.history.page({"refused": "true", "since": since, "limit": str(MOST)})
    refusals = grouped(found["statements"], now)
    topology = request.app.state.settings.topology
    cards = [
        card(refusals, group, await _explained(sources, group) if at < _SHOWN else None, topology)
        for at, group in enumerate(refusals.groups)
    ]
    return page(
        request,
        "refusals.html",
        days=days,
        choices=DAYS,
        refusals=refusals,
        cards=cards,
        is_cut=found["next"] is not None,
        copies=sources.sql.runs(ABOUT),
        here="/refusals",
    )


@needs(Role.OPERATOR)
async def start_copy(request: Request) -> Response:
    """Starts a copy as the user, and shows its state."""
    state = request.app.state
    copy = copy_of(request.state.form, state.settings.topology)
    user = request.state.session.user
    run = state.sources.sql.start(user, copy.sql, limit=COPY_LIMIT, about=f"{ABOUT}{copy.title}")
    state.audit.action(request, "copy", copy.sql)
    return _copy_state(request, run)


@needs(Role.OPERATOR)
async def show_copy(request: Request) -> Response:
    """Shows a copy's state, a part of a page that reloads itself while the copy runs."""
    return _copy_state(request, _own_copy(request))


@needs(Role.OPERATOR)
async def cancel_copy(request: Request) -> Response:
    run = _own_copy(request)
    request.app.state.sources.sql.cancel(run)
    request.app.state.audit.action(request, "cancel-copy", run.sql)
    return _copy_state(request, run)


def _own_copy(request: Request) -> SqlRun:
    """The copy that the path names. Operators may see and cancel their own copies, administrators
    all. Raises NotAllowed, Refused."""
    session, name = request.state.session, request.path_params["name"]
    for run in request.app.state.sources.sql.runs(ABOUT):
        if run.name == name:
            if run.user != session.user and session.role < Role.ADMINISTRATOR:
                raise NotAllowed(Role.ADMINISTRATOR.title)
            return run  # type: ignore[no-any-return]
    raise Refused("The console does not know this copy any more: reload the page.")


def _copy_state(request: Request, run: SqlRun) -> Response:
    return page(
        request,
        "copy_state.html",
        run=run,
        title=run.about.removeprefix(ABOUT),
        here=_here(request),
    )


def _here(request: Request) -> str:
    """The path of the page that shows the copy."""
    url = urlsplit(request.headers.get("hx-current-url", ""))
    return own_path(f"{url.path}?{url.query}") if url.path else "/refusals"


async def _explained(sources: Any, group: Group) -> Any:
    """The present decision for the group's newest statement; a text if it is unknown, which says
    why."""
    example = group.example
    if example["length"] > len(example["text"]):
        return "its text is too long to be kept complete"
    try:
        return await sources.proxies.explain(example["text"], example["database"])
    except (SourceDown, Refused) as error:
        return str(error)


def chosen_days(text: str | None) -> int:
    """The days in the query if they are one of DAYS, else 7."""
    return next((each for each in DAYS if str(each) == text), 7)


def card(refusals: Refusals, group: Group, explained: Any, topology: Any) -> Card:
    """A group with its present state. `explained` is the answer of GET /v1/explain, a text that
    says why there is none, or None if it was not requested."""
    daily = refusals.daily(group)
    if not isinstance(explained, Mapping):
        options = tuple(_option(way, {}, topology) for way in group.ways)
        return Card(group, daily, "", options, explained or "only the largest groups are checked")
    if explained["decision"] != "refuse":
        return Card(group, daily, explained["cluster"] or "", ())
    return Card(group, daily, "", options_now(group.ways, explained, topology))


def options_now(
    ways: Sequence[Way], explained: Mapping[str, Any], topology: Any
) -> tuple[RemainingWay, ...]:
    """The ways with the copies that are still missing according to the tables of `explained`. The
    ways with the fewest copies are first, and among them the fewest bytes."""
    states = {(each["table"], each["cluster"]): each for each in explained["tables"]}
    return tuple(sorted((_option(way, states, topology) for way in ways), key=_cost))


def _cost(option: RemainingWay) -> tuple[int, bool, int]:
    sizes = [step.bytes for step in option.steps]
    return len(sizes), None in sizes, sum(each or 0 for each in sizes)


def _option(way: Way, states: Mapping[tuple[str, str], Any], topology: Any) -> RemainingWay:
    return RemainingWay(way.cluster, tuple(_steps(way, states, topology)))


def _steps(way: Way, states: Mapping[tuple[str, str], Any], topology: Any) -> list[MissingCopy]:
    steps = []
    for lack in way.lacks:
        state = states.get((lack.table, way.cluster))
        if state is not None and state["state"] in ("fresh", "primary"):
            continue  # copied since the refusal
        primary = next(
            (x for (table, _), x in states.items() if table == lack.table and _is_primary(x)), None
        )
        form = {
            "table": lack.table,
            "target": way.cluster,
            "partitions": "\n".join(lack.listed),
        }
        copy = primary and copy_of(form | {"source": primary["cluster"]}, topology)
        steps.append(
            MissingCopy(
                lack.table,
                lack.kind,
                lack.partitions,
                lack.first,
                primary and primary["bytes"],
                copy,
            )
        )
    return steps


def _is_primary(state: Mapping[str, Any]) -> bool:
    """Whether the cluster is the primary of the table and of all its partitions."""
    return bool(state["state"] == "primary")


ROUTES = [
    Route("/refusals", show),
    Route("/copies", start_copy, methods=["POST"]),
    Route("/copies/{name}", show_copy),
    Route("/copies/{name}/cancel", cancel_copy, methods=["POST"]),
]
