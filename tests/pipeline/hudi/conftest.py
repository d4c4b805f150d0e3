"""Makes Hudi tables out of empty files: what planning looks at is names and metadata."""

import io
import json
import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.hudi.table.properties import properties_checksum

_STAT = {
    "type": "record",
    "name": "HoodieWriteStat",
    "fields": [
        {"name": "fileId", "type": "string"},
        {"name": "path", "type": "string"},
        {"name": "numWrites", "type": "long"},
        {"name": "numDeletes", "type": "long"},
    ],
}
_COMMIT = fastavro.parse_schema(
    {
        "type": "record",
        "name": "HoodieReplaceCommitMetadata",
        "fields": [
            {
                "name": "partitionToWriteStats",
                "type": {"type": "map", "values": {"type": "array", "items": _STAT}},
            },
            {
                "name": "partitionToReplaceFileIds",
                "type": {"type": "map", "values": {"type": "array", "items": "string"}},
            },
            {"name": "operationType", "type": "string"},
            {"name": "compacted", "type": "boolean"},
            {"name": "extraMetadata", "type": {"type": "map", "values": "string"}},
        ],
    }
)

_NAMES = {"type": "array", "items": "string"}
_CLEANED = {
    "type": "record",
    "name": "HoodieCleanPartitionMetadata",
    "fields": [
        {"name": "successDeleteFiles", "type": _NAMES},
        {"name": "failedDeleteFiles", "type": _NAMES},
    ],
}
_CLEAN = fastavro.parse_schema(
    {
        "type": "record",
        "name": "HoodieCleanMetadata",
        "fields": [{"name": "partitionMetadata", "type": {"type": "map", "values": _CLEANED}}],
    }
)
_ARCHIVED_SCHEMA = {
    "type": "record",
    "name": "HoodieArchivedMetaEntry",
    "fields": [
        {"name": "commitTime", "type": ["null", "string"]},
        {"name": "actionType", "type": ["null", "string"]},
        {"name": "actionState", "type": ["null", "string"]},
    ],
}
_ARCHIVED = fastavro.parse_schema(_ARCHIVED_SCHEMA)


class FakeTable:
    """Writes the folders of a table. `files` of a commit are (partition, file id) pairs."""

    def __init__(self, base: Path, version: int = 6, kind: str = "COPY_ON_WRITE", **more: str):
        self.base, self.layout = base, 1 if version < 8 else 2
        self.timeline = base / ".hoodie" / ("timeline" if self.layout == 2 else "")
        self.timeline.mkdir(parents=True)
        self.properties = {
            "hoodie.table.name": base.name,
            "hoodie.database.name": "db",
            "hoodie.table.type": kind,
            "hoodie.table.partition.fields": "ds",
            **more,
        }
        self._write_properties(version)

    def _write_properties(self, version: int) -> None:
        properties = {
            "hoodie.table.version": str(version),
            "hoodie.timeline.layout.version": str(self.layout),
            **self.properties,
        }
        properties["hoodie.table.checksum"] = str(properties_checksum(properties))
        lines = "\n".join(f"{k}={v}" for k, v in properties.items())
        (self.base / ".hoodie" / "hoodie.properties").write_text(lines)

    def upgrade(self, completions: Mapping[str, str]) -> None:
        """From version 6 to 9: commits get completion times, as Hudi's upgrade gives them."""
        old, self.layout = self.timeline, 2
        self.timeline = self.base / ".hoodie" / "timeline"
        self.timeline.mkdir()
        for requested, completion in completions.items():
            (commit,) = old.glob(f"{requested}.*commit")
            commit.rename(self.timeline / commit.name.replace(".", f"_{completion}.", 1))
        self._write_properties(9)

    @property
    def path(self) -> str:
        return str(self.base)

    def partition(self, name: str) -> str:
        folder = self.base / name
        folder.mkdir(parents=True, exist_ok=True)
        mark = folder / ".hoodie_partition_metadata"
        if name and not mark.exists():
            mark.touch()
        return str(folder)

    def commit(
        self,
        instant: str,
        files: Iterable[tuple[str, str]] = (),
        *,
        completion: str = "",
        action: str = "commit",
        operation: str = "UPSERT",
        replaces: Mapping[str, list[str]] | None = None,
        logs: bool = False,
        deletes: int = 0,
        state: str = "completed",
        compacted: bool = False,
        schema: str = "",
    ) -> None:
        stats: dict[str, list[dict[str, object]]] = {}
        for partition, file_id in files:
            name = (
                f".{file_id}_{instant}.log.1_0-1-0"
                if logs
                else f"{file_id}_1-0-1_{instant}.parquet"
            )
            (Path(self.partition(partition)) / name).write_bytes(b"x" * 10)
            path = f"{partition}/{name}" if partition else name
            stat = {"fileId": file_id, "path": path, "numWrites": 1, "numDeletes": deletes}
            stats.setdefault(partition, []).append(stat)
        if state != "completed":
            middle = "" if action == "commit" and state == "inflight" else f".{action}"
            (self.timeline / f"{instant}{middle}.{state}").touch()
            return
        record = {
            "partitionToWriteStats": stats,
            "partitionToReplaceFileIds": dict(replaces or {}),
            "operationType": operation,
            "compacted": compacted,
            "extraMetadata": {"schema": schema} if schema else {},
        }
        if self.layout == 1:
            (self.timeline / f"{instant}.{action}").write_text(json.dumps(record))
            return
        out = io.BytesIO()
        fastavro.writer(out, _COMMIT, [record])
        name = f"{instant}_{completion or str(int(instant) + 1).zfill(len(instant))}.{action}"
        (self.timeline / name).write_bytes(out.getvalue())

    def clean(self, instant: str, files: Iterable[str], failed: bool = False) -> None:
        """Deletes data files (paths relative to the table), as Hudi's cleaner does. `failed`: an
        earlier attempt has deleted them already.
        """
        partitions: dict[str, dict[str, list[str]]] = {}
        for path in files:
            (self.base / path).unlink()
            partition, _, name = path.rpartition("/")
            empty: dict[str, list[str]] = {"successDeleteFiles": [], "failedDeleteFiles": []}
            kinds = partitions.setdefault(partition, empty)
            kinds["failedDeleteFiles" if failed else "successDeleteFiles"].append(name)
        out = io.BytesIO()
        fastavro.writer(out, _CLEAN, [{"partitionMetadata": partitions}])
        completion = f"_{int(instant) + 1}" if self.layout == 2 else ""
        (self.timeline / f"{instant}{completion}.clean").write_bytes(out.getvalue())

    def archive(self, *requests: str, unfinished: bytes = b"") -> None:
        """Moves actions into a new file of the archive. `unfinished` follows it in layout 1."""
        if self.layout == 2:
            self._archive_parquet(requests)
        else:
            self._archive_log(requests, unfinished)

    def _archive_parquet(self, requests: Iterable[str]) -> None:
        rows = []
        for request in requests:
            for file in self.timeline.glob(f"{request}*"):
                if "_" in file.name:
                    completion, _, action = file.name.partition("_")[2].partition(".")
                    row = {"instantTime": request, "completionTime": completion, "action": action}
                    rows.append(row)
                file.unlink()
        folder = self.timeline / "history"
        folder.mkdir(exist_ok=True)
        number = len(list(folder.glob("*.parquet"))) + 1
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{number}_0.parquet")
        names = sorted(path.name for path in folder.glob("*.parquet"))
        manifest = {"files": [{"fileName": name} for name in names]}
        (folder / f"manifest_{number - 1}").unlink(missing_ok=True)
        (folder / f"manifest_{number}").write_text(json.dumps(manifest))
        (folder / "_version_").write_text(str(number))

    def _archive_log(self, requests: Iterable[str], unfinished: bytes) -> None:
        records = []
        for request in requests:
            action = "commit"
            for file in self.timeline.glob(f"{request}.*"):
                action = file.name.partition(".")[2]
                file.unlink()
            out = io.BytesIO()
            entry = {"commitTime": request, "actionType": action, "actionState": "COMPLETED"}
            fastavro.schemaless_writer(out, _ARCHIVED, entry)
            records.append(struct.pack(">i", len(out.getvalue())) + out.getvalue())
        content = struct.pack(">ii", 3, len(records)) + b"".join(records)
        schema = json.dumps(_ARCHIVED_SCHEMA).encode()
        block = struct.pack(">iii", 1, 3, 1) + struct.pack(">ii", 2, len(schema)) + schema
        block += struct.pack(">q", len(content)) + content
        block += struct.pack(">i", 0) + struct.pack(">q", len(block) + 18)
        folder = self.base / ".hoodie" / "archived"
        folder.mkdir(exist_ok=True)
        log = folder / f".commits_.archive.{len(list(folder.iterdir())) + 1}_1-0-1"
        log.write_bytes(b"#HUDI#" + struct.pack(">q", len(block)) + block + unfinished)

    def undo(self, instant: str, names: Iterable[str], action: str = "rollback") -> None:
        """Completed commits go, and what says so comes."""
        for name in names:
            for gone in (*self.timeline.glob(f"{name}*commit"), *self.base.glob(f"*/*_{name}.*")):
                gone.unlink()
        field = {"rollback": "commitsRollback", "restore": "instantsToRollback"}[action]
        items = {"name": field, "type": {"type": "array", "items": "string"}}
        schema = {"type": "record", "name": "HoodieUndone", "fields": [items]}
        out = io.BytesIO()
        fastavro.writer(out, fastavro.parse_schema(schema), [{field: list(names)}])
        completion = f"_{int(instant) + 1}" if self.layout == 2 else ""
        (self.timeline / f"{instant}{completion}.{action}").write_bytes(out.getvalue())


@pytest.fixture
def fake_table(tmp_path: Path) -> Callable[..., FakeTable]:
    """`fake_table(name, version=6, kind=...)`: an empty table below a temporary folder."""
    return lambda name="trips", **how: FakeTable(tmp_path / name, **how)


class RowTable(FakeTable):
    """A copy-on-write table with rows: `write(instant, {key: value})` is an upsert in one file."""

    def __init__(self, base: Path, version: int = 9, **how: str):
        super().__init__(base, version=version, **how)
        self.rows: dict[str, dict[str, object]] = {}

    def write(self, instant: int, rows: Mapping[str, int], delete: Iterable[str] = ()) -> None:
        gone = set(delete)
        for key in gone:
            self.rows.pop(key)
        for key, value in rows.items():
            self.rows[key] = {
                "_hoodie_commit_time": str(instant),
                "_hoodie_record_key": key,
                "_hoodie_partition_path": "p",
                "key": key,
                "value": value,
            }
        self.commit(str(instant), [("p", "f")], deletes=len(gone))
        schema = pa.schema(
            [
                ("_hoodie_commit_time", pa.string()),
                ("_hoodie_record_key", pa.string()),
                ("_hoodie_partition_path", pa.string()),
                ("key", pa.string()),
                ("value", pa.int64()),
            ]
        )
        data = pa.Table.from_pylist(list(self.rows.values()), schema=schema)
        pq.write_table(data, self.base / "p" / f"f_1-0-1_{instant}.parquet")

    def back_to(self, instant: int, rows: Mapping[str, int], undone: Iterable[int]) -> None:
        """Undoes commits; `rows` are what the table had before them."""
        self.undo(str(instant), [str(each) for each in undone])
        self.rows = {key: self.rows[key] | {"value": value} for key, value in rows.items()}

    @property
    def state(self) -> dict[str, int]:
        return {key: row["value"] for key, row in self.rows.items()}


@pytest.fixture
def row_table(tmp_path: Path) -> RowTable:
    return RowTable(tmp_path / "source")
