"""Errors of Causeway's own databases."""

from conf.errors import Blame, CausewayError


class StoreUnavailable(CausewayError):
    """The database of the lifecycle's store or of the history cannot be used."""

    code = "CW726"
    blame = Blame.CAUSEWAY


class BadSearch(CausewayError):
    """The parameters of a search of the history cannot be read."""

    code = "CW228"
    sqlstate = "22023"
