"""The end of a statement in its record."""

import pytest

from proxy.errors import Failure
from proxy.protocol.types import OperationState
from proxy.record.record import Record


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("[CW104] No cluster has all inputs.", "CW104"),
        ("Error running query: io.causeway.ClaimException: [CW361] a table", "CW361"),
        ("org.apache.spark.SparkException: [USER_RAISED_EXCEPTION] [CW361] mine", ""),
        ("[TABLE_OR_VIEW_NOT_FOUND] The table", ""),
        ("", ""),
    ],
)
def test_the_code_of_an_error_is_that_of_the_proxy_or_of_a_guard_behind_it(
    message: str, code: str
) -> None:
    ended = Record(user="ann")
    ended.end(OperationState.ERROR, Failure(message, "HY000", 0))
    assert ended.code == code
