"""The time zone of a session, which is the same in all clusters, although their defaults differ.

Until the client chooses one it is the default of the cluster that runs the session's first
statement. RESET and SET TIME ZONE LOCAL leave the choice to the server that runs them: the zone is
then read there, and set in the other clusters.
"""

from dataclasses import replace

from conf.settings.names import TIME_ZONE
from dialect.statement import ResetVariables, SessionEffect, SetVariable

FIRST = 0  # the place in the journal of the time zone with which a session begins


def setting_zone(zone: str) -> str:
    """The statement that sets the time zone."""
    return f"SET {TIME_ZONE}={zone}"


def is_left_to_server(effect: SessionEffect | None) -> bool:
    """Whether a statement with this effect leaves the time zone to the server."""
    match effect:
        case SetVariable(by_server=True):
            return True
        case ResetVariables(key):
            return key in (None, TIME_ZONE)
    return False


def with_zone(effect: SessionEffect | None, zone: str) -> SessionEffect | None:
    """The effect with the time zone that the session in the server has after it."""
    match effect:
        case SetVariable():
            return replace(effect, value=zone)
        case ResetVariables():
            return replace(effect, zone=zone)
    return effect
