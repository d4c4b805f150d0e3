"""Which files of a log have to be read."""

import pytest

from pipeline.delta.log_files import LogSegment, commit_path, in_order, segment_of

LOG = "_delta_log"


commit = commit_path


def checkpoint(version: int, more: str = "") -> str:
    return f"{LOG}/{version:020}.checkpoint{more}.parquet"


def test_commits_alone() -> None:
    paths = [commit(1), commit(0), "a.parquet", f"{LOG}/{0:020}.crc", f"x/{commit(7)}"]
    assert segment_of(paths) == LogSegment(1, (), (commit(0), commit(1)))


def test_the_newest_checkpoint_and_the_commits_after_it() -> None:
    paths = [*map(commit, range(2, 6)), checkpoint(2), checkpoint(4)]
    assert segment_of(paths) == LogSegment(5, (checkpoint(4),), (commit(5),))


def test_a_checkpoint_counts_when_all_of_its_parts_are_there() -> None:
    parts = [checkpoint(3, f".{n:010}.{2:010}") for n in (1, 2)]
    paths = [*map(commit, range(5)), parts[0]]
    assert segment_of(paths) == LogSegment(4, (), tuple(map(commit, range(5))))
    assert segment_of([*paths, parts[1]]) == LogSegment(4, tuple(parts), (commit(4),))


def test_a_checkpoint_with_a_name_of_its_own() -> None:
    name = checkpoint(1, ".80a083e8-7026-4e79-81be-64bd76c43a11")
    assert segment_of([commit(0), commit(1), name]) == LogSegment(1, (name,), ())


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        (["a.parquet"], "no log"),
        ([commit(0), commit(2)], "lacks the commit 1"),
        ([commit(1)], "lacks the first commit"),
        ([checkpoint(1), commit(3)], "lacks the commit 2"),
    ],
)
def test_a_log_with_a_gap_is_none(paths: list[str], reason: str) -> None:
    assert reason in str(segment_of(paths))


def test_files_appear_before_what_names_them() -> None:
    first = ["p=1/a.parquet", f"x/{commit(7)}", f"{LOG}/_sidecars/b.parquet", "dv.bin"]
    rest = [checkpoint(10), f"{LOG}/{9:020}.crc", f"{LOG}/.{9:020}.json.crc"]
    pointer = [f"{LOG}/._last_checkpoint.crc", f"{LOG}/_last_checkpoint"]
    paths = [*pointer, commit(10), *rest, commit(9), *first]
    assert list(in_order(paths)) == [first, [commit(9)], [commit(10)], rest, pointer]
    assert list(in_order([])) == []
