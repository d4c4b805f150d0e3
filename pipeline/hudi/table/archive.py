"""The archive: completed commits that have left the active timeline.

Layout 2 keeps parquet files, which a manifest names. Layout 1 appends to log files: blocks of
Avro records, each with its schema. The end of a log may be an unfinished block; its commits are on
the active timeline still.
"""

import io
import json
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any, cast

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.hudi.errors import DamagedTimeline, MissingPath
from pipeline.hudi.table.storage import HudiStorage
from pipeline.hudi.table.timeline import COMMIT_ACTIONS

_LOG = re.compile(r"\.commits_\.archive\.\d+_[\d-]+")
_MAGIC = b"#HUDI#"
_AVRO_BLOCK, _SCHEMA = 3, 2
_INT, _LONG = struct.Struct(">i"), struct.Struct(">q")


def read_history(storage: HudiStorage, folder: str) -> dict[str, str]:
    """Request time to completion time of the commits in a layout 2 archive. Raises
    DamagedTimeline, StorageFault.
    """
    found: dict[str, str] = {}
    for path in _history_files(storage, folder):
        try:
            columns = ["instantTime", "completionTime", "action"]
            rows = pq.read_table(io.BytesIO(storage.read(path)), columns=columns)
        except (pa.ArrowInvalid, MissingPath) as fault:
            raise DamagedTimeline(f"cannot read the archive {path}: {fault}.") from fault
        for row in rows.to_pylist():
            if row["action"] in COMMIT_ACTIONS:
                found[row["instantTime"]] = row["completionTime"]
    return found


def read_archive_logs(storage: HudiStorage, folder: str) -> dict[str, str]:
    """The request times of the commits in a layout 1 archive, each to itself. Raises
    DamagedTimeline, StorageFault.
    """
    try:
        paths = [entry.path for entry in storage.list(folder) if _LOG.fullmatch(entry.name)]
    except MissingPath:
        return {}
    found: dict[str, str] = {}
    for path in paths:
        try:
            for record in _log_records(storage.read(path)):
                completed = record.get("actionState") in (None, "COMPLETED")
                if completed and record["actionType"] in COMMIT_ACTIONS:
                    found[record["commitTime"]] = record["commitTime"]
        except (ValueError, KeyError, TypeError, EOFError, IndexError, struct.error) as fault:
            raise DamagedTimeline(f"cannot read the archive {path}: {fault!r}.") from fault
    return found


def _history_files(storage: HudiStorage, folder: str) -> list[str]:
    """The parquet files of the newest manifest, into which older files were merged."""
    try:
        names = {entry.name for entry in storage.list(folder)}
    except MissingPath:
        return []
    if "_version_" not in names:
        return []
    version = storage.read(f"{folder}/_version_").decode().strip()
    try:
        manifest = json.loads(storage.read(f"{folder}/manifest_{version}"))
        return [f"{folder}/{entry['fileName']}" for entry in manifest["files"]]
    except (ValueError, KeyError, TypeError) as fault:
        raise DamagedTimeline(f"cannot read the manifest of {folder}: {fault!r}.") from fault


def _log_records(log: bytes) -> Iterator[Mapping[str, Any]]:
    """The records of every complete block: magic, length, then `_block_records`."""
    position = log.find(_MAGIC)
    while position >= 0:
        start = position + len(_MAGIC) + _LONG.size
        if start > len(log):
            return
        (length,) = _LONG.unpack_from(log, start - _LONG.size)
        block = log[start : start + length]
        complete = len(block) == length and log[start + length :][:6] in (b"", _MAGIC)
        if complete:
            yield from _block_records(block)
        position = log.find(_MAGIC, start + length if complete else start)


def _block_records(block: bytes) -> Iterator[Mapping[str, Any]]:
    """Version, type, header by key, then content: version, count, and records with lengths."""
    stream = io.BytesIO(block)
    _version, kind, entries = (_read(stream, _INT) for _ in range(3))
    header = {_read(stream, _INT): stream.read(_read(stream, _INT)) for _ in range(entries)}
    if kind != _AVRO_BLOCK:
        return
    _content = _read(stream, _LONG)
    schema = fastavro.parse_schema(json.loads(header[_SCHEMA]))
    _version, count = (_read(stream, _INT) for _ in range(2))
    for _ in range(count):
        encoded = io.BytesIO(stream.read(_read(stream, _INT)))
        yield cast(Mapping[str, Any], fastavro.schemaless_reader(encoded, schema))


def _read(stream: io.BytesIO, number: struct.Struct) -> int:
    value: int = number.unpack(stream.read(number.size))[0]
    return value
