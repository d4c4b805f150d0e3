"""Turns errors into TStatus structs, and TStatus structs of clusters into failures."""

import re

from conf.errors import Blame, CausewayError
from conf.names import ClusterName
from proxy.errors import ClusterWithoutMetastore, Failure
from proxy.protocol.types import StatusCode
from thriftcodec.values import I32, STRING, Encoded, Items, Struct
from thriftcodec.writer import encode_struct

SUCCESS = Encoded(encode_struct(Struct({1: (I32, int(StatusCode.SUCCESS))})))
_EXCEPTION = "org.apache.hive.service.cli.HiveSQLException: "
_STACK_START = "\n\tat org.apache.hive.service."
_SPARK_STACK_START = "\n\tat org.apache.spark.sql.hive.thriftserver.HiveThriftServerErrors"
# Hive's client writes the class of a Thrift error, except in the text for a table. That has the
# error's message: of Java's sockets, or of Spark 4's libthrift.
_METASTORE_LOST = re.compile(
    r"HiveException: (?:MetaException\(message:Got exception: )?"
    r"org\.apache\.thrift\.transport\.TTransportException"
    r"|HiveException: Unable to fetch table [^.]+\. (?:org\.apache\.thrift\.transport\.TTransport"
    r"|java\.net\.Socket|javax\.net\.ssl\.SSL|Socket is closed by peer|Cannot read\. Remote side)"
    r"|Could not connect to meta store using any of the URIs provided"
)
_STOPPED = re.compile(r"SparkContext (?:was shut down|has been shutdown)|on a stopped SparkContext")
_BUSY = "The background threadpool cannot accept new task for execution"
NO_SESSION = "Invalid SessionHandle"  # start of a server's error for an unknown handle
_STATEMENT_CLASSES = ("0A", "21", "22", "23", "42")  # classes of SQLSTATE


def failure_of(error: CausewayError) -> Failure:
    """The failure for an error of Causeway; its vendor code is the number in the error's code."""
    number = int(error.code.removeprefix("CW"))
    return Failure(str(error), error.sqlstate, number, error.blame)


def is_metastore_lost(failure: Failure) -> bool:
    """Whether a statement failed in Spark because the cluster cannot reach the metastore."""
    return _METASTORE_LOST.search(failure.message) is not None


def is_cluster_stopped(failure: Failure) -> bool:
    """Whether a statement failed in Spark because its server was stopping."""
    return _STOPPED.search(failure.message) is not None


def is_server_busy(failure: Failure) -> bool:
    """Whether a Thrift Server refused an asynchronous statement because it had no free thread."""
    return failure.message.startswith(_BUSY)


def metastore_lost(cluster: ClusterName, failure: Failure) -> ClusterWithoutMetastore:
    """Causeway's error for a failure of `is_metastore_lost`, with Spark's text."""
    text = as_synchronous(failure).message
    return ClusterWithoutMetastore(f"Cluster {cluster} cannot reach the metastore ({text}).")


def blame_of(failure: Failure) -> Blame:
    """The party that has to act on a failure.

    For a cluster's failure this is the client if the SQLSTATE means that the statement or its data
    is wrong; otherwise it is the cluster's operator.
    """
    if failure.blame is not None:
        return failure.blame
    is_statements_fault = (failure.sqlstate or "")[:2] in _STATEMENT_CLASSES
    return Blame.CLIENT if is_statements_fault else Blame.CLUSTER


def status_of(failure: Failure) -> Struct:
    """The TStatus of a failure."""
    status = Struct({1: (I32, int(StatusCode.ERROR))})
    if failure.sqlstate is not None:
        status.set(3, STRING, failure.sqlstate.encode())
    status.set(4, I32, failure.vendor)
    status.set(5, STRING, failure.message.encode(errors="replace"))
    return status


def read_status(status: Struct) -> Failure | None:
    """The failure in a cluster's TStatus; None for a success."""
    code = status.get(1, 0)
    if code not in (StatusCode.ERROR, 4):
        return None
    return Failure(_text(status, 5) or _info(status), _text(status, 3), _number(status, 4))


def read_operation_failure(reply: Struct) -> Failure:
    """The failure in a GetOperationStatus reply, with the cluster's text."""
    return Failure(_text(reply, 5) or "", _text(reply, 3), _number(reply, 4))


def as_synchronous(failure: Failure) -> Failure:
    """The same failure in the form of a synchronous ExecuteStatement.

    For asynchronous statements the Thrift Server adds the exception's class and its stack.
    """
    text = failure.message.removeprefix(_EXCEPTION)
    for start in (_SPARK_STACK_START, _STACK_START):
        cut = text.find(start)
        if cut >= 0:
            text = text[:cut]
            break
    return Failure(text, failure.sqlstate, failure.vendor)


def _text(fields: Struct, field: int) -> str | None:
    value = fields.get(field, None)
    return value.decode(errors="replace") if isinstance(value, bytes) else None


def _number(fields: Struct, field: int) -> int:
    value = fields.get(field, 0)
    return value if isinstance(value, int) else 0


def _info(status: Struct) -> str:
    value = status.get(2, None)
    if not isinstance(value, Items):
        return ""
    return "\n".join(each.decode(errors="replace") for each in value if isinstance(each, bytes))
