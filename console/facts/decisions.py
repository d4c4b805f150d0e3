"""Explains a decision: tables by clusters, the rules in their order, and the text with its tables
marked. Pure.

`explained` is the answer of GET /v1/explain. `document` is a statement of the history or of the
list of running statements (docs/reference/rest.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.facts.marked_text import MarkedPiece, pieces
from console.shown import count, seconds
from router.obstacles import SHOWN
from router.rule_names import rule_name

Document = Mapping[str, Any]
_WORST = ("absent", "stale", "fresh", "primary")
_RULES = (
    (
        ("several-primaries",),
        "Outputs have one primary",
        "All tables that it writes have the same primary.",
    ),
    (
        ("pinned-elsewhere",),
        "The pin is the output's primary",
        "USE CLUSTER names the cluster that the statement writes in.",
    ),
    (
        ("session",),
        "Objects of the session",
        "Temporary views and the like exist in one cluster.",
    ),
    (
        ("lost",),
        "Its cluster was lost",
        "A query runs again in another cluster that has all inputs.",
    ),
    (
        ("output", "output-lacks-inputs"),
        "It writes a table",
        "It runs in the primary, which needs all inputs.",
    ),
    (
        ("pin",),
        "The session is pinned",
        "USE CLUSTER decides, if that cluster has all inputs.",
    ),
    (
        ("cost", "cost-probe"),
        "Several clusters may run it",
        "With router.choice = cost, the one that is expected to finish first.",
    ),
    (
        ("inputs", "default-first"),
        "Its inputs decide",
        "The first primary of an input whose cluster has all inputs.",
    ),
    (
        ("default", "new-table"),
        "Nothing decides",
        "It runs in the default cluster.",
    ),
)


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule of the router. `outcome` is passed (it did not apply), decided, or not reached."""

    title: str
    help: str
    outcome: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class ConsideredCluster:
    """A cluster that the deciding rule considered, and the obstacles as sentences."""

    cluster: str
    rule: str
    chosen: bool
    obstacles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableCell:
    """The state of a table in a cluster; empty if it is unknown. `notes` are short texts."""

    state: str
    notes: tuple[str, ...] = ()
    since: str = ""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Matrix:
    """Tables by clusters. Each row has a table and one cell for each cluster."""

    clusters: tuple[str, ...]
    rows: tuple[tuple[str, tuple[TableCell, ...]], ...]


def rule_rows(rule: str) -> list[RuleRow]:
    """The router's rules in their order, with the one that decided. Empty if no rule decided."""
    rule = rule_name(rule)  # earlier versions recorded the rule's id
    at = next((n for n, (names, *_) in enumerate(_RULES) if rule in names), None)
    if at is None:
        return []
    return [
        RuleRow(
            title,
            help,
            "decided" if n == at else "passed" if n < at else "not reached",
            rule if n == at else "",
        )
        for n, (_, title, help) in enumerate(_RULES)
    ]


def considered_clusters(considered: Sequence[Document]) -> list[ConsideredCluster]:
    """The clusters in the order in which they were considered."""
    return [
        ConsideredCluster(
            each["cluster"],
            each["rule"],
            each["chosen"],
            tuple(obstacle_words(one) for one in each["obstacles"]),
        )
        for each in considered
    ]


def obstacle_words(obstacle: Document) -> str:
    """An obstacle as a short sentence without the cluster's name."""
    table, other, partitions = obstacle["table"], obstacle["other"], obstacle["partitions"]
    match obstacle["kind"]:
        case "absent" | "stale" as kind:
            if partitions is None:
                return f"{table} is {'not there' if kind == 'absent' else 'stale'}"
            names = ", ".join(obstacle["first"][:SHOWN]) + (", …" if partitions > SHOWN else "")
            lacks = "lacks" if kind == "absent" else "is stale in"
            return f"{table} {lacks} {count(partitions, 'partition')} ({names})"
        case "path":
            return f"a path lies in {other}"
        case "pinned":
            return f"the session is pinned to {other}"
        case "session":
            return f"an object of the session is in {other}"
        case "written":
            return f"{table} is written in {other}"
        case "down":
            return "no session can be opened there"
        case "cost":
            return f"it was expected to end later than in {other}, or {other} was tried again"
        case kind:
            return str(kind)


def matrix(
    explained: Document | None, document: Document | None, clusters: Sequence[str]
) -> Matrix:
    """Tables by clusters: their present states if `explained` is given, else the states that the
    decision recorded. Marks the chosen cluster."""
    chosen = (explained or document or {}).get("cluster") or ""
    if explained is not None:
        rows: dict[str, dict[str, TableCell]] = {}
        for each in explained["tables"]:
            cell = TableCell(
                each["state"], _notes(each), each["stale_since"] or "", each["cluster"] == chosen
            )
            rows.setdefault(each["table"], {})[each["cluster"]] = cell
    else:
        rows = _recorded_states(document or {}, chosen)
    unknown = TableCell("")
    return Matrix(
        tuple(clusters),
        tuple(
            (table, tuple(cells.get(cluster, unknown) for cluster in clusters))
            for table, cells in rows.items()
        ),
    )


def _notes(state: Document) -> tuple[str, ...]:
    notes = []
    if state["partitions"] is not None and state["state"] in ("stale", "absent"):
        present = (state["primary"] or 0) + (state["fresh"] or 0)
        notes.append(f"{present} of {count(state['partitions'], 'partition')} there")
    elif state["partitions"] is not None:
        notes.append(count(state["partitions"], "partition"))
    if state["lag"]:
        notes.append(f"{seconds(state['lag'])} behind")
    return tuple(notes)


def _recorded_states(document: Document, chosen: str) -> dict[str, dict[str, TableCell]]:
    """The states that a past decision recorded: its obstacles, and that the chosen cluster had all
    tables."""
    tables = [_table(each) for each in (*document.get("reads", ()), *document.get("writes", ()))]
    rows: dict[str, dict[str, TableCell]] = {table: {} for table in tables}
    for each in document.get("considered", ()):
        cluster, lacking = each["cluster"], {}
        for one in each["obstacles"]:
            if one["kind"] in ("absent", "stale"):
                lacking[one["table"]] = one["kind"]
        for table in tables:
            state = lacking.get(table, "fresh" if each["chosen"] else "")
            notes = ("had it",) if state == "fresh" else ()
            rows[table][cluster] = TableCell(state, notes, "", cluster == chosen)
    return rows


def _table(use: Any) -> str:
    """The name of a table. The history has objects with partitions, the list of running statements
    has only names."""
    return str(use["table"]) if isinstance(use, Mapping) else str(use).partition("@")[0]


def marked(text: str, database: str, found: Matrix) -> list[MarkedPiece]:
    """The statement's text with its tables marked by their state in the chosen cluster, or by their
    worst state if no cluster was chosen."""
    tables = {}
    for table, cells in found.rows:
        in_chosen = [cell.state for cell in cells if cell.chosen and cell.state]
        states = in_chosen or [cell.state for cell in cells if cell.state]
        worst = next((each for each in _WORST if each in states), "")
        words = ", ".join(
            f"{cluster}: {cell.state}"
            for cluster, cell in zip(found.clusters, cells, strict=True)
            if cell.state
        )
        tables[table] = (worst, words)
    return pieces(text, database, tables)
