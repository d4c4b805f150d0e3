"""Tables of a metastore in memory whose files are Spark's: plain, Delta and Iceberg."""

import json
from dataclasses import dataclass

from conf.names import ClusterName, TableRef
from metastore.client.types import Partition, Table
from metastore.placement.placement_store import PlacementStore
from pipeline.copy.copy_catalog import ObjectCatalog
from pipeline.copy.copy_report import CopyReport
from pipeline.copy.files import CopyOptions
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.copy.plan import plan_copy
from pipeline.copy.run import run_copy
from pipeline.copy.runs.staging import staging_of
from pipeline.copy.verify import verify_copies
from pipeline.replication.plan import ReplicationRequest
from pipeline.replication.run import read_replication, run_replication
from pipeline.spark.spark_files import SparkFiles
from tests.pipeline.copy.fakes import Effects, FakeMetastore
from tests.pipeline.iceberg.iceberg_files import document, entry, manifest, manifest_list

C1, C2 = ClusterName("c1"), ClusterName("c2")
T, REPLICA = TableRef("db", "t"), TableRef("db", "replica")
DATA = {"ds=1": {"a": b"one" * 500, "deep/b": b""}, "ds=2": {"c d": b"two"}}


@dataclass
class Desk:
    """One metastore (a fake), a table of two partitions below `root`, and Spark's files."""

    root: str
    files: SparkFiles

    def __post_init__(self) -> None:
        self.metastore = FakeMetastore(Effects())
        self.objects = ObjectCatalog(self.metastore, C1)
        keys = (("ds", "string"),)
        table = Table.make(T, (("a", "int"),), location=f"{self.root}/t", partition_keys=keys)
        self.metastore.add_table(table)
        for name, content in DATA.items():
            location = f"{self.root}/t/{name}"
            partition = Partition.make(table, (name.rpartition("=")[2],), location, {})
            self.metastore.parts[T][name] = partition
            for path, body in content.items():
                self.files.write_marker(f"{location}/{path}", body.decode())

    @property
    def context(self) -> JobContext:
        return JobContext(self.files)

    def read(self, location: str) -> dict[str, bytes]:
        [listing] = self.files.listings([location])
        assert listing is not None
        texts = self.files.read_markers([f"{location}/{each.path}" for each in listing.files])
        found = zip(listing.files, texts, strict=True)
        return {each.path: (text or "").encode() for each, text in found}

    def copy(self, root: str) -> CopyReport:
        table = self.objects.table(T)
        found = self.objects.objects(table, self.objects.names(table))
        plan = plan_copy(table, found, C2, staging_of(root, T))
        return run_copy(plan, self.objects, self.context, CopyOptions(), CopyLimits())

    def verified(self) -> str:
        """Where the table's only copy is, which is fresh and has been compared with the table."""
        table = self.objects.table(T)
        [copy] = table.placement.copies
        assert table.placement.is_fresh(copy)
        [there] = self.objects.objects(table, [""])
        checked = verify_copies(self.files, self.objects, table, [there], C2, CopyOptions())
        assert (checked.compared, checked.findings) == (1, ())
        return copy.location

    def replicate(self, location: str) -> CopyReport:
        request = ReplicationRequest(T, REPLICA, location=location)
        plan = read_replication(request, self.metastore, self.metastore, self.files)
        return run_replication(
            plan, self.metastore, self.metastore, self.context, CopyOptions(), CopyLimits()
        )


class DeltaDesk(Desk):
    """The table is one of Delta, and has a commit and a data file."""

    def __post_init__(self) -> None:
        self.metastore = FakeMetastore(Effects())
        self.objects = ObjectCatalog(self.metastore, C1)
        self.facts = PlacementStore(self.metastore, C1)
        parameters = {"spark.sql.sources.provider": "delta"}
        table = Table.make(T, (("a", "int"),), location=f"{self.root}/t", parameters=parameters)
        self.metastore.add_table(table)
        self.commit(0)

    def commit(self, version: int) -> None:
        self.facts.open_write(T, "w", None, 0, "test")
        self.files.write_marker(f"{self.root}/t/p=1/part-{version}", "data")
        add = json.dumps({"add": {"path": f"p=1/part-{version}", "size": 4}})
        self.files.write_marker(f"{self.root}/t/_delta_log/{version:020}.json", add)
        pointer = f"{self.root}/t/_delta_log/_last_checkpoint"
        self.files.write_marker(pointer, json.dumps({"version": version}))
        self.facts.close_write(T, "w", None)

    def check_continued_copies(self, root: str) -> None:
        """Each copy sends a data file, a commit and the pointer to a checkpoint."""
        locations = set()
        for version in range(1, 5):
            report = self.copy(root)
            assert (report.files_sent, report.files_kept) == (3, 2 * (version - 1))
            location = self.verified()
            assert self.read(location) == self.read(f"{self.root}/t")
            locations.add(location)
            self.commit(version)
        assert len(locations) == 1


class IcebergDesk(Desk):
    """The table is one of Iceberg. Each commit adds a data file and its manifest."""

    def __post_init__(self) -> None:
        self.metastore = FakeMetastore(Effects())
        self.objects = ObjectCatalog(self.metastore, C1)
        self.home = f"{self.root}/t"
        self.metastore.add_table(Table.make(T, (("a", "int"),), location=self.home))
        self.manifests: dict[str, int] = {}
        self.commit(0)

    def put(self, path: str, data: bytes) -> str:
        self.files.write_file(f"{self.home}/{path}", data)
        return f"{self.home}/{path}"

    def commit(self, version: int) -> None:
        data = self.put(f"data/p=a b/{version}", b"data")
        body = manifest(entry(data, 4))
        self.manifests[self.put(f"metadata/m{version}", body)] = len(body)
        named = self.put(f"metadata/snap{version}", manifest_list(self.manifests))
        metadata = self.put(f"metadata/{version}.json", document(self.home, {version: named}))
        table = self.metastore.get_table(T)
        named_in = {"table_type": "ICEBERG", "metadata_location": metadata}
        table.parameters = {**table.parameters, **named_in}
        self.metastore.alter_table(T, table)

    def check_continued_copies(self, root: str) -> None:
        """Each copy sends a data file, a manifest, the list, and the metadata file."""
        locations = set()
        for version in range(1, 4):
            report = self.copy(root)
            assert (report.files_sent, report.files_kept) == (4, 2 * (version - 1))
            locations.add(self.verified())
            self.commit(version)
        assert len(locations) == 1
