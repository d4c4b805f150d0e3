"""The temporary objects of a session, and where each one is.

A view by its query is made in every cluster by its text. What has data of its own (files under a
path, a cached result) is in one cluster, its home, and so is a view over it. A session variable is
in every cluster as long as every cluster computes the same value; one with the value of a query is
in the cluster that ran the query.
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
    """`view` of one made by a query, `paths` of one with files, `variable` of a variable. `home` is
    the one cluster that has it; None: every cluster has it, or can make it."""

    view: ViewText | None = None
    paths: tuple[str, ...] = ()
    home: ClusterName | None = None
    variable: SessionVariable | None = None

    @property
    def is_table(self) -> bool:
        return self.view is None and self.variable is None


@dataclass(slots=True)
class TempObjects:
    """By name, as `dialect.lineage.temporary` writes it."""

    _objects: dict[str, TempObject] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether lists of tables have any of them."""
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
        """Where those views and tables are that are in one cluster."""
        return self.homes(name for name, each in self._objects.items() if each.variable is None)

    def homes(self, names: Iterable[str] | None = None) -> dict[str, ClusterName]:
        """Where those of the objects are that are in one cluster; None: of all objects."""
        found: dict[str, ClusterName] = {}
        for name in self._objects if names is None else names:
            each = self._objects.get(name)
            if each is not None and each.home is not None:
                found[name] = each.home
        return found

    def apply(
        self, effect: ObjectEffect, cluster: ClusterName | None, used: Iterable[str]
    ) -> ClusterName | None:
        """What a statement did that ran in `cluster` and used the objects `used`.

        Returns the only cluster in which the statement has a meaning; None: it has one in all.
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
                found = self._objects.pop(name, TempObject())
                self._objects[new] = found
                return found.home
            case DropTemp(name):
                found = self._objects.pop(name, TempObject())
                return found.home
            case AssignVariables(variables, repeatable):
                home = next(iter(self.homes(used).values()), None if repeatable else cluster)
                for name, variable in variables:
                    self._objects[name] = TempObject(home=home, variable=variable)
                return home


def after_error(effect: SessionEffect, failure: Failure | None) -> SessionEffect | None:
    """What a statement with that effect did although it failed.

    Spark 3.5 drops the view of that name when CACHE TABLE .. AS finds one there, and says that it
    is there. Spark 4, whose messages have the SQLSTATE, keeps it.
    """
    if not isinstance(effect, CreateTempTable) or effect.cached is None or failure is None:
        return None
    drops = failure.sqlstate == _EXISTS and f"SQLSTATE: {_EXISTS}" not in failure.message
    return DropTemp(effect.name) if drops else None
