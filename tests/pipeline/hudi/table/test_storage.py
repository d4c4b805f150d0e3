"""Listings of local directories."""

import os
from pathlib import Path

import pytest

from pipeline.hudi.table.storage import LocalStorage, is_local


class _Entry:
    """A directory's entry, whose file is deleted before its status is read."""

    def __init__(self, entry: os.DirEntry[str]) -> None:
        self.name = entry.name
        self._path = entry.path

    def stat(self) -> os.stat_result:
        if self.name == "deleted":
            os.unlink(self._path)
        return os.stat(self._path)


class _Entries(list[_Entry]):
    def __enter__(self) -> "_Entries":
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_a_file_that_is_deleted_during_a_listing_is_not_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "deleted", "z"):
        (tmp_path / name).touch()
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: _Entries(map(_Entry, scandir(path))))
    found = LocalStorage().list(str(tmp_path))
    assert sorted(each.name for each in found) == ["a", "z"]


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("/t", True), ("t", True), ("file:/t", True), ("file:///t", True), ("/t/ds=1:2", True),
        ("ds=1:2", True), ("hdfs:/t", False), ("hdfs://nn/t", False), ("s3a://b/t", False),
    ],
)  # fmt: skip
def test_a_path_with_another_scheme_is_not_of_this_machine(path: str, local: bool) -> None:
    assert is_local(path) == local
