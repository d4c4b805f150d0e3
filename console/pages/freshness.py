"""The pages of fresh and stale copies: all tables by clusters, and one table's partitions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conf.copies import CopySum, TableCopies, cluster_copies, sums
from conf.names import ClusterName, TableRef
from conf.roles import Role
from console.drawing.matrix import (
    ObjectState,
    PartitionRun,
    PartitionRuns,
    PartitionStates,
    partition_matrix,
    share_bar,
)
from console.paging import links, pager
from console.rendering import page
from console.roles import needs
from console.shown import number
from console.sources.metastore_client import MAX_PARTITIONS, NoSuchTable, TableDetails, TableList

TABLES_PAGE, RUNS_PAGE = 100, 100
SHOWN = ("all", "copied", "stale")
SORTS = ("lag", "table", "absent")
PARTITION_SORTS = ("name", "lag", "count")


@dataclass(frozen=True, slots=True)
class TableRow:
    """A line of the list of tables. `lag` is the largest lag of its copies, in seconds."""

    table: str
    cells: tuple[dict[str, Any], ...]
    stale: int
    absent: int
    copied: bool
    lag: float | None
    note: str = ""


@needs(Role.VIEWER)
async def tables(request: Request) -> Response:
    query = request.query_params
    source = request.app.state.sources.metastore
    database, search = query.get("database", ""), query.get("search", "").strip()
    found = await source.tables(database, search)
    databases = await source.databases()
    context = tables_context(found, query)
    return page(request, "freshness.html", **context, databases=databases, link=links(query))


@needs(Role.ANALYST)
async def table(request: Request) -> Response:
    ref = TableRef.parse(request.path_params["table"])
    try:
        found = await request.app.state.sources.metastore.table(ref)
    except NoSuchTable as error:
        raise HTTPException(404, f"There is no table {ref}.") from error
    query = request.query_params
    return page(request, "table.html", **table_context(found, query), link=links(query))


ROUTES = [
    Route("/freshness", tables),
    Route("/freshness/{table}", table),
]


# The list of tables


def tables_context(found: TableList, query: Mapping[str, str]) -> dict[str, Any]:
    """The context of the list: a page of rows, selected and sorted by `query`."""
    rows = [_row(each, found) for each in found.tables]
    rows += [_unread(ref, f"more than {number(MAX_PARTITIONS)} partitions") for ref in found.many]
    rows += [_unread(ref, reason) for ref, reason in found.broken]
    counts = {
        "all": len(rows),
        "copied": sum(row.copied for row in rows),
        "stale": sum(bool(row.stale) for row in rows),
    }
    shown = _one_of(query.get("show"), SHOWN)
    sort = _one_of(query.get("sort"), SORTS)
    keys: dict[str, Callable[[TableRow], Any]] = {
        "table": lambda row: row.table,
        "lag": lambda row: (not row.stale, -(row.lag or 0), row.table),
        "absent": lambda row: (-row.absent, row.table),
    }
    chosen = [
        row
        for row in rows
        if shown == "all" or (row.copied if shown == "copied" else row.stale > 0)
    ]
    chosen.sort(key=keys[sort])
    pages = pager(query, len(chosen), TABLES_PAGE)
    return {
        "rows": chosen[pages.first : pages.end],
        "clusters": found.clusters,
        "counts": counts,
        "show": shown,
        "sort": sort,
        "search": query.get("search", ""),
        "database": query.get("database", ""),
        "pages": pages,
        "total": found.total,
        "complete": found.complete,
        "read": found.read,
    }


def _row(copies: TableCopies, found: TableList) -> TableRow:
    counted = sums(copies.objects, found.clusters)
    cells = tuple(cell(str(copies.table), each, found.read) for each in counted)
    lags = [lag for each in counted if (lag := each.lag(found.read)) is not None]
    return TableRow(
        str(copies.table),
        cells,
        sum(each.stale for each in counted),
        sum(each.absent for each in counted),
        copies.copied,
        max(lags, default=None),
        "" if copies.partitions is None else number(len(copies.partitions)),
    )


def _unread(ref: TableRef, note: str) -> TableRow:
    return TableRow(str(ref), (), 0, 0, False, None, note)


def cell(table: str, counted: CopySum, now: float) -> dict[str, Any]:
    """The state of a table in a cluster, with a bar if the states of its partitions differ."""
    counts = state_counts(counted)
    total = sum(counts.values())
    present = [state for state in ObjectState if counts[state]]
    state = present[-1].value if present else "empty"
    worst = counts[present[-1]] if present else 0
    bar = ""
    if len(present) > 1:
        bar = share_bar(counts, f"{table} in {counted.cluster}")
    return {
        "cluster": counted.cluster,
        "state": state,
        "words": state if len(present) <= 1 else f"{number(worst)} of {number(total)} {state}",
        "bar": bar,
        "lag": counted.lag(now),
        "unknown": counted.unknown,
    }


def state_counts(counted: CopySum) -> dict[ObjectState, int]:
    """The number of objects in each state."""
    return {
        ObjectState.PRIMARY: counted.primary,
        ObjectState.FRESH: counted.fresh,
        ObjectState.STALE: counted.stale,
        ObjectState.ABSENT: counted.absent,
    }


# One table


def table_context(found: TableDetails, query: Mapping[str, str]) -> dict[str, Any]:
    """The context of a table's page: its clusters and, for a partitioned table, the picture and a
    page of runs of partitions."""
    own = {state.cluster: state for state in cluster_copies(found.placement)}
    clusters = [
        {
            **cell(str(found.table), each, found.read),
            "since": each.since,
            "copied": each.at,
            "files": each.files,
            "bytes": each.bytes,
            "location": _location(found, each.cluster, own),
        }
        for each in found.sums
    ]
    context = {
        "table": str(found.table),
        "hudi": found.is_hudi,
        "clusters": clusters,
        "writes": found.placement.open,
        "read": found.read,
        "picture": "",
    }
    if found.states is None:
        return context
    return context | partitions_context(str(found.table), found.states, found.read, query)


def _location(found: TableDetails, cluster: ClusterName, own: Mapping[ClusterName, Any]) -> str:
    if cluster == found.placement.primary:
        return found.location
    return own[cluster].location if cluster in own else ""


def partitions_context(
    table: str, states: PartitionStates, now: float, query: Mapping[str, str]
) -> dict[str, Any]:
    """The context for the partitions that `query` selects: their picture and a page of runs."""
    chosen = select(states, query.get("search", "").strip(), query.get("state", ""))
    sort = _one_of(query.get("sort"), PARTITION_SORTS)
    found = PartitionRuns(chosen)
    began = _first_times(found, chosen.since)
    order: Sequence[int] = range(len(found))
    if sort == "lag":
        order = sorted(order, key=lambda index: (began.get(index, now), index))
    elif sort == "count":
        sizes = found.sizes()
        order = sorted(order, key=lambda index: (-sizes[index], index))
    pages = pager(query, len(found), RUNS_PAGE)
    shown = order[pages.first : pages.end]
    return {
        "picture": partition_matrix(table, chosen),
        "names": [str(each) for each in chosen.clusters],
        "runs": [_run(found[index], chosen, began.get(index)) for index in shown],
        "pages": pages,
        "shown": len(chosen.names),
        "total": len(states.names),
        "sort": sort,
        "search": query.get("search", ""),
        "state_chosen": query.get("state", ""),
    }


def select(states: PartitionStates, search: str, state: str) -> PartitionStates:
    """The partitions whose names contain `search` and that are in `state` in some cluster."""
    if not search and not state:
        return states
    fitting = {
        number
        for number, kind in enumerate(states.kinds)
        if not state or any(each.value == state for each in kind)
    }
    rows = [
        row
        for row, (name, group) in enumerate(zip(states.names, states.groups, strict=True))
        if group in fitting and search in name
    ]
    return PartitionStates(
        [states.names[row] for row in rows],
        states.clusters,
        states.kinds,
        [states.groups[row] for row in rows],
        {new: states.since[row] for new, row in enumerate(rows) if row in states.since},
    )


def _first_times(found: PartitionRuns, since: Mapping[int, float]) -> dict[int, float]:
    """The earliest time in `since` of each run that has one, by the run's index."""
    first: dict[int, float] = {}
    for row, when in since.items():
        index = found.at(row)
        first[index] = min(when, first.get(index, when))
    return first


def _run(run: PartitionRun, states: PartitionStates, since: float | None) -> dict[str, Any]:
    return {
        "first": states.names[run.first],
        "last": states.names[run.last],
        "count": run.number,
        "states": [state.value for state in run.states],
        "since": since,
    }


def _one_of(given: str | None, known: Sequence[str]) -> str:
    return given if given is not None and given in known else known[0]
