"""Facts about a Thrift Server that are learned in a session which was just opened there."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from conf.names import ClusterName
from conf.settings.names import TIME_ZONE
from conf.topology import Endpoint
from proxy.errors import ClusterDown, ThriftServerError, WireError
from proxy.protocol.cluster_calls import (
    DBMS_NAME,
    RemoteOperation,
    RemoteSession,
    fetch_call,
    get_info_call,
)
from proxy.protocol.replies import info_text
from proxy.protocol.requests import FetchResults, Handle
from proxy.protocol.results import rows_in
from proxy.protocol.types import Orientation
from router import claim
from thriftcodec.values import STRING

_CHECKED = "causeway: claims are checked, version "  # NotRunException.CHECKED
_HIVE = "Apache Hive"  # HiveServer2's name in GetInfo; Spark's is "Spark SQL"


class OpenedSession(Protocol):
    """The methods of UpstreamSession that are used here. They raise ClusterLost, LimitReached,
    ThriftServerError."""

    cluster: ClusterName
    endpoint: Endpoint
    session: RemoteSession

    async def call(self, name: str, request: bytes) -> Any: ...

    async def execute_to_end(
        self, statement: str, overlay: Mapping[str, str]
    ) -> RemoteOperation: ...

    def close_operation(self, operation: RemoteOperation) -> None: ...

    async def close(self) -> None: ...


async def refuse_hive(opened: OpenedSession) -> None:
    """Closes the session and raises ClusterDown if the server is Hive's own.

    Causeway analyses statements as Spark's. Hive reads other tables for some of them: its optimizer
    replaces a query's tables by materialized views.
    """
    request = get_info_call(opened.session, DBMS_NAME)
    name = ""
    with suppress(ThriftServerError, WireError):  # the server does not return its name
        name = info_text(await opened.call("GetInfo", request))
    if name == _HIVE:
        await opened.close()
        raise ClusterDown(
            f"Cluster {opened.cluster} cannot be used: the server at {opened.endpoint} is {_HIVE},"
            " and Causeway analyses Spark's SQL."
        )


async def is_checked(opened: OpenedSession) -> bool:
    """Whether the guard checks claims: a guard refuses this claim with its version, and a server
    without one runs the statement."""
    try:
        operation = await opened.execute_to_end("SELECT 1", {claim.KEY: claim.PROBE})
    except ThriftServerError as error:
        return error.failure.message.partition(_CHECKED)[2].startswith(str(claim.VERSION))
    opened.close_operation(operation)
    return False


async def zone(opened: OpenedSession, protocol: int) -> str | None:
    """The session's time zone; None if the server returns none."""
    try:
        operation = await opened.execute_to_end(f"SET {TIME_ZONE}", {})
        request = FetchResults(Handle(b"", b""), Orientation.NEXT, 1, 0)
        reply = await opened.call("FetchResults", fetch_call(operation, request))
        opened.close_operation(operation)
        ((_, found),) = rows_in(reply, (STRING, STRING), protocol)
    except (ThriftServerError, WireError, ValueError):
        return None
    return found if isinstance(found, str) else None
