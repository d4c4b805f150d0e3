"""Substitutes `${name}` in a statement's text before anything else, as Spark does."""

import re
from collections.abc import Mapping, Set
from enum import Enum

from dialect.errors import NotUnderstood
from dialect.work import spend

# Where nothing ends a reference, nothing ends another one before the next blank either: all of
# that is passed over at once, since each would be looked at to its end again.
_REFERENCE = re.compile(r"\$\{(?:(?:(\w+?):)?(\S+?)\}|\S*+)", re.ASCII)
_PREFIXES = (None, "hivevar", "hiveconf", "spark", "sparkconf")
_OF_SERVER = ("env", "system")  # of the server's process: known to none but tests
_MAX_DEPTH = 20
_MAX_LENGTH = 4_000_000
_CHARACTERS = 256  # that are looked through in one step of work


_ESCAPED_LITERALS = "spark.sql.parser.escapedStringLiterals"
_DOUBLE_QUOTED_NAMES = "spark.sql.ansi.doubleQuotedIdentifiers"
_ANSI = "spark.sql.ansi.enabled"
_SUBSTITUTES = "spark.sql.variable.substitute"
_DEFAULT_PATH = "spark.sql.defaultPath"
_CASE_SENSITIVE = "spark.sql.caseSensitive"
_STORED_PLANS = "spark.sql.legacy.storeAnalyzedPlanForView"


class Pruning(Enum):
    """How far the session's settings let Spark prune. The analysis prunes no further."""

    INFERRED = "conditions are pushed down, and inferred over equal columns"
    PUSHED = "conditions are pushed down, and from joins only the conditions in ON are inferred"
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
    """How far the session's settings let Spark prune."""
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
    """Refuses settings that change the meaning of a text. Raises NotUnderstood."""
    if "\\" in sql and _is(variables, _ESCAPED_LITERALS, "true"):
        raise NotUnderstood(f"{_ESCAPED_LITERALS} is set")
    if variables.get(_DEFAULT_PATH, "").strip():
        raise NotUnderstood(f"{_DEFAULT_PATH} is set, so names may mean other objects")
    # It holds under ANSI only. Whether the cluster has that by default is not known.
    if '"' in sql and _ANSI not in variables and _is(variables, _DOUBLE_QUOTED_NAMES, "true"):
        raise NotUnderstood(f"{_DOUBLE_QUOTED_NAMES} is set")


def double_quoted_names(settings: Mapping[str, str]) -> bool:
    """Whether "a" is a name and no string under these settings of Spark."""
    return _is(settings, _DOUBLE_QUOTED_NAMES, "true") and _is(settings, _ANSI, "true")


def case_sensitive(settings: Mapping[str, str]) -> bool:
    """Whether names of CTEs and of temporary views differ by case."""
    return _is(settings, _CASE_SENSITIVE, "true")


def stores_plans(settings: Mapping[str, str]) -> bool:
    """Whether a temporary view keeps the files that its tables had when it was made."""
    return _is(settings, _STORED_PLANS, "true")


def _is(variables: Mapping[str, str], key: str, value: str) -> bool:
    return variables.get(key, "").strip().lower() == value


def substitute(sql: str, variables: Mapping[str, str], unclear: Set[str] = frozenset()) -> str:
    """The text with its variables replaced, as Spark's ConfigReader does.

    A value's own references are replaced within it. A reference with a prefix that Spark does not
    know stays as it is. One to a variable that is not set is nothing, an empty text. A cluster may
    have set any name with a dot in it, and the names in `unclear` are set to values that are not
    known. Raises NotUnderstood for these, and for a text that a second round would change: a Thrift
    Server may do two.
    """
    if "${" not in sql or _is(variables, _SUBSTITUTES, "false"):
        return sql
    replaced = _Reader(variables, unclear, _MAX_LENGTH - len(sql)).replaced(sql)
    if "${" in replaced:
        again = _Reader(variables, unclear, _MAX_LENGTH - len(replaced)).replaced(replaced)
        if again != replaced:
            raise NotUnderstood("variables that make other variables")
    return replaced


class _Reader:
    """One round over a text; `room` is how much longer it may become."""

    def __init__(self, variables: Mapping[str, str], unclear: Set[str], room: int) -> None:
        self._variables = variables
        self._unclear = unclear
        self._room = room

    def replaced(self, text: str, depth: int = 0) -> str:
        if depth > _MAX_DEPTH:
            raise NotUnderstood("variables that refer to each other without end")
        if "${" not in text:
            return text
        spend(len(text) // _CHARACTERS)
        return _REFERENCE.sub(lambda found: self._value(found, depth), text)

    def _value(self, found: re.Match[str], depth: int) -> str:
        prefix, name = found.groups()
        if name is None or (prefix not in _PREFIXES and prefix not in _OF_SERVER):
            return found.group()
        key = f"{prefix}:{name}" if prefix in _OF_SERVER else name
        if key not in self._variables:
            if prefix in _OF_SERVER or "." in name or name in self._unclear:
                raise NotUnderstood(f"the value of {found.group(0)} is not known")
            return ""
        value = self.replaced(self._variables[key], depth + 1)
        self._room -= len(value)
        if self._room < 0:
            raise NotUnderstood("variables that make it too long")
        return value
