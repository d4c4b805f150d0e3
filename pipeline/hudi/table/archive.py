"""Commits that have left the active timeline: the point beyond which only a full scan is right."""

import io
import json
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.hudi.errors import DamagedTimeline, MissingPath
from pipeline.hudi.table.storage import HudiStorage
from pipeline.hudi.table.table import HudiTable, archive_folder, open_table
from pipeline.hudi.table.timeline import COMMIT_ACTIONS


def archived_commits(table: HudiTable) -> Mapping[str, str]:
    """Request time -> completion time of every archived commit of a layout 2 table; read once.

    One list call when nothing was archived. Raises DamagedTimeline, StorageFault.
    """
    if table.archived is None:
        table.archived = _read_history(table)
    return table.archived


def _read_history(table: HudiTable) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in _history_files(table):
        try:
            columns = ["instantTime", "completionTime", "action"]
            rows = pq.read_table(io.BytesIO(table.storage.read(path)), columns=columns)
        except (pa.ArrowInvalid, MissingPath) as fault:
            raise DamagedTimeline(f"cannot read the archive {path}: {fault}.") from fault
        for row in rows.to_pylist():
            if row["action"] in COMMIT_ACTIONS:
                found[row["instantTime"]] = row["completionTime"]
    return found


def open_for_changes(base: str, storage: HudiStorage) -> HudiTable:
    """A table with what its archive holds already known, so that planning lists partitions only."""
    table = open_table(base, storage)
    if table.timeline.by_completion:
        archived_commits(table)
    return table


def has_archive(table: HudiTable) -> bool:
    """Whether a layout 1 table has archived anything: its archive is a log of its own format."""
    try:
        return any(not entry.is_dir for entry in table.storage.list(archive_folder(table)))
    except MissingPath:
        return False


def _history_files(table: HudiTable) -> list[str]:
    """The parquet files that the newest manifest names; older ones were merged into them."""
    folder = archive_folder(table)
    try:
        names = {entry.name for entry in table.storage.list(folder)}
    except MissingPath:
        return []
    if "_version_" not in names:
        return []
    version = table.storage.read(f"{folder}/_version_").decode().strip()
    try:
        manifest = json.loads(table.storage.read(f"{folder}/manifest_{version}"))
        return [f"{folder}/{entry['fileName']}" for entry in manifest["files"]]
    except (ValueError, KeyError, TypeError) as fault:
        raise DamagedTimeline(f"cannot read the manifest of {folder}: {fault!r}.") from fault
