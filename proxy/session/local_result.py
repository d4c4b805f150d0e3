"""A result that Causeway made itself, and its client's position in it."""

from dataclasses import dataclass

from proxy.errors import Failure, ThriftServerError
from proxy.protocol.requests import FetchResults
from proxy.protocol.results import ResultTable, fetch_reply
from proxy.protocol.types import Orientation
from thriftcodec.values import Struct

_REWINDS = (Orientation.PRIOR, Orientation.FIRST)


@dataclass(slots=True)
class LocalResult:
    """`position` is the first row of the next fetch. `schema` is a cluster's reply to
    GetResultSetMetadata that describes the table; None: the schema is made from the table."""

    table: ResultTable
    position: int = 0
    schema: bytes | None = None

    def fetch(self, request: FetchResults, protocol: int) -> Struct:
        """The FetchResultsResp that a Thrift Server would return: PRIOR goes to the first row, too.

        Raises ThriftServerError for the orientations that a Thrift Server does not support.
        """
        if request.orientation in _REWINDS:
            self.position = 0
        elif request.orientation != Orientation.NEXT:
            raise ThriftServerError(Failure(_unsupported(request.orientation), "HY106"))
        start = self.position
        self.position = min(len(self.table.rows), start + max(0, request.max_rows))
        return fetch_reply(self.table, start, request.max_rows, protocol)


def _unsupported(orientation: int) -> str:
    try:
        name = Orientation(orientation).name
    except ValueError:
        name = str(orientation)
    return f"The fetch type FETCH_{name} is not supported for this resultset"
