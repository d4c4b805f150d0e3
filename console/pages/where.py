"""The page for every user: shows where a table is and where a statement would run, and runs the
statement as the user."""

import re
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conf.roles import Role
from console.drawing import bars
from console.errors import Refused
from console.facts.decisions import considered_clusters, marked, matrix, rule_rows
from console.pages.refusal_groups import ways_of
from console.pages.refusals import options_now
from console.rendering import page
from console.roles import needs
from console.sources.sql_client import SqlRun

MAX_SQL = 30_000  # characters: the statement is in the URL
_TABLE = re.compile(r"\s*(?:`[^`]+`|\w+)(?:\.(?:`[^`]+`|\w+))?\s*;?\s*")
ABOUT = "query"  # the title of runs


@needs(Role.ANALYST)
async def show(request: Request) -> Response:
    """Shows the form, and the decision for the statement in the query."""
    query = request.query_params
    sql, database = query.get("sql", "").strip(), query.get("database", "").strip() or "default"
    context: dict[str, Any] = {"decision": None, "problem": "", "options": ()}
    if len(sql) > MAX_SQL:
        context["problem"] = f"The statement has more than {MAX_SQL:,} characters."
    elif sql:
        clusters = tuple(request.app.state.settings.topology.clusters)
        statement = statement_of(sql)
        try:
            explained = await request.app.state.sources.proxies.explain(statement, database)
            context["decision"] = view(statement, database, explained, clusters)
            ways = ways_of(explained["considered"]) if explained["decision"] == "refuse" else ()
            context["options"] = options_now(ways, explained, request.app.state.settings.topology)
        except Refused as error:
            context["problem"] = str(error)
    return page(request, "where.html", sql=sql, database=database, **context)


@needs(Role.ANALYST)
async def start(request: Request) -> Response:
    """Starts the statement as the user."""
    form, user = request.state.form, request.state.session.user
    sql = statement_of(form.get("sql", "").strip())
    if not sql:
        raise Refused("There is no statement.")
    run = request.app.state.sources.sql.start(user, sql, form.get("database", ""), about=ABOUT)
    request.app.state.audit.action(request, "run", sql)
    return _state(request, run)


@needs(Role.ANALYST)
async def follow(request: Request) -> Response:
    """Shows a run's state, a part of a page that reloads itself while the statement runs."""
    return _state(request, _own(request))


@needs(Role.ANALYST)
async def cancel(request: Request) -> Response:
    run = _own(request)
    request.app.state.sources.sql.cancel(run)
    return _state(request, run)


def _own(request: Request) -> SqlRun:
    """The user's own run that the path names. Raises Refused."""
    sources, name = request.app.state.sources, request.path_params["name"]
    run = sources.sql.run(name, request.state.session.user)
    if run is None:
        raise Refused("The console does not know this run any more: run the statement again.")
    return run  # type: ignore[no-any-return]


def _state(request: Request, run: SqlRun) -> Response:
    drawn = Markup(bars.chart(run.columns, run.rows))
    return page(request, "run.html", run=run, chart=drawn)


def statement_of(text: str) -> str:
    """The statement in the text, without a `;` at its end. For the name of a table: a statement
    that reads the table."""
    if _TABLE.fullmatch(text):
        return f"SELECT * FROM {text.strip().rstrip(';').strip()}"
    return text.rstrip().removesuffix(";").rstrip()


def view(
    sql: str, database: str, explained: Mapping[str, Any], clusters: tuple[str, ...]
) -> dict[str, Any]:
    """The context for a decision."""
    found = matrix(explained, None, clusters)
    outcome = explained["decision"]
    return {
        "outcome": {"run": "finished", "answer": "finished", "refuse": "refused"}[outcome],
        "headline": {
            "run": f"It would run in {explained['cluster']}",
            "answer": "Causeway would answer it itself",
            "refuse": f"It would be refused with {explained['code']}",
        }[outcome],
        "because": explained["because"],
        "refused": outcome == "refuse",
        "sql": sql,
        "matrix": found,
        "pieces": marked(sql, database, found),
        "rules": rule_rows(explained["rule"]),
        "considered": considered_clusters(explained["considered"]),
    }


ROUTES = [
    Route("/where", show),
    Route("/where/run", start, methods=["POST"]),
    Route("/where/run/{name}", follow),
    Route("/where/run/{name}/cancel", cancel, methods=["POST"]),
]
