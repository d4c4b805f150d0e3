"""The form for a cluster, a feed or a process, with its document beside it."""

from collections.abc import Sequence
from datetime import UTC, datetime

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conf.roles import Role
from console.facts.entity_forms import FORMS, defaults, document_of, judge
from console.rendering import page
from console.roles import needs
from pipeline.falcon.entities.identity import Kind
from pipeline.falcon.entity_set import EntitySet


@needs(Role.VIEWER)
async def new(request: Request) -> Response:
    """Shows a new form and its document."""
    kind = _kind(request.query_params.get("kind", "feed"))
    known, now = await _known(request), datetime.now(UTC)
    values = {**defaults(kind, now), **_first_clusters(kind, sorted(known.clusters))}
    text = document_of(kind, values)
    return page(
        request, "entity_form.html", kind=kind.value, groups=FORMS[kind], values=values, xml=text,
        judgement=judge(text, known, now), kinds=[each.value for each in FORMS],
        clusters=sorted(known.clusters), feeds=sorted(known.feed_by_name),
    )  # fmt: skip


@needs(Role.VIEWER)
async def draft(request: Request) -> Response:
    """Shows the document for the form's fields, and its problems."""
    form = request.state.form
    kind = _kind(str(form.get("kind", "")))
    text = document_of(kind, {name: str(value) for name, value in form.items()})
    return await _judged(request, text, "entity_draft.html")


@needs(Role.VIEWER)
async def check(request: Request) -> Response:
    """Shows the problems of a document."""
    form = request.state.form
    return await _judged(request, str(form.get("xml", "")), "entity_problems.html")


async def _judged(request: Request, text: str, template: str) -> Response:
    judgement = judge(text, await _known(request), datetime.now(UTC))
    return page(request, template, xml=text, judgement=judgement)


async def _known(request: Request) -> EntitySet:
    """The submitted entities."""
    known = await request.app.state.sources.lifecycle.parsed_entities()
    return EntitySet.of(known.values())


ROUTES = [
    Route("/new", new),
    Route("/new/draft", draft, methods=["POST"]),
    Route("/new/check", check, methods=["POST"]),
]


def _first_clusters(kind: Kind, clusters: Sequence[str]) -> dict[str, str]:
    """The submitted clusters that a new form chooses at first."""
    if kind is Kind.CLUSTER or not clusters:
        return {}
    if kind is Kind.PROCESS:
        return {"cluster": clusters[0]}
    return {"source": clusters[0], "target": clusters[1] if len(clusters) > 1 else ""}


def _kind(text: str) -> Kind:
    found = next((each for each in FORMS if each.value == text), None)
    if found is None:
        raise HTTPException(404, f"There is no form for {text!r}.")
    return found
