"""Replicas of Hudi tables made by feeds: killed at every effect, watched by a reader all along."""

import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest

from conf.names import ClusterName
from conf.placement import Copy, Placement, read_placement, write_placement
from database.history.work import CopyRecord
from metastore.client.types import Table
from metastore.placement.placement_store import PlacementStore
from pipeline.copy.copy_catalog import ObjectCatalog
from pipeline.copy.job_context import JobContext
from pipeline.errors import NotCopyable, WriteOpen
from pipeline.hudi.hudi_targets import SharedMetastoreReplica
from pipeline.hudi.plan import snapshot
from pipeline.hudi.table.table import open_table
from tests.pipeline.copy.fakes import Killed
from tests.pipeline.hudi.feed_site import BUCKET, C1, C2, ROOT, TRIPS, Seen, Site

C9 = ClusterName("c9")


@pytest.fixture(params=[True, False], ids=["one metastore", "two"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    return Site(tmp_path, shared=request.param)


def test_new_commits_alone_are_sent(site: Site) -> None:
    site.commit("100", "1")
    done = site.replicate()
    assert done is not None
    assert done.commits == 1
    where = site.replica()
    assert where is not None
    assert where.startswith("file:///c2" if site.shared else "file:///db.db/trips/_causeway/")
    site.files.sent.clear()
    assert site.replicate() is None
    assert site.sent() == []
    site.commit("200", "2")
    done = site.replicate()
    assert done is not None
    assert (done.commits, done.files) == (1, 3)
    assert site.replica() == where
    assert site.seen(where) == ("100", "200")
    assert site.sent() == [
        ".hoodie/timeline/200_201.commit", "ds=2/.hoodie_partition_metadata",
        "ds=2/f_1-0-1_200.parquet",
    ]  # fmt: skip


def test_new_commits_are_recorded(site: Site) -> None:
    records: list[CopyRecord] = []
    site.context = replace(site.context, record=records.append)
    site.commit("100", "1")
    done = site.replicate()
    site.replicate()
    assert done is not None
    (record,) = records
    assert (record.table, record.target_table) == (str(TRIPS), str(TRIPS))
    assert (record.source, record.target) == (("c1", "c2") if site.shared else ("", ""))
    assert (record.partitions, record.bytes, record.sent) == (None, None, done.bytes)
    assert record.location.startswith("file:///")


def test_the_other_metastore_knows_the_partitions(tmp_path: Path) -> None:
    site = Site(tmp_path, shared=False)
    site.commit("100", "1")
    site.replicate()
    site.commit("200", "2")
    site.here.tables[TRIPS].storage.columns = (("a", "int"), ("b", "string"))
    site.replicate()
    table = site.there.tables[TRIPS]
    assert table.parameters["path"] == table.location
    assert table.storage.columns == (("a", "int"), ("b", "string"))
    found = {name: part.location for name, part in site.there.parts[TRIPS].items()}
    assert found == {f"ds={day}": f"{table.location}/ds={day}" for day in "12"}


def test_a_write_since_is_not_claimed(tmp_path: Path) -> None:
    site = Site(tmp_path, shared=True)
    site.commit("100", "1")
    site.replicate()
    site.commit("200", "1")
    site.wrote()
    assert site.replica() is None, "the copy is stale"
    site.replicate()
    assert site.replica() is not None
    table = site.here.tables[TRIPS]
    table.parameters = {**table.parameters, **write_placement(site.placement().opened("w"))}
    with pytest.raises(WriteOpen):
        site.replicate()


def test_a_write_during_each_attempt_publishes_nothing(tmp_path: Path) -> None:
    site = Site(tmp_path, shared=True)
    site.commit("100", "1")
    site.files.during = lambda path: site.wrote() if path.endswith(".commit") else None
    site.replicate()  # the second attempt had nothing to carry
    copy = site.copy()
    assert copy is not None
    assert copy.of == site.placement().write


def test_commits_past_causeway_are_replicated_too(tmp_path: Path) -> None:
    """A writer that knows no proxy: the copy counts as fresh all the time."""
    site = Site(tmp_path, shared=True)
    site.commit("100", "1")
    site.replicate()
    site.commit("200", "1")
    site.replicate()
    where = site.replica()
    assert where is not None
    assert site.seen(where) == ("100", "200")


def test_a_replica_with_undone_commits_is_made_again_beside(site: Site) -> None:
    site.commit("100", "1")
    site.commit("200", "1")
    site.replicate()
    old = site.replica()
    assert old is not None
    for path in (site.table.timeline / "200_201.commit", *site.table.base.glob("ds=1/*_200.*")):
        path.unlink()
    site.load()
    events: list[str] = []
    site.context = JobContext(
        site.files, emit=lambda event: events.append(str(event)), clock=lambda: site.time
    )
    site.replicate()
    new = site.replica()
    assert new is not None
    assert new != old
    assert site.seen(new) == ("100",)
    assert site.files.exists(old), "readers may be there"
    assert any("'anew'" in event and "200" in event for event in events)
    if not site.shared:
        assert {p.location for p in site.there.parts[TRIPS].values()} == {f"{new}/ds=1"}


def history(site: Site) -> list[Seen]:
    """A replica with one commit, two more at the source; what a reader may see from now on."""
    site.commit("100", "1")
    site.replicate()
    site.commit("200", "2")
    site.commit("300", "1")
    if site.shared:
        site.wrote()
    return [("100",), ("100", "200"), ("100", "200", "300")]


def effects_of(folder: Path, shared: bool, first: bool, bucket: str | None) -> int:
    site = Site(folder, shared, bucket=bucket)
    if first:
        site.commit("100", "1")
    else:
        history(site)
    before = site.effects.count
    site.replicate()
    return site.effects.count - before


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("bucket", [None, BUCKET], ids=["directory", "bucket"])
def test_killed_at_every_effect(
    tmp_path: Path, shared: bool, first: bool, bucket: str | None
) -> None:
    """No reader sees a part; the next run sends only what was not there."""
    effects = effects_of(tmp_path / "all", shared, first, bucket)
    assert effects > 15
    for kill in range(1, effects + 1):
        folder = tmp_path / str(kill)
        site = Site(folder, shared, bucket=bucket)
        allowed = [("100",)]
        if first:
            site.commit("100", "1")
        else:
            allowed = history(site)

        def watch(site: Site = site, allowed: list[Seen] = allowed) -> None:
            where = site.replica()
            if where is not None:
                seen = site.seen(where)
                assert seen in allowed
                if site.shared:
                    assert seen == allowed[-1], "a fresh copy has everything"

        site.effects.watch = watch
        site.files.sent.clear()
        site.effects.kill_at = site.effects.count + kill
        with pytest.raises(Killed):
            site.replicate()
        site.effects.kill_at = None
        watch()
        site.replicate()
        where = site.replica()
        assert where is not None
        assert site.seen(where) == allowed[-1]
        assert len(site.sent()) == len(set(site.sent())), f"killed at {kill}"
        shutil.rmtree(folder)


@pytest.mark.slow
def test_killed_at_every_effect_no_copy_of_a_replica_is_fresh_with_fewer_commits(
    tmp_path: Path,
) -> None:
    """A secondary copy of the replica, in the other metastore."""
    for kill in count(1):
        site = Site(tmp_path / str(kill), shared=False)
        allowed = history(site)
        facts = PlacementStore(cast(Any, site.there), C2)
        uniform = Placement(C2, exceptions=frozenset()).with_copy(Copy(C9, "file:///c9", "0"))
        facts.change_table(TRIPS, lambda _, uniform=uniform: uniform)  # type: ignore[misc]
        assert is_copied(site)

        def watch(site: Site = site, old: Seen = allowed[0]) -> None:
            where = site.replica()
            assert where is not None
            assert site.seen(where) == old or not is_copied(site)

        site.effects.watch = watch
        site.effects.kill_at = site.effects.count + kill
        try:
            site.replicate()
        except Killed:
            killed = True
        else:
            killed = False
        site.effects.kill_at = None
        watch()
        site.replicate()
        assert not is_copied(site)
        assert not read_placement(site.there.tables[TRIPS].parameters, C2).open
        if not killed:
            break
    assert kill > 15


def is_copied(site: Site) -> bool:
    placed = read_placement(site.there.tables[TRIPS].parameters, C2)
    return any(placed.is_fresh(each) for each in placed.copies)


def cleaned_and_archived(site: Site) -> list[set[str]]:
    """A replica until 200; one more commit, a clean and an archiving at the source. What readers
    of the replica may see from now on.
    """
    for instant in ("100", "200"):
        site.commit(instant, "1")
    site.replicate()
    site.commit("300", "1")
    site.table.clean("310", ["ds=1/f_1-0-1_100.parquet"])
    site.table.archive("100")
    site.load()
    if site.shared:
        site.wrote()
    return [{f"ds=1/f_1-0-1_{instant}.parquet"} for instant in ("200", "300")]


def read_files(site: Site, base: str) -> set[str]:
    files = snapshot(open_table(base, site.storage)).files
    for file in files:
        assert site.storage.read(file.path)
    return {file.path[len(base) + 1 :] for file in files}


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_killed_at_every_effect_while_the_source_cleans_and_archives(
    tmp_path: Path, shared: bool
) -> None:
    site = Site(tmp_path / "all", shared)
    cleaned_and_archived(site)
    before = site.effects.count
    site.replicate()
    effects = site.effects.count - before
    for kill in range(1, effects + 1):
        folder = tmp_path / str(kill)
        site = Site(folder, shared)
        allowed = cleaned_and_archived(site)

        def watch(site: Site = site, allowed: list[set[str]] = allowed) -> None:
            where = site.replica()
            assert where is None or read_files(site, where) in allowed

        site.effects.watch = watch
        site.effects.kill_at = site.effects.count + kill
        with pytest.raises(Killed):
            site.replicate()
        site.effects.kill_at = None
        site.replicate()
        where = site.replica()
        assert where is not None
        assert read_files(site, where) == allowed[-1]
        timeline = {p.rpartition("/")[2] for p in site.files.read(f"{where}/.hoodie/timeline")}
        assert not any(name.startswith("100_") for name in timeline)
        assert f"{where}/ds=1/f_1-0-1_100.parquet" not in site.files.content
        shutil.rmtree(folder)


def test_impossible_copies_are_refused(tmp_path: Path) -> None:
    site = Site(tmp_path, shared=True)
    site.commit("100", "1")
    objects = ObjectCatalog(site.here, C1)  # type: ignore[arg-type]
    with pytest.raises(NotCopyable, match="is the primary"):
        SharedMetastoreReplica.of(objects, TRIPS, C1, ROOT, 0)
    site.here.tables[TRIPS].parameters = write_placement(Placement(C1))
    with pytest.raises(NotCopyable, match="may have facts of their own"):
        site.replicate()


def test_another_owners_table_is_refused(tmp_path: Path) -> None:
    site = Site(tmp_path, shared=False)
    site.commit("100", "1")
    site.there.add_table(Table.make(TRIPS, (("a", "int"),), location="file:///theirs"))
    with pytest.raises(NotCopyable, match="no replica of"):
        site.replicate()
