"""A source and a target metastore in memory, and the replications between them."""

import contextlib
from dataclasses import replace

from conf.names import TableRef
from metastore.client.types import Partition, Table
from pipeline.copy.copy_report import CopyReport
from pipeline.copy.files import CopyOptions
from pipeline.copy.job_context import CopyLimits, JobContext
from pipeline.copy.runs.staging import LEASE_SECONDS
from pipeline.copy.runs.sweep import sweep_staging
from pipeline.replication.plan import ReplicationPlan, ReplicationRequest
from pipeline.replication.replica_catalog import ReplicaCatalog
from pipeline.replication.run import read_replication, run_replication
from tests.pipeline.copy.fakes import Effects, FakeFiles, FakeMetastore, Killed

SOURCE = TableRef("src_demo_db", "customer_raw")
TARGET = TableRef("tgt_demo_db", "customer_bcp")
BASE = "file:///tgt_demo_db.db/customer_bcp"
GRACE = 100.0


class Pair:
    """A source and a target metastore over the same file systems."""

    def __init__(self, keys: tuple[tuple[str, str], ...] = (("ds", "string"),)) -> None:
        self.now = 1_000_000.0
        self.effects = Effects()
        self.files = FakeFiles(self.effects)
        self.source, self.target = FakeMetastore(self.effects), FakeMetastore(self.effects)
        self.events: list[dict[str, object]] = []
        self.limits = CopyLimits(wait=2, attempts=3, poll=1, grace=GRACE)
        table = Table.make(
            SOURCE,
            (("a", "int"), ("b", "string")),
            location="file:///src/raw",
            partition_keys=keys,
            owner="seetharam",
            parameters={"comment": "raw", "transient_lastDdlTime": "1"},
        )
        self.source.add_table(table)
        self.files.made.add("file:///src/raw")
        self.context = JobContext(
            self.files,
            emit=lambda event: self.events.append(dict(event)),
            clock=lambda: self.now,
            sleep=self.sleep,
        )

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def add(self, *values: str, **content: str) -> None:
        table = self.source.tables[SOURCE]
        name = "/".join(f"{k}={v}" for (k, _), v in zip(table.partition_keys, values, strict=True))
        location = f"file:///src/raw/{name}"
        self.source.parts[SOURCE][name] = Partition.make(table, values, location, {"n": "1"})
        self.files.made.add(location)
        for file, body in content.items():
            self.files.write(f"{location}/{file}", body.encode())

    def request(self, day: str | None = "1", **more: object) -> ReplicationRequest:
        spec = () if day is None else (("ds", day),)
        return replace(ReplicationRequest(SOURCE, TARGET, ((spec, spec),)), **more)  # type: ignore[arg-type]

    def plan(self, request: ReplicationRequest | None = None) -> ReplicationPlan:
        request = request or self.request()
        return read_replication(request, self.source, self.target, self.files)

    def run(self, request: ReplicationRequest | None = None) -> CopyReport:
        plan = self.plan(request)
        return run_replication(
            plan, self.source, self.target, self.context, CopyOptions(), self.limits
        )

    def killed_at(self, effect: int, request: ReplicationRequest) -> bool:
        self.effects.count, self.effects.kill_at = 0, effect
        killed = True
        with contextlib.suppress(Killed):
            self.run(request)
            killed = False
        self.effects.kill_at = None
        self.now += LEASE_SECONDS + 1
        return killed

    def sweep(self) -> None:
        plan = self.plan(self.request(None))
        catalog = ReplicaCatalog(plan, self.source, self.target, self.context, self.limits)
        sweep_staging(self.files, catalog.used, plan.staging, lambda: self.now, GRACE)

    def seen(self) -> dict[str, dict[str, bytes]]:
        """What a reader of the target finds."""
        parts = self.target.parts.get(TARGET, {})
        return {name: self.files.read(each.location) for name, each in parts.items()}
