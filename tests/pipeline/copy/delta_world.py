"""A table of Delta with a primary in C1 and a copy in C2, and all states that it ever had."""

import json
import uuid
from collections.abc import Mapping, Sequence

from conf.placement import Copy
from metastore.client.types import Table
from pipeline.copy.formats.delta_copy import read_state
from pipeline.delta.log_files import LogSegment, segment_of
from tests.pipeline.copy.world import C2, STAGING, T, World

PRIMARY = "file:///c1/t"
LOG = f"{PRIMARY}/_delta_log"
State = Mapping[str, bytes]
"""The data files of a version and their content."""


class DeltaWorld(World):
    def __init__(self, staging: str = STAGING) -> None:
        super().__init__(partitioned=False, staging=staging)
        table = self.metastore.tables[T]
        table.parameters = {**table.parameters, "spark.sql.sources.provider": "delta"}
        self.names = 0
        self.states: list[State] = []
        self.read_from: Table | None = None  # it has `placement`, and each change makes a new one
        self.checked: object = None  # the primary and the copy when they were last compared
        self.create()

    def create(self) -> None:
        """A new table in an empty folder, as after DROP and CREATE."""
        self.now_there: dict[str, bytes] = {}
        self.version = -1
        with self.writing():
            self.files.delete([f"{PRIMARY}/{each}" for each in self.files.read(PRIMARY)])
            self.commit({"metaData": {"id": str(uuid.uuid4()), "configuration": {}}})

    def commit(self, *actions: Mapping[str, object]) -> None:
        """Writes a commit. Commits of different tables have the same lengths."""
        self.version += 1
        lines = [{"commitInfo": {"txnId": str(uuid.uuid4())}}, *actions]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        self.files.write(f"{LOG}/{self.version:020}.json", text.encode())
        self.states.append(dict(self.now_there))

    def insert(self, *bodies: str) -> None:
        with self.writing():
            self.commit(*(self._add(body) for body in bodies))

    def update(self) -> None:
        """Replaces the oldest file."""
        with self.writing():
            old = next(iter(self.now_there), None)
            removed = [] if old is None else [{"remove": {"path": old}}]
            self.now_there.pop(old or "", None)
            self.commit(*removed, self._add("changed"))

    def _add(self, body: str) -> Mapping[str, object]:
        self.names += 1
        path = f"part-{self.names:05}"
        self.files.write(f"{PRIMARY}/{path}", body.encode())
        self.now_there[path] = body.encode()
        return {"add": {"path": path, "size": len(body)}}

    def vacuum(self) -> None:
        with self.writing():
            there = self.files.read(PRIMARY)
            old = [p for p in there if "_delta_log/" not in p and p not in self.now_there]
            self.files.delete([f"{PRIMARY}/{path}" for path in old])
            self.commit()

    def checkpoint(self) -> None:
        """Of the newest version."""
        with self.writing():
            actions = [
                {"add": {"path": path, "size": len(body)}} for path, body in self.now_there.items()
            ]
            text = "".join(json.dumps(line) + "\n" for line in actions)
            name = f"{self.version:020}.checkpoint.{uuid.uuid4()}.json"
            self.files.write(f"{LOG}/{name}", text.encode())
            pointer = json.dumps({"version": self.version, "size": 1})
            self.files.write(f"{LOG}/_last_checkpoint", pointer.encode())

    def expire(self, keep: int = 1) -> None:
        """Deletes the log before the newest checkpoints, of which `keep` stay."""
        with self.writing():
            names = sorted(self.files.read(LOG))
            checkpoints = [name for name in names if ".checkpoint." in name][-keep:]
            old = [name for name in names if checkpoints and name[:20] < checkpoints[0][:20]]
            self.files.delete([f"{LOG}/{name}" for name in old if name[0].isdigit()])

    def copies(self) -> Sequence[Copy]:
        return self.objects.table(T).placement.copies

    def seen(self, location: str) -> State:
        """What a reader of a directory sees."""
        there = self.files.read(location)
        segment = segment_of(there)
        assert isinstance(segment, LogSegment), segment
        state = read_state(_Silent(there, location), location, segment)
        lengths = {path: len(body) for path, body in there.items()}
        assert state.difference(lengths) == "", location
        return {path: there[path] for path in state.files}

    def check(self) -> None:
        """A fresh copy has all files of the primary. Each copy, also a stale one, is a state that
        the primary had."""
        if self.read_from is not self.metastore.tables[T]:
            self.read_from = self.metastore.tables[T]
            self.placement = self.objects.table(T).placement
        placement = self.placement
        for copy in placement.copies:
            assert copy.cluster == C2
            source = self.files.read(PRIMARY) if placement.is_fresh(copy) else {}
            found = self.files.read(copy.location)
            if self.checked == (checking := (source, found)):
                continue
            assert self.seen(copy.location) in self.states, copy.location
            if source:
                assert {path: found.get(path) for path in source} == source
                assert self.seen(copy.location) == self.now_there
            self.checked = checking


class _Silent:
    """Reads files without effects."""

    def __init__(self, there: Mapping[str, bytes], location: str) -> None:
        self.there = {f"{location}/{path}": body for path, body in there.items()}

    def read_file(self, location: str) -> bytes | None:
        return self.there.get(location)

    def read_markers(self, locations: Sequence[str]) -> list[str | None]:
        found = [self.there.get(each) for each in locations]
        return [None if each is None else each.decode() for each in found]
