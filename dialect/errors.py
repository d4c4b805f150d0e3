"""Errors inside this package; `analyze` turns them into Unknown."""

from conf.errors import CausewayError


class NotUnderstood(CausewayError):
    """The statement's meaning is not certain; the text names what stopped the analysis."""

    code = "CW401"
    sqlstate = "42000"
    hint = "Name the cluster with USE CLUSTER if the statement only reads, or write it differently."

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class SparkRefuses(NotUnderstood):
    """Spark certainly refuses the statement before it runs anything. Its message has the reason."""


class NamesTemporary(Exception):
    """A statement about a table names the session's own object, which the engine refuses."""
