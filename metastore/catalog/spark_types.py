"""Spark's column types, read from its JSON schemas and from Hive's type texts.

The names are those of `DataType.sql` in Spark 3.5, the sizes those of its Thrift Server
(`tests/e2e/clients/test_metadata.py` compares both). A type that is not known raises `UnknownType`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from conf.listing import ColumnType


class UnknownType(ValueError):
    """A type whose name or size in Spark is not known."""


@dataclass(frozen=True, slots=True)
class SparkType:
    """`hive` is the type's name in Hive, in lower case, for comparisons."""

    column: ColumnType
    hive: str


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    type: SparkType
    comment: str | None = None


def _plain(base: str, hive: str, size: int | None = None, digits: int | None = None) -> SparkType:
    return SparkType(ColumnType(base, base, size, digits), hive)


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
# Only in JSON schemas: Hive has no such types.
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
_RAW = "__CHAR_VARCHAR_TYPE_STRING"  # where a JSON schema keeps a char's length


def from_json(kind: Any, metadata: Mapping[str, Any]) -> SparkType:
    """The type of a field in a JSON schema. Raises UnknownType."""
    raw = metadata.get(_RAW)
    return from_hive(str(raw)) if raw is not None else _json_type(kind)


@lru_cache(1000)
def from_hive(text: str) -> SparkType:
    """The type that Hive spells so, e.g. `map<string,decimal(12,2)>`. Raises UnknownType."""
    found, rest = _parse(text.strip())
    if rest:
        raise UnknownType(text)
    return found


def _json_type(kind: Any) -> SparkType:
    if isinstance(kind, str):
        return _json_name(kind)
    if not isinstance(kind, dict):
        raise UnknownType(str(kind))
    match kind.get("type"):
        case "array":
            return _array(_json_type(kind["elementType"]))
        case "map":
            return _map(_json_type(kind["keyType"]), _json_type(kind["valueType"]))
        case "struct":
            return _struct([_json_field(each) for each in kind["fields"]])
    raise UnknownType(str(kind))


def _json_field(field: Mapping[str, Any]) -> _Field:
    metadata = field.get("metadata") or {}
    comment = metadata.get("comment")
    if comment is not None and (not comment or not _plain_text(comment)):
        raise UnknownType(f"a comment within a struct: {comment!r}")
    return _Field(str(field["name"]), from_json(field["type"], metadata), comment)


@lru_cache(1000)
def _json_name(name: str) -> SparkType:
    known = _PLAIN.get(_JSON_NAMES.get(name, name)) or _JSON_ONLY.get(name)
    if known is not None:
        return known
    if (interval := _INTERVAL.fullmatch(name)) is not None:
        size = 4 if interval[1] in ("year", "month") else 8
        return SparkType(ColumnType("INTERVAL", name.upper(), size), name)
    return _sized(name)


def _sized(text: str) -> SparkType:
    if (decimal := _DECIMAL.fullmatch(text)) is not None:
        precision, scale = int(decimal[1]), int(decimal[2])
        text = f"decimal({precision},{scale})"
        size = 8 if precision <= 18 else 16
        return SparkType(ColumnType("DECIMAL", text.upper(), size, scale), text)
    if (chars := _SIZED.fullmatch(text)) is not None:
        size_or_none = int(chars[2]) if chars[1] == "char" else None
        return SparkType(ColumnType(chars[1].upper(), text.upper(), size_or_none), text)
    raise UnknownType(text)


def _array(element: SparkType) -> SparkType:
    column = ColumnType("ARRAY", f"ARRAY<{element.column.sql}>")
    return SparkType(column, f"array<{element.hive}>")


def _map(key: SparkType, value: SparkType) -> SparkType:
    column = ColumnType("MAP", f"MAP<{key.column.sql}, {value.column.sql}>")
    return SparkType(column, f"map<{key.hive},{value.hive}>")


def _struct(fields: Sequence[_Field]) -> SparkType:
    sql = ", ".join(f"{_quoted(each.name)}: {each.type.column.sql}{_said(each)}" for each in fields)
    hive = ",".join(f"{each.name.lower()}:{each.type.hive}" for each in fields)
    sizes = [each.type.column.size for each in fields]
    known = [size for size in sizes if size is not None]
    size = sum(known) if len(known) == len(sizes) else None
    return SparkType(ColumnType("STRUCT", f"STRUCT<{sql}>", size), f"struct<{hive}>")


def _said(field: _Field) -> str:
    return "" if field.comment is None else f" COMMENT '{field.comment}'"


def _quoted(name: str) -> str:
    """As Spark quotes a part of a name where that is needed."""
    if _NAME.fullmatch(name) and not (name.isascii() and name.isdigit()):
        return name
    return "`" + name.replace("`", "``") + "`"


def _plain_text(text: Any) -> bool:
    return isinstance(text, str) and not any(each in text for each in "'\\\n")


# Hive's texts: each function takes the text from where it stands and gives what is left of it.


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
