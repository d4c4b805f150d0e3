"""The pages of Hudi tables: their timeline, and what a pull since an instant would read."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conf.names import TableRef
from conf.roles import Role
from console.drawing.timeline import Mark, timeline
from console.errors import Refused
from console.paging import links
from console.rendering import page
from console.roles import needs
from console.sources.hudi_client import HudiTimeline
from console.sources.metastore_client import NoSuchTable
from pipeline.hudi.plan import Plan
from pipeline.hudi.table.timeline import Instant

_LISTED = 200  # actions in the list
_FILES = 100  # files and partitions of a pull in the lists


@needs(Role.VIEWER)
async def tables(request: Request) -> Response:
    search = request.query_params.get("search", "").strip()
    found = await request.app.state.sources.metastore.tables("", search)
    return page(
        request, "hudi_tables.html", tables=[str(each) for each in found.hudi], search=search,
        complete=found.complete, total=found.total,
    )  # fmt: skip


@needs(Role.VIEWER)
async def table(request: Request) -> Response:
    sources, query = request.app.state.sources, request.query_params
    ref = TableRef.parse(request.path_params["table"])
    try:
        found = await sources.metastore.table(ref)
    except NoSuchTable as error:
        raise HTTPException(404, f"There is no table {ref}.") from error
    if not found.is_hudi:
        raise HTTPException(404, f"{ref} is not a Hudi table.")
    actions = await sources.hudi.timeline(found.location)
    plan, refused = None, ""
    if query.get("since"):
        try:
            plan = await sources.hudi.pull(found.location, query["since"].strip())
        except Refused as error:
            refused = str(error)
    context = hudi_context(str(ref), actions, plan)
    return page(
        request, "hudi.html", **context, since=query.get("since", ""), refused=refused,
        link=links(query),
    )  # fmt: skip


ROUTES = [Route("/hudi", tables), Route("/hudi/{table}", table)]


def hudi_context(name: str, found: HudiTimeline, plan: Plan | None) -> dict[str, Any]:
    """The context of a table's page: the timeline as a picture and as lines, and the pull."""
    read = {each.requested for each in plan.commits} if plan else set()
    lines = [_line(each, found, read) for each in found.instants]
    marks = [
        Mark(
            line["action"],
            line["began"],
            line["ended"],
            f"{line['action']} {line['requested']}: {line['words']}",
            line["read"],
        )
        for line in reversed(lines)
    ]
    times = ("", "") if not lines else (_day(lines[-1]["began"]), _day(lines[0]["began"]))
    return {
        "table": name,
        "base": found.base,
        "version": found.version,
        "kind": "merge on read" if found.merge_on_read else "copy on write",
        "fields": found.partition_fields,
        "picture": timeline(f"Timeline of {name}", marks, times) if marks else "",
        "lines": lines[:_LISTED],
        "left_out": found.left_out + max(len(lines) - _LISTED, 0),
        "by_completion": found.by_completion,
        "plan": plan and plan_facts(plan),
    }


def plan_facts(plan: Plan) -> dict[str, Any]:
    """The facts about a pull that the page shows."""
    return {
        "since": plan.since,
        "bookmark": plan.bookmark,
        "commits": [each.requested for each in plan.commits],
        "partitions": plan.partitions[:_FILES],
        "partition_count": len(plan.partitions),
        "file_count": len(plan.files),
        "files": [(each.path, each.length) for each in plan.files[:_FILES]],
        "bytes": plan.bytes,
        "fallback": plan.fallback,
        "removal": plan.removal_reason,
        "held_back_by": plan.held_back_by,
        "empty": plan.empty,
    }


def moment(instant: str) -> float:
    """The epoch seconds of an instant `yyyyMMddHHmmss[SSS]`, taken as UTC; 0 for other texts."""
    try:
        whole = datetime.strptime(instant[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
    return whole + int(instant[14:17] or 0) / 1000


def _line(each: Instant, found: HudiTimeline, read: set[str]) -> dict[str, Any]:
    commit = found.commits.get(each.file)
    facts: Mapping[str, Any] = {"partitions": None, "files": None, "writes": None, "deletes": None}
    if commit is not None:
        facts = {
            "partitions": len(commit.partitions),
            "files": len(commit.writes),
            "writes": sum(stat.writes for stat in commit.writes),
            "deletes": sum(stat.deletes for stat in commit.writes),
        }
    operation = commit.operation.lower().replace("_", " ") if commit else ""
    words = operation or each.state.name.lower()
    if commit is not None:
        words += f", {facts['files']} files in {facts['partitions']} partitions"
    return {
        **facts,
        "requested": each.requested,
        "completion": each.completion,
        "bookmark": each.completion if found.by_completion else each.requested,
        "action": each.action,
        "state": each.state.name.lower(),
        "operation": operation,
        "words": words,
        "began": moment(each.requested),
        "ended": (moment(each.completion or each.requested)) if each.completed else None,
        "read": each.requested in read,
    }


def _day(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M}"
