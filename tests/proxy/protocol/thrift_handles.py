"""Handles as Apache Thrift writes them, and its reader of calls."""

from typing import Any

from TCLIService import TCLIService, ttypes
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from proxy.protocol.requests import Handle
from thriftcodec.values import CALL

IDENTIFIER = ttypes.THandleIdentifier(guid=b"g" * 16, secret=b"s" * 16)
SESSION = ttypes.TSessionHandle(IDENTIFIER)
OPERATION = ttypes.TOperationHandle(IDENTIFIER, 4, True)
HANDLE = Handle(b"g" * 16, b"s" * 16)


def read_by_thrift(data: bytes) -> Any:
    protocol = TBinaryProtocol(TMemoryBuffer(data))
    name, kind, seqid = protocol.readMessageBegin()
    assert (kind, seqid) == (CALL, 0)
    arguments = getattr(TCLIService, f"{name}_args")()
    arguments.read(protocol)
    return arguments.req
