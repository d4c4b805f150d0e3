"""The variables that a client's map in OpenSession sets, as a Thrift Server reads it.

`set:hivevar:x`, `set:hiveconf:x` and `set:x` all set x in Spark's session. The server sets hiveconf
and bare names first and hivevar after them, whatever their order in the map. Keys without `set:`
set nothing. RESET removes all of these variables.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from conf.settings.names import canonical_name
from proxy.errors import InvalidCommand

_SET, _HIVECONF, _HIVEVAR = "set:", "hiveconf:", "hivevar:"
_METASTORE = "metaconf:"  # no setting of Spark's session


@dataclass(frozen=True, slots=True)
class Opened:
    """The client's map without keys that set a name again, and the variables that it sets. Names in
    `unclear` have values with a `${..}`, which only the server can replace."""

    configuration: dict[str, str]
    variables: dict[str, str]
    unclear: set[str]


def opened_configuration(configuration: Mapping[str, str]) -> Opened:
    """The variables of the client's map.

    Of `set:x` and `set:hiveconf:x` the server may use either one, so only the later one is kept.
    Raises InvalidCommand if the value of a setting has a `${..}`.
    """
    keys: dict[tuple[bool, str], str] = {}
    for key in configuration:
        named = _named(key)
        if named is not None:
            keys[named] = key
    kept = {
        key: value
        for key, value in configuration.items()
        if keys.get(_named(key) or (False, ""), key) == key
    }
    variables: dict[str, str] = {}
    unclear: set[str] = set()
    for (_, name), key in sorted(keys.items()):  # hivevar last
        value = configuration[key]
        unclear.discard(name)
        if "${" not in value:
            variables[name] = value
        elif "." in canonical_name(key):
            raise InvalidCommand(f"The setting {name} has a value with a variable: {value!r}.")
        else:
            variables.pop(name, None)
            unclear.add(name)
    return Opened(kept, variables, unclear)


def _named(key: str) -> tuple[bool, str] | None:
    """Whether the key sets a hivevar, and the name that it sets; None: it sets nothing."""
    if not key.startswith(_SET):
        return None
    name = key.removeprefix(_SET).strip()
    if name.startswith(_METASTORE):
        return None
    if name.startswith(_HIVEVAR):
        return True, name.removeprefix(_HIVEVAR)
    return False, name.removeprefix(_HIVECONF)
