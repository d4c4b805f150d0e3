"""`${name}` in a statement's text, put in place before anything else as the engine does."""

import re
from collections.abc import Mapping
from enum import Enum

from dialect.errors import NotUnderstood
from dialect.work import spend

# Where nothing ends a reference, nothing ends another one before the next blank either: all of
# that is passed over at once, since each would be looked at to its end again.
_REFERENCE = re.compile(r"\$\{(?:(?:(\w+?):)?(\S+?)\}|\S*+)")
_PREFIXES = ("hivevar", "hiveconf", "spark", "sparkconf")
_MAX_DEPTH = 20
_MAX_LENGTH = 4_000_000
_CHARACTERS = 256  # that are looked through in one step of work


_ESCAPED_LITERALS = "spark.sql.parser.escapedStringLiterals"
_DOUBLE_QUOTED_NAMES = "spark.sql.ansi.doubleQuotedIdentifiers"
_ANSI = "spark.sql.ansi.enabled"


class Pruning(Enum):
    """How much a session lets its engine's optimizer do; partitions are left out no further."""

    INFERRED = "conditions are pushed down, and inferred over equal columns"
    PUSHED = "conditions are pushed down, and of joins only what ON itself says is inferred"
    NONE = "every partition is read"


# Hive's and Spark's switches, each with its unusual value and what that leaves: the optimizer is
# curbed, or conditions mean something else.
_SWITCHES = {
    "hive.optimize.ppd": ("false", Pruning.NONE),
    "hive.cbo.enable": ("false", Pruning.PUSHED),
    "spark.sql.constraintPropagation.enabled": ("false", Pruning.NONE),
    "spark.sql.caseSensitive": ("true", Pruning.NONE),
    # A name in backquotes is a pattern of columns then.
    "spark.sql.parser.quotedRegexColumnNames": ("true", Pruning.NONE),
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled": ("true", Pruning.NONE),
}
_EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"


def pruning(variables: Mapping[str, str]) -> Pruning:
    """What the session's settings leave of its engine's pruning."""
    if variables.get(_EXCLUDED_RULES):
        return Pruning.NONE
    found = [
        left
        for key, (unusual, left) in _SWITCHES.items()
        if key in variables and variables[key].strip().lower() == unusual
    ]
    if not found:
        return Pruning.INFERRED
    return Pruning.NONE if Pruning.NONE in found else Pruning.PUSHED


def check_language(sql: str, variables: Mapping[str, str]) -> None:
    """Refuse what the session's settings give another meaning. Raises NotUnderstood."""
    if "\\" in sql and _is(variables, _ESCAPED_LITERALS, "true"):
        raise NotUnderstood(f"{_ESCAPED_LITERALS} is set")
    # It holds under ANSI only. Whether the cluster has that by default is not known.
    if '"' in sql and _ANSI not in variables and _is(variables, _DOUBLE_QUOTED_NAMES, "true"):
        raise NotUnderstood(f"{_DOUBLE_QUOTED_NAMES} is set")


def double_quoted_names(settings: Mapping[str, str]) -> bool:
    """Whether "a" is a name and no string under these settings of Spark."""
    return _is(settings, _DOUBLE_QUOTED_NAMES, "true") and _is(settings, _ANSI, "true")


def _is(variables: Mapping[str, str], key: str, value: str) -> bool:
    return variables.get(key, "").strip().lower() == value


def substitute(sql: str, variables: Mapping[str, str]) -> str:
    """The text with its variables replaced. Raises NotUnderstood for one that is not known."""
    if "${" not in sql or variables.get("spark.sql.variable.substitute", "").lower() == "false":
        return sql
    for _ in range(_MAX_DEPTH):
        if "${" not in sql:
            return sql
        spend(len(sql) // _CHARACTERS)
        replaced = _replaced(sql, variables)
        if replaced == sql:
            return sql
        sql = replaced
    raise NotUnderstood("variables that refer to each other without end")


def _replaced(sql: str, variables: Mapping[str, str]) -> str:
    """One round. Raises NotUnderstood, before the text has grown beyond what may be kept."""
    room = _MAX_LENGTH - len(sql)

    def value(found: re.Match[str]) -> str:
        nonlocal room
        put = _value(found, variables)
        room -= len(put)
        if room < 0:
            raise NotUnderstood("variables that make it too long")
        return put

    return _REFERENCE.sub(value, sql)


def _value(found: re.Match[str], variables: Mapping[str, str]) -> str:
    prefix, name = found.group(1), found.group(2)
    if name is None:
        return found.group()
    if (prefix is None or prefix in _PREFIXES) and name in variables:
        return variables[name]
    raise NotUnderstood(f"the variable {found.group(0)} is not set")
