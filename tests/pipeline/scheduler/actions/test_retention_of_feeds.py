"""Retention of feeds: partitions that are evicted or kept, and the entries of the log."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from conf.names import ClusterName
from metastore.placement.placement_store import PlacementStore
from pipeline.scheduler.actions import tables
from tests.pipeline.scheduler.actions.site import SOURCE, Site
from tests.pipeline.scheduler.fake_actions import FEED_KEY, schedule


@pytest.mark.slow
def test_old_partitions_are_dropped_at_the_source_and_kept_at_the_target(site: Site) -> None:
    """FA-V4: days(2) at c1, days(30) at c2; FA-V5: region=in is not the feed's."""
    for hours in (0, 1, 49):
        site.add(hours, a=str(hours))
    site.add(0, region="in", a="stays")
    site.run(1)
    site.run(49)
    site.run(72)
    left = set(site.source.parts[SOURCE])
    assert left == {"ds=2013-09-24-06/region=in", "ds=2013-09-26-07/region=us"}
    assert not site.files.exists("file:///src/ds=2013-09-24-06/region=us")
    assert site.files.exists("file:///src/ds=2013-09-24-06/region=in")
    assert len(site.replicas()) == 3


@pytest.mark.slow
def test_partitions_that_are_not_copied_yet_are_not_evicted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, monkeypatch)
    schedule(site.store, FEED_KEY)
    site.add(0, a="zero")
    monkeypatch.setattr(tables, "read_fingerprints", lambda needs, *_: dict.fromkeys(needs))
    site.run(72)
    assert "ds=2013-09-24-06/region=us" in site.source.parts[SOURCE]
    logged = [each for each in site.store.log(FEED_KEY) if each.what == "log"]
    (log,) = [each for each in logged if "1 still needed" in each.message]
    assert log.instance.schedule.cluster == "c1"


@pytest.mark.slow
def test_the_log_of_an_eviction_names_every_partition_in_few_entries(site: Site) -> None:
    for hours in range(45):
        site.add(hours, a=str(hours))
    site.run(44)
    names = sorted(site.source.parts[SOURCE])
    site.run(100)
    assert site.source.parts[SOURCE] == {}
    messages = [each.message for each in site.store.log(FEED_KEY)]
    entries = [each for each in messages if each.startswith("event=evict")]
    assert len(entries) == 3
    lines = "\n".join(entries).splitlines()
    assert [line.split("object=")[1].split(" ")[0] for line in lines] == names


@pytest.mark.parametrize("shared", [False, True])
def test_retention_deletes_replaced_versions_without_a_further_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    site = Site(tmp_path, monkeypatch, shared)
    site.actions.limits = replace(site.actions.limits, grace=0.0)
    schedule(site.store, FEED_KEY)
    site.add(0, a="zero")
    site.run(0)
    name = "ds=2013-09-24-06/region=us"
    facts = PlacementStore(cast(Any, site.source), ClusterName("c1"))
    facts.open_write(SOURCE, "w", [name], 0, "late data")
    site.files.write(f"file:///src/{name}/b", b"late")
    facts.close_write(SOURCE, "w", [name])
    site.run(1)

    def versions() -> int:
        return sum(
            "/c2/" in path or "/tgt" in path for path in site.files.content if path[-2:] == "/a"
        )

    assert versions() == 2
    site.run(30)  # of an eviction a day
    assert versions() == 1
