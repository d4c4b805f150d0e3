"""Internal errors of Causeway: the log gets a traceback, and the client the incident's id."""

import logging

from conf.errors import Blame
from conf.logs.log_fields import extra, new_incident
from proxy.errors import InternalError


def internal_error(logger: logging.Logger, doing: str) -> InternalError:
    """Logs the exception that is being handled, and returns the error for the client. `doing`
    completes "internal error while ..."."""
    incident = new_incident()
    fields = extra(incident=incident, blame=Blame.CAUSEWAY.value)
    logger.exception("internal error while %s", doing, extra=fields)
    return InternalError(f"Causeway failed while {doing} (incident {incident}).")
