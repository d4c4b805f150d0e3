"""Files of Iceberg tables, written and read without the code that is tested.

The schemas are those of Iceberg 1.10 for format 2, with fewer columns of statistics.
"""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro
import pyarrow
import pyarrow.parquet

PATH_ID = 2147483546  # of a delete file's `file_path`


def _map_of(name: str, key: int, value: int, kind: str) -> Any:
    fields = [
        {"name": "key", "type": "int", "field-id": key},
        {"name": "value", "type": kind, "field-id": value},
    ]
    record = {"type": "record", "name": name, "fields": fields}
    return ["null", {"type": "array", "items": record, "logicalType": "map"}]


def _field(name: str, kind: Any, number: int) -> dict[str, Any]:
    default = {"default": None} if isinstance(kind, list) else {}
    return {"name": name, "type": kind, **default, "field-id": number}


_DAY = {"type": "int", "logicalType": "date"}
_PARTITION = {"type": "record", "name": "r102", "fields": [_field("day", ["null", _DAY], 1000)]}
_FILE = {
    "type": "record",
    "name": "r2",
    "fields": [
        _field("content", "int", 134),
        _field("file_path", "string", 100),
        _field("file_format", "string", 101),
        _field("partition", _PARTITION, 102),
        _field("record_count", "long", 103),
        _field("file_size_in_bytes", "long", 104),
        _field("lower_bounds", _map_of("k126_v127", 126, 127, "bytes"), 125),
        _field("upper_bounds", _map_of("k129_v130", 129, 130, "bytes"), 128),
        _field("key_metadata", ["null", "bytes"], 131),
        _field("referenced_data_file", ["null", "string"], 143),
    ],
}
_ENTRY = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        _field("status", "int", 0),
        _field("snapshot_id", ["null", "long"], 1),
        _field("sequence_number", ["null", "long"], 3),
        _field("data_file", _FILE, 2),
    ],
}
_MANIFEST = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        _field("manifest_path", "string", 500),
        _field("manifest_length", "long", 501),
        _field("content", "int", 517),
        _field("key_metadata", ["null", "bytes"], 519),
    ],
}


def avro(schema: Any, records: Sequence[Mapping[str, Any]], codec: str = "deflate") -> bytes:
    out = io.BytesIO()
    facts = {"format-version": "2", "content": "data"}
    fastavro.writer(
        out, schema, records, codec=codec, metadata=facts, sync_marker=b"0123456789abcdef"
    )
    return out.getvalue()


def entry(path: str, size: int, *, status: int = 1, content: int = 0, **more: Any) -> Any:
    """An entry of a manifest; `more` are fields of the file."""
    of = more.pop("of", None)
    bounds = None if of is None else [{"key": PATH_ID, "value": of.encode()}]
    file = {
        "content": content,
        "file_path": path,
        "file_format": "PARQUET",
        "partition": {"day": None},
        "record_count": 1,
        "file_size_in_bytes": size,
        "lower_bounds": bounds,
        "upper_bounds": bounds,
        "key_metadata": None,
        "referenced_data_file": of,
        **more,
    }
    return {"status": status, "snapshot_id": 7, "sequence_number": None, "data_file": file}


def manifest(*entries: Any, codec: str = "deflate") -> bytes:
    return avro(_ENTRY, entries, codec)


def manifest_list(manifests: Mapping[str, int]) -> bytes:
    return avro(
        _MANIFEST,
        [
            {"manifest_path": path, "manifest_length": length, "content": 0, "key_metadata": None}
            for path, length in manifests.items()
        ],
    )


def position_deletes(*rows: tuple[str, int]) -> bytes:
    def kept(number: int) -> dict[bytes, bytes]:
        return {b"PARQUET:field_id": str(number).encode()}

    schema = pyarrow.schema(
        [
            pyarrow.field("file_path", pyarrow.string(), nullable=False, metadata=kept(PATH_ID)),
            pyarrow.field("pos", pyarrow.int64(), nullable=False, metadata=kept(PATH_ID - 1)),
        ],
        metadata={b"delete-type": b"position"},
    )
    columns = [pyarrow.array([path for path, _ in rows]), pyarrow.array([at for _, at in rows])]
    out = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, schema=schema), out)
    data: bytes = out.getvalue().to_pybytes()
    return data


def document(location: str, snapshots: Mapping[int, str], **more: Any) -> bytes:
    """A metadata file; `snapshots` are ids and paths of their lists."""
    return json.dumps(
        {
            "format-version": 2,
            "table-uuid": "u",
            "location": location,
            "properties": {},
            "snapshots": [{"snapshot-id": i, "manifest-list": p} for i, p in snapshots.items()],
            "metadata-log": [{"timestamp-ms": 1, "metadata-file": f"{location}/metadata/0"}],
            **more,
        }
    ).encode()


def records(data: bytes) -> list[Any]:
    return list(fastavro.reader(io.BytesIO(data)))
