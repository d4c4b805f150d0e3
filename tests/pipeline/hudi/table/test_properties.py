"""A reader gets complete properties, at whatever step of a change it looks."""

import zlib
from pathlib import Path

import pytest

from pipeline.hudi.errors import DamagedTimeline, MissingPath, NotAHudiTable
from pipeline.hudi.table.properties import parse_properties, read_properties
from pipeline.hudi.table.storage import LocalStorage

COMPLETE = (
    b"#Updated at 2026-01-01\nhoodie.table.name=trips\nhoodie.database.name=db\n"
    b"hoodie.table.version=6\nhoodie.table.type=MERGE_ON_READ\n"
    + f"hoodie.table.checksum={zlib.crc32(b'db.trips')}\n".encode()
)
INCOMPLETE = {
    "empty": b"",
    "begun": COMPLETE[: COMPLETE.index(b"hoodie.table.type")],
    "another checksum": COMPLETE.replace(b"trips\n", b"trip\n"),
}


class Meta:
    """A folder `.hoodie`."""

    def __init__(self, base: Path) -> None:
        self.base = str(base)
        self.pauses: list[float] = []
        self.folder = base / ".hoodie"
        self.folder.mkdir()

    def write(self, content: bytes, suffix: str = "") -> None:
        (self.folder / f"hoodie.properties{suffix}").write_bytes(content)

    def read(self) -> bytes:
        return read_properties(self.base, LocalStorage(), self.pauses.append)


@pytest.fixture
def meta(tmp_path: Path) -> Meta:
    return Meta(tmp_path)


def test_the_properties_are_read_before_their_backup(meta: Meta) -> None:
    meta.write(COMPLETE)
    meta.write(COMPLETE.replace(b"MERGE_ON_READ", b"COPY_ON_WRITE"), ".backup")
    assert meta.read() == COMPLETE


@pytest.mark.parametrize("begun", INCOMPLETE.values(), ids=INCOMPLETE)
def test_the_backup_is_read_while_the_properties_are_incomplete(meta: Meta, begun: bytes) -> None:
    meta.write(begun)
    meta.write(COMPLETE, ".backup")
    assert (meta.read(), meta.pauses) == (COMPLETE, [])


def test_the_properties_are_read_again_where_the_change_ended_meanwhile(meta: Meta) -> None:
    """The properties are missing at the first look, and the backup at the second."""

    class Changing(LocalStorage):
        reads = 0

        def read(self, path: str) -> bytes:
            self.reads += 1
            if self.reads < 3:
                raise MissingPath(path)
            return super().read(path)

    meta.write(COMPLETE)
    assert read_properties(meta.base, Changing(), meta.pauses.append) == COMPLETE


@pytest.mark.parametrize("begun", INCOMPLETE.values(), ids=INCOMPLETE)
def test_incomplete_properties_are_waited_for(meta: Meta, begun: bytes) -> None:
    meta.write(begun)

    def end_after_two(seconds: float) -> None:
        meta.pauses.append(seconds)
        if len(meta.pauses) == 2:
            meta.write(COMPLETE)

    assert read_properties(meta.base, LocalStorage(), end_after_two) == COMPLETE
    assert meta.pauses == [1.0, 1.0]


@pytest.mark.parametrize("begun", INCOMPLETE.values(), ids=INCOMPLETE)
def test_properties_that_stay_incomplete_are_refused(meta: Meta, begun: bytes) -> None:
    meta.write(begun)
    meta.write(begun, ".backup")
    with pytest.raises(DamagedTimeline, match="is incomplete"):
        meta.read()
    assert meta.pauses == [1.0] * 4


def test_a_folder_without_properties_is_no_table(meta: Meta) -> None:
    with pytest.raises(NotAHudiTable):
        meta.read()
    assert not meta.pauses


def test_tables_of_old_versions_have_no_checksum(meta: Meta) -> None:
    old = b"hoodie.table.name=trips\nhoodie.table.version=3\n"
    meta.write(old)
    assert parse_properties(meta.read())["hoodie.table.name"] == "trips"
