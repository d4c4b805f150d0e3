"""`${name}` in a statement's text, put in place before anything else as the engine does."""

import re
from collections.abc import Mapping

from dialect.errors import NotUnderstood

_REFERENCE = re.compile(r"\$\{(?:(\w+?):)?(\S+?)\}")
_PREFIXES = ("hivevar", "hiveconf", "spark", "sparkconf")
_MAX_DEPTH = 20
_MAX_LENGTH = 4_000_000


def substitute(sql: str, variables: Mapping[str, str]) -> str:
    """The text with its variables replaced. Raises NotUnderstood for one that is not known."""
    for _ in range(_MAX_DEPTH):
        if "${" not in sql:
            return sql
        replaced = _REFERENCE.sub(lambda found: _value(found, variables), sql)
        if replaced == sql:
            return sql
        sql = replaced
        if len(sql) > _MAX_LENGTH:
            break
    raise NotUnderstood("variables that refer to each other without end")


def _value(found: re.Match[str], variables: Mapping[str, str]) -> str:
    prefix, name = found.group(1), found.group(2)
    names = [name] if prefix is None else [f"{prefix}:{name}"]
    if prefix in _PREFIXES:
        names += [f"{prefix}.{name}", name]
    for each in (*names, f"hivevar:{name}"):
        if each in variables:
            return variables[each]
    raise NotUnderstood(f"the variable {found.group(0)} is not set")
