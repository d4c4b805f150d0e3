"""The enums and constants of TCLIService that the proxy uses, with the Thrift Server's numbers."""

from enum import IntEnum


class StatusCode(IntEnum):
    SUCCESS = 0
    ERROR = 3


class OperationState(IntEnum):
    """The states of an operation in GetOperationStatus. The proxy never sends UNKNOWN."""

    INITIALIZED = 0
    RUNNING = 1
    FINISHED = 2
    CANCELED = 3
    CLOSED = 4
    ERROR = 5
    UNKNOWN = 6
    PENDING = 7
    TIMEDOUT = 8


ENDS = frozenset(
    {
        OperationState.FINISHED,
        OperationState.CANCELED,
        OperationState.ERROR,
        OperationState.TIMEDOUT,
        OperationState.CLOSED,
    }
)
"""The states that only CLOSED may follow."""


class OperationType(IntEnum):
    EXECUTE_STATEMENT = 0
    GET_TYPE_INFO = 1
    GET_CATALOGS = 2
    GET_SCHEMAS = 3
    GET_TABLES = 4
    GET_TABLE_TYPES = 5
    GET_COLUMNS = 6
    GET_FUNCTIONS = 7
    UNKNOWN = 8


class Orientation(IntEnum):
    NEXT = 0
    PRIOR = 1
    RELATIVE = 2
    ABSOLUTE = 3
    FIRST = 4
    LAST = 5


STRING_TYPE = 7
NEWEST_PROTOCOL = 10  # V11
COLUMNS_SINCE = 5  # V6: results are columns; before that they are rows
FETCH_ROWS, FETCH_LOG = 0, 1
