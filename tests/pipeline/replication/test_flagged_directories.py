"""Directories on object stores: a reader that waits for the flag sees a whole instance or none."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from unittest.mock import Mock

import pytest

from pipeline.copy import sent_files
from pipeline.copy.files import CopyOptions, FileCopy, FileResult, FileStatus
from pipeline.errors import ActionFailed, InputsGone
from pipeline.falcon.entities.feed import Paths
from pipeline.replication.directories import PathCopy, replicate_path
from pipeline.replication.flagged_directories import SENT
from pipeline.retention.directories import PathEviction, evict_paths
from tests.pipeline.copy.fakes import Effects, FakeFiles, Killed
from tests.pipeline.falcon.documents import read_cluster

SOURCE, TARGET = "hdfs://c1/logs/1", "s3a://lake/logs/1"
COPY = PathCopy(SOURCE, TARGET, "s3a://lake/staging", flag="_SUCCESS")
OLD = {"a": b"1", "deep/b": b"22", "c": b"", "_SUCCESS": b"old"}
NEW = {"a": b"2", "deep/b": b"22", "d": b"333", "_SUCCESS": b"new"}


class ObjectFiles(FakeFiles):
    """Objects have times of their own, appear at once, and cannot be renamed."""

    def _deliver(self, order: FileCopy) -> FileResult:
        source = f"{order.source}/{order.entry.path}"
        self.during(source)
        found = self.content.get(source)
        if found is None or (len(found[0]), found[1]) != (order.entry.length, order.entry.modified):
            return FileResult(order, FileStatus.CHANGED, 0)
        if source in self.broken:
            return FileResult(order, FileStatus.FAILED, 0, message="broken")
        self.effects.happen("before the object")
        self.write(f"{order.target}/{order.entry.path}", found[0])
        self.sent.append(order.entry.path)
        self.effects.happen("after the object")
        return FileResult(order, FileStatus.SENT, len(found[0]), "sum")

    def move(self, moves: Mapping[str, str]) -> frozenset[str]:
        raise AssertionError(moves)

    def delete(self, locations: list[str]) -> None:  # type: ignore[override]
        for each in locations:
            for path in [p for p in self.content if p == each or p.startswith(f"{each}/")]:
                del self.content[path]
                self.effects.happen("deleted an object")


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> ObjectFiles:
    monkeypatch.setattr(sent_files, "_MOST_FILES", 2)
    return ObjectFiles(Effects())


def put(files: ObjectFiles, content: Mapping[str, bytes]) -> None:
    for path in set(files.read(SOURCE)) - set(content):
        del files.content[f"{SOURCE}/{path}"]
    for path, body in content.items():
        if files.read(SOURCE).get(path) != body:
            files.write(f"{SOURCE}/{path}", body)


def copy(files: ObjectFiles) -> str:
    files.sent.clear()
    return replicate_path(files, COPY, CopyOptions(), Mock()).text


def seen(files: ObjectFiles) -> dict[str, bytes] | None:
    """What a reader finds that waits for the flag."""
    found = {path: body for path, body in files.read(TARGET).items() if path != SENT}
    return found if "_SUCCESS" in found else None


def test_the_flag_is_last_and_a_second_copy_sends_nothing(files: ObjectFiles) -> None:
    put(files, OLD)
    assert copy(files) == f"{TARGET}: 4 files, 3 bytes"
    assert seen(files) == OLD
    assert copy(files) == f"{TARGET} was up to date"
    put(files, NEW)
    copy(files)
    assert seen(files) == NEW
    assert sorted(files.sent) == ["a", "d"]


@pytest.mark.parametrize("first", [True, False])
def test_killed_at_any_effect_and_run_again(files: ObjectFiles, first: bool) -> None:
    states = [None, NEW] if first else [None, OLD, NEW]
    for kill_at in range(1, 100):
        files.content.clear()
        files.effects.kill_at, files.effects.watch = None, lambda: None
        if not first:
            put(files, OLD)
            copy(files)
        put(files, NEW)
        files.effects.watch = partial(_check, files, states)
        files.effects.count, files.effects.kill_at = 0, kill_at
        killed = False
        try:
            copy(files)
        except Killed:
            killed = True
        done = set(files.sent)
        files.effects.kill_at = None
        copy(files)
        assert seen(files) == NEW
        again = done & set(files.sent)
        assert len(again) <= 2, "what was sent before is sent again, but for one batch"
        if not killed:
            break
    assert kill_at > 5


def _check(files: ObjectFiles, states: list[dict[str, bytes] | None]) -> None:
    assert seen(files) in states


def test_a_file_that_was_replaced_at_the_target_by_another_length_is_sent_again(
    files: ObjectFiles,
) -> None:
    put(files, OLD)
    copy(files)
    files.write(f"{TARGET}/a", b"by another program")
    copy(files)
    assert seen(files) == OLD


def test_a_source_that_changes_during_the_copy_is_copied_again(files: ObjectFiles) -> None:
    put(files, OLD)

    def change(path: str) -> None:
        files.during = lambda _: None
        put(files, {**OLD, "a": b"longer"})

    files.during = change
    copy(files)
    assert seen(files) == {**OLD, "a": b"longer"}


def test_a_failed_file_fails_the_attempt_and_shows_nothing(files: ObjectFiles) -> None:
    put(files, OLD)
    files.broken = {f"{SOURCE}/deep/b"}
    with pytest.raises(ActionFailed, match="deep/b: broken"):
        copy(files)
    assert seen(files) is None
    files.broken = set()
    copy(files)
    assert seen(files) == OLD


def test_a_source_whose_flag_is_gone_is_waited_for(files: ObjectFiles) -> None:
    put(files, {"a": b"1"})
    with pytest.raises(InputsGone):
        copy(files)
    assert files.read(TARGET) == {}


def test_an_eviction_deletes_the_flag_first(files: ObjectFiles) -> None:
    cluster = read_cluster()
    storage = Paths({"data": "s3a://lake/logs/${YEAR}"})
    day = "s3a://lake/logs/2020"
    home = PathEviction("clicks", storage, cluster, timedelta(days=1), "_SUCCESS")
    for path, body in {"a": b"1", "b": b"2", "_SUCCESS": b""}.items():
        files.write(f"{day}/{path}", body)

    def whole_or_hidden() -> None:
        left = files.read(day)
        assert "_SUCCESS" not in left or len(left) == 3

    files.effects.watch = whole_or_hidden
    now = datetime(2026, 1, 1, tzinfo=UTC)
    done = evict_paths(files, home, now, lambda date: False, Mock(), lambda date: None)
    assert done.startswith("1 directories")
    assert files.read(day) == {}
