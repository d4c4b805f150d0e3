"""The errors of advice, CW52x; docs/reference/errors.md describes them."""

from conf.errors import CausewayError


class BadStock(CausewayError):
    """A description of tables cannot be read."""

    code = "CW521"
    sqlstate = "F0000"
    hint = "docs/guide/assess.md describes the file."


class BadLog(CausewayError):
    """A file of statements cannot be read, or has none."""

    code = "CW522"
    sqlstate = "F0000"
    hint = "docs/guide/assess.md says which files can be read."


class BadPlan(CausewayError):
    """Budgets or a recorded plan cannot be used."""

    code = "CW523"
    sqlstate = "F0000"
    hint = "docs/guide/assess.md describes budgets and plans."
