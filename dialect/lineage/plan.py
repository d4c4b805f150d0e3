"""The plan of a query with resolved names: a tree of relations.

A node has a number, its `rid` (relation id). Every mention of a table is a scan with a rid of its
own. A term names a column by the rid of its scan or set operation.

Expressions stay as sqlglot parsed them, each with the scope in which its names are read. `resolve`
turns them into terms only if there are partitions to prune.

Example of a plan, where v is the view `SELECT a AS k FROM t`:

    WITH c AS (SELECT * FROM v)
    SELECT * FROM c JOIN u ON c.k = u.k WHERE EXISTS (SELECT 1 FROM w)

    Block                          the SELECT; its scope has the names c and u
      Join SEMI, of_condition      EXISTS
        Join INNER                 JOIN .. ON c.k = u.k
          Block                    the query of c
            Renamed (k)            the view v, with the names of its columns
              Block                the view's query
                Scan t
          Scan u
        Block                      the sub-query
          Scan w
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
    """One mention of a table. `info` is None if the catalog certainly has no such table."""

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
    """LATERAL VIEW: a source's columns, and those of a generator."""

    rid: int
    source: "Node"


@dataclass(slots=True, eq=False)
class Join:
    """A join of two sources. The names of `on` are read in `scope`; `using` are shared columns."""

    kind: JoinKind
    left: "Node"
    right: "Node"
    scope: "Scope"
    on: exp.Expr | None = None
    using: tuple[str, ...] = ()
    # Of the semi join for `(a, b) IN (SELECT ..)`: the expressions a and b, which equal the columns
    # of the right side by position.
    members: tuple[exp.Expr, ...] = ()
    # The right side is a sub-query of a condition. Spark makes a join of it only after it has
    # inferred conditions over joins.
    of_condition: bool = False


@dataclass(slots=True, eq=False)
class Block:
    """One SELECT. `source` is None without FROM; `subplans` are the sub-queries of its expressions
    that are no semi joins."""

    rid: int
    select: exp.Select
    scope: "Scope"
    source: "Node | None"
    subplans: list["Node"] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class SetOp:
    """UNION, INTERSECT or EXCEPT of branches, columns by position.

    `pushes_left_only`: Spark runs INTERSECT and EXCEPT without ALL as joins, and pushes a condition
    into the first branch alone. With a `barrier`, and often a single branch, no condition passes:
    there is a LIMIT, a sample or a PIVOT.
    """

    rid: int
    branches: list["Node"]
    keeps_left_only: bool = False  # EXCEPT: rows of the first branch that are not in the others
    pushes_left_only: bool = False
    barrier: bool = False


@dataclass(slots=True, eq=False)
class Renamed:
    """A source with new names for its columns: those of a view, or of an alias's list.

    A column is found in the source by its name in `originals`; if these are empty, by its position.
    """

    rid: int
    source: "Node"
    names: tuple[str, ...]
    originals: tuple[str, ...] = ()


Node = Scan | Leaf | Lateral | Join | Block | SetOp | Renamed


@dataclass(slots=True, eq=False)
class FromItem:
    """A name in FROM. `database` is set if the name may be written `database.alias`."""

    alias: str
    node: Node
    database: str | None = None
    # A lateral view's columns; empty if they have no names in the text.
    generated: tuple[str, ...] | None = None


@dataclass(slots=True, eq=False)
class Scope:
    """The names that a SELECT's expressions may use. `parent` is the scope of the outer query."""

    items: list[FromItem] = field(default_factory=list)
    parent: "Scope | None" = None
    # Columns merged by USING, each with the side from which its value comes (None: either).
    merged: dict[str, Node | None] = field(default_factory=dict)


def scans(root: Node) -> Iterator[Scan]:
    """The scans below `root`, FROM before sub-queries, left before right.

    A plan that several nodes share is walked once.
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
