"""Clients of a view and the tables that its tests ask for."""

from collections.abc import Mapping
from typing import Any

from conf.names import TableRef
from conf.placement import Copy, Placement, write_placement
from conf.topology import Endpoint
from metastore.client.connection import Connection
from metastore.client.metastore_client import HmsClient
from metastore.client.types import Partition, Table
from tests.metastore.writable import C1, C2
from thriftcodec.values import STRING, Struct

REF = TableRef("default", "t")
HOME, AWAY = "hdfs://c1:8020/warehouse/t", "hdfs://c2:8020/copies/t"
KEYS = [("ds", "string")]
_opened: list[HmsClient] = []


def client(endpoint: Endpoint) -> HmsClient:
    """Lives as long as the test."""
    _opened.append(HmsClient((endpoint,), timeout=60.0))
    return _opened[-1]


def close_clients() -> None:
    """Closes those that the test has opened."""
    while _opened:
        _opened.pop().close()


def call(endpoint: Endpoint, method: str, fields: dict[int, Any], meta: int = 1) -> Any:
    connection = Connection(endpoint, 60.0)
    try:
        return connection.call(method, Struct(fields), {meta: "MetaException"}, 60.0)
    finally:
        connection.close()


def placed(*copies: Copy, primary: str = C1, **more: Any) -> dict[str, str]:
    return write_placement(Placement(primary, copies=copies, **more))


def iceberg(metadata: str) -> dict[str, str]:
    """A table with this metadata file, and a copy in c2 of the one that is named 5.json."""
    return {
        **placed(Copy(C2, AWAY, "0", metadata=f"{AWAY}/metadata/5.json")),
        "previous_metadata_location": f"{HOME}/metadata/0.json",
        "table_type": "ICEBERG",
        "metadata_location": metadata,
        "x": "y",
    }


def table(parameters: Mapping[str, str], keys: list[tuple[str, str]] | None = None) -> Table:
    made = Table.make(REF, [("a", "int")], location=HOME, partition_keys=keys or [])
    made.parameters = dict(parameters)
    return made


def partition(endpoint: Endpoint, name: str = "ds=1") -> Partition:
    """A partition of the table, as a single one."""
    return Partition(call(endpoint, "get_partition_by_name", named((STRING, name))))


def named(*fields: Any) -> dict[int, Any]:
    return dict(enumerate([(STRING, "default"), (STRING, "t"), *fields], 1))
