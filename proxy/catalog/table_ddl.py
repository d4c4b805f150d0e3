"""SHOW CREATE TABLE as Spark 3.5 answers it. Pure; None means that the answer is not certain.

Spark writes a table of a data source with the catalog in its name, and with its options as they
were given. It writes a table of Hive's formats as a table of the equivalent data source, without
the catalog and without options. A view is written with the names of its columns.
"""

from collections.abc import Iterable

from conf.catalog.spark_table import SparkColumn, SparkTable, SparkView
from conf.names import is_plain, quoted_if_needed
from proxy.catalog.spark_texts import RESERVED, java_order, literal, own_properties, redacted

_CATALOG = "spark_catalog"
_HIVE = "hive"
_OPTION = "option."  # prefix of properties that Spark treats as options
# The data sources by input format, output format and SerDe.
_SOURCES = {
    (
        "org.apache.hadoop.mapred.TextInputFormat",
        "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
    ): "text",
    (
        "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
        "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
    ): "orc",
    (
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
        "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    ): "parquet",
    (
        "org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat",
        "org.apache.hadoop.hive.ql.io.avro.AvroContainerOutputFormat",
        "org.apache.hadoop.hive.serde2.avro.AvroSerDe",
    ): "avro",
}


def statement(table: SparkTable) -> str | None:
    """The statement that creates the table or view."""
    if table.view is not None:
        return _view(table, table.view)
    if table.provider == _HIVE:
        return _hive_table(table)
    return _table(table)


def _table(table: SparkTable) -> str | None:
    if table.storage is None or table.provider is None:
        return None
    options = dict(table.storage.properties)
    shown = [key for key in own_properties(table) if key not in options]
    if not is_plain(table.provider) or any(
        key in RESERVED or key.startswith(_OPTION) for key in shown
    ):
        return None
    given = redacted((key, options[key]) for key in sorted(options, key=java_order))
    properties = redacted((key, table.properties[key]) for key in shown)
    name = f"{_CATALOG}.{_name(table)}"
    return _create_table(table, name, table.provider, list(given), list(properties))


def _hive_table(table: SparkTable) -> str | None:
    storage, properties = table.storage, table.properties
    if storage is None or properties.get("transactional", "false").lower() == "true":
        return None
    source = _SOURCES.get((storage.input_format, storage.output_format, storage.serde))
    shown = [(key, properties[key]) for key in own_properties(table)]
    if source is None or len(shown) != len(properties) or list(redacted(shown)) != shown:
        return None
    return _create_table(table, _name(table), source, [], shown)


def _create_table(
    table: SparkTable,
    name: str,
    source: str,
    options: list[tuple[str, str]],
    properties: list[tuple[str, str]],
) -> str | None:
    columns = [_column(each) for each in table.columns]
    is_external = table.kind == "EXTERNAL"
    location = table.storage.location if table.storage is not None else None
    if is_external and location is None:
        return None
    layout = _layout(table)
    if layout is None or None in columns:
        return None
    return "".join(
        (
            f"CREATE TABLE {name} {_lines(filter(None, columns))}USING {source}\n",
            f"OPTIONS {_properties(options)}" if options else "",
            *layout,
            _comment(table),
            f"LOCATION {literal(location or '')}\n" if is_external else "",
            f"TBLPROPERTIES {_properties(properties)}" if properties else "",
        )
    )


def _layout(table: SparkTable) -> list[str] | None:
    """The lines about partitions and buckets; None for names that Spark may quote."""
    buckets = table.buckets
    keys = table.partition_columns
    bucketed = () if buckets is None else (*buckets.columns, *buckets.sorted_by)
    if not all(map(is_plain, (*keys, *bucketed))):
        return None
    lines = [f"PARTITIONED BY ({', '.join(keys)})\n"] if keys else []
    if buckets is not None:
        lines.append(f"CLUSTERED BY ({', '.join(buckets.columns)})\n")
        if buckets.sorted_by:
            lines.append(f"SORTED BY ({', '.join(buckets.sorted_by)})\n")
        lines.append(f"INTO {buckets.count} BUCKETS\n")
    return lines


def _view(table: SparkTable, view: SparkView) -> str:
    columns = (
        quoted_if_needed(each.name) + ("" if each.comment is None else _commented(each.comment))
        for each in table.columns
    )
    properties = [(key, table.properties[key]) for key in own_properties(table)]
    shown = f"TBLPROPERTIES {_properties(properties)}" if properties else ""
    return f"CREATE VIEW {_name(table)} {_lines(columns)}{_comment(table)}{shown}AS {view.text}\n"


def _name(table: SparkTable) -> str:
    return f"{quoted_if_needed(table.ref.db)}.{quoted_if_needed(table.ref.name)}"


def _column(column: SparkColumn) -> str | None:
    if column.sql is None:
        return None
    return "".join(
        (
            f"{quoted_if_needed(column.name)} {column.sql}",
            "" if column.nullable else " NOT NULL",
            "" if column.default is None else f" DEFAULT {column.default}",
            "" if column.comment is None else _commented(column.comment),
        )
    )


def _commented(comment: str) -> str:
    return f" COMMENT {literal(comment)}"


def _comment(table: SparkTable) -> str:
    return "" if table.comment is None else f"COMMENT {literal(table.comment)}\n"


def _properties(pairs: Iterable[tuple[str, str]]) -> str:
    return _lines(f"{literal(key)} = {literal(value)}" for key, value in pairs)


def _lines(parts: Iterable[str]) -> str:
    return "(\n  " + ",\n  ".join(parts) + ")\n"
