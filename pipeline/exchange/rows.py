"""Converts rows of another database to the columns and types of a feed's table."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import DataType, TimestampNTZType

from conf.names import quoted
from pipeline.errors import ActionFailed

Columns = Sequence[tuple[str, str]]
"""Names and Hive's types."""


def with_columns(rows: DataFrame, includes: Sequence[str], excludes: Sequence[str]) -> DataFrame:
    """The rows with only the columns to exchange, in their order. Raises ActionFailed for a missing
    column.
    """
    names = {name.lower(): name for name in rows.columns}
    if missing := [each for each in (*includes, *excludes) if each.lower() not in names]:
        raise ActionFailed(f"there is no column {', '.join(missing)}", final=True)
    chosen = {each.lower() for each in includes} or names.keys()
    chosen = chosen - {each.lower() for each in excludes}
    return rows.select([functions.col(quoted(names[key])) for key in names if key in chosen])


def with_plain_times(rows: DataFrame) -> DataFrame:
    """The rows with timestamp_ntz columns cast to timestamp; the digits stay the same."""
    return rows.select([_plain(field.name, field.dataType) for field in rows.schema])


def _plain(name: str, kind: DataType) -> Column:
    column = functions.col(quoted(name))
    plain = column.cast("timestamp") if isinstance(kind, TimestampNTZType) else column
    return plain.alias(name)


def as_table(rows: DataFrame, columns: Columns) -> DataFrame:
    """The rows with the columns of a table, in its order and types. Raises ActionFailed if a column
    is missing on either side, or its values may not fit the table's type.
    """
    found = {field.name.lower(): field for field in rows.schema}
    wanted = {name.lower() for name, _ in columns}
    problems = [f"{name} is not in the database's table" for name in wanted - found.keys()]
    problems += [f"{name} is not in the feed's table" for name in found.keys() - wanted]
    picked = []
    for name, kind in columns:
        field = found.get(name.lower())
        if field is None:
            continue
        column = functions.col(quoted(field.name))
        if (length := _length(kind)) is not None:
            picked.append(_limited(column, name, length).alias(name))
        elif _can_up_cast(rows, field.dataType, kind):
            picked.append(column.cast(kind).alias(name))
        else:
            problems.append(f"{name} is {field.dataType.simpleString()}, which {kind} may not have")
    if problems:
        raise ActionFailed("; ".join(sorted(problems)), final=True)
    return rows.select(picked)


def _length(kind: str) -> int | None:
    """The maximal length of a varchar or char; None for other types."""
    name, _, rest = kind.partition("(")
    return int(rest.rstrip(") ")) if name.strip() in ("varchar", "char") and rest else None


def _limited(column: Column, name: str, length: int) -> Column:
    """The column as text; Spark's job fails for a text longer than `length`."""
    text = column.cast("string")
    fault = functions.raise_error(functions.lit(f"{name} has a text longer than {length}"))
    return functions.when(functions.length(text) > length, fault).otherwise(text)


def _can_up_cast(rows: DataFrame, kind: DataType, wanted: str) -> bool:
    """Whether a cast to the type `wanted` changes no value, by Spark's own rule."""
    spark: Any = rows.sparkSession._jvm.org.apache.spark.sql  # type: ignore[union-attr]
    source, target = (
        spark.types.DataType.fromJson(kind.json()),
        spark.types.DataType.fromDDL(wanted),
    )
    return bool(spark.catalyst.expressions.Cast.canUpCast(source, target))
