"""Copies of feeds: which partitions are due, where they go, how fast."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from conf.names import ClusterName
from conf.placement import Copy, Placement, read_partition_placement, read_placement
from metastore.placement.placement_store import PlacementStore
from pipeline.copy.files import CopyOptions
from pipeline.copy.link_files import Links
from pipeline.copy.runs.staging import is_run
from pipeline.falcon.documents import document
from pipeline.falcon.entities.cluster import Cluster
from pipeline.falcon.entity_set import EntitySet
from pipeline.scheduler.actions import tables
from pipeline.scheduler.instances.states import InstanceState
from tests.pipeline.scheduler.actions.site import DAILY, HOUR, SOURCE, TARGET, Site
from tests.pipeline.scheduler.fake_actions import FEED_KEY, START, schedule

BCP = ClusterName("c2")


def test_each_hour_is_copied_when_it_exists(site: Site) -> None:
    site.add(0, a="zero")
    site.add(0, region="in", a="of another feed")
    site.add(2, a="two")
    site.run(2)
    assert site.states() == [
        InstanceState.SUCCEEDED,
        InstanceState.WAITING,
        InstanceState.SUCCEEDED,
    ]
    assert site.replicas() == {
        "ds=2013-09-24-06/region=us": {"a": b"zero"},
        "ds=2013-09-24-08/region=us": {"a": b"two"},
    }
    site.add(1, a="one")
    site.run(2)
    assert site.states() == [InstanceState.SUCCEEDED] * 3
    assert len(site.replicas()) == 3


def test_late_data_is_copied_again(site: Site) -> None:
    site.add(0, a="zero")
    site.run(0)
    site.files.write("file:///src/ds=2013-09-24-06/region=us/b", b"late")
    site.run(1)
    assert site.replicas()["ds=2013-09-24-06/region=us"] == {"a": b"zero", "b": b"late"}
    first = site.store.instances(FEED_KEY, START, START + HOUR)
    (replication,) = [each for each in first if each.key.schedule.source]
    assert (replication.state, replication.run, replication.late) == (
        InstanceState.SUCCEEDED,
        1,
        "clicks",
    )


def test_copies_of_a_replica_become_stale(site: Site) -> None:
    """In the target's metastore other clusters may have copies of it."""
    site.add(0, a="zero")
    site.run(0)
    facts = PlacementStore(cast(Any, site.target), BCP)
    name = "ds=2013-09-24-06/region=us"
    facts.change_partitions(TARGET, [name], lambda _, old: old.with_copy(_copy(old)))
    assert _is_fresh(site, name)
    before = read_placement(site.target.tables[TARGET].parameters, BCP)
    site.files.write("file:///src/ds=2013-09-24-06/region=us/b", b"late")
    site.run(1)
    assert site.replicas()[name] == {"a": b"zero", "b": b"late"}
    assert not _is_fresh(site, name)
    after = read_placement(site.target.tables[TARGET].parameters, BCP)
    assert not after.open
    assert after.facts != before.facts, "caches read the partition again"


@pytest.mark.parametrize("added", [False, True])
def test_copies_of_a_whole_replica_become_stale(site: Site, added: bool) -> None:
    """A copy of the table has neither a partition that is added nor one that is replaced."""
    site.add(0, a="zero")
    site.run(0)
    facts = PlacementStore(cast(Any, site.target), BCP)
    copied = facts.change_table(TARGET, lambda old: _uniform(old).with_copy(_copy(old)))
    assert copied.is_fresh(copied.copies[0])
    if added:
        site.add(1, a="one")
    else:
        site.files.write("file:///src/ds=2013-09-24-06/region=us/b", b"late")
    site.run(1)
    after = read_placement(site.target.tables[TARGET].parameters, BCP)
    assert not any(after.is_fresh(each) for each in after.copies)
    assert not after.open


def _uniform(placed: Placement) -> Placement:
    return replace(placed, exceptions=frozenset())


def _copy(placed: Placement) -> Copy:
    return Copy(ClusterName("c9"), "file:///c9/copy", placed.version)


def _is_fresh(site: Site, name: str) -> bool:
    table = read_placement(site.target.tables[TARGET].parameters, BCP)
    part = site.target.parts[TARGET][name]
    placement = read_partition_placement(part.parameters, table, name)
    (copy,) = placement.copies
    return placement.is_fresh(copy)


def test_a_free_key_selects_all_partitions_of_the_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, monkeypatch, uri=DAILY.replace("=us", "=${region}"))
    schedule(site.store, FEED_KEY)
    site.add(0, a="zero")
    site.add(0, region="in", a="other")
    site.add(1, a="one")
    site.run(1)
    both = {
        "ds=2013-09-24-06/region=us": {"a": b"zero"},
        "ds=2013-09-24-06/region=in": {"a": b"other"},
    }
    assert site.states() == [InstanceState.SUCCEEDED] * 2
    assert site.replicas() == both | {"ds=2013-09-24-07/region=us": {"a": b"one"}}
    site.add(0, region="uk", a="late")
    site.run(2)
    assert site.replicas()["ds=2013-09-24-06/region=uk"] == {"a": b"late"}
    site.run(100)
    assert site.source.parts[SOURCE] == {}
    assert len(site.replicas()) == 4


def test_one_metastore_means_secondary_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, monkeypatch, shared=True)
    schedule(site.store, FEED_KEY)
    site.add(0, a="zero")
    site.run(0)
    assert InstanceState.SUCCEEDED in site.states()
    ((name, part),) = site.source.parts[SOURCE].items()
    whole = read_placement(site.source.tables[SOURCE].parameters, ClusterName("c1"))
    placement = read_partition_placement(part.parameters, whole, name)
    copy = placement.copy_in(ClusterName("c2"))
    assert copy is not None
    assert placement.is_fresh(copy)
    assert copy.location.startswith("file:///c2/")
    assert site.files.read(copy.location) == {"a": b"zero"}
    site.run(3)  # a copy of its own making is not late data
    assert {e.run for e in site.store.instances(FEED_KEY) if e.key.schedule.source} == {0}


@pytest.mark.parametrize("shared", [False, True])
def test_copies_keep_to_the_bandwidth_of_their_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    site = Site(tmp_path, monkeypatch, shared)
    site.actions.links = Links({("c1", "c2"): 5_000, ("c2", "c1"): 7})
    bandwidths: list[int] = []
    copy_files = site.files.copy_files

    def noting(copies: Any, options: CopyOptions, progress: Any) -> Any:
        bandwidths.append(options.bandwidth)
        return copy_files(copies, options, progress)

    monkeypatch.setattr(site.files, "copy_files", noting)
    schedule(site.store, FEED_KEY)
    site.add(0, a="zero")
    site.run(0)
    assert InstanceState.SUCCEEDED in site.states()
    assert bandwidths == [5_000]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    "name", ["year=2013/month=9/day=24/hour=6", "year=2013/month=09/day=24/hour=06"]
)
@pytest.mark.parametrize("kind", ["int", "string"])
def test_dates_in_keys_that_are_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool, kind: str, name: str
) -> None:
    """Spark names the partition of September `month=9` where the key is a number."""
    if kind == "string":
        name = "year=2013/month=09/day=24/hour=06"
    keys = [(key, kind) for key in ("year", "month", "day", "hour")]
    uri = "year=${YEAR};month=${MONTH};day=${DAY};hour=${HOUR}"
    site = Site(tmp_path, monkeypatch, shared, keys, uri)
    schedule(site.store, FEED_KEY)
    site.add_partition(name, a="zero")
    site.run(0)
    assert site.states() == [InstanceState.SUCCEEDED]
    if not shared:
        target = "year=2013/month=9/day=24/hour=6" if kind == "int" else name
        assert site.replicas() == {target: {"a": b"zero"}}
    site.run(72)
    assert not site.source.parts[SOURCE] or shared


def test_a_key_that_is_a_number_cannot_have_other_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, monkeypatch, keys=[("ds", "int"), ("region", "string")])
    catalog = [document.read(each.document) for each in site.store.entities()]
    entity_set = EntitySet({each.name: each for each in catalog if isinstance(each, Cluster)}, {})
    problems = [str(p) for e in catalog for p in tables.metastore_problems(e, entity_set, "ann")]
    assert problems == [
        "19: table: ds of src.clicks on c1 is int: it cannot have ${YEAR}-${MONTH}-${DAY}-${HOUR}"
    ]


@pytest.mark.parametrize("shared", [False, True])
def test_one_run_copies_the_partitions_that_are_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    """One of them fails alone; the others are published."""
    site = Site(tmp_path, monkeypatch, shared, options=(("partitionsPerRun", "50"),))
    schedule(site.store, FEED_KEY)
    for hours in range(6):
        site.add(hours, a=str(hours))
    site.files.broken.add("file:///src/ds=2013-09-24-09/region=us/a")
    site.run(5)
    copied = [e for e in site.store.instances(FEED_KEY) if e.key.schedule.source]
    states = [each.state for each in copied]
    assert states == [
        *[InstanceState.SUCCEEDED] * 3,
        InstanceState.READY,
        *[InstanceState.SUCCEEDED] * 2,
    ]
    assert "broken" in copied[3].detail
    root = (
        "file:///c2/causeway-copies/src.db/clicks" if shared else "file:///tgt.db/clicks/_causeway"
    )
    assert len([run for run in site.files.children(root) if is_run(run)]) == 1
    if not shared:
        assert len(site.replicas()) == 5


def test_a_copy_does_not_read_earlier_copies(site: Site) -> None:
    """The number of notes that it reads stays, however many partitions were copied."""
    read: list[str] = []
    reads, lists = site.files.read_markers, site.files.children

    def read_markers(locations: Sequence[str]) -> list[str | None]:
        read.extend(locations)
        return reads(locations)

    def children(location: str) -> tuple[str, ...]:
        found = lists(location)
        read.extend(found)
        return found

    counts = []
    for hours in range(8):
        site.add(hours, a=str(hours))
        site.run(hours)
        site.files.read_markers, site.files.children = read_markers, children  # type: ignore[method-assign]
        counts.append(len(read))
        read.clear()
    assert len(site.replicas()) == 8
    assert len(set(counts[2:])) == 1
