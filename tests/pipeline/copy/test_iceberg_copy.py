"""Copies of Iceberg tables: whole, in a folder of their own, and continued there."""

from dataclasses import replace

import pytest

from conf.placement import METADATA
from pipeline.copy.files import CopyOptions
from pipeline.copy.runs.staging import LEASE_SECONDS
from pipeline.copy.verify import verify_copies
from pipeline.errors import CopyTooLarge, NotCopyable
from tests.pipeline.copy.iceberg_world import PRIMARY, IcebergWorld
from tests.pipeline.copy.world import C2, GRACE, S3_STAGING, STAGING, T
from tests.pipeline.iceberg.iceberg_files import document, entry, manifest_list


@pytest.fixture(params=[STAGING, S3_STAGING])
def world(request: pytest.FixtureRequest) -> IcebergWorld:
    made = IcebergWorld(request.param)
    made.insert("one", "two")
    made.insert("three")
    made.delete()
    return made


def test_a_copy_is_read_without_the_primary(world: IcebergWorld) -> None:
    report = world.copy()
    [copy] = world.copies()
    assert report.published == [""]
    assert world.fresh() == {"": copy.location}
    assert copy.metadata.startswith(f"{copy.location}/metadata/")
    world.check()
    before = world.states[-1]
    assert len(before) == 4
    world.files.delete([PRIMARY])
    assert world.seen(copy.location, copy.metadata) == before


def test_the_copy_has_only_what_the_table_needs(world: IcebergWorld) -> None:
    world.put_file("data", b"of a commit that failed")
    there = world.files.read(PRIMARY)
    world.copy()
    [location] = world.fresh().values()
    names = {path.rpartition("/")[2] for path in world.files.read(location)}
    assert len(names) == 3 + 1 + 3 + 4 + 1  # data, deletes, manifests, lists, the metadata file
    assert names < {path.rpartition("/")[2] for path in there}


def test_only_new_files_are_sent_and_the_folder_stays(world: IcebergWorld) -> None:
    world.copy()
    [before] = world.copies()
    world.files.sent.clear()
    world.insert("four")
    assert world.fresh() == {}
    report = world.copy()
    [after] = world.copies()
    assert after.location == before.location
    assert after.metadata != before.metadata
    assert len(world.files.sent) == 1  # one data file
    assert report.files_sent == 1 + 1 + 5 + 1  # .. a manifest, this world's lists, metadata
    world.check()


def test_files_that_no_snapshot_needs_are_swept_after_the_grace(world: IcebergWorld) -> None:
    world.copy()
    [location] = world.fresh().values()
    old = world.files.read(location)
    world.update()
    world.expire()
    world.copy()
    world.sweep()
    assert old.keys() < world.files.read(location).keys()
    world.now += GRACE
    world.sweep()
    left = world.files.read(location)
    [copy] = world.copies()
    assert world.seen(copy.location, copy.metadata) == world.states[-1]
    names = {path.rpartition("/")[2] for path in left}
    assert names == {
        path.rpartition("/")[2]
        for path in world.files.read(PRIMARY)
        if path.rpartition("/")[2] in names
    }


def test_a_commit_without_any_mark_makes_the_copy_stale(world: IcebergWorld) -> None:
    world.copy()
    old = world.metastore.tables[T].parameters[METADATA]
    data = world.files.content[old][0]
    world.name(world.put_file("metadata", data))
    assert world.fresh() == {}
    world.copy()
    assert len(world.fresh()) == 1
    world.check()


def test_a_commit_during_a_copy_is_not_missed(world: IcebergWorld) -> None:
    def strike(name: str) -> None:
        if name == "file":
            world.effects.before = lambda name: None
            world.insert("late")

    world.effects.before = strike
    world.copy()
    assert len(world.fresh()) == 1
    world.check()


def test_a_new_table_of_the_name_is_copied_anew(world: IcebergWorld) -> None:
    world.copy()
    [before] = world.fresh().values()
    world.create()
    world.insert("other")
    world.copy()
    [after] = world.fresh().values()
    assert after != before
    world.check()


def test_again_sends_all_files(world: IcebergWorld) -> None:
    world.copy()
    [before] = world.fresh().values()
    report = world.copy(again=True)
    assert world.fresh()[""] != before
    assert report.files_kept == 0
    world.check()


def test_a_file_outside_of_the_folder_is_refused(world: IcebergWorld) -> None:
    world.files.write("file:///c1/other/data/x", b"x")
    with world.writing():
        named = {**world.present(), **world.manifest(entry("file:///c1/other/data/x", 1))}
        lists = world.put_file("metadata", manifest_list(named))
        table = world.metastore.tables[T]
        path = world.put_file("metadata", document(PRIMARY, {1: lists}))
        table.parameters = {**table.parameters, METADATA: path}
    report = world.copy()
    assert isinstance(report.failed[""], NotCopyable)
    assert "names a file outside of its folder: file:///c1/other" in str(report.failed[""])
    assert world.fresh() == {}


def test_a_copy_sends_no_more_than_it_may(world: IcebergWorld) -> None:
    world.limits = replace(world.limits, most=1000)
    with pytest.raises(CopyTooLarge):
        world.copy()
    assert world.files.sent == []
    assert world.fresh() == {}


def test_a_missing_file_is_refused(world: IcebergWorld) -> None:
    path = next(p for p in world.files.read(PRIMARY) if p.startswith("data/"))
    world.files.delete([f"{PRIMARY}/{path}"])
    report = world.copy()
    assert f"lacks {path}" in str(report.failed[""])
    assert world.fresh() == {}


def test_a_copy_is_verified_by_its_own_metadata(world: IcebergWorld) -> None:
    def found() -> list[str]:
        table = world.objects.table(T)
        chosen = world.objects.objects(table, [""])
        args = (world.files, world.objects, table, chosen, C2, CopyOptions())
        return [each.difference for each in verify_copies(*args).findings]

    world.copy()
    assert found() == []
    [location] = world.fresh().values()
    paths = world.files.read(location)
    data = next(path for path, body in paths.items() if body == b"one")
    world.files.write(f"{location}/{data}", b"eno")
    assert found() == [f"differs: {data}"]
    world.files.write(f"{location}/{data}", b"longer")
    assert found() == [f"has {data} with 6 bytes, and its metadata says 3"]
    world.files.write(f"{location}/{data}", b"one")
    avro = next(path for path, body in paths.items() if body.startswith(b"Obj"))
    world.files.delete([f"{location}/{avro}"])
    assert "lacks" in found()[0]


@pytest.mark.slow
@pytest.mark.parametrize("staging", [STAGING, S3_STAGING])
def test_killed_at_any_effect_a_copy_goes_on(staging: str) -> None:
    """Both the first copy and one that continues it. A reader sees a whole state at any time."""
    for continued in (False, True):
        at, killed = 1, True
        while killed:
            world = IcebergWorld(staging)
            world.insert("one", "two")
            if continued:
                world.copy()
                world.delete()
                world.update()
            world.effects.watch = world.check
            killed = world.copy_killed_at(at)
            world.check()
            world.copy()
            assert len(world.fresh()) == 1, at
            world.check()
            world.now += LEASE_SECONDS + GRACE
            world.sweep()
            world.now += LEASE_SECONDS + GRACE
            world.sweep()
            assert world.directories() == list(world.fresh().values())
            at += 1
        assert at > 20
