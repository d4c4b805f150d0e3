"""Directories of feeds of paths are partitions of the table that `catalog.table` names (FA-G2)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from conf.names import ClusterName, TableRef
from conf.placement import WRITE, Copy
from metastore.client.types import Table
from metastore.errors import MetastoreDown
from metastore.placement.placement_store import PlacementStore
from pipeline.copy.own_writes import partition_write
from pipeline.falcon.documents import document
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entities.feed import Feed
from pipeline.falcon.entity_set import EntitySet
from pipeline.falcon.rules import entity_rules
from pipeline.processes.commands import Programs
from pipeline.scheduler.actions import cluster_actions, tables
from pipeline.scheduler.actions.cluster_actions import ClusterActions
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.instances.instance import InstanceAction
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from pipeline.scheduler.store.store import Store
from tests.pipeline.copy.fakes import Effects, FakeFiles, FakeMetastore
from tests.pipeline.falcon.documents import CLUSTER, PROCESS
from tests.pipeline.replication.test_directories import PATHS
from tests.pipeline.scheduler.fake_actions import (
    FEED_KEY,
    HOUR,
    PROCESS_KEY,
    START,
    schedule,
    submit,
)

C2, C9 = ClusterName("c2"), ClusterName("c9")
LOGS = TableRef("web", "logs")
URI = "catalog:web:logs#ds=${YEAR}-${MONTH}-${DAY};hour=${HOUR}"
FEED = PATHS.replace(
    "<properties>", f'<properties><property name="catalog.table" value="{URI}"/>'
).replace("<availabilityFlag>_SUCCESS</availabilityFlag>", "")


class Site:
    """Two clusters with a table `web.logs` in the metastore of the second one."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, feed: str = FEED) -> None:
        self.files, self.metastore = FakeFiles(Effects()), FakeMetastore(Effects())
        keys = (("ds", "string"), ("hour", "int"))
        table = Table.make(
            LOGS,
            (("line", "string"),),
            location="hdfs://c2:8020/copy",
            partition_keys=keys,
            owner="ann",
        )
        self.metastore.add_table(table)
        monkeypatch.setattr(tables, "metastore", self.connect)
        monkeypatch.setattr(cluster_actions, "is_local", lambda uri: False)
        self.actions = ClusterActions(lambda: self.files, Programs("spark-submit"))
        self.store = Store(str(path / "l.db"))
        for name in ("c1", "c2"):
            text = CLUSTER.replace("{name}", name).replace("file:///", f"hdfs://{name}:8020")
            if name == "c1":
                text = text.replace(
                    'type="registry" endpoint="thrift://localhost:9083"',
                    'type="workflow" endpoint="x"',
                )
            submit(self.store, text)
        submit(self.store, feed)

    @contextmanager
    def connect(self, cluster: Cluster, user: str, *_: object) -> Iterator[FakeMetastore]:
        assert (cluster.name, user) == ("c2", "ann"), "c1 has no registry"
        yield self.metastore

    def add(self, hours: int, text: str) -> None:
        path = f"{START + hours * HOUR:%Y-%m-%d/%H}"
        self.files.write(f"hdfs://c1:8020/logs/{path}/all/a", text.encode())

    def run(self, hours: float) -> None:
        clock = SetClock(START + hours * HOUR)
        with SchedulerServer(self.store, self.actions, clock, "one", SchedulerOptions()) as service:
            service.until_idle(60)

    def partitions(self) -> dict[str, dict[str, bytes]]:
        parts = self.metastore.parts[LOGS]
        return {name: self.files.read(each.location) for name, each in parts.items()}

    def states(self) -> list[InstanceState]:
        found = self.store.instances(FEED_KEY)
        return [e.state for e in found if e.key.schedule.action is InstanceAction.REPLICATE]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site(tmp_path, monkeypatch)
    schedule(made.store, FEED_KEY)
    return made


def test_a_replicated_directory_becomes_a_partition(site: Site) -> None:
    site.add(0, "zero")
    site.add(1, "one")
    site.run(1)
    assert site.states() == [InstanceState.SUCCEEDED, InstanceState.SUCCEEDED]
    assert site.partitions() == {
        "ds=2013-09-24/hour=6": {"a": b"zero"},
        "ds=2013-09-24/hour=7": {"a": b"one"},
    }


def test_late_data_makes_copies_of_the_partition_stale(site: Site) -> None:
    site.add(0, "zero")
    site.run(0)
    (before,) = site.metastore.parts[LOGS].values()
    facts, copy = PlacementStore(cast(Any, site.metastore), C2), Copy(C9, "file:///c9", "0/0")
    facts.change_partitions(LOGS, [*site.partitions()], lambda _, old: old.with_copy(copy))
    _, known = facts.table(LOGS)
    left = partition_write(
        cast(Any, site.metastore), LOGS, [*site.partitions()], True, "a dead run"
    )
    left.__enter__()
    site.add(0, "late")
    site.run(1)
    (after,) = site.metastore.parts[LOGS].values()
    _, now = facts.table(LOGS)
    assert now.facts != known.facts, "caches read the partition again"
    assert not now.open
    assert site.partitions() == {"ds=2013-09-24/hour=6": {"a": b"late"}}
    assert before.parameters.get(WRITE) != after.parameters[WRITE]


@pytest.mark.parametrize("added", [False, True])
def test_copies_of_the_whole_table_become_stale(site: Site, added: bool) -> None:
    site.add(0, "zero")
    site.run(0)
    facts, copy = PlacementStore(cast(Any, site.metastore), C2), Copy(C9, "file:///c9", "0")
    facts.change_table(LOGS, lambda old: replace(old, exceptions=frozenset()).with_copy(copy))
    site.add(int(added), "one")
    site.run(1)
    assert len(site.partitions()) == 1 + added
    _, after = facts.table(LOGS)
    assert not any(after.is_fresh(each) for each in after.copies)
    assert not after.open


def test_a_registration_is_repeated_until_it_succeeds(site: Site) -> None:
    """FA-G4."""
    kept = site.metastore.add_partitions

    def down(*_: object, **__: object) -> Any:
        raise MetastoreDown("no answer")

    site.metastore.add_partitions = down  # type: ignore[method-assign]
    site.add(0, "zero")
    site.run(0)
    assert site.states() == [InstanceState.READY]
    site.metastore.add_partitions = kept  # type: ignore[method-assign]
    site.run(0.5)
    assert site.states() == [InstanceState.SUCCEEDED]
    assert site.partitions() == {"ds=2013-09-24/hour=6": {"a": b"zero"}}


def test_an_evicted_directory_is_no_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, monkeypatch, FEED.replace("days(30)", "days(2)"))
    schedule(site.store, FEED_KEY)
    site.add(0, "zero")
    site.add(40, "forty")
    site.run(40)
    assert len(site.partitions()) == 2
    site.run(73)
    assert site.partitions() == {"ds=2013-09-25/hour=22": {"a": b"forty"}}
    del site.metastore.tables[LOGS]
    site.run(121)
    assert not site.files.exists("hdfs://c2:8020/copy/2013-09-25/22"), "without the table, too"


def test_a_directory_that_a_process_makes_becomes_a_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, monkeypatch)
    submit(site.store, PROCESS.replace('name="c1"', 'name="c2"'))
    schedule(site.store, PROCESS_KEY)
    for hours in range(17, 20):
        site.files.write(f"hdfs://c2:8020/copy/{START + hours * HOUR:%Y-%m-%d/%H}/a", b"in")

    def run(*_: object) -> str:
        site.files.write("hdfs://c2:8020/copy/2013-09-25/00/out", b"out")
        return "done"

    monkeypatch.setattr(cluster_actions, "run_process", run)
    site.run(18)
    assert site.partitions() == {"ds=2013-09-25/hour=0": {"a": b"in", "out": b"out"}}


def feed_with(uri: str) -> Feed:
    found = document.read(FEED.replace(URI, uri).encode())
    assert isinstance(found, Feed)
    return found


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("web.logs", "the scheme is not catalog"),
        ("catalog:web:logs#ds=${YEAR}", "does not have the date variables"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(uri: str, reason: str) -> None:
    assert entity_rules.alone(feed_with(URI)) == ()
    [found] = entity_rules.alone(feed_with(uri))
    assert reason in found.reason


def test_the_table_must_exist(site: Site) -> None:
    clusters = {
        name: cluster
        for name in ("c1", "c2")
        if isinstance(cluster := document.read(CLUSTER.replace("{name}", name).encode()), Cluster)
    }
    entity_set = EntitySet({"c2": clusters["c2"]})
    assert list(tables.metastore_problems(feed_with(URI), entity_set, "ann")) == []
    (missing,) = tables.metastore_problems(
        feed_with(URI.replace("logs", "gone")), entity_set, "ann"
    )
    assert "table web.gone does not exist on cluster c2" in missing.reason
    (other,) = tables.metastore_problems(feed_with(URI.replace("hour", "hh")), entity_set, "ann")
    assert "hh is not a partition key" in other.reason
