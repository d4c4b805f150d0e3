"""A copy into an object store continues what interrupted runs have sent."""

from collections import Counter

import pytest

from pipeline.copy import sent_files
from tests.pipeline.copy.world import S3_STAGING, World

FILES = 8  # of the table
_EFFECTS = 200  # more than a copy has


@pytest.fixture(autouse=True)
def batch_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_files, "_MOST_FILES", 1)


def world() -> World:
    made = World(staging=S3_STAGING)
    for day in ("1", "2"):
        made.add(day, a="1", b="22", c="333", deep="4444")
    return made


def test_a_run_that_was_killed_anywhere_is_continued() -> None:
    """No file is sent twice but the one that no record had yet."""
    resumed = 0
    for effect in range(1, _EFFECTS):
        there = world()
        if not there.copy_killed_at(effect):
            break
        before = len(there.files.sent)
        there.check()
        report = there.copy()
        assert not report.failed
        assert sorted(there.fresh()) == ["ds=1", "ds=2"]
        there.check()
        sent = Counter(there.files.sent)
        assert len(sent) == FILES
        assert sum(sent.values()) - FILES <= 1, effect
        resumed += report.files_kept > 0
        assert report.files_sent == sum(sent.values()) - before
    else:
        pytest.fail("a copy has more effects")
    assert resumed >= FILES - 1


def test_a_run_that_continues_may_be_killed_too() -> None:
    for effect in range(1, _EFFECTS):
        there = world()
        assert there.copy_killed_at(36)
        assert FILES > len(there.files.sent) > 4
        killed = there.copy_killed_at(effect)
        there.check()
        there.copy()
        assert sorted(there.fresh()) == ["ds=1", "ds=2"]
        there.check()
        # One file for each kill, whose record was not written.
        assert len(there.files.sent) - FILES <= 2, effect
        if not killed:
            break
    else:
        pytest.fail("a copy has more effects")


def test_a_file_that_changed_meanwhile_is_sent_again() -> None:
    there = world()
    there.files.broken = {"file:///c1/t/ds=1/deep", "file:///c1/t/ds=2/deep"}
    assert sorted(there.copy().failed) == ["ds=1", "ds=2"]
    there.files.broken = set()
    there.files.sent.clear()
    there.rewrite("ds=1", a="9", b="22")
    report = there.copy()
    assert (report.files_sent, report.files_kept) == (3, 3)
    assert sorted(there.files.sent) == [
        f"file:///c1/t/{name}" for name in ("ds=1/a", "ds=1/b", "ds=2/deep")
    ]
    there.check()
    assert len(there.fresh()) == 2


def test_a_file_that_changes_and_changes_back_is_sent_again() -> None:
    """The first run sends the file of one time and then that of another one, and is killed before
    it records this. Then the first file is back, with its time."""
    there = world()
    path = "file:///c1/t/ds=1/a"
    first = there.files.content[path]

    def change(source: str) -> None:
        if source == "file:///c1/t/ds=1/deep":
            there.files.during = kill
            there.files.write(path, b"2")

    def kill(source: str) -> None:
        if source == path:
            there.files.during = lambda source: None
            there.effects.count, there.effects.kill_at = 0, 2  # the file is there, no record is

    there.files.during = change
    there.copy_killed_at(1000)
    assert sorted(there.fresh()) == ["ds=2"]
    there.files.content[path] = first
    there.copy()
    there.check()
    assert sorted(there.fresh()) == ["ds=1", "ds=2"]


def test_files_are_sent_again_where_the_store_cannot_copy() -> None:
    there = world()
    there.files.broken = {"file:///c1/t/ds=1/deep", "file:///c1/t/ds=2/deep"}
    there.copy()
    there.files.broken, there.files.cannot_move = set(), True
    report = there.copy()
    assert (report.files_sent, report.files_kept, report.failed) == (FILES, 0, {})
    there.check()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"ds=1": 3}', '{"ds=1": {"a": [1]}}'])
def test_a_damaged_record_is_ignored(text: str) -> None:
    there = world()
    there.files.broken = {"file:///c1/t/ds=1/deep", "file:///c1/t/ds=2/deep"}
    there.copy()
    there.files.broken = set()
    records = [path for path in there.files.content if "/.causeway/sent/" in path]
    assert records
    for path in records:
        there.files.write(path, text.encode())
    assert there.copy().files_sent == FILES
    there.check()
