"""The archive: completed commits that have left the active timeline.

Layout 2 keeps parquet files, which a manifest names. Layout 1 appends to log files: blocks of Avro
records, each with its schema. A log may end with an incomplete block, whose commits are still on
the active timeline.
"""

import io
import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.hudi.errors import DamagedTimeline, MissingPath
from pipeline.hudi.table.storage import FileInfo, HudiStorage
from pipeline.hudi.table.timeline import COMMIT_ACTIONS

_LOG = re.compile(r"\.commits_\.archive\.\d+_[\d-]+")
_MAGIC = b"#HUDI#"
_AVRO_BLOCK, _SCHEMA = 3, 2
VERSION = "_version_"
_DAMAGES = (
    pa.ArrowInvalid, MissingPath, ValueError, KeyError, TypeError, EOFError, IndexError,
    struct.error,
)  # fmt: skip
_INT, _LONG = struct.Struct(">i"), struct.Struct(">q")


@dataclass(frozen=True, slots=True)
class ArchivedInstant:
    """A completed action of the archive. `completion` is the request time in layout 1."""

    action: str
    requested: str
    completion: str

    @property
    def is_commit(self) -> bool:
        return self.action in COMMIT_ACTIONS


@dataclass(frozen=True, slots=True)
class ArchiveFiles:
    """The files of an archive. `instants` are the files with actions. In layout 2 `manifest` is the
    file that names them, and `version` is the text of the file `_version_`, which names the
    manifest.
    """

    instants: tuple[FileInfo, ...] = ()
    manifest: FileInfo | None = None
    version: str = ""


def list_archive(storage: HudiStorage, folder: str, by_completion: bool) -> ArchiveFiles:
    """The files of the archive in a folder. One list call, and two reads in layout 2. Raises
    DamagedTimeline, StorageFault.
    """
    listed = _listed(storage, folder)
    if not by_completion:
        return ArchiveFiles(tuple(f for _, f in sorted(listed.items()) if _LOG.fullmatch(f.name)))
    if VERSION not in listed:
        return ArchiveFiles()
    version = storage.read(f"{folder}/{VERSION}").decode().strip()
    if f"manifest_{version}" not in listed:  # written after the listing
        listed = _listed(storage, folder)
    try:
        manifest = listed[f"manifest_{version}"]
        named = json.loads(storage.read(manifest.path))["files"]
        return ArchiveFiles(tuple(listed[each["fileName"]] for each in named), manifest, version)
    except (ValueError, KeyError, TypeError) as fault:
        raise DamagedTimeline(f"cannot read the manifest of {folder}: {fault!r}.") from fault


def _listed(storage: HudiStorage, folder: str) -> dict[str, FileInfo]:
    try:
        return {entry.name: entry for entry in storage.list(folder)}
    except MissingPath:
        return {}


def read_archive(
    storage: HudiStorage, files: Iterable[FileInfo], by_completion: bool
) -> Iterator[ArchivedInstant]:
    """The completed actions in these files of an archive. Raises DamagedTimeline, StorageFault."""
    read = _read_parquet if by_completion else _read_log
    for file in files:
        try:
            yield from read(storage.read(file.path))
        except _DAMAGES as fault:
            raise DamagedTimeline(f"cannot read the archive {file.path}: {fault!r}.") from fault


def _read_parquet(content: bytes) -> Iterator[ArchivedInstant]:
    columns = ["action", "instantTime", "completionTime"]
    for row in pq.read_table(io.BytesIO(content), columns=columns).to_pylist():
        yield ArchivedInstant(row["action"], row["instantTime"], row["completionTime"])


def _read_log(content: bytes) -> Iterator[ArchivedInstant]:
    for record in _log_records(content):
        if record.get("actionState") in (None, "COMPLETED"):
            requested = record["commitTime"]
            yield ArchivedInstant(record["actionType"], requested, requested)


def _log_records(log: bytes) -> Iterator[Mapping[str, Any]]:
    """The records of every complete block of a log: magic, length, then `_block_records`."""
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
    """The records of a block. It has version, type, header by key, and content: version, count, and
    records with lengths.
    """
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
