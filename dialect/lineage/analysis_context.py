"""The tables, views, paths and session objects that an analysis looked up."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot.tokenizer_core import Token

from conf.catalog.tables import Catalog, NotLoaded, TableInfo, ViewText
from conf.names import TableRef
from conf.settings.security.restrictions import Code
from dialect.errors import NotUnderstood
from dialect.lexing.tokens import names_in
from dialect.lineage.temporary import temporary_name, variable_name
from dialect.parsing.function_calls import Calls
from dialect.parsing.variables import case_sensitive, double_quoted_names
from dialect.statement import Namespace

TempObject = ViewText | tuple[str, ...]
"""The query of a session's view, or the paths of another temporary object."""


@dataclass(slots=True)
class AnalysisContext:
    """Looks up names in one namespace, and records the results: the analysis depends on them.

    `missing` are tables that the catalog still has to load. `looked_up` and `looked_up_session`
    have the result of every look-up. `is_script`: a local variable or the row of a loop may hide a
    variable of the session.
    """

    namespace: Namespace
    catalog: Catalog
    views: dict[TableRef, None] = field(default_factory=dict)
    temps: dict[str, None] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    missing: set[TableRef] = field(default_factory=set)
    looked_up: dict[TableRef, TableInfo | None] = field(default_factory=dict)
    looked_up_session: dict[str, TempObject | None] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    permanent: set[str] = field(default_factory=set)
    code: set[Code] = field(default_factory=set)
    is_script: bool = False

    @property
    def double_quoted_names(self) -> bool:
        """Whether "a" is a name in the statement."""
        return double_quoted_names(self.namespace.variables)

    @property
    def case_sensitive(self) -> bool:
        """Whether names of CTEs and of temporary views differ by case."""
        return case_sensitive(self.namespace.variables)

    def note(self, calls: Calls, database: str) -> None:
        """Records the calls of the statement, or of a view that it opens."""
        self.functions |= calls.functions
        self.permanent |= calls.permanent(database)
        if calls.script:
            self.code.add(Code.SCRIPT)

    def note_variables(self, tokens: Iterable[Token]) -> None:
        """Records the session variables that a text may name as used."""
        known = self.namespace.session_variables
        if known:
            self.temps |= {variable_name(each): None for each in names_in(tokens) if each in known}

    @property
    def texts(self) -> Mapping[str, str | None]:
        """The texts of the session variables; None for one whose value is not known."""
        known = {} if self.is_script else self.namespace.session_variables
        return {name: variable.text for name, variable in known.items()}

    def look_up(self, ref: TableRef) -> TableInfo | None:
        """The table; None if there is none, or if the catalog still has to load it (`missing`)."""
        if ref not in self.looked_up:
            try:
                self.looked_up[ref] = self.catalog.table(ref)
            except NotLoaded:
                self.missing.add(ref)
                return None
        return self.looked_up[ref]

    def session_object(self, name: str) -> TempObject | None:
        """The session's temporary object of that name, or None."""
        temporary = session_object(self.namespace, name)
        self.looked_up_session[name] = temporary
        return temporary

    def temporary(self, parts: Sequence[str]) -> str | None:
        """The name of the temporary object that the parts mean, recorded as used; or None.

        Raises NotUnderstood for a global view of another session, whose query is not known.
        """
        name = temporary_name(parts)
        if name is None:
            return None
        if self.session_object(name) is None:
            if len(parts) == 2:
                raise NotUnderstood(f"{name} is not a view that this session made")
            return None
        self.temps[name] = None
        return name


def session_object(namespace: Namespace, name: str) -> TempObject | None:
    """The session's temporary object of that name, or None."""
    view = namespace.temp_views.get(name)
    return namespace.temp_tables.get(name) if view is None else view
