"""What a name may mean: a query of WITH, a temporary object, or a function written in SQL.

Hive lets a query of WITH name one that follows it; Spark tries a table of that name first. In a
command with a WITH inside another one, Spark may put such a query in the place of a table of the
same name: this is refused.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlglot import exp

from conf.catalog.tables import ViewText
from dialect.errors import NotUnderstood
from dialect.lineage.analysis_context import AnalysisContext
from dialect.lineage.plan import Node
from dialect.lineage.temporary import name_parts, temporary_name
from dialect.parsing.function_calls import Calls
from dialect.parsing.supported_nodes import check
from dialect.work import spend

MAX_VIEW_DEPTH = 80
_OF_SESSION = frozenset({"", "session"})  # of the names of the session's functions


@dataclass(slots=True)
class Cte:
    """A query of WITH. `outer` are those that it sees, `later` those that follow it."""

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
    """The names that can be meant at the place that is read. `database` is that of its text."""

    analysis: AnalysisContext
    database: str
    ctes: list[Cte] = field(default_factory=list)  # of the tree that is read
    _depth: int = 0
    _visible: tuple[str, ...] | None = None  # temporary objects; None: all
    _later: dict[str, Cte] = field(default_factory=dict)
    _later_names: frozenset[str] = frozenset()
    _has_nested_with: bool = False
    _names_later: bool = False
    _functions: set[str] = field(default_factory=set)  # written in SQL, met so far

    def with_queries_of(self, tree: exp.Expr, ctes: Ctes) -> Ctes:
        """`ctes` and the queries of the tree's own WITH. Raises NotUnderstood."""
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
            columns = tuple(column.name.lower() for column in alias.args.get("columns") or ())
            name = alias.name.lower()
            self._check_case(alias.name, known.get(name))
            known[name] = Cte(each.this, dict(known), columns, alias.name)
            self.ctes.append(known[name])
            if clause.args.get("recursive"):
                _let_see_itself(known[name], name)
        _let_see_later(known, [each.args["alias"].name.lower() for each in clause.expressions])
        return known

    def queries_named(self, name: str, ctes: Ctes) -> tuple[Cte | None, Cte | None]:
        """The query of WITH with this name, and the one that follows the query that is read.
        Raises NotUnderstood.
        """
        lower = name.lower()
        self._names_later |= lower in self._later_names
        self._check_later()
        found, later = ctes.get(lower), self._later.get(lower)
        self._check_case(name, found or later)
        return found, later

    def temporary(self, parts: list[str]) -> str | None:
        """The name of the temporary object that may be meant."""
        if self._visible is not None and temporary_name(parts) not in self._visible:
            return None
        return self.analysis.temporary(parts)

    def use_unread_temporaries(self) -> None:
        """Temporary objects in queries of WITH that nothing refers to. Spark reads nothing of them,
        but it looks them up: the statement has to run where they are."""
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
        """The functions written in SQL among the calls that were not met before, and their texts.
        `database` is empty in the text of a function. Raises NotUnderstood.
        """
        known = self.analysis.namespace.functions
        for call in sorted(calls.names) if known else ():
            schema, _, name = call.rpartition(".")
            if not schema and not database and name in {each.rpartition(".")[2] for each in known}:
                raise NotUnderstood(f"{name}() without a database in the text of a function")
            for found in (f"{schema or database}.{name}", name if schema in _OF_SESSION else ""):
                if found in known and found not in self._functions:
                    self._functions.add(found)
                    yield found, known[found]

    @contextmanager
    def in_text(self, name: str, text: ViewText, visible: tuple[str, ...]) -> Iterator[None]:
        """Within the text of a view or function; `visible` are the temporary objects that may be
        meant in it. Raises NotUnderstood.
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
        """Within a query of WITH. Raises NotUnderstood."""
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
        if self._has_nested_with and self._names_later:
            raise NotUnderstood("a table that is called as a later query of WITH, and WITH in WITH")

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


def _let_see_itself(cte: Cte, name: str) -> None:
    if cte.query.find(exp.With) is not None:
        raise NotUnderstood("WITH in a query of recursive WITH")
    cte.outer[name] = cte
    cte.recursive = True


def _let_see_later(known: dict[str, Cte], names: list[str]) -> None:
    """Lets a CTE see those that follow it, as in Hive. Spark tries a table of that name first."""
    for at, name in enumerate(names):
        known[name].later = {each: known[each] for each in names[at + 1 :]}
