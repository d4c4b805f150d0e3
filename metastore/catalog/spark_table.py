"""Turns a metastore table into a `conf.catalog.spark_table.SparkTable`, as Spark's catalog does.

If Spark's result is not certain, the table, or the part in question, is None. The rules were
compared with Spark 3.5 (`tests/e2e/clients/test_catalog_statements.py`).
"""

import re
from collections.abc import Collection, Mapping
from zlib import compress, decompress

from conf.catalog.spark_table import (
    Buckets,
    SparkColumn,
    SparkDatabase,
    SparkStorage,
    SparkTable,
    SparkView,
)
from conf.placement import COPY_PREFIX, RESERVED_PREFIX
from metastore.catalog.spark_columns import (
    PROVIDER,
    SCHEMA,
    Field,
    has_spark_schema,
    numbered,
    spark_fields,
)
from metastore.catalog.spark_types import nullability
from metastore.client.types import Database, Storage, Table
from thriftcodec.reader import read_value
from thriftcodec.values import STRUCT
from thriftcodec.writer import write_value

MOST_PACKED = 16 << 10  # bytes; a larger packed table is not kept
_KINDS = {"MANAGED_TABLE": "MANAGED", "EXTERNAL_TABLE": "EXTERNAL", "VIRTUAL_VIEW": "VIEW"}
_STATISTICS = "spark.sql.statistics."
_HIVE_STATISTICS = ("totalSize", "rawDataSize")
# Parameters that Spark does not show as properties: Hive's statistics, and those with own rows.
_HIDDEN = frozenset(
    [
        *("COLUMN_STATS_ACCURATE", "numFiles", "numPartitions", "numRows", "rawDataSize"),
        *("totalSize", "comment", "EXTERNAL"),
    ]
)
_SPARKS, _DDL_TIME, _HANDLER = "spark.sql.", "transient_lastDdlTime", "storage_handler"
_FORMAT, _PATH = "serialization.format", "path"
_REQUIRED = nullability(nullable=False)  # the text behind a part of a type that cannot be null
_MOST_ORDERED = 4  # entries of a map that Scala keeps in their order
# Locations that Hadoop's Path and java.net.URI write as they read them.
_LOCATION = re.compile(
    r"([a-z][a-z0-9]*):(?://([A-Za-z0-9_.:@-]*))?((?:/[\w .=@,+~-]+)+)", re.ASCII
)
_DIGITS = re.compile(r"0|[1-9][0-9]*", re.ASCII)


def packed(table: Table) -> bytes:
    """The table as a few bytes for `unpacked`; empty if it is too large to be kept."""
    out = bytearray()
    write_value(out, STRUCT, table.struct)
    small = compress(out, 1)
    return small if len(small) <= MOST_PACKED else b""


def unpacked(data: bytes) -> Table | None:
    """The table that was `packed`; None if it was too large."""
    if not data:
        return None
    value, _ = read_value(decompress(data), 0, STRUCT)
    return Table(value)


def spark_table(table: Table) -> SparkTable | None:
    """The table as Spark's catalog has it; None if that is not certain."""
    try:
        return _spark_table(table)
    except (LookupError, ValueError, TypeError, AttributeError, RecursionError):
        return None


def spark_database(database: Database) -> SparkDatabase:
    """The database as Spark's catalog has it, with its location in the metastore."""
    return SparkDatabase(
        name=database.name,
        comment=database.text(2),
        location=_written(database.location),
        owner=database.text(6),
        properties=dict(database.parameters),
    )


def _spark_table(table: Table) -> SparkTable | None:
    parameters = table.parameters
    kind, fields = _KINDS[table.kind], spark_fields(table)
    is_view, provider = kind == "VIEW", parameters.get(PROVIDER)
    if not fields or _HANDLER in parameters or (is_view and table.partition_keys):
        return None
    if table.storage.is_skewed:
        return None
    buckets = _buckets(table, parameters, provider)
    return SparkTable(
        ref=table.ref,
        columns=tuple(_column(each, _column_statistics(parameters, each)) for each in fields),
        partition_columns=() if is_view else _partition_columns(table, parameters),
        owner=table.owner,
        created=int(table.struct.get(4) or 0),
        accessed=int(table.struct.get(5) or 0),
        version=parameters.get("spark.sql.create.version", "2.2 or prior"),
        kind=kind,
        provider=None if is_view else provider or "hive",
        buckets=None if is_view else buckets,
        comment=parameters.get("comment"),
        view=_view(table, parameters) if is_view else None,
        properties=_properties(parameters, provider),
        statistics=_statistics(parameters),
        storage=_storage(table.storage, is_view, provider),
        partitions_in_catalog=not is_view
        and (provider is None or parameters.get("spark.sql.partitionProvider") == "catalog"),
        copies=frozenset(
            key.removeprefix(COPY_PREFIX) for key in parameters if key.startswith(COPY_PREFIX)
        ),
    )


def _column(field: Field, statistics: Mapping[str, str]) -> SparkColumn:
    tree = field.type.tree(field.name, nullability(field.nullable))
    if not all(line.isprintable() for line in tree):
        raise ValueError("a name that Spark escapes in a printed schema")
    sql = None if any(_REQUIRED in line for line in tree[1:]) else field.type.column.sql
    return SparkColumn(
        name=field.name,
        simple=field.type.simple,
        tree=tree,
        sql=sql,
        nullable=field.nullable,
        comment=field.comment,
        default=field.default,
        statistics=statistics,
    )


def _column_statistics(parameters: Mapping[str, str], field: Field) -> dict[str, str]:
    """The statistics of a column, by Spark's names."""
    prefix = f"{_STATISTICS}colStats.{field.name}."
    return {
        key.removeprefix(prefix): text for key, text in parameters.items() if key.startswith(prefix)
    }


def _partition_columns(table: Table, parameters: Mapping[str, str]) -> tuple[str, ...]:
    if has_spark_schema(parameters):
        return numbered(parameters, f"{SCHEMA}.numPartCols", f"{SCHEMA}.partCol.")
    return tuple(name for name, _ in table.partition_keys)


def _buckets(table: Table, parameters: Mapping[str, str], provider: str | None) -> Buckets | None:
    """The buckets that Spark recorded. Raises ValueError for a table with only Hive's buckets."""
    count = int(parameters.get(f"{SCHEMA}.numBuckets", "0"))
    if count:
        columns = numbered(parameters, f"{SCHEMA}.numBucketCols", f"{SCHEMA}.bucketCol.")
        ordered = numbered(parameters, f"{SCHEMA}.numSortCols", f"{SCHEMA}.sortCol.")
        return Buckets(count, columns, ordered)
    if (
        provider is None
        and not has_spark_schema(parameters)
        and table.storage.struct.get(6, -1) > 0
    ):
        raise ValueError("Hive's buckets")
    return None


def _view(table: Table, parameters: Mapping[str, str]) -> SparkView:
    """The view's text and namespace. Raises KeyError for a view that Spark did not create."""
    if not table.text(10) or not table.text(11):
        raise KeyError("a view without text")
    names = "view.catalogAndNamespace."
    if int(parameters[f"{names}numParts"]) < 1:
        raise ValueError("a view without a namespace")
    return SparkView(
        table.text(11),
        table.text(10),
        numbered(parameters, f"{names}numParts", f"{names}part."),
        numbered(parameters, "view.query.out.numCols", "view.query.out.col."),
    )


def _properties(parameters: Mapping[str, str], provider: str | None) -> dict[str, str]:
    """The properties that users see: without those of Spark, Hive and Causeway."""
    hidden = _HIDDEN | {_DDL_TIME} if provider is not None else _HIDDEN
    return {
        key: value
        for key, value in parameters.items()
        if key not in hidden and not key.startswith((_SPARKS, RESERVED_PREFIX))
    }


def _statistics(parameters: Mapping[str, str]) -> str:
    """The text in which Spark shows the table's size. Raises LookupError or ValueError for
    statistics of an unknown form."""
    if any(key.startswith(_STATISTICS) for key in parameters):
        return _size(parameters[f"{_STATISTICS}totalSize"], parameters.get(f"{_STATISTICS}numRows"))
    rows = parameters.get("numRows")
    for key in _HIVE_STATISTICS:
        size = parameters.get(key)
        if size and int(size) > 0:
            return _size(size, rows if rows and int(rows) > 0 else None)
    return ""


def _size(size: str, rows: str | None) -> str:
    for each in (size, rows or "0"):
        if not _DIGITS.fullmatch(each):
            raise ValueError(each)
    return f"{size} bytes" if rows is None else f"{size} bytes, {rows} rows"


def _storage(storage: Storage, is_view: bool, provider: str | None) -> SparkStorage | None:
    serde = storage.serde
    if not (serde.library and storage.input_format and storage.output_format):
        return None
    properties = serde.parameters
    location = storage.location
    if provider is not None:
        location = next((text for key, text in properties.items() if key.lower() == _PATH), "")
    if is_view and location:
        return None
    return SparkStorage(
        None if is_view else _written(location),
        serde.library,
        storage.input_format,
        storage.output_format,
        bool(storage.struct.get(5)),
        _in_order(properties, provider),
        is_ordered=len(properties) <= _MOST_ORDERED,
    )


def _written(location: str) -> str | None:
    """The location as Spark writes it; None if that is not certain."""
    found = _LOCATION.fullmatch(location)
    if found is None or {".", ".."} & set(found[3].split("/")) or location.endswith(" "):
        return None
    scheme, authority, path = found.groups()
    if scheme == "file":
        return None if authority else f"file:{path}"
    return location if authority else None


def _in_order(properties: Mapping[str, str], provider: str | None) -> tuple[tuple[str, str], ...]:
    """The storage properties that Spark shows, in the order of its Java map."""
    hidden = (_FORMAT, _PATH) if provider is not None else ()
    return tuple(
        (key, properties[key]) for key in _java_order(properties) if key.lower() not in hidden
    )


def _java_order(names: Collection[str]) -> list[str]:
    """The names in the order of a Java HashMap that was created for that many entries and filled in
    the given order."""
    size = 1 << max(1, (2 * len(names) - 1).bit_length())
    return sorted(names, key=lambda name: _java_hash(name) & (size - 1))


def _java_hash(name: str) -> int:
    code = 0
    units = name.encode("utf-16-be", errors="surrogatepass")
    for at in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return code ^ code >> 16
