"""The refusals of the router, CW1xx."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """A kind of refusal: its stable `code`, its SQLSTATE, and a hint for the user."""

    code: str
    sqlstate: str
    hint: str


NOT_UNDERSTOOD = Refusal(
    "CW101", "0A000", "Rewrite the statement, or pin the session with USE CLUSTER if it only reads."
)
SEVERAL_PRIMARIES = Refusal(
    "CW102", "0A000", "Write to the objects of each primary cluster in a statement of its own."
)
WRONG_OUTPUT_CLUSTER = Refusal(
    "CW103",
    "25006",
    "Say USE CLUSTER alone to let Causeway choose, or write to a table of the pinned cluster.",
)
NO_CLUSTER_HAS_INPUTS = Refusal(
    "CW104",
    "0A000",
    "Copy what is missing to one of the clusters named, or narrow the partitions read.",
)
PINNED_CANNOT_RUN = Refusal(
    "CW105",
    "0A000",
    "Say USE CLUSTER alone to let Causeway choose, or copy what is missing to this cluster.",
)
BOUND_ELSEWHERE = Refusal(
    "CW106",
    "0A000",
    "Drop the session's object that holds it there, or make it again where the data is.",
)
ACCESS_DENIED = Refusal(
    "CW107", "42501", "The operator decides who may read and write what (docs/guide/access.md)."
)

REFUSALS = (
    NOT_UNDERSTOOD,
    SEVERAL_PRIMARIES,
    WRONG_OUTPUT_CLUSTER,
    NO_CLUSTER_HAS_INPUTS,
    PINNED_CANNOT_RUN,
    BOUND_ELSEWHERE,
    ACCESS_DENIED,
)

# Refusals of the guard in a cluster (guard/, ClaimException) of what the claim does not contain.
UNREADABLE_CLAIM = Refusal("CW360", "0A000", "Use the proxy and the guard of one version.")
READ_NOT_CLAIMED = Refusal(
    "CW361", "0A000", "Report it: the analysis missed a table, view or folder that Spark reads."
)
PARTITION_NOT_CLAIMED = Refusal(
    "CW362", "0A000", "Report it: the analysis missed a partition, or data, that Spark reads."
)
CHANGED_AFTER_DECISION = Refusal(
    "CW363",
    "40001",
    "Try again: Causeway did so three times, while the table was written again and again.",
)
WRITE_NOT_CLAIMED = Refusal(
    "CW364",
    "0A000",
    "Report it: the analysis missed a table, partition, database or folder that Spark writes.",
)
COMMAND_NOT_KNOWN = Refusal(
    "CW365", "0A000", "Report it: the guard cannot see what this command writes."
)
RESULT_TOO_LARGE = Refusal(
    "CW366",
    "53200",
    "Write the result to a table, or SET spark.sql.thriftServer.incrementalCollect=true.",
)

GUARD_REFUSALS = (
    UNREADABLE_CLAIM,
    READ_NOT_CLAIMED,
    PARTITION_NOT_CLAIMED,
    CHANGED_AFTER_DECISION,
    WRITE_NOT_CLAIMED,
    COMMAND_NOT_KNOWN,
    RESULT_TOO_LARGE,
)
