"""A metastore table as the Thrift Server lists it (`conf.listing`)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from conf.listing import ListedColumn, ListedTable
from metastore.catalog.spark_types import from_hive, from_json
from metastore.client.types import Table

_SCHEMA = "spark.sql.sources.schema"
_PROVIDER = "spark.sql.sources.provider"
_KINDS = {"MANAGED_TABLE": False, "EXTERNAL_TABLE": False, "VIRTUAL_VIEW": True}
_CREATED, _ACCESSED, _OWNER, _RETENTION = 4, 5, 3, 6


def listed(table: Table) -> ListedTable:
    """The table for GetTables and GetColumns; without columns if they are not certain."""
    parameters = table.parameters
    try:
        columns = _columns(table, parameters)
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError):
        columns = None
    return ListedTable(
        table.ref.name,
        _KINDS.get(table.kind, False),
        parameters.get("comment", ""),
        columns if table.kind in _KINDS else None,
        _age(table),
    )


def _age(table: Table) -> tuple[int, int, str, int]:
    fields = table.struct
    return (
        int(fields.get(_CREATED) or 0),
        int(fields.get(_ACCESSED) or 0),
        str(fields.get(_OWNER) or ""),
        int(fields.get(_RETENTION) or 0),
    )


def _columns(table: Table, parameters: Mapping[str, str]) -> tuple[ListedColumn, ...] | None:
    provider = parameters.get(_PROVIDER)
    fields = _json_fields(parameters)
    if table.kind == "VIRTUAL_VIEW":
        if provider is not None:
            return None
        return _hive_columns(table) if fields is None else tuple(map(_json_column, fields))
    if provider is None and fields is None:
        return _hive_columns(table)
    if fields is None or provider == "hive":
        return None
    ordered = _partitions_last(fields, parameters)
    if provider is None and not _is_hives(ordered, table):
        return None  # changed by a client that does not maintain Spark's schema
    return tuple(map(_json_column, ordered))


def _json_fields(parameters: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """The fields of Spark's own schema. A long schema is split into several parameters."""
    text = parameters.get(_SCHEMA)
    if text is None:
        count = parameters.get(f"{_SCHEMA}.numParts")
        if count is None:
            return None
        text = "".join(parameters[f"{_SCHEMA}.part.{number}"] for number in range(int(count)))
    fields: list[dict[str, Any]] = json.loads(text)["fields"]
    return fields


def _partitions_last(
    fields: Sequence[dict[str, Any]], parameters: Mapping[str, str]
) -> list[dict[str, Any]]:
    count = int(parameters.get(f"{_SCHEMA}.numPartCols", "0"))
    keys = [parameters[f"{_SCHEMA}.partCol.{number}"] for number in range(count)]
    by_name = {each["name"]: each for each in reversed(fields)}
    last = [by_name[key] for key in keys]
    return [each for each in fields if each not in last] + last


def _is_hives(fields: Sequence[dict[str, Any]], table: Table) -> bool:
    """Whether Hive's columns are the same: otherwise Spark uses Hive's."""
    ours = [
        (each["name"].lower(), from_json(each["type"], each.get("metadata") or {}).hive)
        for each in fields
    ]
    hives = (*table.storage.columns, *table.partition_keys)
    return ours == [(name.lower(), from_hive(kind).hive) for name, kind in hives]


def _json_column(field: Mapping[str, Any]) -> ListedColumn:
    metadata = field.get("metadata") or {}
    return ListedColumn(
        str(field["name"]),
        from_json(field["type"], metadata).column,
        str(metadata.get("comment", "")),
        bool(field["nullable"]),
    )


def _hive_columns(table: Table) -> tuple[ListedColumn, ...]:
    fields = (*(table.storage.struct.get(1) or ()), *(table.struct.get(8) or ()))
    return tuple(
        ListedColumn(str(each.get(1)), from_hive(str(each.get(2))).column, str(each.get(3) or ""))
        for each in fields
    )
