"""Turns a table of the metastore into a `conf.catalog.tables.TableInfo`, for the analysis of
statements."""

import json
from collections.abc import Mapping
from typing import Any

from conf.catalog.tables import Column, TableInfo, TableKind, ViewText
from conf.partitions import PartitionKey
from metastore.catalog.hudi_tables import is_hudi
from metastore.client.types import Table

_KINDS = {
    "EXTERNAL_TABLE": TableKind.EXTERNAL,
    "VIRTUAL_VIEW": TableKind.VIEW,
    "MATERIALIZED_VIEW": TableKind.MATERIALIZED_VIEW,
}
_SCHEMA = "spark.sql.sources.schema"
_PROVIDER = "spark.sql.sources.provider"
_DOUBLE_QUOTED_NAMES = (
    "view.sqlConfig.spark.sql.ansi.enabled",
    "view.sqlConfig.spark.sql.ansi.doubleQuotedIdentifiers",
)
_SQL_PATH = "view.resolutionPath"  # Spark 4.2: names in the text are looked up in this path
_NAMESPACE = "view.catalogAndNamespace"
_QUERY_COLUMNS = "view.query.out"
# Spark's own names of types in its JSON schemas, where Hive's differ.
_TYPES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


def describe(table: Table) -> TableInfo:
    """The table's facts. Its columns are those of Spark's own schema if the parameters have one."""
    parameters = table.parameters
    keys = tuple(PartitionKey(name.lower(), kind.lower()) for name, kind in table.partition_keys)
    kind = _KINDS.get(table.kind, TableKind.TABLE)
    columns = _columns(table, parameters, frozenset(key.name for key in keys))
    return TableInfo(
        ref=table.ref,
        kind=kind,
        columns=columns,
        partition_keys=keys,
        view=_view(table, parameters, columns) if kind is TableKind.VIEW else None,
        provider=parameters.get(_PROVIDER, "hive").lower(),
        serde=table.storage.serde.library,
        is_hudi=is_hudi(table),
    )


def _columns(
    table: Table, parameters: Mapping[str, str], keys: frozenset[str]
) -> tuple[Column, ...]:
    if _PROVIDER in parameters:
        try:
            return _spark_columns(parameters, keys)
        except (LookupError, ValueError, TypeError, AttributeError, RecursionError):
            pass  # no schema, or an unknown form of it
    return tuple(Column(name, kind.lower()) for name, kind in table.storage.columns)


def _spark_columns(parameters: Mapping[str, str], keys: frozenset[str]) -> tuple[Column, ...]:
    """The columns of Spark's JSON schema. A long schema is split into several parameters."""
    text = parameters.get(_SCHEMA)
    if text is None:
        count = int(parameters[f"{_SCHEMA}.numParts"])
        text = "".join(parameters[f"{_SCHEMA}.part.{number}"] for number in range(count))
    return tuple(
        Column(str(each["name"]), _type_text(each["type"]))
        for each in json.loads(text)["fields"]
        if each["name"].lower() not in keys
    )


def _type_text(kind: Any) -> str:
    if isinstance(kind, str):
        return _TYPES.get(kind, kind).lower()
    match kind.get("type"):
        case "array":
            return f"array<{_type_text(kind['elementType'])}>"
        case "map":
            return f"map<{_type_text(kind['keyType'])},{_type_text(kind['valueType'])}>"
        case "struct":
            fields = (f"{each['name']}:{_type_text(each['type'])}" for each in kind["fields"])
            return f"struct<{','.join(fields)}>"
        case "udt":
            return _type_text(kind["sqlType"])
    return "unknown"


def _view(
    table: Table, parameters: Mapping[str, str], columns: tuple[Column, ...]
) -> ViewText | None:
    """The view's text. Its names are looked up in the recorded namespace, or in the view's
    database.

    None for a view with a SQL path: the meaning of its names depends on the reader's settings.
    """
    if _SQL_PATH in parameters:
        return None
    parts = _listed(parameters, f"{_NAMESPACE}.numParts", f"{_NAMESPACE}.part.")
    produced = _listed(parameters, f"{_QUERY_COLUMNS}.numCols", f"{_QUERY_COLUMNS}.col.")
    names = tuple(column.name for column in columns)
    database = parts[-1] if parts else table.ref.db
    quoted = all(parameters.get(key, "").lower() == "true" for key in _DOUBLE_QUOTED_NAMES)
    if not produced or produced == names:
        return ViewText(table.view_text, database, double_quoted_names=quoted)
    return ViewText(table.view_text, database, names, produced, double_quoted_names=quoted)


def _listed(parameters: Mapping[str, str], count: str, prefix: str) -> tuple[str, ...]:
    number = parameters.get(count, "0")
    if not number.isdigit():
        return ()
    return tuple(parameters.get(f"{prefix}{each}", "") for each in range(int(number)))
