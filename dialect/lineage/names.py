"""Finds what a name may mean: a query of WITH, a temporary object, or a function written in SQL.

In Hive a query of WITH may refer to a later one; Spark tries a table of that name first. In a
command with nested WITH clauses, Spark may replace a table by a later query of the same name: this
is refused.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlglot import exp

from conf.catalog.tables import ViewText
from dialect.errors import NotUnderstood
from dialect.lexing.token_cursor import table_ref
from dialect.lineage.analysis_context import AnalysisContext
from dialect.lineage.plan import Node
from dialect.lineage.temporary import name_parts, temporary_name
from dialect.parsing.function_calls import Calls
from dialect.parsing.supported_nodes import check_supported
from dialect.work import spend

MAX_VIEW_DEPTH = 80
_SESSION_SCHEMAS = frozenset({"", "session"})  # before the name of a session's function


@dataclass(slots=True)
class Cte:
    """A query of WITH. It may refer to those in `outer`, and in Hive to the `later` ones."""

    query: exp.Expr
    outer: "dict[str, Cte]"
    columns: tuple[str, ...]
    name: str
    later: "dict[str, Cte]" = field(default_factory=dict)
    node: Node | None = None
    opening: bool = False
    recursive: bool = False  # its query may refer to itself


Ctes = Mapping[str, Cte]


@dataclass(slots=True)
class Names:
    """Resolves names in the text that is being read: the statement's, a view's or a function's.

    `database` is the text's current database, `ctes` are all queries of WITH of its tree.
    """

    analysis: AnalysisContext
    database: str
    ctes: list[Cte] = field(default_factory=list)
    _depth: int = 0  # of views, functions and queries of WITH
    _visible: tuple[str, ...] | None = None  # the temporary objects of the text; None: all
    # Queries that follow the query of WITH that is being read; names of those of all outer ones.
    _later: dict[str, Cte] = field(default_factory=dict)
    _later_names: frozenset[str] = frozenset()
    _has_nested_with: bool = False
    _uses_later_name: bool = False
    _functions: set[str] = field(default_factory=set)  # functions in SQL already returned

    def with_queries_of(self, tree: exp.Expr, ctes: Ctes) -> Ctes:
        """`ctes` with the queries of the tree's own WITH added. Raises NotUnderstood."""
        clause = tree.args.get("with_")
        if clause is None:
            return ctes
        check_supported(clause)
        self._has_nested_with |= bool(ctes)
        self._check_later()
        known = dict(ctes)
        for each in clause.expressions:
            if not isinstance(each, exp.CTE):
                raise NotUnderstood("WITH holds something that is no query")
            check_supported(each)
            alias = each.args["alias"]
            columns = tuple(column.name.lower() for column in alias.args.get("columns") or ())
            name = alias.name.lower()
            self._check_case(alias.name, known.get(name))
            known[name] = Cte(each.this, dict(known), columns, alias.name)
            self.ctes.append(known[name])
            if clause.args.get("recursive"):
                _let_refer_to_itself(known[name], name)
        _set_later(known, [each.args["alias"].name.lower() for each in clause.expressions])
        return known

    def queries_named(self, name: str, ctes: Ctes) -> tuple[Cte | None, Cte | None]:
        """The query of WITH with this name, and a later one than the query that is being read; None
        for each that does not exist. Raises NotUnderstood.
        """
        lower = name.lower()
        self._uses_later_name |= lower in self._later_names
        self._check_later()
        found, later = ctes.get(lower), self._later.get(lower)
        self._check_case(name, found or later)
        return found, later

    def check_recursive(self, name: str) -> None:
        """Raises NotUnderstood if the name by which a query of recursive WITH reads its own rows
        may also mean another object."""
        ref = table_ref([name], self.database)
        if not ref.db:
            raise NotUnderstood("recursive WITH in the text of a function")
        if self.analysis.session_object(name) is not None or self.analysis.look_up(ref) is not None:
            raise NotUnderstood(f"recursive WITH with the name of an object, {name}")

    def temporary(self, parts: list[str]) -> str | None:
        """The name of the temporary object that the parts mean in this text, or None."""
        if self._visible is not None and temporary_name(parts) not in self._visible:
            return None
        return self.analysis.temporary(parts)

    def use_unread_temporaries(self) -> None:
        """Records the temporary objects in unused queries of WITH as used. Spark reads no data of
        them, but it looks them up, so the statement must run in a cluster that has them."""
        for cte in self.ctes:
            if cte.node is None:
                for table in cte.query.find_all(exp.Table):
                    spend()
                    name = self.temporary(
                        [] if isinstance(table.this, exp.Func) else parts_of(table)
                    )
                    found = None if name is None else self.analysis.session_object(name)
                    if isinstance(found, ViewText):
                        for each in found.temps:
                            self.analysis.temporary(name_parts(each))

    def new_functions(self, calls: Calls, database: str) -> Iterator[tuple[str, ViewText | None]]:
        """The functions written in SQL among the calls, with their texts, each only the first time.
        `database` is empty in the text of a function. Raises NotUnderstood.
        """
        known = self.analysis.namespace.functions
        for call in sorted(calls.names) if known else ():
            schema, _, name = call.rpartition(".")
            if not schema and not database and name in {each.rpartition(".")[2] for each in known}:
                raise NotUnderstood(f"{name}() without a database in the text of a function")
            for found in (
                f"{schema or database}.{name}",
                name if schema in _SESSION_SCHEMAS else "",
            ):
                if found in known and found not in self._functions:
                    self._functions.add(found)
                    yield found, known[found]

    @contextmanager
    def in_text(self, name: str, text: ViewText, visible: tuple[str, ...]) -> Iterator[None]:
        """Resolves names in the text of a view or function inside the block. `visible` are the
        temporary objects that they may mean. Raises NotUnderstood if texts are nested too deep.
        """
        self._descend(f"views nested deeper than {MAX_VIEW_DEPTH}, at {name}")
        before = (self.database, self._visible)
        self.database, self._visible = text.db.lower(), visible
        try:
            yield
        finally:
            self._depth -= 1
            self.database, self._visible = before

    @contextmanager
    def in_query(self, cte: Cte) -> Iterator[None]:
        """Resolves names in a query of WITH inside the block. Raises NotUnderstood if queries are
        nested too deep."""
        self._descend(f"WITH clauses nested deeper than {MAX_VIEW_DEPTH}")
        before, self._later = self._later, cte.later
        names_before, self._later_names = self._later_names, self._later_names.union(cte.later)
        cte.opening = True
        try:
            yield
        finally:
            cte.opening = False
            self._depth -= 1
            self._later, self._later_names = before, names_before

    def _descend(self, refusal: str) -> None:
        if self._depth >= MAX_VIEW_DEPTH:
            raise NotUnderstood(refusal)
        self._depth += 1

    def _check_later(self) -> None:
        if self._has_nested_with and self._uses_later_name:
            raise NotUnderstood("a table with the name of a later query of WITH, and WITH in WITH")

    def _check_case(self, name: str, cte: Cte | None) -> None:
        if cte is not None and cte.name != name and self.analysis.case_sensitive:
            raise NotUnderstood("names that differ by case")


def parts_of(tree: exp.Table) -> list[str]:
    """The parts of a table's name in lower case. Raises NotUnderstood."""
    parts = []
    for part in tree.parts:
        if not isinstance(part, exp.Identifier):
            raise NotUnderstood(f"{part.key} in a table's name")
        parts.append(part.name.lower())
    return parts


def _let_refer_to_itself(cte: Cte, name: str) -> None:
    if cte.query.find(exp.With) is not None:
        raise NotUnderstood("WITH in a query of recursive WITH")
    cte.outer[name] = cte
    cte.recursive = True


def _set_later(known: dict[str, Cte], names: list[str]) -> None:
    """Sets `later` of the queries of one WITH clause, whose names are `names`."""
    for at, name in enumerate(names):
        known[name].later = {each: known[each] for each in names[at + 1 :]}
