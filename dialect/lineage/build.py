"""Makes a plan of a parsed query: resolves names, opens views and CTEs."""

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
    join_kind,
    laterals,
    outermost_queries,
    pivoted,
    semi_joins,
    tables_of,
)
from dialect.lineage.names import Cte, Ctes, Names, parts_of
from dialect.lineage.plan import Block, Entry, Join, JoinKind, Leaf, Node, Scan, Scope
from dialect.lineage.table_functions import Hinted, OfNothing, OfPath, OfTable, named_by
from dialect.lineage.view_queries import query_of, with_keys
from dialect.parsing.function_calls import Calls
from dialect.parsing.supported_nodes import check
from dialect.work import spend

# A chain of CTEs, each using the one before twice, doubles at every step; beyond this many
# nodes they share one plan, and nothing is pruned.
MAX_NODES = 4_000


@dataclass(slots=True)
class Builder:
    """Builds plans in one namespace; what it meets goes to `analysis`."""

    analysis: AnalysisContext
    shared: bool = False
    _nodes: int = 0
    # Plans of queries that stand in no block: in the condition of a join in brackets.
    beside: list[Node] = field(default_factory=list)
    _opened_tables: set[int] = field(default_factory=set)
    _names: Names = field(init=False)

    def __post_init__(self) -> None:
        self._names = Names(self.analysis, self.analysis.namespace.database.lower())

    def rid(self) -> int:
        spend()
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self.shared = True
        return self._nodes

    # Queries

    def whole(self, tree: exp.Expr, query: exp.Expr | None = None) -> Node:
        """The plan of a statement's tree, or of the query made of it.

        Raises NotUnderstood where a table of the tree is in no plan.
        """
        before, self._names.ctes = self._names.ctes, []
        node = self.query(tree if query is None else query)
        self._check_opened(tree)
        self._names.use_unread_temporaries()
        self._names.ctes = before
        return node

    def _check_opened(self, tree: exp.Expr) -> None:
        """Refuse a tree with a table that the builder has passed over."""
        for table in tables_of(tree):
            if id(table) not in self._opened_tables:
                raise NotUnderstood(f"the table {table.name} in an unexpected place")

    def query(self, tree: exp.Expr, ctes: Ctes | None = None, parent: Scope | None = None) -> Node:
        """The plan of a query expression. Raises NotUnderstood."""
        check(tree)
        ctes = self._names.with_queries_of(tree, ctes or {})
        if isinstance(tree, exp.Select):
            return self._select(tree, ctes, parent)
        if isinstance(tree, exp.SetOperation):
            return self._set_operation(tree, ctes, parent)
        if isinstance(tree, exp.Subquery):
            return self._wrapped(tree, ctes, parent)
        if isinstance(tree, exp.Values):
            return self._values(tree, ctes, parent)
        if isinstance(tree, exp.Table):
            return self._table(tree, ctes, parent)[0].node
        raise NotUnderstood(f"{tree.key} is not a query")

    def _wrapped(self, tree: exp.Subquery, ctes: Ctes, parent: Scope | None) -> Node:
        if tree.args.get("joins") or isinstance(tree.this, exp.Table):
            return self._relation(tree, Scope(parent=parent), ctes)
        node = self.query(tree.this, ctes, parent)
        if any(tree.args.get(name) for name in ("limit", "offset", "sample", "pivots")):
            return plan.SetOp(self.rid(), [node], barrier=True)
        return node

    def _values(self, tree: exp.Values, ctes: Ctes, parent: Scope | None) -> Node:
        leaf = Leaf(self.rid(), alias_columns(tree))
        rows = [query for row in tree.expressions for query in outermost_queries(row)]
        nested = [self.query(each, ctes, parent) for each in rows]
        if not nested:
            return leaf
        return Block(self.rid(), exp.Select(), Scope(), leaf, nested)

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
        return plan.SetOp(self.rid(), branches, isinstance(tree, exp.Except), is_join, limited)

    def _select(self, tree: exp.Select, ctes: Ctes, parent: Scope | None) -> Node:
        scope = Scope(parent=parent)
        source = self._sources(tree, scope, ctes)
        if tree.args.get("distinct") is not None:
            check(tree.args["distinct"])
        joined: set[int] = set()
        if source is not None:
            for semi in semi_joins(tree):
                joined.add(id(semi.query))
                right = self.query(semi.query, ctes, scope)
                source = Join(
                    semi.kind, source, right, scope, members=semi.members, of_condition=True
                )
        if source is not None and pivoted(tree):
            source = plan.SetOp(self.rid(), [source], barrier=True)
        block = Block(self.rid(), tree, scope, source)
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
            return self._laterals(Leaf(self.rid(), ()), tree, scope) if laterals(tree) else None
        node = self._relation(clause.this, scope, ctes)
        node = self._joined(node, tree, scope, ctes)
        return self._laterals(node, tree, scope)

    def _joined(self, left: Node, tree: exp.Expr, scope: Scope, ctes: Ctes) -> Node:
        for join in tree.args.get("joins") or ():
            left = self._join(left, join, scope, ctes)
            if not isinstance(tree, exp.Select):  # those of a SELECT are among its expressions
                queries = outermost_queries(join.args.get("on"))
                self.beside += [self.query(each, ctes, scope) for each in queries]
        return left

    def _join(self, left: Node, join: exp.Join, scope: Scope, ctes: Ctes) -> Node:
        check(join)
        if isinstance(join.this, exp.Lateral):
            # Spark repeats the left side within a correlated sub-query before it pushes filters.
            left = plan.SetOp(self.rid(), [left], barrier=True)
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
        check(each)
        if not each.args.get("view"):
            raise NotUnderstood("LATERAL that is no view")
        node = plan.Lateral(self.rid(), source)
        alias = each.args.get("alias")
        columns = alias_columns(each)
        if not columns and not (alias and alias.name):
            # In `LATERAL VIEW explode(x) JOIN y` join is the view's name.
            raise NotUnderstood("LATERAL VIEW without a name")
        scope.entries.append(Entry(alias.name.lower() if alias else "", node, None, columns or ()))
        return node

    def _relation(self, tree: exp.Expr, scope: Scope, ctes: Ctes) -> Node:
        """One item of FROM, entered in `scope`, with what is joined to it in brackets."""
        check(tree)
        if isinstance(tree, exp.Table):
            entries, paren = self._table(tree, ctes, scope.parent), False
        elif isinstance(tree, exp.Subquery):
            entries, paren = self._subquery(tree, scope, ctes)
        elif isinstance(tree, exp.Lateral):
            entries, paren = [self._lateral_query(tree, scope, ctes)], False
        elif isinstance(tree, exp.Values):
            node = self._values(tree, ctes, scope.parent)
            entries, paren = [Entry(tree.alias.lower(), node)], False
        elif isinstance(tree, exp.Unnest):
            entries, paren = [Entry(tree.alias.lower(), Leaf(self.rid()))], False
        else:
            raise NotUnderstood(f"{tree.key} in FROM")
        node = entries[0].node
        if not paren:
            scope.entries.extend(entries)
        node = self._joined(node, tree, scope, ctes)
        return self._laterals(node, tree, scope)

    def _lateral_query(self, tree: exp.Lateral, scope: Scope, ctes: Ctes) -> Entry:
        alias = tree.alias.lower()
        if isinstance(tree.this, exp.Subquery):
            return Entry(alias, self.query(tree.this.this, ctes, scope))
        if not isinstance(tree.this, exp.Func):
            raise NotUnderstood(f"LATERAL before {tree.this.key}")
        return Entry(alias, self._function(tree.this, ctes, scope))

    def _subquery(self, tree: exp.Subquery, scope: Scope, ctes: Ctes) -> tuple[list[Entry], bool]:
        ctes = self._names.with_queries_of(tree, ctes)
        alias = tree.args.get("alias")
        bracketed = isinstance(tree.this, exp.Table | exp.Lateral) or (
            isinstance(tree.this, exp.Subquery) and bool(tree.this.args.get("joins"))
        )
        if bracketed and alias is None and not tree.args.get("pivots"):
            # Brackets around a join: its names stay visible.
            return [Entry("", self._relation(tree.this, scope, ctes))], True
        if bracketed:
            inner = Scope(parent=scope.parent)
            node = self._relation(tree.this, inner, ctes)
            star = exp.Select(expressions=[exp.Star()])
            node = Block(self.rid(), star, inner, node)
        else:
            node = self._opened(tree.this, ctes, scope.parent)
        if any(tree.args.get(name) for name in ("sample", "pivots", "limit", "offset")):
            node = plan.SetOp(self.rid(), [node], barrier=True)
        columns = alias_columns(tree)
        if columns:
            node = plan.Renamed(self.rid(), node, columns)
        return [Entry(tree.alias.lower(), node)], False

    def _opened(self, tree: exp.Expr, ctes: Ctes, parent: Scope | None) -> Node:
        while isinstance(tree, exp.Subquery) and tree.is_wrapper:
            tree = tree.this
        return self.query(tree, ctes, parent)

    # Tables

    def _table(self, tree: exp.Table, ctes: Ctes, parent: Scope | None) -> list[Entry]:
        columns = alias_columns(tree)
        check_alias(tree)
        check_modifiers(tree)
        node, name, database = self._source_of(tree, ctes, parent)
        if tree.args.get("pivots") or tree.args.get("sample"):
            node = plan.SetOp(self.rid(), [node], barrier=True)
        if columns:
            node = plan.Renamed(self.rid(), node, columns)
        alias = tree.args.get("alias")
        if alias is not None and alias.name:
            return [Entry(alias.name.lower(), node)]
        return [Entry(name, node, database)]

    def _source_of(
        self, tree: exp.Table, ctes: Ctes, parent: Scope | None
    ) -> tuple[Node, str, str | None]:
        self._opened_tables.add(id(tree))
        if isinstance(tree.this, exp.Func):
            return self._function(tree.this, ctes, parent), tree.this.name.lower(), None
        parts = parts_of(tree)
        if is_path(parts):
            self.analysis.paths.append(tree.this.name)
            return Leaf(self.rid()), parts[1], None
        cte = later = None
        if len(parts) == 1:
            cte, later = self._names.queries_named(tree.name, ctes)
        if cte is not None and not cte.opening:
            return self._cte(cte), parts[0], None
        if cte is not None and cte.recursive:
            return self._rows_so_far(parts[0]), parts[0], None
        temporary = self._temporary(parts)
        if temporary is not None:
            return temporary, parts[-1], None
        ref = table_ref(parts, self._names.database)
        if later is not None and not later.opening and self.analysis.look_up(ref) is None:
            return self._cte(later), parts[0], None
        return self.table(ref), ref.name, ref.db

    def named(self, parts: list[str]) -> Node:
        """The plan of a table, view or temporary object named outside a query."""
        return self._temporary(parts) or self.table(table_ref(parts, self._names.database))

    def table(self, ref: TableRef) -> Node:
        """A scan of the table, or the plan of the view."""
        if not ref.db:
            raise NotUnderstood(f"{ref.name} without a database in the text of a function")
        info = self.analysis.look_up(ref)
        if info is not None and info.kind is TableKind.VIEW:
            if info.view is None:
                raise NotUnderstood(f"the view {ref}, which has no text or a SQL path of its own")
            self.analysis.views[ref] = None
            return self._view(str(ref), with_keys(info.view, info), ())
        return Scan(self.rid(), ref, info)

    def _temporary(self, parts: list[str]) -> Node | None:
        name = self._names.temporary(parts)
        if name is None:
            return None
        found = self.analysis.session_object(name)
        if isinstance(found, ViewText):
            return self._view(name, found, found.temps)
        self.analysis.paths.extend(found or ())
        return Leaf(self.rid())

    def use_functions(self, calls: Calls, database: str) -> None:
        """Notes the calls of a text. What functions written in SQL read counts as read. `database`
        is empty in the text of a function."""
        self.analysis.note(calls, database)
        for name, text in self._names.new_functions(calls, database):
            self._open_function(name, text)

    def _open_function(self, name: str, text: ViewText | None) -> None:
        """Spark 4.3 looks names in the text up where the function is called, in the database and
        among the temporary objects of then, though it stores the database of its creation. So only
        names with a database are certain: the text has none of its own."""
        if text is None:
            raise NotUnderstood(f"{name} is a function with a text that cannot be read")
        try:
            self.beside.append(self._view(name, text, ()))
        except NotUnderstood as error:
            raise NotUnderstood(f"the function {name}: {error.why}") from None

    def _view(self, name: str, view: ViewText, visible: tuple[str, ...]) -> Node:
        """`visible` are the temporary objects that may be meant in it."""
        with self._names.in_text(name, view, visible):
            stored = query_of(view.sql, view.double_quoted_names)
            self.use_functions(stored.calls, self._names.database)
            if self.analysis.namespace.session_variables:
                self.analysis.note_variables(tokenize(view.sql, view.double_quoted_names))
            node = self.whole(stored.tree)
        if view.columns:
            names = tuple(column.lower() for column in view.columns)
            originals = tuple(column.lower() for column in view.produced)
            return plan.Renamed(self.rid(), node, names, originals)
        return node

    def _cte(self, cte: Cte) -> Node:
        if cte.node is not None and self.shared:
            return cte.node
        with self._names.in_query(cte):
            node = self._opened(cte.query, cte.outer, None)
            self._check_opened(cte.query)
        if cte.recursive:  # rows that a condition leaves out may lead to others
            node = plan.SetOp(self.rid(), [node], barrier=True)
        if cte.columns:
            node = plan.Renamed(self.rid(), node, cte.columns)
        cte.node = node
        return node

    def _rows_so_far(self, name: str) -> Node:
        """What a query of recursive WITH reads of itself. Raises NotUnderstood if the name may also
        mean another object."""
        ref = table_ref([name], self._names.database)
        if not ref.db:
            raise NotUnderstood("recursive WITH in the text of a function")
        if self.analysis.session_object(name) is not None or self.analysis.look_up(ref) is not None:
            raise NotUnderstood(f"recursive WITH with the name of an object, {name}")
        return Leaf(self.rid())

    def _function(self, call: exp.Func, ctes: Ctes, parent: Scope | None) -> Node:
        """The rows of a table function, with the queries among its arguments."""
        source = self._named_by(call)
        nested = [self.query(each, ctes, parent) for each in outermost_queries(call)]
        return Block(self.rid(), exp.Select(), Scope(), source, nested) if nested else source

    def _named_by(self, call: exp.Func) -> Node:
        match named_by(call):
            case OfTable(parts):
                scan = self.table(table_ref(parts, self._names.database))
                return plan.SetOp(self.rid(), [scan], barrier=True)
            case OfPath(path):
                self.analysis.paths.append(path)
                return Leaf(self.rid())
            case Hinted(name):
                return self.table(TableRef(self._names.database, name))
            case OfNothing():
                return Leaf(self.rid())
