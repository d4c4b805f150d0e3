"""Makes a plan of a parsed query: resolves names, opens views and CTEs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from conf.names import TableRef
from conf.tables import TableKind, ViewText
from dialect.errors import NotUnderstood
from dialect.lineage import plan
from dialect.lineage.analysis_context import AnalysisContext
from dialect.lineage.clauses import (
    alias_columns,
    check_modifiers,
    expression_queries,
    join_kind,
    laterals,
    modified,
    outermost_queries,
    pivoted,
    semi_joins,
    tables_of,
)
from dialect.lineage.plan import Block, Entry, Join, JoinKind, Leaf, Node, Scan, Scope
from dialect.lineage.table_functions import Hinted, OfNothing, OfPath, OfTable, named_by
from dialect.lineage.temporary import name_parts, temporary_name
from dialect.lineage.view_queries import query_of, with_keys
from dialect.parsing.function_calls import Calls
from dialect.parsing.supported_nodes import check
from dialect.parsing.token_cursor import is_path, table_ref
from dialect.parsing.tokenize import tokenize
from dialect.work import spend

MAX_VIEW_DEPTH = 80
# A chain of CTEs, each using the one before twice, doubles at every step; beyond this many
# nodes they share one plan, and nothing is pruned.
MAX_NODES = 4_000


@dataclass(slots=True)
class _Cte:
    query: exp.Expr
    outer: "dict[str, _Cte]"
    columns: tuple[str, ...]
    name: str
    later: "dict[str, _Cte]" = field(default_factory=dict)
    node: Node | None = None
    opening: bool = False
    recursive: bool = False  # its query may refer to itself


@dataclass(slots=True)
class Builder:
    """Builds plans in one namespace; what it meets goes to `analysis`."""

    analysis: AnalysisContext
    shared: bool = False
    _nodes: int = 0
    _depth: int = 0
    _database: str = ""
    _visible: tuple[str, ...] | None = None  # temporary objects; None: all
    _later: dict[str, _Cte] = field(default_factory=dict)
    # In a command with a WITH inside another one, Spark may put a query that follows in the place
    # of a table of the same name.
    _later_names: frozenset[str] = frozenset()
    _has_nested_with: bool = False
    _names_later: bool = False
    # Plans of queries that stand in no block: in the condition of a join in brackets.
    beside: list[Node] = field(default_factory=list)
    _opened_functions: set[str] = field(default_factory=set)
    _opened_tables: set[int] = field(default_factory=set)
    _ctes: list[_Cte] = field(default_factory=list)  # of the tree that is read

    def __post_init__(self) -> None:
        self._database = self.analysis.namespace.database.lower()

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
        before, self._ctes = self._ctes, []
        node = self.query(tree if query is None else query)
        self._check_opened(tree)
        for cte in self._ctes:
            if cte.node is None:
                self._use_temporaries(cte.query)
        self._ctes = before
        return node

    def _use_temporaries(self, tree: exp.Expr) -> None:
        """Temporary objects in a query of WITH that nothing refers to. Spark reads nothing of them,
        but it looks them up: the statement has to run where they are."""
        for table in tree.find_all(exp.Table):
            spend()
            parts = [] if isinstance(table.this, exp.Func) else _parts(table)
            if self._visible is not None and temporary_name(parts) not in self._visible:
                continue
            name = self.analysis.temporary(parts)
            found = None if name is None else self.analysis.session_object(name)
            if isinstance(found, ViewText):
                for each in found.temps:
                    self.analysis.temporary(name_parts(each))

    def _check_opened(self, tree: exp.Expr) -> None:
        """Refuse a tree with a table that the builder has passed over."""
        for table in tables_of(tree):
            if id(table) not in self._opened_tables:
                raise NotUnderstood(f"the table {table.name} in an unexpected place")

    def query(
        self,
        tree: exp.Expr,
        ctes: Mapping[str, _Cte] | None = None,
        parent: Scope | None = None,
    ) -> Node:
        """The plan of a query expression. Raises NotUnderstood."""
        check(tree)
        ctes = self._with(tree, ctes or {})
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

    def _with(self, tree: exp.Expr, ctes: Mapping[str, _Cte]) -> Mapping[str, _Cte]:
        clause = tree.args.get("with_")
        if clause is None:
            return ctes
        check(clause)
        self._has_nested_with |= bool(ctes)
        self._check_later()
        known = dict(ctes)
        for each in clause.expressions:
            if not isinstance(each, exp.CTE):
                raise NotUnderstood("WITH holds something that is no query")
            check(each)
            alias = each.args["alias"]
            names = tuple(column.name.lower() for column in alias.args.get("columns") or ())
            name = alias.name.lower()
            self._check_case(alias.name, known.get(name))
            known[name] = _Cte(each.this, dict(known), names, alias.name)
            self._ctes.append(known[name])
            if clause.args.get("recursive"):
                _let_see_itself(known[name], name)
        _let_see_later(known, [each.args["alias"].name.lower() for each in clause.expressions])
        return known

    def _check_later(self) -> None:
        if self._has_nested_with and self._names_later:
            raise NotUnderstood("a table that is called as a later query of WITH, and WITH in WITH")

    def _check_case(self, name: str, cte: _Cte | None) -> None:
        if cte is not None and cte.name != name and self.analysis.case_sensitive:
            raise NotUnderstood("names that differ by case")

    def _wrapped(self, tree: exp.Subquery, ctes: Mapping[str, _Cte], parent: Scope | None) -> Node:
        if tree.args.get("joins") or isinstance(tree.this, exp.Table):
            scope = Scope(parent=parent)
            return self._relation(tree, scope, ctes)
        node = self.query(tree.this, ctes, parent)
        if any(tree.args.get(name) for name in ("limit", "offset", "sample", "pivots")):
            return plan.SetOp(self.rid(), [node], barrier=True)
        return node

    def _values(self, tree: exp.Values, ctes: Mapping[str, _Cte], parent: Scope | None) -> Node:
        leaf = Leaf(self.rid(), alias_columns(tree))
        rows = [query for row in tree.expressions for query in outermost_queries(row)]
        nested = [self.query(each, ctes, parent) for each in rows]
        if not nested:
            return leaf
        return Block(self.rid(), exp.Select(), Scope(), leaf, nested)

    def _set_operation(
        self, tree: exp.SetOperation, ctes: Mapping[str, _Cte], parent: Scope | None
    ) -> Node:
        branches: list[Node] = []
        waiting: list[tuple[exp.Expr, Mapping[str, _Cte]]] = [(tree, ctes)]
        kind = type(tree)
        while waiting:
            each, known = waiting.pop()
            inner = each if each is tree else None
            if each is not tree and type(each) is kind and not modified(each):
                inner = each
                known = self._with(each, known)
            if inner is None or (kind is exp.Except and each is not tree):
                branches.append(self.query(each, known, parent))
            else:
                waiting.append((inner.args["expression"], known))
                waiting.append((inner.this, known))
        limited = bool(tree.args.get("limit") or tree.args.get("offset"))
        return plan.SetOp(self.rid(), branches, kind is exp.Except, limited)

    def _select(self, tree: exp.Select, ctes: Mapping[str, _Cte], parent: Scope | None) -> Node:
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

    def _sources(self, tree: exp.Expr, scope: Scope, ctes: Mapping[str, _Cte]) -> Node | None:
        clause = tree.args.get("from_")
        if clause is None:
            if tree.args.get("joins"):
                raise NotUnderstood("JOIN without FROM")
            return self._laterals(Leaf(self.rid(), ()), tree, scope) if laterals(tree) else None
        node = self._relation(clause.this, scope, ctes)
        node = self._joined(node, tree, scope, ctes)
        return self._laterals(node, tree, scope)

    def _joined(self, left: Node, tree: exp.Expr, scope: Scope, ctes: Mapping[str, _Cte]) -> Node:
        for join in tree.args.get("joins") or ():
            left = self._join(left, join, scope, ctes)
            if not isinstance(tree, exp.Select):  # those of a SELECT are among its expressions
                queries = outermost_queries(join.args.get("on"))
                self.beside += [self.query(each, ctes, scope) for each in queries]
        return left

    def _join(self, left: Node, join: exp.Join, scope: Scope, ctes: Mapping[str, _Cte]) -> Node:
        check(join)
        if isinstance(join.this, exp.Lateral):
            # Spark repeats the left side within a correlated sub-query before it pushes filters.
            left = plan.SetOp(self.rid(), [left], barrier=True)
        right = self._relation(join.this, scope, ctes)
        kind = join_kind(join)
        using = tuple(each.name.lower() for each in join.args.get("using") or ())
        for name in using:
            scope.merged[name] = {
                JoinKind.RIGHT: right,
                JoinKind.FULL: None,
            }.get(kind, left)
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
        scope.entries.append(Entry(alias.name.lower() if alias else "", node, None, columns or ()))
        return node

    def _relation(self, tree: exp.Expr, scope: Scope, ctes: Mapping[str, _Cte]) -> Node:
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

    def _lateral_query(self, tree: exp.Lateral, scope: Scope, ctes: Mapping[str, _Cte]) -> Entry:
        alias = tree.alias.lower()
        if isinstance(tree.this, exp.Subquery):
            return Entry(alias, self.query(tree.this.this, ctes, scope))
        if not isinstance(tree.this, exp.Func):
            raise NotUnderstood(f"LATERAL before {tree.this.key}")
        return Entry(alias, self._function(tree.this, ctes, scope))

    def _subquery(
        self, tree: exp.Subquery, scope: Scope, ctes: Mapping[str, _Cte]
    ) -> tuple[list[Entry], bool]:
        ctes = self._with(tree, ctes)
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

    def _opened(self, tree: exp.Expr, ctes: Mapping[str, _Cte], parent: Scope | None) -> Node:
        while isinstance(tree, exp.Subquery) and tree.is_wrapper:
            tree = tree.this
        return self.query(tree, ctes, parent)

    # Tables

    def _table(
        self, tree: exp.Table, ctes: Mapping[str, _Cte], parent: Scope | None
    ) -> list[Entry]:
        columns = alias_columns(tree)
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
        self, tree: exp.Table, ctes: Mapping[str, _Cte], parent: Scope | None
    ) -> tuple[Node, str, str | None]:
        self._opened_tables.add(id(tree))
        if isinstance(tree.this, exp.Func):
            return self._function(tree.this, ctes, parent), tree.this.name.lower(), None
        parts = _parts(tree)
        if is_path(parts):
            self.analysis.paths.append(tree.this.name)
            return Leaf(self.rid()), parts[1], None
        if len(parts) == 1:
            self._names_later |= parts[0] in self._later_names
            self._check_later()
            self._check_case(tree.name, ctes.get(parts[0]) or self._later.get(parts[0]))
        cte = ctes.get(parts[0]) if len(parts) == 1 else None
        if cte is not None and not cte.opening:
            return self._cte(cte), parts[0], None
        if cte is not None and cte.recursive:
            return self._rows_so_far(parts[0]), parts[0], None
        temporary = self._temporary(parts)
        if temporary is not None:
            return temporary, parts[-1], None
        ref = table_ref(parts, self._database)
        later = self._later.get(parts[0]) if len(parts) == 1 else None
        if later is not None and not later.opening and self.analysis.look_up(ref) is None:
            return self._cte(later), parts[0], None
        return self.table(ref), ref.name, ref.db

    def named(self, parts: list[str]) -> Node:
        """The plan of a table, view or temporary object named outside a query."""
        return self._temporary(parts) or self.table(table_ref(parts, self._database))

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
        if self._visible is not None and temporary_name(parts) not in self._visible:
            return None
        name = self.analysis.temporary(parts)
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
        known = self.analysis.namespace.functions
        for call in sorted(calls.names) if known else ():
            schema, _, name = call.rpartition(".")
            if not schema and not database and name in {each.rpartition(".")[2] for each in known}:
                raise NotUnderstood(f"{name}() without a database in the text of a function")
            for found in (f"{schema or database}.{name}", name if schema in _OF_SESSION else ""):
                if found in known and found not in self._opened_functions:
                    self._opened_functions.add(found)
                    self._open_function(found, known[found])

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
        if self._depth >= MAX_VIEW_DEPTH:
            raise NotUnderstood(f"views nested deeper than {MAX_VIEW_DEPTH}, at {name}")
        before = (self._database, self._visible)
        self._database, self._visible = view.db.lower(), visible
        self._depth += 1
        try:
            stored = query_of(view.sql, view.double_quoted_names)
            self.use_functions(stored.calls, self._database)
            if self.analysis.namespace.session_variables:
                self.analysis.note_variables(tokenize(view.sql, view.double_quoted_names))
            node = self.whole(stored.tree)
        finally:
            self._depth -= 1
            self._database, self._visible = before
        if view.columns:
            names = tuple(column.lower() for column in view.columns)
            originals = tuple(column.lower() for column in view.produced)
            return plan.Renamed(self.rid(), node, names, originals)
        return node

    def _cte(self, cte: _Cte) -> Node:
        if cte.node is not None and self.shared:
            return cte.node
        if self._depth >= MAX_VIEW_DEPTH:
            raise NotUnderstood(f"WITH clauses nested deeper than {MAX_VIEW_DEPTH}")
        before, self._later = self._later, cte.later
        names_before, self._later_names = self._later_names, self._later_names.union(cte.later)
        self._depth += 1
        cte.opening = True
        try:
            node = self._opened(cte.query, cte.outer, None)
            self._check_opened(cte.query)
        finally:
            cte.opening = False
            self._depth -= 1
            self._later, self._later_names = before, names_before
        if cte.recursive:  # rows that a condition leaves out may lead to others
            node = plan.SetOp(self.rid(), [node], barrier=True)
        if cte.columns:
            node = plan.Renamed(self.rid(), node, cte.columns)
        cte.node = node
        return node

    def _rows_so_far(self, name: str) -> Node:
        """What a query of recursive WITH reads of itself. Raises NotUnderstood if the name may also
        mean another object."""
        ref = table_ref([name], self._database)
        if not ref.db:
            raise NotUnderstood("recursive WITH in the text of a function")
        if self.analysis.session_object(name) is not None or self.analysis.look_up(ref) is not None:
            raise NotUnderstood(f"recursive WITH with the name of an object, {name}")
        return Leaf(self.rid())

    def _function(self, call: exp.Func, ctes: Mapping[str, _Cte], parent: Scope | None) -> Node:
        """The rows of a table function, with the queries among its arguments."""
        source = self._named_by(call)
        nested = [self.query(each, ctes, parent) for each in outermost_queries(call)]
        return Block(self.rid(), exp.Select(), Scope(), source, nested) if nested else source

    def _named_by(self, call: exp.Func) -> Node:
        match named_by(call):
            case OfTable(parts):
                scan = self.table(table_ref(parts, self._database))
                return plan.SetOp(self.rid(), [scan], barrier=True)
            case OfPath(path):
                self.analysis.paths.append(path)
                return Leaf(self.rid())
            case Hinted(name):
                return self.table(TableRef(self._database, name))
            case OfNothing():
                return Leaf(self.rid())


_OF_SESSION = frozenset({"", "session"})  # of the names of the session's functions


def _let_see_itself(cte: _Cte, name: str) -> None:
    if cte.query.find(exp.With) is not None:
        raise NotUnderstood("WITH in a query of recursive WITH")
    cte.outer[name] = cte
    cte.recursive = True


def _let_see_later(known: dict[str, _Cte], names: list[str]) -> None:
    """Lets a CTE see those that follow it, as in Hive. Spark tries a table of that name first."""
    for at, name in enumerate(names):
        known[name].later = {each: known[each] for each in names[at + 1 :]}


def _parts(tree: exp.Table) -> list[str]:
    parts = []
    for part in tree.parts:
        if not isinstance(part, exp.Identifier):
            raise NotUnderstood(f"{part.key} in a table's name")
        parts.append(part.name.lower())
    return parts
