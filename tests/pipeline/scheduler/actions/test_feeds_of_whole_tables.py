"""Feeds of tables without partitions."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from conf.names import ClusterName
from conf.placement import Copy, read_placement
from metastore.client.types import Table
from metastore.placement.placement_store import PlacementStore
from pipeline.falcon.documents import document
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entity_set import EntitySet
from pipeline.scheduler.actions import tables
from pipeline.scheduler.instances.states import InstanceState
from tests.pipeline.falcon.documents import DAILY
from tests.pipeline.scheduler.actions.site import HOUR, SOURCE, TARGET, Site
from tests.pipeline.scheduler.fake_actions import FEED_KEY, START, schedule

C1, C2 = ClusterName("c1"), ClusterName("c2")
ICEBERG = {"table_type": "ICEBERG", "metadata_location": "file:///src/metadata/1.json"}
DELTA = {"spark.sql.sources.provider": "delta"}
HUDI = {"spark.sql.sources.provider": "hudi"}


class WholeSite(Site):
    """A feed of a table without partitions."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
        super().__init__(path, monkeypatch, shared, keys=(), uri="*")
        self.actions.limits = replace(self.actions.limits, grace=0.0)
        self.shared = shared
        schedule(self.store, FEED_KEY)

    def write(self, content: str) -> None:
        facts = PlacementStore(cast(Any, self.source), C1)
        facts.open_write(SOURCE, "w", None, 0, "a write")
        self.files.write("file:///src/a", content.encode())
        facts.close_write(SOURCE, "w", None)

    @property
    def copied(self) -> dict[str, bytes]:
        """The files that readers of the second cluster have; none if they have no fresh copy."""
        if not self.shared:
            found = self.target.tables.get(TARGET)
            return self.files.read(found.location) if found else {}
        placement = read_placement(self.source.tables[SOURCE].parameters, C1)
        copy = placement.copy_in(C2)
        return self.files.read(copy.location) if copy and placement.is_fresh(copy) else {}

    @property
    def versions(self) -> int:
        return sum(
            "/c2/" in path or "/tgt" in path for path in self.files.content if path[-2:] == "/a"
        )


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_each_instance_copies_the_table_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    site = WholeSite(tmp_path, monkeypatch, shared)
    site.write("one")
    site.run(0)
    assert site.copied == {"a": b"one"}
    site.write("two")
    if shared:
        assert site.copied == {}, "no reader has an old copy of a shared table"
    site.run(2)
    assert site.copied == {"a": b"two"}
    assert site.states() == [
        InstanceState.SUCCEEDED,
        InstanceState.SKIPPED,
        InstanceState.SUCCEEDED,
    ]
    site.run(3)
    details = [each.detail for each in site.store.instances(FEED_KEY, START + 3 * HOUR)]
    assert details == [f"{SOURCE if shared else TARGET} was up to date"]


def test_copies_of_a_replica_become_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = WholeSite(tmp_path, monkeypatch, shared=False)
    site.write("one")
    site.run(0)
    facts = PlacementStore(cast(Any, site.target), C2)
    copy = Copy(ClusterName("c9"), "file:///c9/copy", "0")
    placed = facts.change_table(TARGET, lambda old: old.with_copy(copy))
    assert placed.is_fresh(placed.copies[0])
    site.write("two")
    site.run(1)
    assert site.copied == {"a": b"two"}
    _, after = facts.table(TARGET)
    assert not after.is_fresh(after.copies[0])
    assert not after.open


@pytest.mark.parametrize("shared", [False, True])
def test_replaced_versions_are_deleted_without_an_eviction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    site = WholeSite(tmp_path, monkeypatch, shared)
    for hours in range(5):
        site.write(str(hours))
        site.run(hours)
    assert site.copied == {"a": b"4"}
    assert site.versions == 1


def test_an_instance_waits_for_a_missing_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = WholeSite(tmp_path, monkeypatch, shared=True)
    table = site.source.tables.pop(SOURCE)
    site.run(0)
    assert site.states() == [InstanceState.WAITING]
    site.source.tables[SOURCE] = table
    site.write("one")
    site.run(0)
    assert site.copied == {"a": b"one"}


def test_a_table_that_has_partitions_now_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = WholeSite(tmp_path, monkeypatch, shared=True)
    site.source.tables[SOURCE] = _table((("ds", "string"),))
    site.add_partition("ds=1", a="one")
    site.run(0)
    (one,) = site.store.instances(FEED_KEY)
    assert (one.state, one.attempt) == (InstanceState.FAILED, 1)
    assert "src.clicks is partitioned by ds" in one.detail
    assert not any("/c2/" in path for path in site.files.content)


def _table(keys: tuple[tuple[str, str], ...], **parameters: str) -> Table:
    table = Table.make(SOURCE, (("a", "int"),), location="file:///src", partition_keys=keys)
    table.parameters = parameters
    return table


DATED = (("ds", "string"), ("region", "string"))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    ("uri", "keys", "parameters", "reason"),
    [
        ("*", DATED, {}, "src.clicks is partitioned by ds, region: the table's URI has to name"),
        ("*", (), HUDI, "src.clicks is an unpartitioned table of Hudi"),
        (DAILY, (), {}, "has no partition keys in the metastore: catalog:src:clicks#* is the"),
        (DAILY, (), DELTA, "src.clicks is a table of Delta and has no partition keys"),
        (DAILY, (), ICEBERG, "src.clicks is a table of Iceberg and has no partition keys"),
    ],
)
def test_partitions_and_whole_tables_are_told_apart_at_submit(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shared: bool,
    uri: str,
    keys: tuple[tuple[str, str], ...],
    parameters: dict[str, str],
    reason: str,
) -> None:
    site = Site(tmp_path, monkeypatch, shared, uri=uri)
    site.source.tables[SOURCE] = _table(keys, **parameters)
    assert any(reason in each for each in _problems(site)), _problems(site)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("parameters", [{}, DELTA, ICEBERG])
def test_whole_tables_are_accepted_at_submit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool, parameters: dict[str, str]
) -> None:
    site = Site(tmp_path, monkeypatch, shared, uri="*")
    site.source.tables[SOURCE] = _table((), **parameters)
    replicated = parameters is ICEBERG and not shared
    assert [each for each in _problems(site) if "names the files of the primary" not in each] == []
    assert bool(_problems(site)) is replicated


def test_an_iceberg_table_is_not_replicated_to_another_table_of_its_metastore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other table would have the metadata of this one."""
    site = Site(tmp_path, monkeypatch, uri="*")
    site.by_registry["thrift://c2:1"] = site.source
    site.source.tables[SOURCE] = _table((), **ICEBERG)
    catalog = {each.key: document.read(each.document) for each in site.store.entities()}
    one = {
        each.name: replace(each, interfaces=first.interfaces)
        for each in catalog.values()
        if isinstance(each, Cluster)
        for first in catalog.values()
        if isinstance(first, Cluster) and first.name == "c1"
    }
    (problem,) = tables.metastore_problems(catalog[FEED_KEY], EntitySet(one, {}), "ann")
    assert "its metadata names the files of the primary" in problem.reason


def _problems(site: Site) -> list[str]:
    catalog = [document.read(each.document) for each in site.store.entities()]
    entity_set = EntitySet.of(catalog)
    return [
        str(problem)
        for each in catalog
        for problem in tables.metastore_problems(each, entity_set, "ann")
    ]
