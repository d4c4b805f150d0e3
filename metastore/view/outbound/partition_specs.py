"""Partition specs as lists of partitions (get_partitions_pspec, get_part_specs_by_filter).

The metastore returns partitions of one folder as one spec with one storage descriptor for all,
which cannot express a cluster's own locations. In the IDL a spec may also be a list of complete
partitions. So if partitions may have copies, the view makes the call that returns such a list, and
turns its reply, piece by piece, into one spec.
"""

from metastore.view.call import Call
from metastore.view.locations import ClusterView
from metastore.view.methods import methods
from metastore.view.outbound.locations_out import PartitionsOf, ReplyStream
from thriftcodec.reader import read_struct
from thriftcodec.skip import read_field_header, read_message_header
from thriftcodec.values import I16, I32, LIST, STRING, STRUCT, Struct
from thriftcodec.writer import call_bytes

_LISTS = {
    "get_partitions_pspec": "get_partitions",
    "get_part_specs_by_filter": "get_partitions_by_filter",
}
_MOST = (1 << 15) - 1  # the largest limit of the other calls; above it they return all


def is_spec_call(call: Call) -> bool:
    """Whether the call returns partition specs."""
    return call.spec.name in _LISTS


def plain_call(call: Call) -> bytes:
    """The request for the same partitions as a list; only the type of the limit differs."""
    arguments, _ = read_struct(call.data, call.body)
    for number, (kind, limit) in list(arguments.fields.items()):
        if kind == I32:
            arguments.set(number, I16, limit if limit <= _MOST else -1)
    return call_bytes(_LISTS[call.spec.name], call.sequence, arguments)


class SpecStream(ReplyStream):
    """Rewrites the reply to `plain_call` as a reply with one spec."""

    def __init__(self, call: Call, view: ClusterView, table: PartitionsOf, location: str) -> None:
        """`location` is the table's location."""
        spec = methods()[_LISTS[call.spec.name]]
        super().__init__(spec.outbound, view, table, call.reply_name)
        database, name = call.name_pairs()[0]
        self._named = Struct({1: (STRING, database), 2: (STRING, name), 3: (STRING, location)})
        self._head = bytearray()
        self._begun_list: bool | None = None  # None: not known yet

    def feed(self, chunk: bytes) -> bytes:
        ready = super().feed(chunk)
        if self._begun_list is None:
            self._head += ready
            if not self._head or (not self.done and not self._has_field()):
                return b""
            ready = self._within_spec()
        return ready + b"\0\0" if self.done and self._begun_list else ready

    def _has_field(self) -> bool:
        """Whether a field follows the message's header; both arrive complete."""
        return len(self._head) > read_message_header(self._head)[3]

    def _within_spec(self) -> bytes:
        """The bytes until now, with the beginning of a spec before the list of partitions."""
        kind, _, value = read_field_header(self._head, read_message_header(self._head)[3])
        self._begun_list = kind == LIST and not self.failed
        if not self._begun_list:
            return bytes(self._head)
        inside = bytes((STRUCT,)) + (1).to_bytes(4, "big") + _fields(self._named)
        inside += _field(STRUCT, 5) + _field(LIST, 1)
        return bytes(self._head[:value]) + inside + bytes(self._head[value:])


def _fields(struct: Struct) -> bytes:
    message = call_bytes("", 0, struct)
    return message[read_message_header(message)[3] : -1]


def _field(kind: int, number: int) -> bytes:
    return bytes((kind,)) + number.to_bytes(2, "big")
