"""A session has one time zone in all clusters, although each cluster has a default of its own.

Until the client chooses one it is the default of the cluster where the session ran its first
statement. RESET and SET TIME ZONE LOCAL leave it to the server that runs them: what it is then is
read there, and set in the other clusters.
"""

from dataclasses import replace

from conf.settings.names import TIME_ZONE
from dialect.statement import ResetVariables, SessionEffect, SetVariable

FIRST = 0  # the number in the journal of the zone with which a session begins


def setting_zone(zone: str) -> str:
    """The statement that sets it."""
    return f"SET {TIME_ZONE}={zone}"


def is_left_to_server(effect: SessionEffect | None) -> bool:
    """Whether the zone after a statement with that effect is its server's to say."""
    match effect:
        case SetVariable(by_server=True):
            return True
        case ResetVariables(key):
            return key in (None, TIME_ZONE)
    return False


def with_zone(effect: SessionEffect | None, zone: str) -> SessionEffect | None:
    """The same effect, with the zone that the server has after it."""
    match effect:
        case SetVariable():
            return replace(effect, value=zone)
        case ResetVariables():
            return replace(effect, zone=zone)
    return effect
