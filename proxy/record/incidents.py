"""Faults of Causeway itself: the log has a traceback, the client the id to find it by."""

import logging

from conf.errors import Blame
from conf.logs.log_fields import extra, new_incident
from proxy.errors import InternalError


def internal_error(logger: logging.Logger, doing: str) -> InternalError:
    """Logs the exception that is being handled; the result is for the client."""
    incident = new_incident()
    fields = extra(incident=incident, blame=Blame.CAUSEWAY.value)
    logger.exception("internal error while %s", doing, extra=fields)
    return InternalError(f"Causeway failed while {doing} (incident {incident}).")
