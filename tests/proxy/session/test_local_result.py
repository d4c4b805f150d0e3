"""Fetching a result that Causeway made, page by page."""

import pytest

from proxy.errors import ThriftServerError
from proxy.protocol.requests import FetchResults, Handle
from proxy.protocol.results import ResultTable
from proxy.session.local_result import LocalResult

NEXT, PRIOR, RELATIVE, ABSOLUTE, FIRST, LAST = range(6)


def fetch(local: LocalResult, orientation: int, rows: int) -> int:
    """The first row of the next fetch."""
    local.fetch(FetchResults(Handle(b"", b""), orientation, rows, 0), 5)
    return local.position


def test_pages_and_rewinding() -> None:
    local = LocalResult(ResultTable(("a",), (("1",), ("2",), ("3",))))
    assert [fetch(local, NEXT, 2), fetch(local, NEXT, 2), fetch(local, NEXT, 2)] == [2, 3, 3]
    assert fetch(local, FIRST, 1) == 1
    assert fetch(local, PRIOR, 2) == 2
    assert fetch(local, NEXT, -1) == 2


@pytest.mark.parametrize("orientation", [RELATIVE, ABSOLUTE, LAST, 77])
def test_other_orientations_get_the_thrift_servers_error(orientation: int) -> None:
    local = LocalResult(ResultTable(("a",)))
    with pytest.raises(
        ThriftServerError, match=r"^The fetch type FETCH_\w+ is not supported"
    ) as caught:
        fetch(local, orientation, 1)
    assert caught.value.failure.sqlstate == "HY106"
