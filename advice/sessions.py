"""The namespace of each statement of a log: its database, variables and temporary views."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from advice.statement_log import Logged
from dialect.statement import (
    Analysis,
    CreateTempTable,
    CreateTempView,
    DropTemp,
    Known,
    Namespace,
    SetVariable,
    UseDatabase,
)

# Only these change the meaning of later statements of their session.
_CHANGES = re.compile(
    r"\s*+(?:use|set|drop\s+view|create\s+(?:or\s+replace\s+)?(?:global\s+)?temp)", re.IGNORECASE
)


def in_context(
    log: Iterable[Logged], analysis: Callable[[str, Namespace], Analysis]
) -> Iterator[tuple[Logged, Namespace]]:
    """Each statement with the namespace of its session at that point. Equal namespaces, also of
    several sessions, are one object."""
    namespaces: dict[tuple[str, str], Namespace] = {}
    equal: dict[tuple[object, ...], Namespace] = {}  # one object for each content
    for each in log:
        key = each.session, each.database
        namespace = namespaces.get(key)
        if namespace is None:
            first = Namespace(each.database)
            namespace = namespaces[key] = equal.setdefault(_content(first), first)
        yield each, namespace
        if _CHANGES.match(each.text):
            found = analysis(each.text, namespace)
            if isinstance(found, Known):
                changed = _after(found, namespace)
                namespaces[key] = equal.setdefault(_content(changed), changed)


def _content(namespace: Namespace) -> tuple[object, ...]:
    return (
        namespace.database,
        tuple(sorted(namespace.variables.items())),
        tuple(sorted((name, view.sql) for name, view in namespace.temp_views.items())),
        tuple(sorted(namespace.temp_tables.items())),
    )


def _after(statement: Known, namespace: Namespace) -> Namespace:
    match statement.changes:
        case UseDatabase(database):
            return replace(namespace, database=database)
        case SetVariable(name, value):
            return replace(namespace, variables={**namespace.variables, name: value})
        case CreateTempView(name, view):
            return replace(namespace, temp_views={**namespace.temp_views, name: view})
        case CreateTempTable(name, paths):
            return replace(namespace, temp_tables={**namespace.temp_tables, name: paths})
        case DropTemp(name):
            views = {key: view for key, view in namespace.temp_views.items() if key != name}
            tables = {key: each for key, each in namespace.temp_tables.items() if key != name}
            return replace(namespace, temp_views=views, temp_tables=tables)
    return namespace
