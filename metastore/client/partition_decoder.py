"""Decodes many partitions quickly: only values, location and `causeway.` parameters."""

from dataclasses import dataclass, field

from metastore.client.object_spans import string_list, text
from metastore.client.partition_scanner import VALUES, PartitionScanner
from thriftcodec.errors import MalformedMessage
from thriftcodec.values import LIST

_STORAGE, _PARAMETERS = 6, 7
_FIELD_HEADER = 3  # bytes; the first is the type


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """The facts of a partition for routing. `parameters` are only the `causeway.` ones."""

    values: tuple[str, ...]
    location: str
    parameters: dict[str, str]


@dataclass(slots=True)
class PartitionDecoder:
    """Decodes one partition after another, as a `Decoder`."""

    _scanner: PartitionScanner = field(default_factory=PartitionScanner)

    def __call__(self, data: bytes | bytearray, at: int) -> tuple[PartitionFacts, int]:
        """The partition that begins at `at`, and its end. Raises Incomplete, MalformedMessage."""
        found = self._scanner.scan(data, at)
        for number in (_STORAGE, _PARAMETERS):
            if number in found.fields:  # the scanner removes fields of the right type
                raise MalformedMessage(f"field {number} of a partition has another type")
        values: tuple[str, ...] = ()
        if VALUES in found.fields:
            start, _ = found.fields[VALUES]
            if data[start - _FIELD_HEADER] != LIST:
                raise MalformedMessage("the values of a partition are not a list")
            values = tuple(string_list(data, start))
        location = text(data, found.location[0]) if found.location else ""
        return PartitionFacts(values, location, found.ours), found.end
