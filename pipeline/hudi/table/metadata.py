"""The metadata of one commit: the files that it wrote and the file groups that it replaced.

Table version 6 writes JSON, versions 8 and 9 write Avro containers. The first bytes distinguish
them.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import fastavro

from pipeline.hudi.errors import DamagedTimeline

_AVRO = b"Obj\x01"
_DAMAGES = (
    ValueError, KeyError, TypeError, AttributeError, EOFError, StopIteration, IndexError,
)  # fmt: skip

FileGroup = tuple[str, str]
"""A file group: (partition relative to the table, file id)."""


@dataclass(frozen=True, slots=True)
class WriteStat:
    """One file that a commit wrote. `path` is relative to the table; counts are in rows."""

    group: FileGroup
    path: str
    writes: int
    deletes: int


@dataclass(frozen=True, slots=True)
class CommitMetadata:
    """A completed commit. `operation` is in upper case, empty when it is not recorded.

    `partitions` includes partitions in which the commit wrote no file.
    """

    operation: str
    partitions: tuple[str, ...]
    writes: tuple[WriteStat, ...]
    replaced: frozenset[FileGroup]
    compacted: bool
    extra: Mapping[str, str]

    @property
    def is_service(self) -> bool:
        """Whether it is a compaction or clustering, which keeps the commit times of rows."""
        return self.compacted or self.operation in ("COMPACT", "CLUSTER", "LOG_COMPACT")

    @property
    def removes_rows(self) -> bool:
        """Whether it deletes or replaces rows, which changed rows do not show."""
        if self.is_service:
            return False
        return bool(self.replaced) or any(stat.deletes for stat in self.writes)


def parse_commit(content: bytes, name: str) -> CommitMetadata:
    """The metadata in a completed instant's file. Raises DamagedTimeline naming `name`."""
    try:
        return _from_record(_record(content))
    except _DAMAGES as fault:
        raise DamagedTimeline(f"cannot read the commit {name}: {fault!r}.") from fault


def earliest_retained(content: bytes, name: str) -> str:
    """Request time of the oldest commit whose files a completed clean kept; empty for a clean by
    versions of files. Raises DamagedTimeline.
    """
    try:
        return str(_record(content).get("earliestCommitToRetain") or "")
    except _DAMAGES as fault:
        raise DamagedTimeline(f"cannot read the clean {name}: {fault!r}.") from fault


def cleaned_by(content: bytes, name: str) -> dict[str, frozenset[str]]:
    """The names of the files that a completed clean had to delete, by partition. They include
    failures: a repeated clean fails for files that were deleted before. Raises DamagedTimeline.
    """
    try:
        partitions = _record(content).get("partitionMetadata") or {}
        return {
            partition: frozenset(
                str(path).rpartition("/")[2]
                for kind in ("deletePathPatterns", "successDeleteFiles", "failedDeleteFiles")
                for path in clean.get(kind) or ()
            )
            for partition, clean in partitions.items()
        }
    except _DAMAGES as fault:
        raise DamagedTimeline(f"cannot read the clean {name}: {fault!r}.") from fault


def undone_by(content: bytes, name: str) -> frozenset[str]:
    """Request times of the actions that a completed rollback or restore undid. Raises
    DamagedTimeline.
    """
    try:
        record = _record(content)
        names = record.get("commitsRollback") or record.get("instantsToRollback") or ()
        return frozenset(str(name) for name in names)
    except _DAMAGES as fault:
        raise DamagedTimeline(f"cannot read what {name} undid: {fault!r}.") from fault


def is_clustering(content: bytes, name: str) -> bool:
    """Whether the request of a replacing write is for a clustering. Requests of other writes may be
    empty. Raises DamagedTimeline.
    """
    if not content:
        return False
    try:
        return str(_record(content).get("operationType")).upper() == "CLUSTER"
    except _DAMAGES as fault:
        raise DamagedTimeline(f"cannot read the request {name}: {fault!r}.") from fault


def _record(content: bytes) -> dict[str, Any]:
    """The record in a timeline file. Raises ValueError, also for an empty file, which is not
    complete yet or damaged.
    """
    if content[:4] == _AVRO:
        record = next(fastavro.reader(io.BytesIO(content)))
    else:
        record = json.loads(content)
    if not isinstance(record, dict):
        raise ValueError("not a record")
    return record


def _from_record(record: dict[str, Any]) -> CommitMetadata:
    by_partition = record.get("partitionToWriteStats") or {}
    replaced = record.get("partitionToReplaceFileIds") or {}
    return CommitMetadata(
        operation=str(record.get("operationType") or "").upper(),
        partitions=tuple(by_partition),
        writes=tuple(
            _stat(partition, stat) for partition, stats in by_partition.items() for stat in stats
        ),
        replaced=frozenset((p, file_id) for p, ids in replaced.items() for file_id in ids),
        compacted=bool(record.get("compacted")),
        extra={k: v for k, v in (record.get("extraMetadata") or {}).items() if v is not None},
    )


def _stat(partition: str, stat: Mapping[str, Any]) -> WriteStat:
    return WriteStat(
        group=(partition, str(stat["fileId"])),
        path=str(stat.get("path") or ""),
        writes=int(stat.get("numWrites") or 0),
        deletes=int(stat.get("numDeletes") or 0),
    )
