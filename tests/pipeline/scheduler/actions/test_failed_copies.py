"""Copies that fail: retries, and the deletion of their files."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from metastore.errors import MetastoreDown
from pipeline.errors import SparkFailed
from pipeline.scheduler.clock import SetClock
from pipeline.scheduler.instances.states import InstanceState
from pipeline.scheduler.server import SchedulerOptions, SchedulerServer
from tests.pipeline.scheduler.actions.site import HOUR, SOURCE, Site
from tests.pipeline.scheduler.fake_actions import FEED_KEY, START, schedule


def test_a_copy_that_fails_with_sparks_jvm_keeps_its_attempts(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add(0, a="zero")
    ends = [0]
    site.actions.spark_ends = lambda patience: ends[0]
    copy_files = site.files.copy_files

    def dying(*_: Any) -> Any:
        ends[0] += 1
        monkeypatch.setattr(site.files, "copy_files", copy_files)
        raise SparkFailed("Answer from Java side is empty")

    monkeypatch.setattr(site.files, "copy_files", dying)
    site.run(0)
    (one,) = [each for each in site.store.instances(FEED_KEY) if each.key.schedule.source]
    assert (one.state, one.attempt, one.recoveries) == (InstanceState.SUCCEEDED, 1, 1)
    assert len(site.replicas()) == 1


@pytest.mark.parametrize("shared", [False, True])
def test_an_instance_waits_for_a_partition_that_was_dropped_during_its_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    site = Site(tmp_path, monkeypatch, shared)
    schedule(site.store, FEED_KEY)
    site.add(0, a="zero")
    copy_files = site.files.copy_files

    def dropping(*args: Any) -> Any:
        done = copy_files(*args)
        site.source.parts[SOURCE].clear()
        return done

    monkeypatch.setattr(site.files, "copy_files", dropping)
    site.run(0)
    monkeypatch.setattr(site.files, "copy_files", copy_files)
    assert site.states() == [InstanceState.WAITING]
    (one,) = [each for each in site.store.instances(FEED_KEY) if each.key.schedule.source]
    assert "was dropped during the copy" in one.detail
    site.add(0, a="again")
    site.run(0)
    assert site.states() == [InstanceState.SUCCEEDED]
    if not shared:
        assert site.replicas() == {"ds=2013-09-24-06/region=us": {"a": b"again"}}


def test_a_failed_registration_fails_the_instance_and_leaves_nothing(site: Site) -> None:
    """FA-R6."""
    site.add(0, a="zero")
    site.target.refusals = 10**6
    for minutes in (0, 10, 30, 70):
        clock = SetClock(START + timedelta(minutes=minutes))
        with SchedulerServer(site.store, site.actions, clock, "one", SchedulerOptions()) as service:
            service.until_idle(60)
    first = site.store.instances(FEED_KEY, START, START + HOUR)
    (replication,) = [each for each in first if each.key.schedule.source]
    assert (replication.state, replication.attempt) == (InstanceState.FAILED, 4)
    assert site.replicas() == {}
    assert not [path for path in site.files.content if path.endswith("/a") and "tgt" in path]


@pytest.mark.parametrize("exists", [False, True])
def test_files_left_by_a_copy_while_the_metastore_was_down_are_deleted_later(
    site: Site, exists: bool
) -> None:
    """FA-R6: nothing could be deleted at once, because the metastore says what is in use."""
    site.actions.limits = replace(site.actions.limits, grace=0.0)
    if exists:
        site.add(0, a="zero")
        site.run(0)
    first = int(exists)
    site.add(first, a="one")

    def down(*_: object, **__: object) -> Any:
        raise MetastoreDown("no answer")

    kept = {
        name: getattr(site.target, name)
        for name in ("get_table", "create_table", "add_partitions", "get_partition_names")
    }

    def break_target(_: str) -> None:
        for name in kept:
            setattr(site.target, name, down)

    def left() -> list[str]:
        return [path for path in site.files.content if "/tgt" in path and path.endswith("/a")]

    for minutes in (0, 10, 30, 70):
        site.files.during = break_target
        clock = SetClock(START + timedelta(hours=first, minutes=minutes))
        with SchedulerServer(site.store, site.actions, clock, "one", SchedulerOptions()) as service:
            service.until_idle(60)
        for name, method in kept.items():
            setattr(site.target, name, method)
    site.files.during = lambda _: None
    assert site.states()[first] is InstanceState.FAILED
    assert len(left()) == first + 1
    site.run(26)  # evictions are daily
    site.run(52)
    assert len(left()) == first
    assert site.replicas() == ({"ds=2013-09-24-06/region=us": {"a": b"zero"}} if exists else {})
