"""The page with the map: the clusters with their load and lag, and the copies between them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from conf.formats import utc
from conf.roles import Role
from console.drawing.map import Box, Flow, cluster_map
from console.errors import SourceDown
from console.pages.statements import RUNNING
from console.rendering import page
from console.roles import needs
from console.shown import count, seconds, size
from console.sources.history_client import MINUTE
from proxy.operations.metrics import LAG

_DAY = 86_400.0
_LEVELS = ((1.0, "fresh"), (3_600.0, "minutes"), (_DAY, "hours"))


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A line of the table below the picture. `lag` is the largest lag of the cluster's copies, in
    seconds; None without known copies. `problems` are its Thrift Servers that do not answer, with
    the reasons."""

    name: str
    health: str
    drained: bool
    servers: str
    rate: float
    running: int
    sessions: int
    lag: float | None
    table: str
    problems: tuple[str, ...]


@needs(Role.VIEWER)
async def show(request: Request) -> Response:
    sources, now = request.app.state.sources, time.time()
    clusters = (await sources.proxies.clusters()).rows()
    running = (await sources.proxies.statements()).rows()
    lags = worst_lags(await sources.proxies.metrics())
    problem, recent, traffic = "", [], []
    try:
        recent = await sources.history.recent()
        since = utc(now - _DAY)
        traffic = (await sources.history.answer("traffic", {"since": since}))["traffic"]
    except SourceDown as error:
        problem = str(error)
    rows = cluster_rows(clusters, running, recent, lags)
    flows = [flow_of(each) for each in traffic]
    drawn = Markup(cluster_map([box_of(each) for each in rows], flows))
    return page(request, "map.html", picture=drawn, rows=rows, problem=problem)


@needs(Role.ADMINISTRATOR)
async def drain(request: Request) -> Response:
    """Drains a cluster: no new sessions are opened there."""
    return await _drain(request, resume=False)


@needs(Role.ADMINISTRATOR)
async def resume(request: Request) -> Response:
    return await _drain(request, resume=True)


async def _drain(request: Request, resume: bool) -> Response:
    state, cluster = request.app.state, request.path_params["cluster"]
    action = "resume" if resume else "drain"
    await state.sources.proxies.drain(cluster, resume)
    state.audit.action(request, action, cluster)
    return RedirectResponse("/map", 303)


def worst_lags(metrics: str) -> dict[str, tuple[float, str]]:
    """The largest lag in seconds of each cluster with copies, and the table that has it."""
    worst: dict[str, tuple[float, str]] = {}
    lines = "\n".join(line for line in metrics.splitlines() if LAG in line)
    for family in text_string_to_metric_families(lines):
        for sample in family.samples:
            cluster, lag = sample.labels["cluster"], (sample.value, sample.labels["table"])
            worst[cluster] = max(worst.get(cluster, lag), lag)
    return worst


def cluster_rows(
    clusters: Sequence[Mapping[str, Any]],
    running: Sequence[Mapping[str, Any]],
    recent: Sequence[Mapping[str, Any]],
    lags: Mapping[str, tuple[float, str]],
) -> list[ClusterRow]:
    """The clusters of all proxies, each once. A Thrift Server is up if one proxy says so."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for each in clusters:
        by_name.setdefault(each["name"], []).append(each)
    return [_row(name, reports, running, recent, lags) for name, reports in by_name.items()]


def _row(
    name: str,
    reports: Sequence[Mapping[str, Any]],
    running: Sequence[Mapping[str, Any]],
    recent: Sequence[Mapping[str, Any]],
    lags: Mapping[str, tuple[float, str]],
) -> ClusterRow:
    endpoints: dict[str, list[Mapping[str, Any]]] = {}
    for cluster in reports:
        for each in cluster["endpoints"]:
            endpoints.setdefault(each["endpoint"], []).append(each)
    up = [any(one["up"] for one in each) for each in endpoints.values()]
    tried = any(one["up"] is not None for each in endpoints.values() for one in each)
    drained = any(each["drained"] for each in reports)
    health = "unknown" if not tried else "up" if all(up) else "partly up" if any(up) else "down"
    lag, table = lags.get(name, (None, ""))
    here = [each for each in running if each["cluster"] == name and each["state"] in RUNNING]
    ended = [each for each in recent if each["cluster"] == name]
    return ClusterRow(
        name,
        health,
        drained,
        f"{sum(up)} of {len(up)}",
        len({each["statement"] for each in (*here, *ended)}) / MINUTE,
        len(here),
        sum(one["sessions"] for each in endpoints.values() for one in each),
        lag,
        table,
        tuple(
            f"{where}: {each[0]['reason'] or 'no answer'}"
            for where, each in endpoints.items()
            if all(one["up"] is False for one in each)
        ),
    )


def box_of(row: ClusterRow) -> Box:
    """The box of a cluster in the picture."""
    level = "none" if row.lag is None else next((n for at, n in _LEVELS if row.lag < at), "days")
    lag = {"none": "no copies known", "fresh": "all copies fresh"}.get(level)
    lines = (
        f"{row.rate:.1f} statements/s, {row.running} running",
        lag or f"worst copy {seconds(row.lag)} behind",
        row.table if level not in ("none", "fresh") else f"{count(row.sessions, 'session')}",
    )
    health = "drained" if row.drained else row.health.replace(" ", "-")
    return Box(row.name, health, level, lines, f"/statements?cluster={row.name}")


def flow_of(traffic: Mapping[str, Any]) -> Flow:
    """The arrow for a row of the history's `traffic`."""
    copies, failed = traffic["copies"], traffic["failed"]
    words = f"{size(traffic['bytes'])} in {copies} {'copy' if copies == 1 else 'copies'}"
    words += f", {failed} failed" if failed else ""
    return Flow(traffic["from"], traffic["to"], traffic["bytes"], words, bool(failed))


ROUTES = [
    Route("/map", show),
    Route("/clusters/{cluster}/drain", drain, methods=["POST"]),
    Route("/clusters/{cluster}/resume", resume, methods=["POST"]),
]
