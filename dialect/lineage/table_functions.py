"""The tables and files that table functions read."""

from dataclasses import dataclass

from sqlglot import exp

from dialect.errors import NotUnderstood
from dialect.lexing.tokens import unambiguous


@dataclass(frozen=True, slots=True)
class TableArgument:
    """The function reads the table that its first argument names."""

    parts: list[str]


@dataclass(frozen=True, slots=True)
class PathArgument:
    """The function reads files."""

    path: str


@dataclass(frozen=True, slots=True)
class HintedTable:
    """Hive's `t('property'='value')`: a table of the current database with hints."""

    name: str


@dataclass(frozen=True, slots=True)
class NoSource:
    """The function reads no table and no file."""


_READING = frozenset(
    {"hudi_table_changes", "hudi_query_timeline", "hudi_filesystem_view", "hudi_metadata"}
)
_GENERATORS = frozenset(
    {
        *("range", "sequence", "stack", "unnest", "sql_keywords", "collations"),
        *("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer"),
        *("json_tuple", "parse_url_tuple"),
    }
)


def source_of(call: exp.Func) -> TableArgument | PathArgument | HintedTable | NoSource:
    """The table or files that a table function reads. Raises NotUnderstood if that is not
    certain."""
    name = call.name.lower() if isinstance(call, exp.Anonymous) else call.sql_name().lower()
    arguments = call.expressions
    first = arguments[0] if arguments else None
    literal = first.this if isinstance(first, exp.Literal) and first.is_string else None
    if name in _READING and literal:
        unambiguous(literal)
        return (
            PathArgument(literal) if "/" in literal else TableArgument(literal.lower().split("."))
        )
    if name in _GENERATORS:
        return NoSource()
    if isinstance(call, exp.Anonymous) and arguments and all(map(_is_property, arguments)):
        return HintedTable(name)
    if name in _READING or _has_text(call):
        raise NotUnderstood(f"the table function {name}")
    return NoSource()  # only a string literal can name a table or a file


def _has_text(call: exp.Func) -> bool:
    return any(part.is_string for part in call.find_all(exp.Literal))


def _is_property(argument: exp.Expr) -> bool:
    return isinstance(argument, exp.EQ) and isinstance(argument.this, exp.Literal)
