"""Changes of a source's schema that its replica can follow (FA-R3, FA-R9)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conf.names import TableRef
from metastore.client.types import Columns, Table
from pipeline.errors import UnsafeSchemaChange

# Hive stores one of the two names and returns the other (HIVE-5550).
_SAME_FORMATS = {
    "org.apache.hadoop.hive.ql.io.IgnoreKeyTextOutputFormat": (
        "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
    ),
    "org.apache.hadoop.mapred.SequenceFileOutputFormat": (
        "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"
    ),
}
# Formats whose readers convert to wider types. Parquet files of a narrower type cannot be read.
_WIDENS_IN = ("text", "orc")
_WIDER = {
    "tinyint": ("smallint", "int", "bigint"),
    "smallint": ("int", "bigint"),
    "int": ("bigint",),
    "float": ("double",),
}
_VARCHAR = re.compile(r"varchar\((\d+)\)")
SPARK_SCHEMA = "spark.sql.sources.schema"


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """The target's new columns, and the parameters with Spark's schema of a table of Spark."""

    columns: tuple[tuple[str, str], ...]
    parameters: Mapping[str, str]


def follow(source: Table, target: Table, keys: Sequence[str]) -> SchemaChange | None:
    """The change that the target needs; None if it needs none. `keys` are the names of the source's
    partition keys in the target. Raises UnsafeSchemaChange.
    """
    ref = target.ref
    _check_storage(source, target)
    wanted_keys = [(new, kind) for new, (_, kind) in zip(keys, source.partition_keys, strict=True)]
    if [(name.lower(), kind) for name, kind in target.partition_keys] != wanted_keys:
        raise UnsafeSchemaChange(f"{ref} is partitioned by {_shown(target.partition_keys)}.")
    old, new = target.storage.columns, source.storage.columns
    _check_columns(ref, old, new, target.storage.input_format)
    spark = {k: v for k, v in source.parameters.items() if k.startswith(SPARK_SCHEMA)}
    known = {k: v for k, v in target.parameters.items() if k.startswith(SPARK_SCHEMA)}
    if _lower(old) == _lower(new) and (spark == known or renamed(source, keys)):
        return None
    return SchemaChange(new, spark)


def renamed(source: Table, keys: Sequence[str]) -> bool:
    """Whether the target's partition keys have other names than the source's."""
    return [name.lower() for name, _ in source.partition_keys] != list(keys)


def refuse_renaming(source: Table, keys: Sequence[str]) -> None:
    """Raises UnsafeSchemaChange if the keys of a table of Spark have other names in the target:
    Spark's schema in the table's parameters names them, too.
    """
    if renamed(source, keys) and "spark.sql.sources.provider" in source.parameters:
        raise UnsafeSchemaChange(f"{source.ref} is a table of Spark: its keys keep their names.")


def _check_storage(source: Table, target: Table) -> None:
    """Raises UnsafeSchemaChange if the two tables have different formats."""
    pairs = (
        ("input format", source.storage.input_format, target.storage.input_format),
        ("output format", source.storage.output_format, target.storage.output_format),
        ("serde", source.storage.serde.library, target.storage.serde.library),
    )
    for name, wanted, found in pairs:
        if _SAME_FORMATS.get(wanted, wanted) != _SAME_FORMATS.get(found, found):
            raise UnsafeSchemaChange(f"{target.ref} has the {name} {found}, its source {wanted}.")


def _check_columns(ref: TableRef, old: Columns, new: Columns, input_format: str) -> None:
    """Raises UnsafeSchemaChange unless columns were only added at the end or widened: with any
    other change old files would be misread.
    """
    if len(new) < len(old):
        lacking = ", ".join(name for name, _ in old[len(new) :])
        raise UnsafeSchemaChange(f"{ref} has columns that its source lacks: {lacking}.")
    for (name, kind), (wanted, wanted_kind) in zip(old, new, strict=False):
        if name.lower() != wanted.lower():
            raise UnsafeSchemaChange(f"{ref} has the column {name} where its source has {wanted}.")
        if kind != wanted_kind and not _widens(kind, wanted_kind, input_format):
            raise UnsafeSchemaChange(f"{ref}.{name} is {kind}, in its source {wanted_kind}.")


def _widens(old: str, new: str, input_format: str) -> bool:
    before, after = _VARCHAR.fullmatch(old), _VARCHAR.fullmatch(new)
    if before and (after or new == "string"):
        return new == "string" or (after is not None and int(after[1]) >= int(before[1]))
    converts = any(each in input_format.lower() for each in _WIDENS_IN)
    return converts and new in _WIDER.get(old, ())


def _lower(columns: Columns) -> list[tuple[str, str]]:
    return [(name.lower(), kind) for name, kind in columns]


def _shown(columns: Columns) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns) or "nothing"
