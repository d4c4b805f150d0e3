"""Errors of the analysis. `analyze` turns them into Unknown."""

from conf.errors import CausewayError


class NotUnderstood(CausewayError):
    """The statement's meaning is not certain. The text names the reason."""

    code = "CW401"
    sqlstate = "42000"
    hint = "Name the cluster with USE CLUSTER if the statement only reads, or write it differently."

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class SparkRefuses(NotUnderstood):
    """Spark certainly refuses the statement before it runs anything, and reports the reason."""


class NamesTemporary(Exception):
    """A statement about a table names a temporary object: Spark refuses it."""
