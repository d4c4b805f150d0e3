"""The operator's restrictions, applied to clients' settings and statements."""

from collections.abc import Mapping

from conf.settings.names import is_of_server
from conf.settings.security.restrictions import SessionRestrictions, SettingVerdict
from dialect.parsing.function_calls import COMPUTED
from dialect.statement import Known, ResetVariables, SetVariable, Unknown
from proxy.errors import CodeDenied, SettingDenied

_DATABASE = "use:database"


def taken(
    configuration: Mapping[str, str], restrictions: SessionRestrictions, in_use: bool
) -> dict[str, str]:
    """The client's map without the settings that are ignored. Raises SettingDenied.

    Without clusters in use (`in_use`) only properties of the server's process are refused.
    """
    result = {}
    for key, value in configuration.items():
        if key != _DATABASE:
            if is_of_server(key):
                raise SettingDenied(f"{key} is a property of the server's process.")
            if in_use and not check_setting(key, restrictions):
                continue
        result[key] = value
    return result


def check_setting(key: str, restrictions: SessionRestrictions) -> bool:
    """Whether the setting is accepted; False: it is ignored. Raises SettingDenied."""
    verdict = restrictions.of_setting(key)
    if verdict is SettingVerdict.REFUSED:
        raise SettingDenied(f"{key} may not be changed by users.")
    return verdict is SettingVerdict.ACCEPTED


def check_statement(statement: Known | Unknown, restrictions: SessionRestrictions) -> None:
    """Checks a statement before it runs. Raises CodeDenied, SettingDenied.

    A statement that is not understood is denied if any code is: what it calls is not known.
    """
    if isinstance(statement, Unknown):
        if restrictions.deny_code:
            raise CodeDenied(
                f"The statement is not understood ({statement.why}), so that what it calls is not"
                " known, and some functions or statements are denied."
            )
        return
    match statement.changes:
        case SetVariable(key) | ResetVariables(str(key)):
            check_setting(key, restrictions)
    for code in statement.code & restrictions.statements:
        raise CodeDenied(f"Statements of the kind {code.value!r} are denied here.")
    if not restrictions.functions:
        return
    for name in sorted(statement.functions & restrictions.functions):
        raise CodeDenied(f"The function {name} is denied here.")
    if COMPUTED in statement.functions:
        raise CodeDenied("The name of a function is computed, and some functions are denied here.")


def is_ignored(statement: Known, restrictions: SessionRestrictions) -> bool:
    """Whether the statement is a SET or RESET that is ignored. Raises SettingDenied."""
    match statement.changes:
        case SetVariable(key) | ResetVariables(str(key)):
            return not check_setting(key, restrictions)
    return False
