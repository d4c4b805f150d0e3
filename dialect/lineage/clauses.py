"""Reads parts of a parsed SELECT: aliases, joins, semi joins, and the queries in its
expressions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dialect.errors import NotUnderstood
from dialect.lineage.calls import NAMED
from dialect.lineage.plan import JoinKind


def alias_columns(tree: exp.Expr) -> tuple[str, ...]:
    """The columns of `AS t (a, b)`, in lower case."""
    alias = tree.args.get("alias")
    if not isinstance(alias, exp.TableAlias):
        return ()
    return tuple(column.name.lower() for column in alias.args.get("columns") or ())


def is_bracketed_join(tree: exp.Subquery) -> bool:
    """Whether the brackets hold a table or a join of tables, not a query."""
    inner = tree.this
    if isinstance(inner, exp.Subquery):
        return bool(inner.args.get("joins"))
    return isinstance(inner, exp.Table | exp.Lateral)


def unwrapped(tree: exp.Expr) -> exp.Expr:
    """The query without the brackets around it."""
    while isinstance(tree, exp.Subquery) and tree.is_wrapper:
        tree = tree.this
    return tree


def pivoted(tree: exp.Select) -> bool:
    """Whether FROM has a PIVOT. Its columns are others, so no condition is pushed below it."""
    items = [tree.args["from_"].this] if tree.args.get("from_") else []
    for join in tree.args.get("joins") or ():
        items += [join, join.this]
    return any(item.args.get("pivots") for item in (tree, *items))


def check_alias(table: exp.Table) -> None:
    """Raises NotUnderstood for `t (x, y)`, which Spark reads as a call of a table function."""
    if alias_columns(table) and not table.alias:
        raise NotUnderstood(f"columns of {table.name} without an alias")


def check_modifiers(table: exp.Table) -> None:
    """Raises NotUnderstood for a query in a table's version, sample or PIVOT."""
    modifiers = [table.args.get(name) for name in ("version", "when", "sample")]
    for part in (*modifiers, *(table.args.get("pivots") or ())):
        if any(True for _ in outermost_queries(part)):
            raise NotUnderstood("a query beside a table's name")


def laterals(tree: exp.Expr) -> list[exp.Lateral]:
    return tree.args.get("laterals") or []


def continues_set(inner: exp.Expr, outer: exp.SetOperation) -> bool:
    """Whether the branches of the set operation `inner` are branches of `outer`, which contains it:
    `a UNION (b UNION c)` has three."""
    if type(inner) is not type(outer) or isinstance(outer, exp.Except) or modified(inner):
        return False
    return isinstance(outer, exp.Union) or inner.args.get("distinct") == outer.args.get("distinct")


def modified(tree: exp.Expr) -> bool:
    return any(tree.args.get(name) for name in ("limit", "offset", "order"))


def join_kind(join: exp.Join) -> JoinKind:
    """The kind of a parsed join. Raises NotUnderstood for one that Spark does not have."""
    side, kind, method = join.side, join.kind, join.method
    if method not in ("", "NATURAL") or side not in ("", "LEFT", "RIGHT", "FULL"):
        raise NotUnderstood(f"{method or side} JOIN")
    if kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
        raise NotUnderstood(f"{kind} JOIN")
    if kind in ("SEMI", "ANTI"):
        return JoinKind.SEMI if kind == "SEMI" else JoinKind.ANTI
    if kind == "OUTER" and not side:
        raise NotUnderstood("OUTER JOIN without a side")
    return JoinKind[side] if side else JoinKind.INNER


@dataclass(frozen=True, slots=True)
class SemiJoin:
    """A condition that only rows with a match in a sub-query satisfy; of kind ANTI: without."""

    kind: JoinKind
    query: exp.Expr
    members: tuple[exp.Expr, ...] = ()


def semi_joins(tree: exp.Select) -> Iterator[SemiJoin]:
    """The conjuncts of WHERE that are IN (query), EXISTS or NOT EXISTS."""
    where = tree.args.get("where")
    waiting = [] if where is None else [where.this]
    while waiting:
        each = waiting.pop()
        if isinstance(each, exp.And):
            waiting += [each.args["expression"], each.this]
        elif isinstance(each, exp.Paren):
            waiting.append(each.this)
        elif isinstance(each, exp.In) and isinstance(each.args.get("query"), exp.Query):
            this = each.this
            members = tuple(this.expressions) if isinstance(this, exp.Tuple) else (this,)
            yield SemiJoin(JoinKind.SEMI, each.args["query"], members)
        elif isinstance(each, exp.Exists) and isinstance(each.this, exp.Query):
            yield SemiJoin(JoinKind.SEMI, each.this)
        elif isinstance(each, exp.Not):
            inner = each.this.this if isinstance(each.this, exp.Exists) else None
            if isinstance(inner, exp.Query):
                yield SemiJoin(JoinKind.ANTI, inner)


def expression_queries(tree: exp.Select) -> Iterator[exp.Expr]:
    """The outermost sub-queries of a SELECT's expressions, without those of FROM."""
    for name, value in tree.args.items():
        if not value or name in ("with_", "from_", "hint"):
            continue
        for part in value if isinstance(value, list) else (value,):
            if name == "joins":
                yield from outermost_queries(part.args.get("on"))
            elif isinstance(part, exp.Expr) and not is_leaf(part):
                yield from outermost_queries(part)


_LEAVES = frozenset({exp.Identifier, exp.Literal, exp.DataType, exp.Var, exp.Null})
_NAMES = frozenset({exp.Identifier, exp.Star})


def is_leaf(tree: exp.Expr) -> bool:
    """Whether the tree certainly contains no query; most parts of a statement do not.

    A column may: the parser makes one of the call `d.f(x) FILTER (WHERE ..)`.
    """
    if type(tree) is exp.Column:
        return type(tree.this) in _NAMES
    return type(tree) in _LEAVES


def outermost_queries(tree: exp.Expr | None) -> Iterator[exp.Expr]:
    """The queries in an expression, without those inside them. Raises NotUnderstood for a table."""
    waiting = [tree] if tree is not None else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Query) and not isinstance(node, exp.Values | exp.Table):
            yield node
            continue
        if isinstance(node, exp.Table):
            raise NotUnderstood(f"the table {node.name} in an unexpected place")
        for value in node.args.values():
            for child in value if type(value) is list else (value,):
                if isinstance(child, exp.Expr) and not is_leaf(child):
                    waiting.append(child)


def tables_of(tree: exp.Expr) -> Iterator[exp.Table]:
    """The tables of the tree, without those of WITH: a CTE that is not used reads nothing."""
    waiting: list[exp.Expr] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.Table):
            yield node
        for value in node.args.values():
            for child in value if type(value) is list else (value,):
                if isinstance(child, exp.Expr) and not (is_leaf(child) or type(child) is exp.CTE):
                    waiting.append(child)


def uses_aliases(having: exp.Expr, select: exp.Select) -> bool:
    """Whether HAVING has a name that the SELECT list gives to another expression."""
    aliases = {
        each.alias.lower()
        for each in select.expressions
        if isinstance(each, exp.Alias) and each.this.name.lower() != each.alias.lower()
    }
    return bool(aliases) and any(
        column.name.lower() in aliases for column in having.find_all(exp.Column)
    )


def aggregates(tree: exp.Expr) -> bool:
    """Whether the expression is, or may be, an aggregate."""
    for node in tree.walk(prune=lambda each: isinstance(each, exp.Query | exp.Window)):
        if isinstance(node, exp.AggFunc):
            return True
        if isinstance(node, exp.Anonymous) and str(node.this).lower() not in NAMED:
            # An unknown function may be an aggregate that a user wrote.
            return True
    return False


def nth_output(projections: Sequence[exp.Expr], number: str) -> exp.Expr | None:
    """The expression to which `GROUP BY 2` refers, counted from 1; None if there is none."""
    at = int(number) - 1 if number.isdigit() else -1
    if not 0 <= at < len(projections):
        return None
    tree = projections[at]
    return tree.this if isinstance(tree, exp.Alias) else tree
