"""Names of a session's temporary objects, in lower case without quotes: `v`, `global_temp.v` for a
view that all sessions of its server see, and `system.session.x` for the variable x."""

from collections.abc import Sequence

from conf.names import quoted

GLOBAL_TEMP = "global_temp"
_VARIABLES = "system.session."


def is_global(name: str) -> bool:
    return name.startswith(GLOBAL_TEMP + ".")


def variable_name(name: str) -> str:
    """The name of the session variable `name` as a temporary object's."""
    return _VARIABLES + name


def is_variable(name: str) -> bool:
    return name.startswith(_VARIABLES)


def bare_variable(name: str) -> str:
    """The inverse of `variable_name`."""
    return name.removeprefix(_VARIABLES)


def temporary_name(parts: Sequence[str]) -> str | None:
    """The parts of a name joined, as a temporary object's name; None if they cannot mean one."""
    if len(parts) == 2 and parts[0] == GLOBAL_TEMP:
        return ".".join(parts)
    if len(parts) != 1 or is_global(parts[0]) or is_variable(parts[0]):
        return None
    return parts[0]


def name_parts(name: str) -> list[str]:
    """The inverse of `temporary_name`."""
    if is_variable(name):
        return [bare_variable(name)]
    return name.split(".", 1) if is_global(name) else [name]


def replacing(name: str, query: str) -> str:
    """A statement that creates or replaces a temporary view."""
    kind = "GLOBAL TEMPORARY" if is_global(name) else "TEMPORARY"
    return f"CREATE OR REPLACE {kind} VIEW {quoted(name_parts(name)[-1])} AS {query}"


def dropping(name: str) -> tuple[str, ...]:
    """The statements that drop the temporary object of that name, if there is one. DROP VIEW alone
    would drop a permanent view if there is no temporary one."""
    if is_variable(name):
        return (f"DROP TEMPORARY VARIABLE IF EXISTS {quoted(bare_variable(name))}",)
    return replacing(name, "SELECT 1"), f"DROP VIEW {quoted(*name_parts(name))}"
