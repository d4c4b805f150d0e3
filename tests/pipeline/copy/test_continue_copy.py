"""Copies of Delta tables that continue the copy before: they send what it lacks, and no more."""

import contextlib
from collections.abc import Callable

import pytest

from conf.placement import Copy
from pipeline.copy.files import CopyOptions
from pipeline.copy.job_context import CopyLimits
from pipeline.copy.runs.staging import LEASE_SECONDS
from pipeline.copy.verify import verify_copies
from pipeline.errors import AnotherCopyRuns, CopyTooLarge
from tests.pipeline.copy.delta_world import LOG, PRIMARY, DeltaWorld
from tests.pipeline.copy.world import C2, GRACE, S3_STAGING, STAGING, T

STORES = pytest.mark.parametrize("staging", [STAGING, S3_STAGING])


def copied(staging: str = STAGING, files: int = 10) -> DeltaWorld:
    """A table with so many data files and its copy."""
    world = DeltaWorld(staging)
    world.insert(*(f"body {number}" for number in range(files)))
    world.copy()
    world.files.sent.clear()
    return world


def sent(world: DeltaWorld) -> list[str]:
    return sorted(each.removeprefix(f"{PRIMARY}/") for each in world.files.sent)


def commit(version: int) -> str:
    return f"_delta_log/{version:020}.json"


@STORES
def test_only_new_files_are_sent(staging: str) -> None:
    world = copied(staging)
    before = world.fresh()[""]
    world.insert("new")
    world.update()
    report = world.copy()
    assert sent(world) == [commit(2), commit(3), "part-00011", "part-00012"]
    assert (report.files_sent, report.files_kept) == (4, 12)
    assert report.bytes_sent == sum(len(world.files.content[each][0]) for each in world.files.sent)
    assert report.copied[""].files == 16
    assert world.fresh() == {"": before}
    assert world.directories() == [before]
    world.check()


@STORES
def test_the_pointer_to_a_checkpoint_is_replaced(staging: str) -> None:
    world = copied(staging)
    for _ in range(2):
        world.insert("new")
        world.checkpoint()
        world.files.sent.clear()
        world.copy()
        assert len(sent(world)) == 4
        assert f"{LOG}/_last_checkpoint" in world.files.sent
        world.check()


@STORES
def test_a_table_that_was_created_anew_is_sent_as_a_whole(staging: str) -> None:
    """The new log has files of the same names and lengths."""
    world = copied(staging)
    before = world.fresh()[""]
    world.names = 0
    world.create()
    world.insert(*(f"BODY {number}" for number in range(10)))
    world.insert("more")
    report = world.copy()
    assert (report.files_sent, report.files_kept) == (14, 0)
    assert world.fresh()[""] != before
    world.check()


def test_commits_without_ids_are_compared_with_those_before() -> None:
    """An object store has no times that would differ."""
    protocol = '{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}\n'

    def upgrade(world: DeltaWorld) -> None:
        with world.writing():
            world.commit()
            world.files.write(f"{PRIMARY}/{commit(world.version)}", protocol.encode())

    world = DeltaWorld(S3_STAGING)
    upgrade(world)
    before = world.copy().copied[""].files
    upgrade(world)
    assert world.copy().files_kept == before
    world.create()
    for _ in range(3):
        upgrade(world)
    assert world.copy().files_kept == 0
    world.check()


def replace_a_data_file(world: DeltaWorld) -> None:
    world.files.write(f"{PRIMARY}/part-00001", b"BODY 0")
    world.now_there["part-00001"] = b"BODY 0"
    world.states.append(dict(world.now_there))


def expire_commits_that_the_copy_lacks(world: DeltaWorld) -> None:
    for _ in range(3):
        world.insert("more")
    world.checkpoint()
    world.expire()
    world.insert("last")


def expire_one_commit_that_the_copy_lacks(world: DeltaWorld) -> None:
    """The log is being cleaned, and not yet to the end."""
    world.insert("more")
    world.insert("more")
    world.checkpoint()
    world.files.delete([f"{LOG}/{2:020}.json"])


def lose_the_newest_commit_of_the_copy(world: DeltaWorld) -> None:
    """An older state of the folder was put back, past the proxy, and then written."""
    world.files.delete([f"{LOG}/{1:020}.json"])
    world.now_there.clear()
    world.version = 0
    world.insert("other")


@pytest.mark.parametrize(
    "change",
    [
        replace_a_data_file,
        expire_commits_that_the_copy_lacks,
        expire_one_commit_that_the_copy_lacks,
        lose_the_newest_commit_of_the_copy,
        DeltaWorld.create,
    ],
)
def test_a_copy_that_may_differ_is_sent_as_a_whole(
    change: Callable[[DeltaWorld], None],
) -> None:
    world = copied()
    before = world.fresh()[""]
    change(world)
    world.insert("new")
    report = world.copy()
    assert report.files_kept == 0
    assert report.files_sent == len(world.files.read(PRIMARY))
    assert world.fresh()[""] != before
    world.check()


def test_a_damaged_copy_is_replaced() -> None:
    world = copied()
    before = world.fresh()[""]
    world.files.write(f"{before}/part-00001", b"half")
    world.update()
    assert world.copy().files_kept == 0
    assert world.fresh()[""] != before
    world.check()


def test_a_copy_that_is_asked_for_again_sends_all_files() -> None:
    world = copied()
    assert (world.copy(again=True).files_sent, len(sent(world))) == (12, 12)
    world.check()


def test_a_folder_that_no_copy_made_is_not_changed() -> None:
    world = copied()
    foreign = "file:///c2/elsewhere/t"
    for path in world.files.read(PRIMARY):
        world.files.content[f"{foreign}/{path}"] = world.files.content[f"{PRIMARY}/{path}"]
    world.facts.change_table(T, lambda old: old.with_copy(Copy(C2, foreign, old.version)))
    there = world.files.read(foreign)
    world.insert("new")
    assert world.copy().files_kept == 0
    assert world.files.read(foreign) == there
    world.check()


def test_a_copy_that_is_withdrawn_meanwhile_is_sent_as_a_whole() -> None:
    """A sweep may delete its folder at any time."""
    world = copied()
    before = world.fresh()[""]
    world.insert("new")

    def withdraw(path: str) -> None:
        world.files.during = lambda path: None
        world.objects.withdraw(T, C2, [""])

    world.files.during = withdraw
    world.copy()
    assert world.fresh()[""] != before
    world.check()


def test_files_that_the_source_deleted_are_deleted_after_the_grace() -> None:
    world = copied()
    world.update()
    world.vacuum()
    world.copy()
    location = world.fresh()[""]
    assert "part-00001" in world.files.read(location)
    checked = verify_copies(
        world.files, world.objects, world.objects.table(T), list(world.state().values()), C2,
        CopyOptions(),
    )  # fmt: skip
    assert checked.findings == ()
    world.sweep()
    assert "part-00001" in world.files.read(location)
    world.now += GRACE
    world.sweep()
    assert world.files.read(location) == world.files.read(PRIMARY)
    world.check()


def put_back() -> DeltaWorld:
    """Somebody put back a file that VACUUM had deleted, and restored an older version."""
    world = copied(files=2)
    body = world.now_there["part-00001"]
    world.update()
    world.vacuum()
    world.copy()
    entry = world.files.content[f"{world.fresh()['']}/part-00001"]
    world.files.content[f"{PRIMARY}/part-00001"] = entry
    with world.writing():
        world.now_there["part-00001"] = body
        world.commit({"add": {"path": "part-00001", "size": len(body)}})
    return world


def test_files_that_the_source_has_again_stay() -> None:
    """Wherever the copy that has it again is killed."""
    effect, killed = 1, True
    while killed:
        world = put_back()
        killed = world.copy_killed_at(effect)
        world.check()
        world.now += GRACE
        world.sweep()
        world.check()
        world.copy()
        world.check()
        effect += 1
    assert world.copy().fresh == 1
    assert effect > 10


def test_all_files_are_sent_where_the_store_cannot_copy() -> None:
    world = copied(S3_STAGING)
    before = world.fresh()[""]
    world.insert("new")
    world.files.cannot_move = True
    report = world.copy()
    assert report.failed == {}
    assert world.fresh()[""] != before
    world.check()


def test_only_what_is_sent_counts_for_the_bound() -> None:
    world = copied()
    world.insert("new")
    size = len("new") + len(world.files.content[f"{PRIMARY}/{commit(2)}"][0])
    world.limits = CopyLimits(most=size - 1)
    with pytest.raises(CopyTooLarge):
        world.copy()
    world.limits = CopyLimits(most=size)
    assert world.copy().bytes_sent == size


WRITTEN = 4 + 4 + 2  # data files, commits, the checkpoint and its pointer


def write_much(world: DeltaWorld) -> None:
    world.insert("new", "newer")
    world.update()
    world.checkpoint()
    world.vacuum()
    world.expire(keep=2)
    world.insert("last")


@pytest.mark.slow
@STORES
def test_a_continued_copy_may_be_killed_at_any_point(staging: str) -> None:
    """A reader sees the version before, or another one; the next run sends no file twice."""
    kills = between = 0
    for effect in range(1, 300):
        world = copied(staging, files=2)
        world.insert("newest of the copy")
        world.checkpoint()
        world.copy()
        write_much(world)
        world.files.sent.clear()
        before = world.seen(world.copies()[0].location)
        world.effects.watch = world.check
        if not world.copy_killed_at(effect):
            break
        kills += 1
        between += world.fresh() == {} and world.seen(world.copies()[0].location) != before
        swept = effect % 2 == 0
        for _ in range(2 * swept):
            world.sweep()
            world.now += GRACE
        world.copy()
        assert list(world.fresh()) == [""]
        assert len(set(sent(world))) == WRITTEN
        if staging == STAGING and not swept:
            assert len(sent(world)) == WRITTEN, effect
        world.insert("one more")
        world.copy()
        world.sweep()
        world.now += GRACE
        world.sweep()
        assert world.directories() == list(world.fresh().values()), effect
        assert world.files.read(world.fresh()[""]) == world.files.read(PRIMARY), effect
    else:
        pytest.fail("a copy has more effects")
    assert kills > 30
    assert between > 3


def overtaken(staging: str, effect: int) -> DeltaWorld | None:
    """A copy that stops at an effect. When it goes on, a later run has made a copy of a later
    version. None if the copy has fewer effects."""
    world, left = copied(staging, files=2), effect
    write_much(world)
    world.effects.watch = world.check

    def stop(name: str) -> None:
        nonlocal left
        left -= name not in ("alter_table", "altered_table")  # where another thread would wait
        if left == 0:
            world.effects.before = lambda name: None
            world.now += LEASE_SECONDS + 1
            world.insert("later")
            world.vacuum()
            world.copy()

    world.effects.before = stop
    with contextlib.suppress(AnotherCopyRuns):
        world.copy()
    return None if left > 0 else world


@pytest.mark.slow
@STORES
def test_a_run_that_only_seemed_dead_takes_nothing_away(staging: str) -> None:
    """Wherever it stops, a later run continues the same copy meanwhile."""
    effect = 1
    while (world := overtaken(staging, effect)) is not None:
        world.now += LEASE_SECONDS + 1
        world.copy()
        for _ in range(2):
            assert list(world.fresh()) == [""]
            world.check()
            world.sweep()
            world.now += GRACE
        effect += 1
    assert effect > 30
