"""The plan of a query with resolved names: relations without their expressions.

A plan keeps sqlglot's expressions as they were parsed, each beside the scope that its names
belong to; `resolve` turns them into terms only when there are partitions to prune.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from sqlglot import exp

from conf.catalog.tables import TableInfo
from conf.names import TableRef


class JoinKind(Enum):
    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"


@dataclass(slots=True, eq=False)
class Scan:
    """A table in a plan. `info` is None when the catalog certainly has no such table."""

    rid: int
    ref: TableRef
    info: TableInfo | None


@dataclass(slots=True, eq=False)
class Leaf:
    """Rows that come from no table: VALUES, a table function, a temporary object."""

    rid: int
    columns: tuple[str, ...] | None = None


@dataclass(slots=True, eq=False)
class Lateral:
    """A source with a generator's columns beside its own."""

    rid: int
    source: "Node"


@dataclass(slots=True, eq=False)
class Join:
    """Two sources; `on` is read in `scope`, `using` are shared columns."""

    kind: JoinKind
    left: "Node"
    right: "Node"
    scope: "Scope"
    on: exp.Expr | None = None
    using: tuple[str, ...] = ()
    # `x IN (SELECT y ..)` as a semi join: expressions of the left that equal the right's columns
    # by position.
    members: tuple[exp.Expr, ...] = ()
    # A sub-query of a condition. Spark makes a join of it after it inferred over joins, and reads
    # what was not left out by then.
    of_condition: bool = False


@dataclass(slots=True, eq=False)
class Block:
    """One SELECT. `source` is None without FROM; `subplans` are sub-queries read on their own."""

    rid: int
    select: exp.Select
    scope: "Scope"
    source: "Node | None"
    subplans: list["Node"] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class SetOp:
    """UNION, INTERSECT or EXCEPT of branches, columns by position.

    `asks_left_only`: Spark asks a condition on the rows of the first branch alone. It runs
    INTERSECT and EXCEPT without ALL as joins, and reads the other branches whole.
    """

    rid: int
    branches: list["Node"]
    keeps_left_only: bool = False  # EXCEPT: what the right lacks
    asks_left_only: bool = False
    barrier: bool = False  # a LIMIT on the whole


@dataclass(slots=True, eq=False)
class Renamed:
    """A source whose columns have new names: a view's, or those of an alias's list.

    The source's columns are found by their names in `originals`; without these by position.
    """

    rid: int
    source: "Node"
    names: tuple[str, ...]
    originals: tuple[str, ...] = ()


Node = Scan | Leaf | Lateral | Join | Block | SetOp | Renamed


@dataclass(slots=True, eq=False)
class Entry:
    """A name in FROM. `database` is set when the name may be qualified by it."""

    alias: str
    node: Node
    database: str | None = None
    generated: tuple[str, ...] | None = None  # a lateral view's columns, when they are named


@dataclass(slots=True, eq=False)
class Scope:
    """The names that a SELECT's expressions may use; `parent` serves correlated sub-queries."""

    entries: list[Entry] = field(default_factory=list)
    parent: "Scope | None" = None
    # Columns merged by USING, each with the side that has its value (None: either).
    merged: dict[str, Node | None] = field(default_factory=dict)


def scans(root: Node) -> Iterator[Scan]:
    """Every mention of a table below `root`, FROM before sub-queries, left before right.

    A part that several places share is walked once.
    """
    waiting: list[Node] = [root]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Scan):
            yield node
        waiting.extend(reversed(children(node)))


def children(node: Node) -> list[Node]:
    if isinstance(node, Join):
        return [node.left, node.right]
    if isinstance(node, Block):
        return [*([node.source] if node.source is not None else []), *node.subplans]
    if isinstance(node, SetOp):
        return list(node.branches)
    if isinstance(node, Lateral | Renamed):
        return [node.source]
    return []
