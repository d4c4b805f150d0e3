"""A Hudi table in memory and the replica that a feed makes of it."""

from collections.abc import Sequence
from pathlib import Path

from conf.names import ClusterName, TableRef
from conf.placement import Copy, Placement, read_placement, write_placement
from metastore.client.types import Partition, Table
from pipeline.copy.copy_catalog import ObjectCatalog
from pipeline.copy.files import CopyOptions
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.hudi.errors import MissingPath
from pipeline.hudi.feeds import Replicator
from pipeline.hudi.hudi_targets import CrossMetastoreReplica, SharedMetastoreReplica
from pipeline.hudi.plan import snapshot
from pipeline.hudi.replicas.replicate import HudiReplicationResult
from pipeline.hudi.table.storage import FileInfo
from pipeline.hudi.table.table import open_table
from pipeline.replication.plan import ReplicationRequest
from tests.pipeline.copy.fakes import Effects, FakeFiles, FakeMetastore
from tests.pipeline.hudi.conftest import FakeTable

C1, C2 = ClusterName("c1"), ClusterName("c2")
TRIPS = TableRef("db", "trips")
BASE, ROOT, BUCKET = "file:///c1/trips", "file:///c2", "s3a://lake"
Seen = tuple[str, ...]


class MemoryStorage:
    """What `FakeFiles` holds, as timelines are read."""

    def __init__(self, files: FakeFiles) -> None:
        self.files = files

    def list(self, path: str) -> Sequence[FileInfo]:
        if not self.files.exists(path):
            raise MissingPath(path)
        if path in self.files.content:
            return [self._status(path)]
        prefix = path + "/"
        every = (*self.files.content, *self.files.made)
        names = {p[len(prefix) :].split("/")[0] for p in every if p.startswith(prefix)}
        return [self._status(prefix + name) for name in sorted(names)]

    def _status(self, path: str) -> FileInfo:
        if path not in self.files.content:
            return FileInfo(path, 0, 0, is_dir=True)
        body, time = self.files.content[path]
        return FileInfo(path, len(body), time)

    def read(self, path: str) -> bytes:
        if path not in self.files.content:
            raise MissingPath(path)
        return self.files.content[path][0]

    def names(self, path: str) -> Sequence[str]:
        return [entry.name for entry in self.list(path)]

    def exists(self, path: str) -> bool:
        return self.files.exists(path)


class Site:
    """A Hudi table in c1 and its replica for c2, in the same metastore or in another."""

    def __init__(
        self, folder: Path, shared: bool, version: int = 9, bucket: str | None = None
    ) -> None:
        self.shared, self.time, self.bucket = shared, 1000.0, bucket
        self.effects = Effects()
        self.files = FakeFiles(self.effects)
        self.storage = MemoryStorage(self.files)
        self.table = FakeTable(folder / "trips", version=version)
        self.here = FakeMetastore(self.effects)
        self.there = self.here if shared else FakeMetastore(self.effects)
        facts = write_placement(Placement(C1, exceptions=frozenset())) if shared else {}
        made = Table.make(
            TRIPS, (("a", "int"),), location=BASE, partition_keys=(("ds", "string"),),
            parameters={"path": BASE, "spark.sql.sources.provider": "hudi", **facts},
        )  # fmt: skip
        self.here.add_table(made)
        self.context = JobContext(self.files, clock=lambda: self.time, sleep=self.pass_time)

    def pass_time(self, seconds: float) -> None:
        self.time += seconds

    def commit(self, instant: str, day: str, **more: object) -> None:
        self.table.commit(instant, [(f"ds={day}", "f")], **more)  # type: ignore[arg-type]
        self.load()
        parts = self.here.parts[TRIPS]
        if f"ds={day}" not in parts:
            table = self.here.tables[TRIPS]
            parts[f"ds={day}"] = Partition.make(table, [day], f"{BASE}/ds={day}", {})

    def load(self) -> None:
        """The source's files as they are on disk now."""
        root = self.table.base
        now = {f"{BASE}/{p.relative_to(root)}": p for p in root.rglob("*") if p.is_file()}
        for path in [p for p in self.files.content if p.startswith(f"{BASE}/") and p not in now]:
            del self.files.content[path]
        for path, file in now.items():
            body = file.read_bytes() or b"-"
            if self.files.content.get(path, (None,))[0] != body:
                self.files.write(path, body)

    def wrote(self) -> None:
        """A write through Causeway ended."""
        table = self.here.tables[TRIPS]
        now = read_placement(table.parameters, C1).rewritten(f"w{self.files.tick}")
        table.parameters = {**table.parameters, **write_placement(now)}

    def replicate(self) -> HudiReplicationResult | None:
        self.time += 10_000  # a dead pull is known to be dead
        limits = CopyLimits(wait=1, poll=0.5)
        replicator = Replicator(lambda uri: self.storage, self.context, CopyOptions(), limits)
        if self.shared:
            objects = ObjectCatalog(self.here, C1)  # type: ignore[arg-type]
            return replicator.run(
                SharedMetastoreReplica.of(objects, TRIPS, C2, self.bucket or ROOT, self.time)
            )
        location = self.bucket and f"{self.bucket}/trips"
        request = ReplicationRequest(TRIPS, TRIPS, location=location)
        target = CrossMetastoreReplica.of(self.here, self.there, request, self.time)  # type: ignore[arg-type]
        done = replicator.run(target)
        target.update_metadata(changed=done is not None)
        return done

    def replica(self) -> str | None:
        """Where a reader in c2 would look, None for the source itself."""
        if not self.shared:
            return self.there.tables[TRIPS].location if TRIPS in self.there.tables else None
        copy = self.copy()
        return copy.location if copy and self.placement().is_fresh(copy) else None

    def placement(self) -> Placement:
        return read_placement(self.here.tables[TRIPS].parameters, C1)

    def copy(self) -> Copy | None:
        return self.placement().copy_in(C2)

    def seen(self, base: str) -> Seen:
        """The commits that a reader sees there; every file that it would read is whole."""
        table = open_table(base, self.storage)
        commits = table.timeline.commits
        latest = {s.group: s.path for commit in commits for s in table.commit(commit).writes}
        found = {file.path[len(base) + 1 :] for file in snapshot(table).files}
        assert found == set(latest.values())
        for path in found:
            assert self.storage.read(f"{base}/{path}") == self.storage.read(f"{BASE}/{path}")
        return tuple(commit.requested for commit in commits)

    def sent(self) -> list[str]:
        return sorted(path[len(BASE) + 1 :] for path in self.files.sent)
