"""What a client's map in OpenSession sets, as a Thrift Server reads it.

`set:hivevar:x`, `set:hiveconf:x` and `set:x` all set x in Spark's session: hiveconf and bare names
first, hivevar over them, whatever their order in the map, which the server does not keep. Keys
without `set:` set nothing there. RESET takes all of it away.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from conf.settings.names import canonical_name
from proxy.errors import InvalidCommand

_SET, _HIVECONF, _HIVEVAR = "set:", "hiveconf:", "hivevar:"
_METASTORE = "metaconf:"  # no setting of Spark's session


@dataclass(frozen=True, slots=True)
class Opened:
    """The client's map without what is set twice, and the variables that it sets. The names in
    `unclear` have values with a `${..}`, and what that stands for is the server's to say."""

    configuration: dict[str, str]
    variables: dict[str, str]
    unclear: set[str]


def opened_configuration(configuration: Mapping[str, str]) -> Opened:
    """What the client's map sets.

    Of `set:x` and `set:hiveconf:x` the server would take any: the later one is kept. Raises
    InvalidCommand where a setting's value has a `${..}`.
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
    """Whether the key sets a hivevar, and the name that it sets; None when it sets nothing."""
    if not key.startswith(_SET):
        return None
    name = key.removeprefix(_SET).strip()
    if name.startswith(_METASTORE):
        return None
    if name.startswith(_HIVEVAR):
        return True, name.removeprefix(_HIVEVAR)
    return False, name.removeprefix(_HIVECONF)
