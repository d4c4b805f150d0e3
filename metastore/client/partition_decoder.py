"""Decodes many partitions quickly: only their values, location and `causeway.` parameters."""

from dataclasses import dataclass, field

from metastore.client.partition_scanner import VALUES, PartitionScanner
from thriftcodec.errors import MalformedMessage
from thriftcodec.skip import string_list, text_at
from thriftcodec.values import LIST

_STORAGE, _PARAMETERS = 6, 7
_FIELD_HEADER = 3  # bytes; the first is the type


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """The facts of a partition that routing needs. `parameters` are only the `causeway.` ones."""

    values: tuple[str, ...]
    location: str
    parameters: dict[str, str]


@dataclass(slots=True)
class PartitionDecoder:
    """A `Decoder` (`metastore.client.connection`) for the partitions of a list."""

    _scanner: PartitionScanner = field(default_factory=PartitionScanner)

    def __call__(self, data: bytes | bytearray, at: int) -> tuple[PartitionFacts, int]:
        """The partition that begins at `at`, and its end. Raises Incomplete, MalformedMessage."""
        spans = self._scanner.scan(data, at)
        for number in (_STORAGE, _PARAMETERS):
            if number in spans.fields:  # the scanner puts a field of the right type elsewhere
                raise MalformedMessage(f"field {number} of a partition has another type")
        values: tuple[str, ...] = ()
        if VALUES in spans.fields:
            start, _ = spans.fields[VALUES]
            if data[start - _FIELD_HEADER] != LIST:
                raise MalformedMessage("the values of a partition are not a list")
            values = tuple(string_list(data, start))
        location = text_at(data, spans.location[0]) if spans.location else ""
        return PartitionFacts(values, location, spans.facts), spans.end
