"""The page of lineage: the sources of tables, and what is made of them."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conf.roles import Role
from console.drawing.graph import graph, sentences
from console.facts.lineage import DIRECTIONS, Lineage, part_of
from console.paging import links
from console.rendering import page
from console.roles import needs
from console.sources.metastore_client import TableList
from console.sources.optional import optional
from pipeline.falcon.entities.entity import Entity

DAYS = (1, 7, 30)
_EDGES = "1000"  # most edges that are read from the history


@needs(Role.VIEWER)
async def lineage(request: Request) -> Response:
    sources, query = request.app.state.sources, request.query_params
    problems: list[str] = []
    days = days_of(query)
    since = str(time.time() - days * 86_400)
    parameters = {"since": since, "limit": _EDGES}
    statements = await optional(sources.history.answer("lineage", parameters), {}, problems)
    known = await optional(sources.lifecycle.parsed_entities(), {}, problems)
    tables = await optional(sources.metastore.tables(), None, problems)
    context = lineage_context(
        sources.metastore.clusters, tables, known.values(), statements.get("edges", []), query
    )
    return page(
        request, "lineage.html", **context, problems=problems, days=days, choices=DAYS,
        link=links(query), more=statements.get("more", False),
    )  # fmt: skip


ROUTES = [Route("/lineage", lineage)]


def days_of(query: Mapping[str, str]) -> int:
    """The number of days whose statements are shown."""
    text = query.get("days", "")
    return int(text) if text.isdecimal() and int(text) in DAYS else DAYS[1]


def lineage_context(
    clusters: Sequence[str],
    tables: TableList | None,
    entities: Iterable[Entity],
    statements: Iterable[Mapping[str, Any]],
    query: Mapping[str, str],
) -> dict[str, Any]:
    """The context of the page: the picture of what `query` selects, and its edges as sentences."""
    known = list(tables.clusters) if tables else list(clusters)
    found = Lineage({cluster: number for number, cluster in enumerate(known)})
    found.add_tables(tables.tables if tables else ())
    found.add_statements(statements)
    found.add_entities(entities)
    table = query.get("table", "").strip().lower()
    direction = query.get("direction", "")
    direction = direction if direction in DIRECTIONS else DIRECTIONS[0]
    nodes, edges, left_out = part_of(found, table, direction)
    title = f"Lineage of {table}" if table else "Lineage"
    names = sorted(node.label for node in found.nodes.values() if node.kind == "table")
    return {
        "picture": graph(title, nodes, edges) if edges else "",
        "lines": list(sentences({node.id: node for node in nodes}, edges)),
        "left_out": left_out,
        "table": table,
        "known": not table or any(node.chosen for node in nodes),
        "direction": direction,
        "directions": DIRECTIONS,
        "tables": names[:2000],
        "clusters": list(enumerate(known)),
    }
