"""A decision as people read it: tables by clusters, the rules in order, and the text with its
tables marked. Pure.

`explained` is the answer of GET /v1/explain, `document` a statement of the history or of the list
of running ones (docs/reference/rest.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.facts.marked_text import Piece, pieces
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
        "USE CLUSTER names where it writes.",
    ),
    (
        ("session",),
        "Objects of the session",
        "Temporary views and the like live in one cluster.",
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
        "The one where it is expected to end first, if the setting router.choice is cost.",
    ),
    (
        ("inputs", "default-first"),
        "Its inputs decide",
        "The first primary of an input that has all inputs.",
    ),
    (
        ("default", "new-table"),
        "Nothing decides",
        "It runs in the default cluster.",
    ),
)


@dataclass(frozen=True, slots=True)
class RuleRow:
    """`outcome` is passed (it did not apply), decided, or not reached."""

    title: str
    help: str
    outcome: str
    rule: str = ""


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A cluster that the deciding rule looked at, and what was against it, in words."""

    cluster: str
    rule: str
    chosen: bool
    obstacles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cluster has of a table. `state` is empty where it is not known; `notes` are short."""

    state: str
    notes: tuple[str, ...] = ()
    since: str = ""
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Matrix:
    """`rows` have a table and a cell for each of `clusters`."""

    clusters: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


def rule_rows(rule: str) -> list[RuleRow]:
    """The router's rules in their order, with the one that decided; none for a statement that no
    rule decided."""
    rule = rule_name(rule)  # statements of earlier versions have its id
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


def cluster_rows(considered: Sequence[Document]) -> list[ClusterRow]:
    """The clusters in the order in which they were considered."""
    return [
        ClusterRow(
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
    """Tables by clusters: as they are now where `explained` is known, otherwise what the decision
    knew. The cluster that was chosen is marked."""
    chosen = (explained or document or {}).get("cluster") or ""
    if explained is not None:
        rows: dict[str, dict[str, Cell]] = {}
        for each in explained["tables"]:
            cell = Cell(
                each["state"], _notes(each), each["stale_since"] or "", each["cluster"] == chosen
            )
            rows.setdefault(each["table"], {})[each["cluster"]] = cell
    else:
        rows = _known_then(document or {}, chosen)
    unknown = Cell("")
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
        there = (state["primary"] or 0) + (state["fresh"] or 0)
        notes.append(f"{there} of {count(state['partitions'], 'partition')} there")
    elif state["partitions"] is not None:
        notes.append(count(state["partitions"], "partition"))
    if state["lag"]:
        notes.append(f"{seconds(state['lag'])} behind")
    return tuple(notes)


def _known_then(document: Document, chosen: str) -> dict[str, dict[str, Cell]]:
    """What a decision of the past knew: the obstacles, and that the chosen cluster had all."""
    tables = [_table(each) for each in (*document.get("reads", ()), *document.get("writes", ()))]
    rows: dict[str, dict[str, Cell]] = {table: {} for table in tables}
    for each in document.get("considered", ()):
        cluster, lacking = each["cluster"], {}
        for one in each["obstacles"]:
            if one["kind"] in ("absent", "stale"):
                lacking[one["table"]] = one["kind"]
        for table in tables:
            state = lacking.get(table, "fresh" if each["chosen"] else "")
            notes = ("had it",) if state == "fresh" else ()
            rows[table][cluster] = Cell(state, notes, "", cluster == chosen)
    return rows


def _table(use: Any) -> str:
    """The name of a table: the history has partitions beside it, lists of running statements have
    the name alone."""
    return str(use["table"]) if isinstance(use, Mapping) else str(use).partition("@")[0]


def marked(text: str, database: str, found: Matrix) -> list[Piece]:
    """The statement's text with its tables marked by their state in the cluster where it runs, or
    the worst in any where it runs nowhere."""
    tables = {}
    for table, cells in found.rows:
        mine = [cell.state for cell in cells if cell.chosen and cell.state]
        states = mine or [cell.state for cell in cells if cell.state]
        worst = next((each for each in _WORST if each in states), "")
        words = ", ".join(
            f"{cluster}: {cell.state}"
            for cluster, cell in zip(found.clusters, cells, strict=True)
            if cell.state
        )
        tables[table] = (worst, words)
    return pieces(text, database, tables)
