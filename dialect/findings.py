"""What a statement meets while it is read: tables, views, paths and the session's objects."""

from dataclasses import dataclass, field

from conf.names import TableRef
from conf.restrictions import Code
from conf.tables import Catalog, NotLoaded, TableInfo, ViewText
from dialect.code import Calls
from dialect.statement import Namespace


@dataclass(slots=True)
class Findings:
    """Looks names up in one namespace and remembers them: the answer depends on these.

    `missing` are tables that the catalog still has to load.
    """

    namespace: Namespace
    catalog: Catalog
    views: dict[TableRef, None] = field(default_factory=dict)
    temps: dict[str, None] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    missing: set[TableRef] = field(default_factory=set)
    asked: dict[TableRef, TableInfo | None] = field(default_factory=dict)
    asked_session: dict[str, ViewText | bool] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    code: set[Code] = field(default_factory=set)

    def note(self, calls: Calls) -> None:
        """What the statement, or a view that it opens, calls and runs."""
        self.functions |= calls.functions
        if calls.script:
            self.code.add(Code.SCRIPT)

    def look_up(self, ref: TableRef) -> TableInfo | None:
        """The table; None when there is none, or while the catalog still has to load it."""
        if ref not in self.asked:
            try:
                self.asked[ref] = self.catalog.table(ref)
            except NotLoaded:
                self.missing.add(ref)
                return None
        return self.asked[ref]

    def session_object(self, name: str) -> ViewText | bool:
        """The session's view of that name; True for another object of its own, else False."""
        found = session_object(self.namespace, name)
        self.asked_session[name] = found
        return found


def session_object(namespace: Namespace, name: str) -> ViewText | bool:
    """The session's view of that name; True for another object of its own, else False."""
    view = namespace.temp_views.get(name)
    return (name in namespace.temp_tables) if view is None else view
