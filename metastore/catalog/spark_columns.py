"""The columns of a metastore table as Spark's catalog reads them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metastore.catalog.spark_types import SparkType, from_hive, from_json
from metastore.client.types import Table

PROVIDER = "spark.sql.sources.provider"
SCHEMA = "spark.sql.sources.schema"


@dataclass(frozen=True, slots=True)
class Field:
    """A column. `comment` and `default`, which is an expression, are None if it has none."""

    name: str
    type: SparkType
    comment: str | None = None
    nullable: bool = True
    default: str | None = None


def spark_fields(table: Table) -> tuple[Field, ...] | None:
    """All columns, partition columns last; None if it is not certain how Spark reads the table.

    Raises LookupError, ValueError, TypeError, AttributeError or RecursionError for a schema or
    type of an unknown form.
    """
    parameters = table.parameters
    provider = parameters.get(PROVIDER)
    fields = _json_fields(parameters)
    if table.kind == "VIRTUAL_VIEW":
        if provider is not None:
            return None
        return _hive_fields(table) if fields is None else tuple(map(_json_field, fields))
    if provider is None and fields is None:
        return _hive_fields(table)
    if fields is None or provider == "hive":
        return None
    ordered = _partitions_last(fields, parameters)
    if provider is None and not _is_hives(ordered, table):
        return None  # changed by a client that does not maintain Spark's schema
    return tuple(map(_json_field, ordered))


def has_spark_schema(parameters: Mapping[str, str]) -> bool:
    """Whether Spark keeps a schema of its own for the table."""
    return SCHEMA in parameters or f"{SCHEMA}.numParts" in parameters


def numbered(parameters: Mapping[str, str], count: str, prefix: str) -> tuple[str, ...]:
    """A list that Spark keeps in parameters: `count` has the number of its elements, and `prefix`
    with a position has the element there."""
    return tuple(parameters[f"{prefix}{at}"] for at in range(int(parameters.get(count, "0"))))


def _json_fields(parameters: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """The fields of Spark's own schema. A long schema is split into several parameters."""
    if not has_spark_schema(parameters):
        return None
    text = parameters.get(SCHEMA)
    if text is None:
        text = "".join(numbered(parameters, f"{SCHEMA}.numParts", f"{SCHEMA}.part."))
    fields: list[dict[str, Any]] = json.loads(text)["fields"]
    return fields


def _partitions_last(
    fields: Sequence[dict[str, Any]], parameters: Mapping[str, str]
) -> list[dict[str, Any]]:
    keys = numbered(parameters, f"{SCHEMA}.numPartCols", f"{SCHEMA}.partCol.")
    by_name = {each["name"]: each for each in reversed(fields)}
    last = [by_name[key] for key in keys]
    return [each for each in fields if each not in last] + last


def _is_hives(fields: Sequence[dict[str, Any]], table: Table) -> bool:
    """Whether Hive's columns are the same. If they are not, Spark uses Hive's."""
    sparks = [
        (each["name"].lower(), from_json(each["type"], each.get("metadata") or {}).hive)
        for each in fields
    ]
    hives = (*table.storage.columns, *table.partition_keys)
    return sparks == [(name.lower(), from_hive(kind).hive) for name, kind in hives]


def _json_field(field: Mapping[str, Any]) -> Field:
    metadata = field.get("metadata") or {}
    return Field(
        str(field["name"]),
        from_json(field["type"], metadata),
        _text(metadata, "comment"),
        bool(field["nullable"]),
        _text(metadata, "CURRENT_DEFAULT"),
    )


def _text(metadata: Mapping[str, Any], key: str) -> str | None:
    value = metadata.get(key)
    return None if value is None else str(value)


def _hive_fields(table: Table) -> tuple[Field, ...]:
    fields = (*(table.storage.struct.get(1) or ()), *(table.struct.get(8) or ()))
    return tuple(
        Field(str(each.get(1)), from_hive(str(each.get(2))), each.get(3)) for each in fields
    )
