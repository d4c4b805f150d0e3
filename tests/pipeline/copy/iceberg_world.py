"""A table of Iceberg with a primary in C1 and a copy in C2, and all states that it ever had.

`seen` reads metadata as a reader of Iceberg does, without the code that is tested.
"""

import io
import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow.parquet

from conf.placement import Copy
from metastore.client.types import Table
from tests.pipeline.copy.world import C2, STAGING, T, World
from tests.pipeline.iceberg.iceberg_files import (
    document,
    entry,
    manifest,
    manifest_list,
    position_deletes,
    records,
)

PRIMARY = "file:///c1/t"
State = Mapping[int, frozenset[tuple[str, bytes, frozenset[int]]]]
"""Of each snapshot the data files, their content and the numbers of their deleted rows."""


class IcebergWorld(World):
    def __init__(self, staging: str = STAGING) -> None:
        super().__init__(partitioned=False, staging=staging)
        self.states: list[State] = []
        self.read_from: Table | None = None  # each change makes a new one
        self.checked: object = None
        self.create()

    def create(self) -> None:
        """A new table in an empty folder, as after DROP and CREATE."""
        self.uuid = str(uuid.uuid4())
        self.snapshots: dict[int, dict[str, int]] = {}  # to the manifests of each
        with self.writing():
            self.files.delete([f"{PRIMARY}/{each}" for each in self.files.read(PRIMARY)])
            self.commit({})

    def put_file(self, folder: str, data: bytes) -> str:
        path = f"{PRIMARY}/{folder}/{uuid.uuid4()}"
        self.files.write(path, data)
        return path

    def commit(self, manifests: Mapping[str, int], *, keep: int = 100) -> None:
        """A snapshot with these manifests, and the metastore names its metadata file."""
        new = max(self.snapshots, default=0) + 1
        self.snapshots = dict([*self.snapshots.items(), (new, dict(manifests))][-keep:])
        self.lists = {
            number: self.put_file("metadata", manifest_list(each))
            for number, each in self.snapshots.items()
        }
        data = document(PRIMARY, self.lists, **{"table-uuid": self.uuid})
        self.name(self.put_file("metadata", data))

    def name(self, metadata: str) -> None:
        """As a program without the guard that commits in the metastore itself."""
        table = self.metastore.tables[T]
        parameters = {**table.parameters, "table_type": "ICEBERG", "metadata_location": metadata}
        table = Table(table.struct)
        table.parameters = parameters
        self.metastore.tables[T] = table
        self.states.append(self.seen(PRIMARY, metadata))

    def present(self) -> dict[str, int]:
        return dict(self.snapshots[max(self.snapshots)])

    def insert(self, *bodies: str) -> None:
        with self.writing():
            paths = [self.put_file("data", body.encode()) for body in bodies]
            sizes = zip(paths, bodies, strict=True)
            self.commit({**self.present(), **self.manifest(*(entry(p, len(b)) for p, b in sizes))})

    def manifest(self, *entries: Any) -> dict[str, int]:
        data = manifest(*entries)
        return {self.put_file("metadata", data): len(data)}

    def live(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The manifests and their present entries of data files."""
        for path in self.present():
            for each in records(self.files.content[path][0]):
                if each["status"] != 2 and each["data_file"]["content"] == 0:
                    yield path, each

    def update(self) -> None:
        """Copy on write: replaces the oldest file."""
        with self.writing():
            now = self.present()
            old, one = next(self.live(), ("", {}))
            new = self.put_file("data", b"changed")
            others = [each for path, each in self.live() if path == old][1:]
            now.pop(old, None)
            changed = [{**each, "status": 0} for each in others]
            gone = [{**one, "status": 2}] if one else []
            self.commit({**now, **self.manifest(*gone, *changed, entry(new, len(b"changed")))})

    def delete(self) -> None:
        """Merge on read: deletes a row of the oldest file."""
        with self.writing():
            _, one = next(self.live(), ("", {}))
            if one:
                of = one["data_file"]["file_path"]
                data = position_deletes((of, 1))
                path = self.put_file("data", data)
                named = self.manifest(entry(path, len(data), content=1, of=of))
                self.commit({**self.present(), **named})

    def expire(self) -> None:
        """Only the newest snapshot stays; then the files that it does not need are deleted."""
        with self.writing():
            self.commit(self.present(), keep=1)
            table = self.metastore.tables[T]
            needed = {*self.lists.values(), table.parameters["metadata_location"]}
            for path in self.present():
                entries = records(self.files.content[path][0])
                live = (each["data_file"] for each in entries if each["status"] != 2)
                needed |= {path, *(each["file_path"] for each in live)}
            there = (f"{PRIMARY}/{each}" for each in self.files.read(PRIMARY))
            self.files.delete([each for each in there if each not in needed])

    def copies(self) -> tuple[Copy, ...]:
        return self.objects.table(T).placement.copies

    def seen(self, folder: str, metadata: str) -> State:
        """What a reader sees that begins with this metadata file: all of it is in the folder, with
        the lengths that are named."""

        def read(path: str, length: int | None = None) -> bytes:
            assert path.startswith(f"{folder}/"), path
            data = self.files.content[path][0]
            assert length in (None, len(data)), path
            return data

        found: dict[int, frozenset[tuple[str, bytes, frozenset[int]]]] = {}
        for each in json.loads(read(metadata))["snapshots"]:
            files: dict[str, bytes] = {}
            deleted: dict[str, set[int]] = {}
            for named in records(read(each["manifest-list"])):
                for one in records(read(named["manifest_path"], named["manifest_length"])):
                    file = one["data_file"]
                    if one["status"] == 2:
                        continue
                    data = read(file["file_path"], file["file_size_in_bytes"])
                    if file["content"] == 0:
                        files[file["file_path"]] = data
                        continue
                    for row in pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist():
                        bounds = [b["value"].decode() for b in file["lower_bounds"]]
                        assert bounds == [row["file_path"]] == [file["referenced_data_file"]]
                        deleted.setdefault(row["file_path"], set()).add(row["pos"])
            found[each["snapshot-id"]] = frozenset(
                (path.removeprefix(folder), data, frozenset(deleted.get(path, ())))
                for path, data in files.items()
            )
        return found

    def check(self) -> None:
        """Each copy, also a stale one, is a state that the primary had; a fresh one is the present
        one."""
        table = self.metastore.tables[T]
        placement = self.objects.table(T).placement
        for copy in placement.copies:
            assert copy.cluster == C2
            fresh = placement.is_fresh(copy)
            if self.checked == (checking := (fresh, table, self.files.read(copy.location))):
                continue
            state = self.seen(copy.location, copy.metadata)
            assert state in self.states, copy.location
            if fresh:
                assert state == self.seen(PRIMARY, table.parameters["metadata_location"])
            self.checked = checking
