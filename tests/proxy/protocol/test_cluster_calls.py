"""The proxy's calls to clusters are read by Apache Thrift."""

from collections.abc import Callable
from typing import Any

import pytest
from TCLIService import ttypes

from proxy.protocol import cluster_calls
from proxy.protocol.cluster_calls import RemoteOperation, RemoteSession
from proxy.protocol.requests import FetchResults
from tests.proxy.protocol.thrift_handles import HANDLE, OPERATION, SESSION, read_by_thrift
from thriftcodec.values import Struct

REMOTE_SESSION = RemoteSession(Struct({1: (12, Struct({1: (11, b"g" * 16), 2: (11, b"s" * 16)}))}))
REMOTE_OPERATION = RemoteOperation(
    Struct({1: (12, Struct({1: (11, b"g" * 16), 2: (11, b"s" * 16)})), 2: (8, 4), 3: (2, True)})
)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            lambda: cluster_calls.open_session_call(9, "ann", {"set:hivevar:x": "1"}),
            ttypes.TOpenSessionReq(9, "ann", None, {"set:hivevar:x": "1"}),
        ),
        (
            lambda: cluster_calls.close_session_call(REMOTE_SESSION),
            ttypes.TCloseSessionReq(SESSION),
        ),
        (
            lambda: cluster_calls.execute_call(REMOTE_SESSION, "SELECT 1", {"a": "b"}, 3),
            ttypes.TExecuteStatementReq(SESSION, "SELECT 1", {"a": "b"}, True, 3),
        ),
        (
            lambda: cluster_calls.operation_call("CancelOperation", REMOTE_OPERATION),
            ttypes.TCancelOperationReq(OPERATION),
        ),
        (
            lambda: cluster_calls.fetch_call(REMOTE_OPERATION, FetchResults(HANDLE, 0, 5, 1)),
            ttypes.TFetchResultsReq(OPERATION, 0, 5, 1),
        ),
        (
            lambda: cluster_calls.get_info_call(REMOTE_SESSION, 18),
            ttypes.TGetInfoReq(SESSION, 18),
        ),
    ],
)
def test_calls_to_clusters_are_read_by_thrift(call: Callable[[], bytes], expected: Any) -> None:
    assert read_by_thrift(call()) == expected
