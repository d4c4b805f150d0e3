"""The columns of a Hudi table as Arrow types, from the Avro schema that commits record."""

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline.hudi.errors import DamagedTimeline, UnsupportedTable

_META = (
    "_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path",
    "_hoodie_file_name",
)  # fmt: skip
_PLAIN = {
    "null": pa.null(), "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "bytes": pa.binary(),
    "enum": pa.string(),
}  # fmt: skip
_LOGICAL = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "uuid": pa.string(),
}
# The changes of a column's type that Avro's rules for readers and writers allow.
_PROMOTIONS = {
    pa.int32(): (pa.int64(), pa.float32(), pa.float64()),
    pa.int64(): (pa.float32(), pa.float64()),
    pa.float32(): (pa.float64(),),
}


def table_schema(avro: str, name: str) -> pa.Schema:
    """The columns of an Avro record in JSON, Hudi's meta columns in front. Raises DamagedTimeline
    naming `name`, UnsupportedTable for a type that Arrow lacks.
    """
    try:
        columns = [_field(field, {}) for field in json.loads(avro)["fields"]]
    except (ValueError, KeyError, TypeError) as fault:
        raise DamagedTimeline(f"cannot read the schema in {name}: {fault!r}.") from fault
    meta = [pa.field(column, pa.string()) for column in _META]
    return pa.schema(meta + [column for column in columns if column.name not in _META])


def check_evolution(history: str, name: str) -> None:
    """Checks that a column's name means the same column in files of every age.

    `history` are the versions of a schema that ALTER TABLE changes (schema on read), in JSON.
    Raises UnsupportedTable for renamed and replaced columns and for types that do not promote,
    DamagedTimeline naming `name`.
    """
    names: dict[int, str] = {}
    identities: dict[str, int] = {}
    kinds: dict[int, str] = {}
    try:
        versions = sorted(json.loads(history)["schemas"], key=lambda v: v["version_id"])
        columns = [column for version in versions for column in _columns("", version)]
    except (ValueError, KeyError, TypeError) as fault:
        raise DamagedTimeline(f"cannot read the schemas in {name}: {fault!r}.") from fault
    for identity, column, kind in columns:
        if names.setdefault(identity, column) != column:
            raise UnsupportedTable(f"column {names[identity]} was renamed to {column} ({name}).")
        if identities.setdefault(column, identity) != identity:
            raise UnsupportedTable(f"column {column} was replaced by another one ({name}).")
        if not _is_avro_promotion(kinds.get(identity, kind), kind):
            raise UnsupportedTable(
                f"column {column} was {kinds[identity]} and is {kind} now ({name})."
            )
        kinds[identity] = kind


def _columns(prefix: str, record: dict[str, Any]) -> Iterator[tuple[int, str, str]]:
    """The id, full name and type of every field of a record, and of the records in it."""
    for field in record["fields"]:
        path = prefix + field["name"]
        yield from _column(field["id"], path, field["type"])


def _column(identity: int, path: str, kind: Any) -> Iterator[tuple[int, str, str]]:
    if not isinstance(kind, dict):
        yield identity, path, kind
        return
    yield identity, path, kind["type"]
    if kind["type"] == "record":
        yield from _columns(f"{path}.", kind)
    for part in ("element", "value"):
        if part in kind:
            yield from _column(kind[f"{part}_id"], f"{path}.{part}", kind[part])


def _is_avro_promotion(old: str, new: str) -> bool:
    if old == new:
        return True
    return old in _PLAIN and new in _PLAIN and is_promotion(_PLAIN[old], _PLAIN[new])


def widened(old: pa.Schema, new: pa.Schema) -> pa.Schema:
    """Every column of both, with a type that has the values of both. Raises UnsupportedTable when
    there is none.
    """
    columns = {field.name: field for field in old.remove_metadata()}
    for field in new.remove_metadata():
        known = columns.get(field.name)
        kind = field.type if known is None else _wider(field.name, known.type, field.type)
        columns[field.name] = pa.field(field.name, kind)
    return pa.schema(columns.values())


def conform(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows with the columns and types of the schema. Columns that they lack are null."""
    if rows.schema == schema:
        return rows
    names = set(rows.schema.names)
    columns = [
        rows.column(field.name).cast(field.type)
        if field.name in names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def is_promotion(old: pa.DataType, new: pa.DataType) -> bool:
    """Whether every value of the old type reads as one of the new type."""
    return old == new or new in _PROMOTIONS.get(old, ())


def _wider(name: str, old: pa.DataType, new: pa.DataType) -> pa.DataType:
    if is_promotion(old, new):
        return new
    if is_promotion(new, old):
        return old
    try:
        both = [pa.schema([pa.field(name, kind)]) for kind in (old, new)]
        if pa.types.is_nested(old) or pa.types.is_decimal(old):
            return pa.unify_schemas(both, promote_options="permissive").field(0).type
    except pa.ArrowException:
        pass
    raise UnsupportedTable(f"column {name} was {old} and is {new} now.")


def _field(field: dict[str, Any], named: dict[str, pa.DataType]) -> pa.Field:
    return pa.field(field["name"], _type(field["type"], named))


def _type(avro: Any, named: dict[str, pa.DataType]) -> pa.DataType:
    """`named` are the records, enums and fixed types before this one, by name."""
    if isinstance(avro, str):
        known = _PLAIN.get(avro) or named.get(avro) or named.get(avro.rpartition(".")[2])
        if known is None:
            raise KeyError(avro)
        return known
    if isinstance(avro, list):
        kinds = [_type(each, named) for each in avro if each != "null"]
        if len(kinds) != 1:
            raise UnsupportedTable(f"a union of {len(kinds)} types is not supported.")
        return kinds[0]
    kind = _complex_type(avro, named)
    if "name" in avro:
        named[avro["name"]] = kind
    return kind


def _complex_type(avro: dict[str, Any], named: dict[str, pa.DataType]) -> pa.DataType:
    logical = avro.get("logicalType")
    if logical == "decimal":
        return pa.decimal128(avro["precision"], avro.get("scale", 0))
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    match avro["type"]:
        case "record":
            return pa.struct([_field(field, named) for field in avro["fields"]])
        case "array":
            return pa.list_(pa.field("element", _type(avro["items"], named)))
        case "map":
            return pa.map_(pa.string(), _type(avro["values"], named))
        case "fixed":
            return pa.binary(avro["size"])
        case other:
            return _type(other, named)
