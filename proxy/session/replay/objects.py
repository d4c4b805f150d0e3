"""The temporary objects of a session, and the cluster that has each of them.

A view defined by a query can be made in every cluster from its text. An object with data of its own
(files under a path, a cached result) is in one cluster, its home, and so is a view over it. A
session variable is in every cluster if every cluster computes the same value. A variable with the
value of a query is in the cluster that ran the query.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from conf.catalog.tables import ViewText
from conf.names import ClusterName
from dialect.lineage.temporary import bare_variable
from dialect.statement import (
    AssignVariables,
    CreateTempTable,
    CreateTempView,
    DropTemp,
    RenameTemp,
    SessionEffect,
    SessionVariable,
)
from proxy.errors import Failure

ObjectEffect = CreateTempView | CreateTempTable | RenameTemp | DropTemp | AssignVariables
_EXISTS = "42P07"


@dataclass(frozen=True, slots=True)
class TempObject:
    """A view (`view` has its query), a table with files (`paths`), or a `variable`.

    `home` is the only cluster that has it; None: every cluster has it, or can make it.
    """

    view: ViewText | None = None
    paths: tuple[str, ...] = ()
    home: ClusterName | None = None
    variable: SessionVariable | None = None

    @property
    def is_table(self) -> bool:
        return self.view is None and self.variable is None


@dataclass(slots=True)
class TempObjects:
    """The objects by name, as `dialect.lineage.temporary` writes it."""

    _objects: dict[str, TempObject] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether there are views or tables, which SHOW TABLES would list."""
        return any(each.variable is None for each in self._objects.values())

    def views(self) -> Mapping[str, ViewText]:
        return {name: each.view for name, each in self._objects.items() if each.view is not None}

    def tables(self) -> Mapping[str, tuple[str, ...]]:
        return {name: each.paths for name, each in self._objects.items() if each.is_table}

    def variables(self) -> Mapping[str, SessionVariable]:
        """The session variables by their bare names."""
        return {
            bare_variable(name): each.variable
            for name, each in self._objects.items()
            if each.variable is not None
        }

    def listed_homes(self) -> dict[str, ClusterName]:
        """The homes of views and tables that only one cluster has, by name."""
        return self.homes(name for name, each in self._objects.items() if each.variable is None)

    def homes(self, names: Iterable[str] | None = None) -> dict[str, ClusterName]:
        """The homes of the named objects (None: of all) that only one cluster has, by name."""
        homes: dict[str, ClusterName] = {}
        for name in self._objects if names is None else names:
            each = self._objects.get(name)
            if each is not None and each.home is not None:
                homes[name] = each.home
        return homes

    def apply(
        self, effect: ObjectEffect, cluster: ClusterName | None, used: Iterable[str]
    ) -> ClusterName | None:
        """Applies the effect of a statement that ran in `cluster` and used the objects `used`.

        Returns the only cluster in which the statement can be repeated; None: in all.
        """
        match effect:
            case CreateTempView(name, view):
                home = next(iter(self.homes(used).values()), None)
                self._objects[name] = TempObject(view, home=home)
                return home
            case CreateTempTable(name, paths, cached):
                self._objects[name] = TempObject(cached, paths, cluster)
                return cluster
            case RenameTemp(name, new):
                renamed = self._objects.pop(name, TempObject())
                self._objects[new] = renamed
                return renamed.home
            case DropTemp(name):
                return self._objects.pop(name, TempObject()).home
            case AssignVariables(variables, repeatable):
                home = next(iter(self.homes(used).values()), None if repeatable else cluster)
                for name, variable in variables:
                    self._objects[name] = TempObject(home=home, variable=variable)
                return home


def after_error(effect: SessionEffect, failure: Failure | None) -> SessionEffect | None:
    """The effect of a failed statement, whose effect on success would be `effect`; None: none.

    If CACHE TABLE .. AS finds a view of its name, it fails with "already exists", and Spark 3.5
    drops the view. Spark 4, whose messages have the SQLSTATE, keeps it.
    """
    if not isinstance(effect, CreateTempTable) or effect.cached is None or failure is None:
        return None
    drops = failure.sqlstate == _EXISTS and f"SQLSTATE: {_EXISTS}" not in failure.message
    return DropTemp(effect.name) if drops else None
