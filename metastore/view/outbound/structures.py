"""Writes and reads PrimaryCluster and SecondaryClusters of StorageDescriptor (DC-S1).

metastore/idl/causeway_metastore.thrift declares them. A client that names clusters gets them, made
from an object's parameters, and may send them back with an alter.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from conf.names import ClusterName
from conf.placement import Copy, Placement
from thriftcodec.errors import MalformedMessage
from thriftcodec.reader import read_value
from thriftcodec.values import BOOL, SET, STRING, STRUCT, Items, Struct
from thriftcodec.writer import write_value

PRIMARY_FIELD = 101
SECONDARY_FIELD = 102
_NAME, _LOCATION, _FRESH, _WRITE = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class ClaimedFacts:
    """The facts of an object as a client sent them; None for each that it did not send."""

    primary: ClusterName | None = None
    write: str | None = None
    copies: tuple[Copy, ...] | None = None


def cluster_fields(placement: Placement, location: str) -> bytes:
    """The bytes of the two fields. They belong before a StorageDescriptor's STOP."""
    out = bytearray(_header(STRUCT, PRIMARY_FIELD))
    primary = _descriptor(placement.primary, location, not placement.writing, placement.version)
    write_value(out, STRUCT, primary)
    out += _header(SET, SECONDARY_FIELD)
    copies = (
        _descriptor(copy.cluster, copy.location, placement.is_fresh(copy), copy.of)
        for copy in placement.copies
    )
    write_value(out, SET, Items(STRUCT, copies))
    return bytes(out)


def read_claims(data: bytes | bytearray, fields: Iterable[tuple[int, int, int]]) -> ClaimedFacts:
    """Reads the two fields, which are given as (id, wire type, position). A copy may have no write
    id. Raises MalformedMessage for a copy without a cluster or location."""
    primary: ClusterName | None = None
    write: str | None = None
    copies: tuple[Copy, ...] | None = None
    for number, kind, at in fields:
        value, _ = read_value(data, at, kind)
        if number == PRIMARY_FIELD and isinstance(value, Struct):
            primary, write = ClusterName(str(value.get(_NAME, ""))), value.get(_WRITE)
        elif number == SECONDARY_FIELD and isinstance(value, Items):
            copies = tuple(_copy(each) for each in value)
    return ClaimedFacts(primary, write, copies)


def _copy(value: object) -> Copy:
    if not isinstance(value, Struct) or not value.get(_NAME) or not value.get(_LOCATION):
        raise MalformedMessage("a ClusterStorageDescriptor needs ClusterName and Location")
    return Copy(ClusterName(value.get(_NAME)), value.get(_LOCATION), value.get(_WRITE, ""))


def _descriptor(cluster: str, location: str, fresh: bool, write: str) -> Struct:
    return Struct(
        {
            _NAME: (STRING, cluster),
            _LOCATION: (STRING, location),
            _FRESH: (BOOL, int(fresh)),
            _WRITE: (STRING, write),
        }
    )


def _header(kind: int, number: int) -> bytes:
    return bytes((kind,)) + number.to_bytes(2, "big")
