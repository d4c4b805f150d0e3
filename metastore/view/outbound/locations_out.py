"""Rewrites a reply: each object gets the cluster's own location.

`ReplyStream` takes bytes as they arrive and returns bytes to send on, so that a reply with a
hundred thousand partitions is never in memory as a whole.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from conf.names import ClusterName, partition_name
from conf.placement import (
    COPY_PREFIX,
    METADATA,
    PARTITIONS,
    UNIFORM,
    BadPlacement,
    Copy,
    Placement,
    read_partition_placement,
    read_placement,
)
from metastore.client.object_spans import (
    Edit,
    ObjectSpans,
    Shape,
    encoded,
    entries,
    is_partitioned,
    scan,
    spliced,
)
from metastore.client.partition_scanner import PartitionScanner
from metastore.view.errors import MessageTooLarge
from metastore.view.fact_edits import Changes, with_hidden_facts, with_parameters
from metastore.view.locations import ClusterView, Placed
from metastore.view.methods import ObjectPath
from metastore.view.outbound.structures import cluster_fields
from thriftcodec.errors import Incomplete
from thriftcodec.skip import (
    EACH,
    Path,
    find_values,
    read_field_header,
    read_list_header,
    read_message_header,
    skip_value,
    string_list,
    text_at,
)
from thriftcodec.values import LIST, REPLY, SET, STOP, STRUCT
from thriftcodec.writer import encode_head

PLACEHOLDER = "-__PLACEHOLDER__"  # the end of Spark's sd.location if the serde's `path` counts
_VALUES = 1  # of a Partition
_METADATA = METADATA.encode()
_PREVIOUS_METADATA = "previous_metadata_location"
MAX_VALUE = 256 * 1024 * 1024  # bytes of a value that has to be complete in memory


@dataclass(frozen=True, slots=True)
class PartitionsOf:
    """The facts of a table that are needed to read its partitions' facts."""

    placement: Placement
    keys: tuple[str, ...]

    def name(self, values: Iterable[str]) -> str:
        """A partition's name from its values."""
        return partition_name(zip(self.keys, values, strict=False))


@dataclass(slots=True)
class _Level:
    """A struct or list that the stream has entered. `left` is the number of elements that are left
    of a list, None for a struct; `path` leads from here to the objects, None if none are inside."""

    path: Path | None
    element: int = STRUCT
    left: int | None = None


class ReplyStream:
    """Rewrites one reply. Call `feed` with its bytes as they arrive. `done`: the reply is complete;
    `failed`: it is an exception."""

    def __init__(
        self,
        outbound: ObjectPath | None,
        view: ClusterView,
        table: PartitionsOf | None = None,
        name: str = "",
        sequence: int | None = None,
    ) -> None:
        """`name` and `sequence` replace the metastore's, if they are given."""
        self.done = False
        self.failed = False
        self._place = outbound
        self._view = view
        self._table = table
        self._name = name
        self._sequence = sequence
        self._scanner = PartitionScanner()
        self._levels: list[_Level] = []
        self._buffer = bytearray()
        self._edits: list[Edit] = []
        self._begun = False
        self._seen_field = False
        self._safe = 0

    def feed(self, chunk: bytes) -> bytes:
        """The bytes that can be sent on now. Bytes after the reply's end are not among them; see
        `surplus`. Raises MessageTooLarge, MalformedMessage."""
        self._buffer += chunk
        at = 0
        try:
            if not self._begun:
                kind, name, sequence, at = read_message_header(self._buffer)
                if self._sequence is not None or self._name not in ("", name):
                    own = sequence if self._sequence is None else self._sequence
                    self._edits.append((0, at, encode_head(self._name or name, kind, own)))
                self._safe = at
                self._begun = True
                self.failed = kind != REPLY
                path = self._place.path if self._place and not self.failed else None
                self._levels.append(_Level(path))
            while self._levels:
                at = self._step(at)
        except Incomplete:
            if len(self._buffer) - at > MAX_VALUE:
                raise MessageTooLarge("a reply has a value above the limit") from None
            at = self._safe
        else:
            self.done = True
        ready = spliced(self._buffer, 0, at, self._edits)
        del self._buffer[:at]
        self._edits = []
        self._safe = 0
        return ready

    @property
    def surplus(self) -> bool:
        """Whether bytes came after the reply's end."""
        return self.done and bool(self._buffer)

    def _step(self, at: int) -> int:
        """Reads one field or list. Everything before `_safe` can be sent."""
        level = self._levels[-1]
        at = self._field(level, at) if level.left is None else self._elements(level, at)
        self._safe = at
        return at

    def _elements(self, level: _Level, at: int) -> int:
        while level.left:
            at = self._value(at, level.element, level.path)
            level.left -= 1
            self._safe = at
        self._levels.pop()
        return at

    def _field(self, level: _Level, at: int) -> int:
        kind, number, value = read_field_header(self._buffer, at)
        if len(self._levels) == 1 and not self._seen_field:
            self._seen_field = True
            self.failed = self.failed or (kind != STOP and number != 0)
        if kind == STOP:
            self._levels.pop()
            return value
        path = level.path[1:] if level.path and level.path[0] == number else None
        if kind in (LIST, SET) and (path is None or path[:1] == (EACH,)):
            element, count, inside = read_list_header(self._buffer, value)
            self._levels.append(_Level(None if path is None else path[1:], element, count))
            return inside
        if kind == STRUCT and path:
            self._levels.append(_Level(path))
            return value
        return self._value(value, kind, path)

    def _value(self, at: int, kind: int, path: Path | None) -> int:
        if path is None or self._place is None or kind != STRUCT:
            return skip_value(self._buffer, at, kind)
        if not path:
            return self._object(at, self._place.shape)
        end = skip_value(self._buffer, at, kind)
        for start, inner in find_values(self._buffer, at, path):
            if inner == STRUCT:
                self._object(start, self._place.shape)
        return end

    def _object(self, at: int, shape: Shape) -> int:
        if shape is Shape.PARTITION:
            spans = self._scanner.scan(self._buffer, at)
        else:
            spans = scan(self._buffer, at, shape)
        self._edits += outbound_edits(self._buffer, spans, shape, self._view, self._table)
        return spans.end


def outbound_edits(
    data: bytes | bytearray,
    spans: ObjectSpans,
    shape: Shape,
    view: ClusterView,
    table: PartitionsOf | None,
) -> list[Edit]:
    """The edits of an object that make the view's cluster read its own copy of the data.

    They also hide the `causeway.` parameters from clients that name no cluster.
    """
    if shape is Shape.DATABASE:
        if spans.location is None:
            return []
        own = view.warehouse_location(text_at(data, spans.location[0]))
        return [(*spans.location, encoded(own))]
    if shape is Shape.PARTITION and not (spans.facts or view.aware):
        return []  # most partitions
    copy = _local_copy(data, spans, shape, view, table)
    edits = [] if copy is None else _locations(data, spans, copy.location)
    changes = _own_metadata(copy)
    if not view.aware:
        return edits + with_hidden_facts(data, spans, shape, changes)
    edits += with_parameters(data, spans, changes)
    if spans.descriptor is not None:
        facts = _facts(data, spans, shape, _placed(data, spans, shape, table), view.owner)
        edits.append((spans.descriptor_end, spans.descriptor_end, facts))
    return edits


def _local_copy(
    data: bytes | bytearray,
    spans: ObjectSpans,
    shape: Shape,
    view: ClusterView,
    table: PartitionsOf | None,
) -> Copy | None:
    """The cluster's fresh copy of a table or partition."""
    if COPY_PREFIX + view.cluster not in spans.facts:
        return None
    if shape is Shape.PARTITION and table is not None and not table.placement.open:
        return view.local_partition_copy(spans.facts, table.placement)
    if _in_parts(data, spans, shape):
        return None
    return view.local_copy(_with_metadata(data, spans, shape), _placed(data, spans, shape, table))


def _with_metadata(data: bytes | bytearray, spans: ObjectSpans, shape: Shape) -> Mapping[str, str]:
    """The facts of an object, with the location of an Iceberg table's metadata file."""
    if shape is not Shape.TABLE or spans.parameters is None:
        return spans.facts
    for key, (start, _) in entries(data, spans.parameters):
        if key == _METADATA:
            return {**spans.facts, METADATA: text_at(data, start + 4 + len(key))}
    return spans.facts


def _own_metadata(copy: Copy | None) -> Changes:
    """The parameters that lead a reader of Iceberg to the copy's metadata file."""
    if copy is None or not copy.metadata:
        return {}
    return {METADATA: copy.metadata, _PREVIOUS_METADATA: None}


def _locations(data: bytes | bytearray, spans: ObjectSpans, location: str) -> list[Edit]:
    """The edits that put the location of a copy into a table or partition."""
    edits: list[Edit] = []
    replacement = encoded(location)
    if spans.location and not text_at(data, spans.location[0]).endswith(PLACEHOLDER):
        edits.append((*spans.location, replacement))
    if spans.path:
        edits.append((*spans.path, replacement))
    return edits


def _in_parts(data: bytes | bytearray, spans: ObjectSpans, shape: Shape) -> bool:
    """Whether it is a table whose partitions may have copies of their own. The write id of such a
    table does not change with every write, so it has no copy as a whole."""
    if shape is not Shape.TABLE or spans.facts.get(PARTITIONS) == UNIFORM:
        return False
    return is_partitioned(data, spans)


def _placed(
    data: bytes | bytearray, spans: ObjectSpans, shape: Shape, table: PartitionsOf | None
) -> Placed:
    """The function that reads an object's placement; a partition needs its table's (D10)."""
    if shape is Shape.TABLE:
        return read_placement
    if table is None or _VALUES not in spans.fields:
        return _unreadable
    # Without a running write the partition's name is not needed.
    values = string_list(data, spans.fields[_VALUES][0]) if table.placement.open else ()
    name = table.name(values)
    return lambda parameters, _: read_partition_placement(parameters, table.placement, name)


def _unreadable(parameters: Mapping[str, str], owner: ClusterName) -> Placement:
    raise BadPlacement("a partition of an unknown table")


def real_location(data: bytes | bytearray, spans: ObjectSpans) -> str:
    """The location of the object's data: sd.location, or the serde's `path` if Spark uses that."""
    location = text_at(data, spans.location[0]) if spans.location else ""
    if spans.path and (not location or location.endswith(PLACEHOLDER)):
        return text_at(data, spans.path[0])
    return location


def _facts(
    data: bytes | bytearray, spans: ObjectSpans, shape: Shape, placed: Placed, owner: ClusterName
) -> bytes:
    try:
        placement = placed(_with_metadata(data, spans, shape), owner)
    except BadPlacement:
        return b""
    return cluster_fields(placement, real_location(data, spans))
