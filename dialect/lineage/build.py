"""Makes a plan of a parsed query: resolves the names of tables, opens views and CTEs.

`Builder.statement_plan` walks sqlglot's tree. Each relation of FROM becomes a node of the plan
(`lineage.plan` has an example), and its name goes into the scope in which the SELECT's expressions
are read. A table's name means, in this order: a file, a query of WITH, a temporary object, a table
or view of the catalog (`_resolve_table`). The plan of its query replaces a view or a query of WITH.
A table of the tree that is in no plan makes the statement unknown (`_check_opened`).
"""

from dataclasses import dataclass, field

from sqlglot import exp

from conf.catalog.tables import TableKind, ViewText
from conf.names import TableRef
from dialect.errors import NotUnderstood
from dialect.lexing.token_cursor import is_path, table_ref
from dialect.lexing.tokenize import tokenize
from dialect.lineage import plan
from dialect.lineage.analysis_context import AnalysisContext
from dialect.lineage.clauses import (
    alias_columns,
    check_alias,
    check_modifiers,
    continues_set,
    expression_queries,
    is_bracketed_join,
    join_kind,
    laterals,
    outermost_queries,
    pivoted,
    semi_joins,
    tables_of,
    unwrapped,
)
from dialect.lineage.names import Cte, Ctes, Names, parts_of
from dialect.lineage.plan import Block, FromItem, Join, JoinKind, Leaf, Node, Scan, Scope
from dialect.lineage.table_functions import (
    HintedTable,
    NoSource,
    PathArgument,
    TableArgument,
    source_of,
)
from dialect.lineage.view_queries import query_of, with_keys
from dialect.parsing.function_calls import Calls
from dialect.parsing.supported_nodes import check_supported
from dialect.work import spend

# A chain of CTEs, each of which uses the one before twice, doubles the plan at every step. A plan
# of more nodes has one shared plan for each CTE, and nothing is pruned.
MAX_NODES = 4_000


@dataclass(slots=True)
class Builder:
    """Builds the plans of one statement, and records in `analysis` what their names mean."""

    analysis: AnalysisContext
    shared: bool = False
    _nodes: int = 0
    # Plans of functions written in SQL, and of queries in the ON of a join in brackets.
    detached: list[Node] = field(default_factory=list)
    _opened_tables: set[int] = field(default_factory=set)
    _names: Names = field(init=False)

    def __post_init__(self) -> None:
        self._names = Names(self.analysis, self.analysis.namespace.database.lower())

    def _rid(self) -> int:
        spend()
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self.shared = True
        return self._nodes

    # Queries

    def statement_plan(self, tree: exp.Expr, query: exp.Expr | None = None) -> Node:
        """The plan of a statement's tree, or of `query`, which was made of its parts.

        Raises NotUnderstood if a table of the tree is in no plan.
        """
        before, self._names.ctes = self._names.ctes, []
        node = self.query(tree if query is None else query)
        self._check_opened(tree)
        self._names.use_unread_temporaries()
        self._names.ctes = before
        return node

    def _check_opened(self, tree: exp.Expr) -> None:
        """Raises NotUnderstood if the builder has passed over a table of the tree."""
        for table in tables_of(tree):
            if id(table) not in self._opened_tables:
                raise NotUnderstood(f"the table {table.name} in an unexpected place")

    def query(self, tree: exp.Expr, ctes: Ctes | None = None, parent: Scope | None = None) -> Node:
        """The plan of a query expression. Raises NotUnderstood."""
        check_supported(tree)
        ctes = self._names.with_queries_of(tree, ctes or {})
        if isinstance(tree, exp.Select):
            return self._select(tree, ctes, parent)
        if isinstance(tree, exp.SetOperation):
            return self._set_operation(tree, ctes, parent)
        if isinstance(tree, exp.Subquery):
            return self._subquery_as_query(tree, ctes, parent)
        if isinstance(tree, exp.Values):
            return self._values(tree, ctes, parent)
        if isinstance(tree, exp.Table):
            return self._table(tree, ctes, parent).node
        raise NotUnderstood(f"{tree.key} is not a query")

    def _subquery_as_query(self, tree: exp.Subquery, ctes: Ctes, parent: Scope | None) -> Node:
        if tree.args.get("joins") or isinstance(tree.this, exp.Table):
            return self._relation(tree, Scope(parent=parent), ctes)
        node = self.query(tree.this, ctes, parent)
        if any(tree.args.get(name) for name in ("limit", "offset", "sample", "pivots")):
            return plan.SetOp(self._rid(), [node], barrier=True)
        return node

    def _values(self, tree: exp.Values, ctes: Ctes, parent: Scope | None) -> Node:
        leaf = Leaf(self._rid(), alias_columns(tree))
        rows = [query for row in tree.expressions for query in outermost_queries(row)]
        nested = [self.query(each, ctes, parent) for each in rows]
        if not nested:
            return leaf
        return Block(self._rid(), exp.Select(), Scope(), leaf, nested)

    def _set_operation(self, tree: exp.SetOperation, ctes: Ctes, parent: Scope | None) -> Node:
        branches: list[Node] = []
        waiting: list[tuple[exp.Expr, Ctes]] = [(tree, ctes)]
        while waiting:
            each, known = waiting.pop()
            if each is not tree and not continues_set(each, tree):
                branches.append(self.query(each, known, parent))
                continue
            if each is not tree:
                known = self._names.with_queries_of(each, known)
            waiting.append((each.args["expression"], known))
            waiting.append((each.this, known))
        limited = bool(tree.args.get("limit") or tree.args.get("offset"))
        is_join = not isinstance(tree, exp.Union) and bool(tree.args.get("distinct"))
        return plan.SetOp(self._rid(), branches, isinstance(tree, exp.Except), is_join, limited)

    def _select(self, tree: exp.Select, ctes: Ctes, parent: Scope | None) -> Node:
        scope = Scope(parent=parent)
        source = self._sources(tree, scope, ctes)
        if tree.args.get("distinct") is not None:
            check_supported(tree.args["distinct"])
        joined: set[int] = set()
        if source is not None:
            for semi in semi_joins(tree):
                joined.add(id(semi.query))
                right = self.query(semi.query, ctes, scope)
                source = Join(
                    semi.kind, source, right, scope, members=semi.members, of_condition=True
                )
        if source is not None and pivoted(tree):
            source = plan.SetOp(self._rid(), [source], barrier=True)
        block = Block(self._rid(), tree, scope, source)
        for query in expression_queries(tree):
            if id(query) not in joined:
                block.subplans.append(self.query(query, ctes, scope))
        return block

    # FROM

    def _sources(self, tree: exp.Expr, scope: Scope, ctes: Ctes) -> Node | None:
        clause = tree.args.get("from_")
        if clause is None:
            if tree.args.get("joins"):
                raise NotUnderstood("JOIN without FROM")
            return self._laterals(Leaf(self._rid(), ()), tree, scope) if laterals(tree) else None
        node = self._relation(clause.this, scope, ctes)
        node = self._joined(node, tree, scope, ctes)
        return self._laterals(node, tree, scope)

    def _joined(self, left: Node, tree: exp.Expr, scope: Scope, ctes: Ctes) -> Node:
        for join in tree.args.get("joins") or ():
            left = self._join(left, join, scope, ctes)
            if not isinstance(tree, exp.Select):  # `_select` opens the queries in a SELECT's ON
                queries = outermost_queries(join.args.get("on"))
                self.detached += [self.query(each, ctes, scope) for each in queries]
        return left

    def _join(self, left: Node, join: exp.Join, scope: Scope, ctes: Ctes) -> Node:
        check_supported(join)
        if isinstance(join.this, exp.Lateral):
            # Spark copies the left side into a correlated sub-query before it pushes conditions.
            left = plan.SetOp(self._rid(), [left], barrier=True)
        right = self._relation(join.this, scope, ctes)
        kind = join_kind(join)
        using = tuple(each.name.lower() for each in join.args.get("using") or ())
        for name in using:
            scope.merged[name] = {JoinKind.RIGHT: right, JoinKind.FULL: None}.get(kind, left)
        return Join(kind, left, right, scope, join.args.get("on"), using)

    def _laterals(self, node: Node, tree: exp.Expr, scope: Scope) -> Node:
        for each in laterals(tree):
            node = self._lateral(node, each, scope)
        return node

    def _lateral(self, source: Node, each: exp.Lateral, scope: Scope) -> Node:
        check_supported(each)
        if not each.args.get("view"):
            raise NotUnderstood("LATERAL without VIEW")
        node = plan.Lateral(self._rid(), source)
        alias = each.args.get("alias")
        columns = alias_columns(each)
        if not columns and not (alias and alias.name):
            # In `LATERAL VIEW explode(x) JOIN y` the view's name is join.
            raise NotUnderstood("LATERAL VIEW without a name")
        scope.items.append(FromItem(alias.name.lower() if alias else "", node, None, columns or ()))
        return node

    def _relation(self, tree: exp.Expr, scope: Scope, ctes: Ctes) -> Node:
        """The plan of one item of FROM and of what is joined to it in its brackets. Adds the names
        to `scope`."""
        check_supported(tree)
        if isinstance(tree, exp.Table):
            item, is_join = self._table(tree, ctes, scope.parent), False
        elif isinstance(tree, exp.Subquery):
            item, is_join = self._subquery(tree, scope, ctes)
        elif isinstance(tree, exp.Lateral):
            item, is_join = self._lateral_query(tree, scope, ctes), False
        elif isinstance(tree, exp.Values):
            node = self._values(tree, ctes, scope.parent)
            item, is_join = FromItem(tree.alias.lower(), node), False
        elif isinstance(tree, exp.Unnest):
            item, is_join = FromItem(tree.alias.lower(), Leaf(self._rid())), False
        else:
            raise NotUnderstood(f"{tree.key} in FROM")
        node = item.node
        if not is_join:
            scope.items.append(item)
        node = self._joined(node, tree, scope, ctes)
        return self._laterals(node, tree, scope)

    def _lateral_query(self, tree: exp.Lateral, scope: Scope, ctes: Ctes) -> FromItem:
        alias = tree.alias.lower()
        if isinstance(tree.this, exp.Subquery):
            return FromItem(alias, self.query(tree.this.this, ctes, scope))
        if not isinstance(tree.this, exp.Func):
            raise NotUnderstood(f"LATERAL before {tree.this.key}")
        return FromItem(alias, self._function(tree.this, ctes, scope))

    def _subquery(self, tree: exp.Subquery, scope: Scope, ctes: Ctes) -> tuple[FromItem, bool]:
        ctes = self._names.with_queries_of(tree, ctes)
        alias = tree.args.get("alias")
        bracketed = is_bracketed_join(tree)
        if bracketed and alias is None and not tree.args.get("pivots"):
            # The names in brackets around a join stay visible outside.
            return FromItem("", self._relation(tree.this, scope, ctes)), True
        if bracketed:
            inner = Scope(parent=scope.parent)
            node = self._relation(tree.this, inner, ctes)
            star = exp.Select(expressions=[exp.Star()])
            node = Block(self._rid(), star, inner, node)
        else:
            node = self.query(unwrapped(tree.this), ctes, scope.parent)
        if any(tree.args.get(name) for name in ("sample", "pivots", "limit", "offset")):
            node = plan.SetOp(self._rid(), [node], barrier=True)
        columns = alias_columns(tree)
        if columns:
            node = plan.Renamed(self._rid(), node, columns)
        return FromItem(tree.alias.lower(), node), False

    # Tables

    def _table(self, tree: exp.Table, ctes: Ctes, parent: Scope | None) -> FromItem:
        columns = alias_columns(tree)
        check_alias(tree)
        check_modifiers(tree)
        node, name, database = self._resolve_table(tree, ctes, parent)
        if tree.args.get("pivots") or tree.args.get("sample"):
            node = plan.SetOp(self._rid(), [node], barrier=True)
        if columns:
            node = plan.Renamed(self._rid(), node, columns)
        alias = tree.args.get("alias")
        if alias is not None and alias.name:
            return FromItem(alias.name.lower(), node)
        return FromItem(name, node, database)

    def _resolve_table(
        self, tree: exp.Table, ctes: Ctes, parent: Scope | None
    ) -> tuple[Node, str, str | None]:
        self._opened_tables.add(id(tree))
        if isinstance(tree.this, exp.Func):
            return self._function(tree.this, ctes, parent), tree.this.name.lower(), None
        parts = parts_of(tree)
        if is_path(parts):
            self.analysis.paths.append(tree.this.name)
            return Leaf(self._rid()), parts[1], None
        cte = later = None
        if len(parts) == 1:
            cte, later = self._names.queries_named(tree.name, ctes)
        if cte is not None and not cte.opening:
            return self._cte(cte), parts[0], None
        if cte is not None and cte.recursive:
            self._names.check_recursive(parts[0])
            return Leaf(self._rid()), parts[0], None
        temporary = self._temporary(parts)
        if temporary is not None:
            return temporary, parts[-1], None
        ref = table_ref(parts, self._names.database)
        if later is not None and not later.opening and self.analysis.look_up(ref) is None:
            return self._cte(later), parts[0], None
        return self.table(ref), ref.name, ref.db

    def named(self, parts: list[str]) -> Node:
        """The plan of a table, view or temporary object that a command names outside a query."""
        return self._temporary(parts) or self.table(table_ref(parts, self._names.database))

    def table(self, ref: TableRef) -> Node:
        """A scan of the table, or the plan of the view."""
        if not ref.db:
            raise NotUnderstood(f"{ref.name} without a database in the text of a function")
        info = self.analysis.look_up(ref)
        if info is not None and info.kind is TableKind.VIEW:
            if info.view is None:
                raise NotUnderstood(f"the view {ref}, which has no text, or has its own SQL path")
            self.analysis.views[ref] = None
            return self._view(str(ref), with_keys(info.view, info), ())
        return Scan(self._rid(), ref, info)

    def _temporary(self, parts: list[str]) -> Node | None:
        name = self._names.temporary(parts)
        if name is None:
            return None
        found = self.analysis.session_object(name)
        if isinstance(found, ViewText):
            return self._view(name, found, found.temps)
        self.analysis.paths.extend(found or ())
        return Leaf(self._rid())

    def use_functions(self, calls: Calls, database: str) -> None:
        """Records the calls of a text, and opens the functions written in SQL that it calls.
        `database` is empty in the text of a function."""
        self.analysis.note(calls, database)
        for name, text in self._names.new_functions(calls, database):
            self._open_function(name, text)

    def _open_function(self, name: str, text: ViewText | None) -> None:
        """Adds the plan of a function written in SQL to `detached`. Raises NotUnderstood.

        Spark 4.3 looks up the names in its text in the database and among the temporary objects of
        the call, not of the creation. So only names with a database are certain.
        """
        if text is None:
            raise NotUnderstood(f"{name} is a function with a text that cannot be read")
        try:
            self.detached.append(self._view(name, text, ()))
        except NotUnderstood as error:
            raise NotUnderstood(f"the function {name}: {error.why}") from None

    def _view(self, name: str, view: ViewText, visible: tuple[str, ...]) -> Node:
        """The plan of a view. `visible` are the temporary objects that names in it may mean."""
        with self._names.in_text(name, view, visible):
            stored = query_of(view.sql, view.double_quoted_names)
            self.use_functions(stored.calls, self._names.database)
            if self.analysis.namespace.session_variables:
                self.analysis.note_variables(tokenize(view.sql, view.double_quoted_names))
            node = self.statement_plan(stored.tree)
        if view.columns:
            names = tuple(column.lower() for column in view.columns)
            originals = tuple(column.lower() for column in view.produced)
            return plan.Renamed(self._rid(), node, names, originals)
        return node

    def _cte(self, cte: Cte) -> Node:
        if cte.node is not None and self.shared:
            return cte.node
        with self._names.in_query(cte):
            node = self.query(unwrapped(cte.query), cte.outer, None)
            self._check_opened(cte.query)
        if cte.recursive:  # a row that a condition rejects may produce rows that it accepts
            node = plan.SetOp(self._rid(), [node], barrier=True)
        if cte.columns:
            node = plan.Renamed(self._rid(), node, cte.columns)
        cte.node = node
        return node

    def _function(self, call: exp.Func, ctes: Ctes, parent: Scope | None) -> Node:
        """The plan of a table function and of the queries among its arguments."""
        source = self._function_source(call)
        nested = [self.query(each, ctes, parent) for each in outermost_queries(call)]
        return Block(self._rid(), exp.Select(), Scope(), source, nested) if nested else source

    def _function_source(self, call: exp.Func) -> Node:
        match source_of(call):
            case TableArgument(parts):
                scan = self.table(table_ref(parts, self._names.database))
                return plan.SetOp(self._rid(), [scan], barrier=True)
            case PathArgument(path):
                self.analysis.paths.append(path)
                return Leaf(self._rid())
            case HintedTable(name):
                return self.table(TableRef(self._names.database, name))
            case NoSource():
                return Leaf(self._rid())
