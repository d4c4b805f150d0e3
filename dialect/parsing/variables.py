"""Reads the session's settings that change a statement's meaning, and substitutes `${name}` in its
text, as Spark does before it parses it."""

import re
from collections.abc import Mapping, Set
from enum import Enum

from dialect.errors import NotUnderstood
from dialect.work import spend

# If a reference is not closed, neither is any other one before the next blank. They are matched at
# once, so that each does not search the text up to the blank again.
_REFERENCE = re.compile(r"\$\{(?:(?:(\w+?):)?(\S+?)\}|\S*+)", re.ASCII)
_PREFIXES = (None, "hivevar", "hiveconf", "spark", "sparkconf")
_SERVER_PREFIXES = ("env", "system")  # values of the server's process, which are not known here
_MAX_DEPTH = 20
_MAX_LENGTH = 4_000_000
_CHARACTERS_A_STEP = 256  # characters that one step of work searches


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


# Settings of Hive and Spark that restrict the optimizer or give conditions another meaning, each
# with its unusual value and the pruning that is left then.
_SWITCHES = {
    "hive.optimize.ppd": ("false", Pruning.NONE),
    "hive.cbo.enable": ("false", Pruning.PUSHED),
    "spark.sql.constraintPropagation.enabled": ("false", Pruning.NONE),
    "spark.sql.caseSensitive": ("true", Pruning.NONE),
    # Names in backquotes are patterns of columns.
    "spark.sql.parser.quotedRegexColumnNames": ("true", Pruning.NONE),
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled": ("true", Pruning.NONE),
}
_EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"


def pruning(variables: Mapping[str, str]) -> Pruning:
    """How far the session's settings let Spark prune."""
    if variables.get(_EXCLUDED_RULES):
        return Pruning.NONE
    match = [
        left
        for key, (unusual, left) in _SWITCHES.items()
        if key in variables and variables[key].strip().lower() == unusual
    ]
    if not match:
        return Pruning.INFERRED
    return Pruning.NONE if Pruning.NONE in match else Pruning.PUSHED


def check_language(sql: str, variables: Mapping[str, str]) -> None:
    """Raises NotUnderstood if a setting changes the meaning of the text."""
    if "\\" in sql and _is(variables, _ESCAPED_LITERALS, "true"):
        raise NotUnderstood(f"{_ESCAPED_LITERALS} is set")
    if variables.get(_DEFAULT_PATH, "").strip():
        raise NotUnderstood(f"{_DEFAULT_PATH} is set, so names may mean other objects")
    # This setting works in ANSI mode only. Whether that is the cluster's default is not known.
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

    References in a value are replaced too. A reference with an unknown prefix stays as it is, and
    one to a variable that is not set becomes empty.

    Raises NotUnderstood for a variable whose value is not known: one in `unclear`, or one with a
    dot in its name, which a cluster may have set. Raises it also for a text that a second
    substitution would change, because a Thrift Server may do two.
    """
    if "${" not in sql or _is(variables, _SUBSTITUTES, "false"):
        return sql
    replaced = _Substitution(variables, unclear, _MAX_LENGTH - len(sql)).replaced(sql)
    if "${" in replaced:
        second = _Substitution(variables, unclear, _MAX_LENGTH - len(replaced)).replaced(replaced)
        if second != replaced:
            raise NotUnderstood("variables that make other variables")
    return replaced


class _Substitution:
    """One substitution in a text, which may become `room` characters longer."""

    def __init__(self, variables: Mapping[str, str], unclear: Set[str], room: int) -> None:
        self._variables = variables
        self._unclear = unclear
        self._room = room

    def replaced(self, text: str, depth: int = 0) -> str:
        if depth > _MAX_DEPTH:
            raise NotUnderstood("variables that refer to each other without end")
        if "${" not in text:
            return text
        spend(len(text) // _CHARACTERS_A_STEP)
        return _REFERENCE.sub(lambda match: self._value(match, depth), text)

    def _value(self, match: re.Match[str], depth: int) -> str:
        prefix, name = match.groups()
        if name is None or (prefix not in _PREFIXES and prefix not in _SERVER_PREFIXES):
            return match.group()
        key = f"{prefix}:{name}" if prefix in _SERVER_PREFIXES else name
        if key not in self._variables:
            if prefix in _SERVER_PREFIXES or "." in name or name in self._unclear:
                raise NotUnderstood(f"the value of {match.group(0)} is not known")
            return ""
        value = self.replaced(self._variables[key], depth + 1)
        self._room -= len(value)
        if self._room < 0:
            raise NotUnderstood("variables that make it too long")
        return value
