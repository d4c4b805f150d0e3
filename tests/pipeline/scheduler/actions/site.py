"""Two clusters with a feed that is copied and evicted, over metastores and files in memory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from conf.names import TableRef, parse_partition_name
from metastore.client.changes.notifying_client import Notify
from metastore.client.types import Partition, Table
from pipeline.copy.job_context import CopyLimits
from pipeline.falcon.entities.cluster import Cluster
from pipeline.processes.commands import Programs
from pipeline.scheduler.actions import cluster_actions, tables
from pipeline.scheduler.actions.cluster_actions import ClusterActions
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.pipeline.copy.fakes import Effects, FakeFiles, FakeMetastore
from tests.pipeline.falcon.documents import CLUSTER, DAILY, FEED, WHOLE
from tests.pipeline.scheduler.fake_actions import FEED_KEY, START, submit

SOURCE, TARGET = TableRef("src", "clicks"), TableRef("tgt", "clicks")
HOUR = timedelta(hours=1)
NOON = START + 30 * HOUR


class Site:
    """Two clusters, by their registries, over one file system; a store with the feed."""

    def __init__(
        self,
        path: Path,
        monkeypatch: pytest.MonkeyPatch,
        shared: bool = False,
        keys: Sequence[tuple[str, str]] = (("ds", "string"), ("region", "string")),
        uri: str = DAILY,
        options: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.effects = Effects()
        self.files = FakeFiles(self.effects)
        c1, c2 = FakeMetastore(self.effects), FakeMetastore(self.effects)
        self.by_registry = {"thrift://c1:1": c1, "thrift://c2:1": c1 if shared else c2}
        self.source, self.target = c1, c1 if shared else c2
        self.owner = "ann"
        table = Table.make(
            SOURCE, (("a", "int"),), location="file:///src", partition_keys=keys, owner="ann"
        )
        c1.add_table(table)
        self.files.made.add("file:///src")
        monkeypatch.setattr(tables, "metastore", self.metastore)
        monkeypatch.setattr(cluster_actions.tables, "metastore", self.metastore)
        monkeypatch.setattr(cluster_actions, "is_local", lambda uri: False)
        self.actions = ClusterActions(
            lambda: self.files, Programs("spark-submit"), limits=CopyLimits(wait=1, poll=0.01)
        )
        self.store = Store(str(path / "l.db"))
        for name in ("c1", "c2"):
            text = CLUSTER.replace("{name}", name).replace("localhost:9083", f"{name}:1")
            if shared:
                text = text.replace("c2:1", "c1:1")
            submit(
                self.store,
                text.replace('write" endpoint="file:///', f'write" endpoint="file:///{name}'),
            )
        feed = WHOLE if uri == "*" else FEED
        feed = feed.replace("catalog:tgt:clicks", "catalog:src:clicks") if shared else feed
        properties = "".join(f'<property name="{n}" value="{v}"/>' for n, v in options)
        feed = feed.replace("<properties>", f"<properties>{properties}")
        submit(self.store, feed.replace(DAILY, uri))

    @contextmanager
    def metastore(
        self,
        cluster: Cluster,
        user: str,
        timeout: float = 1,
        notify: Notify | None = None,
        *_: object,
    ) -> Iterator[FakeMetastore]:
        assert user == self.owner
        assert notify in (None, self.actions.notify)  # none where nothing is changed
        yield self.by_registry[cluster.endpoint("registry") or ""]

    def add(self, hours: int, region: str = "us", **content: str) -> None:
        ds = f"{START + hours * HOUR:%Y-%m-%d-%H}"
        self.add_partition(f"ds={ds}/region={region}", **content)

    def add_partition(self, name: str, **content: str) -> None:
        location = f"file:///src/{name}"
        values = [value for _, value in parse_partition_name(name)]
        made = Partition.make(self.source.tables[SOURCE], values, location, {})
        self.source.parts[SOURCE][name] = made
        self.files.made.add(location)
        for file, body in content.items():
            self.files.write(f"{location}/{file}", body.encode())

    def run(self, hours: int) -> None:
        clock = SetClock(START + hours * HOUR)
        with SchedulerServer(self.store, self.actions, clock, "one", SchedulerOptions()) as service:
            service.until_idle(60)

    def states(self, action: InstanceAction = InstanceAction.REPLICATE) -> list[InstanceState]:
        found = self.store.instances(FEED_KEY)
        return [each.state for each in found if each.key.schedule.action is action]

    def replicas(self) -> dict[str, dict[str, bytes]]:
        parts = self.target.parts.get(TARGET, {})
        return {name: self.files.read(part.location) for name, part in parts.items()}
