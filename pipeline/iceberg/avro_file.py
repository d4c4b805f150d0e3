"""Changes records of Avro files and keeps everything else byte for byte.

The header with its schema and sync marker is kept, so entries that a newer version of Iceberg
writes there are kept, too. Records are decoded without logical types, so that encoding them again
gives the same bytes; this is checked for every record before it is changed.
"""

import io
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.errors import FilesNotEnough

Record = dict[str, Any]

_MAGIC = b"Obj\x01"
_SYNC = 16
_SCHEMA, _CODEC = "avro.schema", "avro.codec"
_PLAIN, _DEFLATE = "null", "deflate"
_RAW = -15  # zlib's window of a stream without header


@dataclass(frozen=True, slots=True)
class AvroFile:
    """An Avro file. `header` ends with the sync marker. Each block is the number of its records and
    their uncompressed bytes.
    """

    header: bytes
    codec: str
    schema: Any
    blocks: tuple[tuple[int, bytes], ...]

    def records(self) -> Iterator[Record]:
        """Every record, without logical types. Raises FilesNotEnough."""
        for count, data in self.blocks:
            for record, _ in self._records(count, data):
                yield record

    def changed(self, change: Callable[[Record], None]) -> bytes:
        """The file with `change` applied to each record. Raises FilesNotEnough."""
        out = io.BytesIO()
        out.write(self.header)
        for count, data in self.blocks:
            block = io.BytesIO()
            for record, before in self._records(count, data):
                if self._encoded(record) != before:
                    raise FilesNotEnough("has metadata in an encoding that is not known")
                change(record)
                block.write(self._encoded(record))
            body = block.getvalue()
            if self.codec == _DEFLATE:
                packer = zlib.compressobj(wbits=_RAW)
                body = packer.compress(body) + packer.flush()
            out.write(_varint(count) + _varint(len(body)) + body + self.header[-_SYNC:])
        return out.getvalue()

    def _records(self, count: int, data: bytes) -> Iterator[tuple[Record, bytes]]:
        import fastavro

        stream = io.BytesIO(data)
        for _ in range(count):
            start = stream.tell()
            record: Any = fastavro.schemaless_reader(stream, self.schema, None)
            yield record, data[start : stream.tell()]

    def _encoded(self, record: Record) -> bytes:
        import fastavro

        out = io.BytesIO()
        fastavro.schemaless_writer(out, self.schema, record)
        return out.getvalue()


def read_avro(data: bytes) -> AvroFile:
    """The file in `data`. Raises FilesNotEnough for one that cannot be read."""
    try:
        import fastavro
    except ImportError:
        raise FilesNotEnough(
            "has metadata, which is read with fastavro: install causeway[hudi]"
        ) from None
    try:
        if not data.startswith(_MAGIC):
            raise ValueError("it is no Avro file")
        facts, at = _map(data, len(_MAGIC))
        codec = facts.get(_CODEC, b"null").decode()
        if codec not in (_PLAIN, _DEFLATE):
            raise FilesNotEnough(f"has metadata that is compressed with {codec}")
        schema = fastavro.parse_schema(_without_logical_types(json.loads(facts[_SCHEMA])))
        header, at = data[: at + _SYNC], at + _SYNC
        blocks = tuple(_blocks(data, at, codec, header[-_SYNC:]))
    except (ValueError, LookupError, zlib.error, TypeError) as error:
        raise FilesNotEnough(f"has metadata that cannot be read: {error}") from error
    return AvroFile(header, codec, schema, blocks)


def _blocks(data: bytes, at: int, codec: str, sync: bytes) -> Iterator[tuple[int, bytes]]:
    while at < len(data):
        count, at = _long(data, at)
        size, at = _long(data, at)
        body, at = data[at : at + size], at + size
        if len(body) < size or data[at : at + _SYNC] != sync:
            raise ValueError("a block is cut")
        at += _SYNC
        yield count, zlib.decompress(body, _RAW) if codec == _DEFLATE else body


def _map(data: bytes, at: int) -> tuple[dict[str, bytes], int]:
    """The map at an offset, as headers have it, and the offset after it."""
    found: dict[str, bytes] = {}
    while True:
        count, at = _long(data, at)
        if count == 0:
            return found, at
        if count < 0:
            count, (_, at) = -count, _long(data, at)
        for _ in range(count):
            key, at = _bytes(data, at)
            found[key.decode()], at = _bytes(data, at)


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = _long(data, at)
    return data[at : at + size], at + size


def _long(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
        shift += 7


def _varint(value: int) -> bytes:
    value, out = value << 1, bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: _without_logical_types(value)
            for key, value in schema.items()
            if key != "logicalType"
        }
    if isinstance(schema, list):
        return [_without_logical_types(each) for each in schema]
    return schema
