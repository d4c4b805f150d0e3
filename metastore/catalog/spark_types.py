"""Spark's column types, read from its JSON schemas and from Hive's type texts.

The names are those of `DataType.sql`, `simpleString` and `typeName` in Spark 3.5, the sizes those
of its Thrift Server (`tests/e2e/clients/test_metadata.py` and `test_catalog_statements.py` compare
them). A type that is not known raises `UnknownType`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from conf.catalog.listing import ColumnType
from conf.names import quoted_if_needed


class UnknownType(ValueError):
    """A type whose name or size in Spark is not known."""


@dataclass(frozen=True, slots=True)
class SparkType:
    """A column type of Spark. `hive` is its name in Hive in lower case, for comparisons; `simple`
    is the type as DESCRIBE shows it. `name` is its name in a printed schema, where a char is a
    string; `parts` are the lines below it there: a label, a type, and the text behind the type."""

    column: ColumnType
    hive: str
    simple: str
    name: str
    parts: tuple[tuple[str, "SparkType", str], ...] = ()

    def tree(self, label: str, suffix: str) -> tuple[str, ...]:
        """The lines of a printed schema for a column or part of this type."""
        below = [line for part, kind, after in self.parts for line in kind.tree(part, after)]
        return (f"-- {label}: {self.name}{suffix}", *(f"    |{line}" for line in below))


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    type: SparkType
    comment: str | None = None
    nullable: bool = True


def _plain(base: str, hive: str, size: int | None = None, digits: int | None = None) -> SparkType:
    name = _TREE_NAMES.get(hive, hive)
    return SparkType(ColumnType(base, base, size, digits), hive, hive, name)


_TREE_NAMES = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}
MOST_FIELDS = 25  # of a struct that Spark shows by default (spark.sql.debug.maxToStringFields)


_PLAIN = {
    each.hive: each
    for each in (
        _plain("BOOLEAN", "boolean", 1, 0),
        _plain("TINYINT", "tinyint", 1),
        _plain("SMALLINT", "smallint", 2),
        _plain("INT", "int", 4, 0),
        _plain("BIGINT", "bigint", 8),
        _plain("FLOAT", "float", 4, 7),
        _plain("DOUBLE", "double", 8, 15),
        _plain("STRING", "string"),
        _plain("BINARY", "binary"),
        _plain("DATE", "date", 4),
        _plain("TIMESTAMP", "timestamp", 8, 6),
    )
}
# Types that only JSON schemas have: Hive has none like them.
_JSON_ONLY = {
    "timestamp_ntz": _plain("TIMESTAMP_NTZ", "timestamp_ntz", 8, 6),
    "void": _plain("VOID", "void", 1),
}
_JSON_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_INTERVAL = re.compile(
    r"interval (year|month|day|hour|minute|second)( to (month|hour|minute|second))?"
)
_SIZED = re.compile(r"(char|varchar)\((\d+)\)")
_DECIMAL = re.compile(r"decimal\((\d+), ?(-?\d+)\)")
_NAME = re.compile(r"\w+", re.ASCII)
_RAW = "__CHAR_VARCHAR_TYPE_STRING"  # the key under which a JSON schema has a char with its length


def from_json(kind: Any, metadata: Mapping[str, Any]) -> SparkType:
    """The type of a field in a JSON schema. Raises UnknownType."""
    raw = metadata.get(_RAW)
    return from_hive(str(raw)) if raw is not None else _json_type(kind)


@lru_cache(1000)
def from_hive(text: str) -> SparkType:
    """The type of Hive's text, such as `map<string,decimal(12,2)>`. Raises UnknownType."""
    parsed, rest = _parse(text.strip())
    if rest:
        raise UnknownType(text)
    return parsed


def _json_type(kind: Any) -> SparkType:
    if isinstance(kind, str):
        return _json_name(kind)
    if not isinstance(kind, dict):
        raise UnknownType(str(kind))
    match kind.get("type"):
        case "array":
            return _array(_json_type(kind["elementType"]), bool(kind["containsNull"]))
        case "map":
            value = _json_type(kind["valueType"])
            return _map(_json_type(kind["keyType"]), value, bool(kind["valueContainsNull"]))
        case "struct":
            return _struct([_json_field(each) for each in kind["fields"]])
    raise UnknownType(str(kind))


def _json_field(field: Mapping[str, Any]) -> _Field:
    metadata = field.get("metadata") or {}
    comment = metadata.get("comment")
    if comment is not None and (not comment or not _plain_text(comment)):
        raise UnknownType(f"a comment within a struct: {comment!r}")
    kind = from_json(field["type"], metadata)
    return _Field(str(field["name"]), kind, comment, bool(field["nullable"]))


@lru_cache(1000)
def _json_name(name: str) -> SparkType:
    known = _PLAIN.get(_JSON_NAMES.get(name, name)) or _JSON_ONLY.get(name)
    if known is not None:
        return known
    if (interval := _INTERVAL.fullmatch(name)) is not None:
        size = 4 if interval[1] in ("year", "month") else 8
        return SparkType(ColumnType("INTERVAL", name.upper(), size), name, name, name)
    return _sized(name)


def _sized(text: str) -> SparkType:
    if (decimal := _DECIMAL.fullmatch(text)) is not None:
        precision, scale = int(decimal[1]), int(decimal[2])
        text = f"decimal({precision},{scale})"
        size = 8 if precision <= 18 else 16
        return SparkType(ColumnType("DECIMAL", text.upper(), size, scale), text, text, text)
    if (chars := _SIZED.fullmatch(text)) is not None:
        size_or_none = int(chars[2]) if chars[1] == "char" else None
        column = ColumnType(chars[1].upper(), text.upper(), size_or_none)
        return SparkType(column, text, text, "string")
    raise UnknownType(text)


def _array(element: SparkType, nullable: bool = True) -> SparkType:
    column = ColumnType("ARRAY", f"ARRAY<{element.column.sql}>")
    hive, simple = f"array<{element.hive}>", f"array<{element.simple}>"
    part = ("element", element, f" (containsNull = {_flag(nullable)})")
    return SparkType(column, hive, simple, "array", (part,))


def _map(key: SparkType, value: SparkType, nullable: bool = True) -> SparkType:
    column = ColumnType("MAP", f"MAP<{key.column.sql}, {value.column.sql}>")
    hive, simple = f"map<{key.hive},{value.hive}>", f"map<{key.simple},{value.simple}>"
    parts = ("key", key, ""), ("value", value, f" (valueContainsNull = {_flag(nullable)})")
    return SparkType(column, hive, simple, "map", parts)


def _struct(fields: Sequence[_Field]) -> SparkType:
    sql = ", ".join(
        f"{quoted_if_needed(each.name)}: {each.type.column.sql}{_comment(each)}" for each in fields
    )
    hive = ",".join(f"{each.name.lower()}:{each.type.hive}" for each in fields)
    simple = _first([f"{each.name}:{each.type.simple}" for each in fields])
    sizes = [each.type.column.size for each in fields]
    known = [size for size in sizes if size is not None]
    size = sum(known) if len(known) == len(sizes) else None
    parts = tuple((each.name, each.type, nullability(each.nullable)) for each in fields)
    column = ColumnType("STRUCT", f"STRUCT<{sql}>", size)
    return SparkType(column, f"struct<{hive}>", f"struct<{simple}>", "struct", parts)


def _first(fields: Sequence[str]) -> str:
    """The first fields of a struct, as many as Spark shows."""
    if len(fields) <= MOST_FIELDS:
        return ",".join(fields)
    shown = fields[: MOST_FIELDS - 1]
    return ",".join((*shown, f"... {len(fields) - len(shown)} more fields"))


def nullability(nullable: bool) -> str:
    """The text behind the type of a column in a printed schema."""
    return f" (nullable = {_flag(nullable)})"


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _comment(field: _Field) -> str:
    return "" if field.comment is None else f" COMMENT '{field.comment}'"


def _plain_text(text: Any) -> bool:
    return isinstance(text, str) and not any(each in text for each in "'\\\n")


# Parsing of Hive's texts: each function takes the rest of the text, and returns what is left of it.


def _parse(text: str) -> tuple[SparkType, str]:
    word = _NAME.match(text)
    if word is None:
        raise UnknownType(text)
    name, rest = word[0].lower(), text[word.end() :]
    if rest.startswith("<") and name in ("array", "map", "struct"):
        return _parse_nested(name, rest[1:])
    if rest.startswith("("):
        inside, closed, rest = rest.partition(")")
        return _sized(name + inside + closed), rest
    if name == "decimal":
        return _sized("decimal(10,0)"), rest
    known = _PLAIN.get("int" if name == "integer" else name)
    if known is None:
        raise UnknownType(name)
    return known, rest


def _parse_nested(name: str, text: str) -> tuple[SparkType, str]:
    if name == "struct":
        return _parse_struct(text)
    first, rest = _parse(text)
    if name == "array":
        return _array(first), _after(rest, ">")
    second, rest = _parse(_after(rest, ",").lstrip())
    return _map(first, second), _after(rest, ">")


def _parse_struct(text: str) -> tuple[SparkType, str]:
    fields: list[_Field] = []
    while True:
        name = _NAME.match(text)
        if name is None:
            raise UnknownType(text)
        kind, text = _parse(_after(text[name.end() :], ":").lstrip())
        fields.append(_Field(name[0], kind))
        if text.startswith(">"):
            return _struct(fields), text[1:]
        text = _after(text, ",").lstrip()


def _after(text: str, expected: str) -> str:
    if not text.startswith(expected):
        raise UnknownType(text)
    return text[len(expected) :]
